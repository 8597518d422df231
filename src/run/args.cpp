// SPDX-License-Identifier: MIT
#include "run/args.hpp"

#include <algorithm>
#include <utility>

#include "base/status.hpp"

namespace fuseplan {

const void* OpArgs::pointer(Role role) const {
  for (const Pointer& pointer : pointers)
    if (pointer.role == role) return pointer.value;
  return nullptr;
}

const double* OpArgs::scalar(Role role) const {
  for (const Scalar& scalar : scalars)
    if (scalar.role == role) return &scalar.value;
  return nullptr;
}

void* OpArgs::result(Role role) const {
  for (const Result& result : results)
    if (result.role == role) return result.value;
  return nullptr;
}

void Args::set(int op, OpArgs args) {
  const auto index = static_cast<std::size_t>(op);
  if (ops_.size() <= index) ops_.resize(index + 1);
  ops_[index] = std::move(args);
  ++revision_;
}

const OpArgs* Args::find(int op) const {
  const auto index = static_cast<std::size_t>(op);
  return index < ops_.size() && !ops_[index].kind.empty() ? &ops_[index] : nullptr;
}

// Whether the weights' hash is worth its time. After some changes in a row it is not: the next ones
// are prepared at once, and only now and then two Executes look whether the weights have settled.
bool Args::Prepared::must_look() const {
  constexpr std::uint32_t kPeriod = 16;
  return !keeps_changing() || changes % kPeriod < 2;
}

bool Args::Prepared::keeps_changing() const {
  constexpr std::uint32_t kInARow = 4;
  return changes >= kInARow;
}

/// The entry for these weights, which becomes the most recently used; the least recently used makes
/// room for a new one. Its form goes to `dropped`, to be given back without the lock.
Args::Prepared& Args::entry(const std::string& format, const void* raw, std::size_t raw_bytes,
                            Form& dropped) {
  const auto known = std::ranges::find_if(prepared_, [&](const Prepared& p) {
    return p.raw == raw && p.raw_bytes == raw_bytes && p.format == format;
  });
  if (known != prepared_.end()) {
    std::rotate(prepared_.begin(), known, known + 1);
    return prepared_.front();
  }
  if (prepared_.size() == kPrepared) {
    dropped = std::move(prepared_.back().form);
    prepared_.pop_back();
  }
  return *prepared_.insert(
      prepared_.begin(),
      Prepared{.format = format, .raw = raw, .raw_bytes = raw_bytes, .hash = {}, .form = nullptr});
}

/// Whether the entry's form is that of the weights as they are now. If they were looked at, `hash`
/// is theirs.
bool Args::is_settled(Prepared& prepared, std::optional<ContentHash>& hash) const {
  const bool known = prepared.form != nullptr;
  if (known && constant_weights_ && prepared.revision == revision_) return true;
  if (prepared.must_look()) hash = hash_content(prepared.raw, prepared.raw_bytes);
  const bool unchanged = known && hash && hash == prepared.hash;
  if (unchanged && prepared.is_current) {
    prepared.changes = 0;
    prepared.revision = revision_;
    return true;
  }
  prepared.changes = known && !unchanged ? prepared.changes + 1 : 0;
  prepared.is_current = false;
  prepared.revision = 0;
  return false;
}

Args::Job Args::begin(Prepared& prepared, const std::optional<ContentHash>& hash, bool is_lent) {
  prepared.hash.reset();
  prepared.job = ++jobs_;
  prepared.is_lent = is_lent;
  const bool is_free =
      prepared.form != nullptr && prepared.form->readers.load(std::memory_order_acquire) == 0;
  return {prepared.job, is_free ? prepared.form : nullptr, hash, revision_};
}

/// A lease of what was made. Its entry may have made room for others meanwhile.
WeightsLease Args::end(const Job& job, bool is_done) {
  Form old;
  const std::lock_guard lock(mutex_);
  WeightsLease lease = is_done ? WeightsLease(job.form) : WeightsLease();
  const auto found = std::ranges::find(prepared_, job.number, &Prepared::job);
  if (found != prepared_.end()) {
    found->job = 0;
    if (is_done) {
      old = std::exchange(found->form, job.form);
      found->hash = job.hash;
      found->is_current = true;
      found->revision = job.revision;
    }
  }
  ended_.notify_all();
  return lease;
}

WeightsLease Args::prepared_weights(const Executable& executable, const std::string& format,
                                    const void* raw, std::size_t raw_bytes,
                                    const Parallel& parallel, const Allocator& allocator) {
  if (executable.prepared_bytes() == 0) return {};
  const auto new_form = [&] {
    return std::make_shared<WeightsLease::Form>(Buffer(executable.prepared_bytes(), allocator));
  };
  Form dropped;
  std::unique_lock lock(mutex_);
  Prepared* prepared = &entry(format, raw, raw_bytes, dropped);
  for (; prepared->job != 0; prepared = &entry(format, raw, raw_bytes, dropped)) {
    if (prepared->is_lent) {
      lock.unlock();
      if (executable.takes_raw_weights()) return {};
      Form own = new_form();
      executable.prepare(raw, own->buffer.data(), Parallel(1));
      return WeightsLease(std::move(own));
    }
    ended_.wait(lock);
  }
  std::optional<ContentHash> hash;
  if (is_settled(*prepared, hash)) return WeightsLease(prepared->form);
  if (prepared->keeps_changing() && executable.takes_raw_weights()) {
    prepared->hash = hash;
    return {};
  }
  Job job = begin(*prepared, hash, parallel.is_callers());
  lock.unlock();
  try {
    if (job.form == nullptr) job.form = new_form();
    executable.prepare(raw, job.form->buffer.data(), parallel);
  } catch (...) {
    (void)end(job, false);
    throw;
  }
  return end(job, true);
}

}  // namespace fuseplan
