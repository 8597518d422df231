// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.hpp"
#include "base/digest.hpp"
#include "base/memory.hpp"
#include "expr/chain.hpp"

namespace fuseplan {

/// The arguments of one op: what its setter stored. Pointers belong to the caller and must stay
/// valid during Execute.
struct OpArgs {
  std::string_view kind;  ///< of the op it was set for: "conv", "bias", ...; empty: never set
  float alpha = 1, beta = 0;
  struct Pointer {
    Role role;
    const void* value;
  };
  struct Scalar {
    Role role;
    double value;
  };
  StaticVector<Pointer, 4> pointers;
  StaticVector<Scalar, 3> scalars;

  const void* pointer(Role role) const;   ///< nullptr if not set
  const double* scalar(Role role) const;  ///< nullptr if not set
};

/// Arguments by op index, not bound to a plan. One thread at a time may set them; threads that
/// execute with the same object at once are safe as long as nobody sets.
class Args {
 public:
  void set(int op, OpArgs args);
  /// nullptr if nothing was set for that op.
  const OpArgs* find(int op) const;

  /// The caller's promise that weights do not change between Executes without a new setter call.
  void set_constant_weights(bool on) { constant_weights_ = on; }

  /// `raw` in the executable's prepared form, made now or reused if neither the pointer nor the
  /// contents changed. `format` names what is read and what is made of it: equal formats share.
  /// Keeps the last kPrepared forms. The result lives as long as it is held.
  std::shared_ptr<const void> prepared_weights(const Executable& executable,
                                               const std::string& format, const void* raw,
                                               std::size_t raw_bytes, const Parallel& parallel,
                                               const Allocator& allocator);

 private:
  static constexpr std::size_t kPrepared = 8;
  struct Prepared {
    std::string format;
    const void* raw;
    std::size_t raw_bytes;
    std::uint64_t revision;  ///< of the setter call it was made under
    ContentHash hash;
    std::shared_ptr<Buffer> buffer;
  };
  std::shared_ptr<const void> reuse(const std::string& format, const void* raw,
                                    std::size_t raw_bytes, const ContentHash* hash);

  std::vector<OpArgs> ops_;
  bool constant_weights_ = false;
  std::uint64_t revision_ = 0;
  std::mutex mutex_;  ///< guards prepared_ only
  std::vector<Prepared> prepared_;
};

}  // namespace fuseplan
