// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/chain_tensors.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// One thread's way through the tensors of a chain: keeps a RowsCall pointed at a place in them.
class ChainWalk {
 public:
  using Index = std::array<std::int64_t, 5>;  ///< N, C, D, H, W of an output element

  ChainWalk(const ChainTensors& tensors, const Arguments& arguments, const ChainFrame& frame,
            Scratch& scratch);
  ChainWalk(const ChainWalk&) = delete;

  /// Points at `index`. What is not about the chain's tensors (input, rows, lanes) is the caller's.
  RowsCall& at(const Index& index);
  /// Where the elements lie at `index`, as many as the chain has.
  void elements_at(const Index& index, const void** to) const;
  /// Points so many rows further.
  void skip_rows(std::int64_t rows);

  /// Kernels may move its pointers, those of elements too.
  RowsCall& call() { return call_; }

  std::size_t element_count() const { return count_; }

 private:
  /// A tensor, steps in bytes.
  struct Stream {
    const std::byte* base = nullptr;
    Index step{};
    const std::byte* at(const Index& index) const;
  };
  static Stream stream_of(const void* base, const View& view, DType dtype);

  Stream output_;
  std::size_t count_;  ///< of elements
  Stream* streams_;
  const void** elements_;
  std::int64_t* element_steps_;
  const float* channels_;
  RowsCall call_;
};

}  // namespace fuseplan::cpu
