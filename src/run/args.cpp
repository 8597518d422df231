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

std::shared_ptr<const void> Args::reuse(const std::string& format, const void* raw,
                                        std::size_t raw_bytes, const ContentHash* hash) {
  for (auto it = prepared_.begin(); it != prepared_.end(); ++it) {
    if (it->raw != raw || it->raw_bytes != raw_bytes || it->format != format) continue;
    if (hash != nullptr ? it->hash != *hash : it->revision != revision_) continue;
    it->revision = revision_;
    std::rotate(prepared_.begin(), it, it + 1);  // most recently used first
    return {prepared_.front().buffer, prepared_.front().buffer->data()};
  }
  return nullptr;
}

std::shared_ptr<const void> Args::prepared_weights(const Executable& executable,
                                                   const std::string& format, const void* raw,
                                                   std::size_t raw_bytes, const Parallel& parallel,
                                                   const Allocator& allocator) {
  if (executable.prepared_bytes() == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (constant_weights_)
    if (auto found = reuse(format, raw, raw_bytes, nullptr)) return found;
  const ContentHash hash = hash_content(raw, raw_bytes);
  if (auto found = reuse(format, raw, raw_bytes, &hash)) return found;
  auto buffer = std::make_shared<Buffer>(executable.prepared_bytes(), allocator);
  executable.prepare(raw, buffer->data(), parallel);
  // The stale copy of the same weights goes first, then the least recently used.
  std::erase_if(prepared_, [&](const Prepared& p) { return p.raw == raw && p.format == format; });
  if (prepared_.size() == kPrepared) prepared_.pop_back();
  prepared_.insert(prepared_.begin(), {format, raw, raw_bytes, revision_, hash, buffer});
  return {buffer, buffer->data()};
}

}  // namespace fuseplan
