// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "expr/expr.hpp"

namespace fuseplan::cpu {

/// A graph as a list of loops, each applying one function to a whole block of values, so that any
/// compiler vectorises them and the cost of interpreting is paid once per block. T is float for
/// elements, double for what is computed once per launch.
///
/// Intermediate blocks are reused as soon as their last reader has run, so the memory a graph needs
/// follows its width and not its length.
template <typename T>
class ChainInterpreter {
 public:
  /// Most values of one block: a few blocks fit the smallest L1 cache.
  static constexpr std::size_t kBlock = 256;

  struct LeafId {
    Leaf leaf;
    int index;
    bool operator==(const LeafId&) const = default;
  };

  explicit ChainInterpreter(const Expr& expr);

  /// The leaves a Frame must bind, in this order. Constants are not among them.
  std::span<const LeafId> leaves() const { return leaves_; }

  /// One thread's blocks. Refers to its interpreter and takes its memory from a Scratch, both of
  /// which must outlive it.
  class Frame {
   public:
    Frame(const ChainInterpreter& program, Scratch& scratch);
    /// Where leaf number `leaf` has its values at the next run().
    void bind(std::size_t leaf, const T* values) { blocks_[leaf] = values; }
    /// Evaluates the first `count` values of every root; count <= kBlock.
    void run(std::size_t count);
    const T* root(std::size_t number) const;

   private:
    const ChainInterpreter& program_;
    const T** blocks_;
    T* work_;
  };

 private:
  using Loop = void (*)(const T* a, const T* b, const T* c, T* out, std::size_t count);
  struct Step {
    Loop loop;
    int a, b, c;  // block numbers; absent arguments repeat the first
    int out;
  };

  static Loop loop_of(Fn fn);
  void number_leaves(const Graph& graph, std::vector<int>& block);
  void allocate_steps(const Expr& expr, std::vector<int>& block);

  // Blocks are numbered leaves first, then constants, then work.
  std::vector<LeafId> leaves_;
  std::vector<T> constants_;
  std::vector<Step> steps_;
  std::vector<int> roots_;
  int work_blocks_ = 0;
};

extern template class ChainInterpreter<float>;
extern template class ChainInterpreter<double>;

}  // namespace fuseplan::cpu
