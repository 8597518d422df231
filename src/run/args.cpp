// SPDX-License-Identifier: MIT
#include "run/args.hpp"

#include <algorithm>

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
/// room for a new one.
Args::Prepared& Args::entry(const std::string& format, const void* raw, std::size_t raw_bytes) {
  const auto known = std::ranges::find_if(prepared_, [&](const Prepared& p) {
    return p.raw == raw && p.raw_bytes == raw_bytes && p.format == format;
  });
  if (known != prepared_.end()) {
    std::rotate(prepared_.begin(), known, known + 1);
  } else {
    if (prepared_.size() == kPrepared) prepared_.pop_back();
    prepared_.insert(prepared_.begin(), Prepared{format, raw, raw_bytes, 0, {}, false, 0, nullptr});
  }
  return prepared_.front();
}

WeightsLease Args::prepared_weights(const Executable& executable, const std::string& format,
                                    const void* raw, std::size_t raw_bytes,
                                    const Parallel& parallel, const Allocator& allocator) {
  if (executable.prepared_bytes() == 0) return {};
  const std::lock_guard lock(mutex_);
  Prepared& prepared = entry(format, raw, raw_bytes);
  const bool known = prepared.form != nullptr;
  if (known && constant_weights_ && prepared.revision == revision_)
    return WeightsLease(prepared.form);
  std::optional<ContentHash> hash;
  if (prepared.must_look()) hash = hash_content(raw, raw_bytes);
  const bool settled = known && hash && hash == prepared.hash;
  if (settled && prepared.is_current) {
    prepared.changes = 0;
    prepared.revision = revision_;
    return WeightsLease(prepared.form);
  }
  prepared.changes = known && !settled ? prepared.changes + 1 : 0;
  prepared.is_current = false;
  prepared.revision = 0;
  if (prepared.keeps_changing() && executable.takes_raw_weights()) {
    prepared.hash = hash;
    return {};
  }
  prepared.hash.reset();
  if (!known || prepared.form->readers.load(std::memory_order_acquire) != 0)
    prepared.form =
        std::make_shared<WeightsLease::Form>(Buffer(executable.prepared_bytes(), allocator));
  executable.prepare(raw, prepared.form->buffer.data(), parallel);
  prepared.hash = hash;
  prepared.is_current = true;
  prepared.revision = revision_;
  return WeightsLease(prepared.form);
}

}  // namespace fuseplan
