// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/depthwise/plan.hpp"
#include "kernels/cpu/depthwise/sums.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {

/// Entry points of a plan's code.
struct DepthwiseEntries {
  std::span<const void* const> sums;  ///< one per plan.tile_rows
  const void* rows = nullptr;
  const void* stage = nullptr;     ///< if staged and the stride is at most 2
  const void* prologue = nullptr;  ///< if the chain has per-channel values
};

/// Packed weights, the chain's slower values, addresses. Weights are packed to f32
/// [channel][kd][kh][kw].
class DepthwiseProgram : public Program {
 public:
  DepthwiseProgram(const DepthwisePlan& plan, const SplitChain& chain,
                   const DepthwiseEntries& entries);
  DepthwiseProgram(const DepthwiseProgram&) = delete;

  std::size_t prepared_bytes() const override;
  std::string weight_format() const override;
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override;

 protected:
  using Index = ChainWalk::Index;
  struct Launch {
    const Arguments& arguments;
    ChainFrame frame;
  };
  Launch launch(const Arguments& arguments, Scratch& scratch) const;

  template <typename Call>
  static auto entry(const void* code) {
    return reinterpret_cast<void (*)(const Call*)>(reinterpret_cast<std::uintptr_t>(code));
  }
  static const std::byte* at(const void* data, DType dtype, const View& view, const Index& index);

  const DepthwisePlan plan_;
  const ConvGeometry& g_ = plan_.g;
  const ChainRunner chain_;
  const std::vector<const void*> sums_;
  const void* const rows_;
  const void* const stage_;

 private:
  std::int64_t packed_floats() const;
};

std::unique_ptr<Program> depthwise_program(const DepthwisePlan& plan, const SplitChain& chain,
                                           const DepthwiseEntries& entries);

}  // namespace fuseplan::cpu
