// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "run/args.hpp"
#include "run/arguments.hpp"
#include "run/handle.hpp"
#include "run/variant.hpp"

namespace fuseplan {

/// A plan compiled for one handle: the variant it was compiled for, and those that dynamic lengths
/// or blending scalars asked for since. Executed by many threads at once.
class Compiled {
 public:
  struct Dynamic {
    std::array<bool, kMaxRank> axes{};  ///< by tensor axis
  };
  /// `timing` and `failures` as make_variant(); what dynamic lengths ask for later is never timed.
  Compiled(CompileContext context, Problem problem, Dynamic dynamic, const Parallel& timing,
           std::vector<Rejection>& failures);

  /// The variant of the plan as it was written.
  const Variant& main() const { return *variants_[0].load(std::memory_order_acquire); }
  std::size_t variant_count() const;

  /// Checks the descriptors and arguments, finds the variant, launches it. Errors name the op and
  /// the argument; nothing is launched then.
  void execute(Handle& handle, const Tensor& input_desc, const void* input,
               const Tensor& output_desc, void* output, Args& args) const;

 private:
  const Variant& variant_for(const Tensor& input, const Tensor& output,
                             const BlendList& blends) const;
  Problem problem_for(const Tensor& input, const Tensor& output, const BlendList& blends) const;
  void check_descriptor(const Tensor& given, const Tensor& compiled, std::string_view what) const;

  // The first kSlots variants are found without a lock; more sizes than that take one.
  static constexpr std::size_t kSlots = 32;
  CompileContext context_;
  Dynamic dynamic_;
  mutable std::array<std::atomic<const Variant*>, kSlots> variants_{};
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Variant>> owned_;
};

}  // namespace fuseplan
