// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/chain_interpreter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/portable/math.hpp"

namespace fuseplan::cpu {
namespace {

// One loop per row of functions.def, from the definition that stands there. `out` never overlaps an
// argument: a step's block is chosen before its arguments' blocks are given back.
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value)                                          \
  template <typename T>                                                                           \
  void name##_loop(const T* pa, const T* pb, const T* pc, T* __restrict out, std::size_t count) { \
    for (std::size_t i = 0; i < count; ++i) {                                                     \
      [[maybe_unused]] const T a = pa[i], b = pb[i], c = pc[i];                                   \
      out[i] = static_cast<T>(value);                                                             \
    }                                                                                             \
  }
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION

template <float (*Function)(float)>
void unary_loop(const float* a, const float*, const float*, float* __restrict out,
                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = Function(a[i]);
}

// Index of the last node that reads each node; roots are read at the very end.
std::vector<Ref> last_uses(const Expr& expr) {
  std::vector<Ref> last(static_cast<std::size_t>(expr.graph.size()), kNoRef);
  for (Ref ref = 0; ref < expr.graph.size(); ++ref)
    for (Ref arg : expr.graph[ref].args)
      if (arg != kNoRef) last[static_cast<std::size_t>(arg)] = ref;
  for (Ref root : expr.roots) last[static_cast<std::size_t>(root)] = expr.graph.size();
  return last;
}

}  // namespace

template <typename T>
typename ChainInterpreter<T>::Loop ChainInterpreter<T>::loop_of(Fn fn) {
  static constexpr Loop kLoops[] = {
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value) name##_loop<T>,
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION
  };
  if constexpr (std::is_same_v<T, float>) {
    switch (fn) {
      case Fn::exp_:
        return unary_loop<exp_branchless>;
      case Fn::expm1_:
        return unary_loop<expm1_branchless>;
      case Fn::log_:
        return unary_loop<log_branchless>;
      case Fn::log1p_:
        return unary_loop<log1p_branchless>;
      case Fn::tanh_:
        return unary_loop<tanh_branchless>;
      case Fn::logistic_:
        return unary_loop<logistic_branchless>;
      case Fn::logistic2_:
        return unary_loop<logistic2_branchless>;
      default:
        break;
    }
  }
  return kLoops[static_cast<std::size_t>(fn)];
}

template <typename T>
ChainInterpreter<T>::ChainInterpreter(const Expr& expr) {
  const Expr needed = compact(expr);
  std::vector<int> block(static_cast<std::size_t>(needed.graph.size()), -1);
  number_leaves(needed.graph, block);
  allocate_steps(needed, block);
  for (Ref root : needed.roots) roots_.push_back(block[static_cast<std::size_t>(root)]);
}

template <typename T>
void ChainInterpreter<T>::number_leaves(const Graph& graph, std::vector<int>& block) {
  for (Ref ref = 0; ref < graph.size(); ++ref) {
    const Node& node = graph[ref];
    if (node.leaf == Leaf::none || node.leaf == Leaf::constant) continue;
    const LeafId id{node.leaf, node.index};
    const auto found = std::find(leaves_.begin(), leaves_.end(), id);
    block[static_cast<std::size_t>(ref)] = static_cast<int>(found - leaves_.begin());
    if (found == leaves_.end()) leaves_.push_back(id);
  }
  for (Ref ref = 0; ref < graph.size(); ++ref) {
    if (graph[ref].leaf != Leaf::constant) continue;
    block[static_cast<std::size_t>(ref)] = static_cast<int>(leaves_.size() + constants_.size());
    constants_.push_back(static_cast<T>(graph[ref].value));
  }
}

template <typename T>
void ChainInterpreter<T>::allocate_steps(const Expr& expr, std::vector<int>& block) {
  const std::vector<Ref> last = last_uses(expr);
  const int first_work = static_cast<int>(leaves_.size() + constants_.size());
  std::vector<int> free;
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    const Node& node = expr.graph[ref];
    if (node.leaf != Leaf::none) continue;
    std::array<int, 3> args{};
    for (std::size_t i = 0; i < 3; ++i)
      args[i] = node.args[i] == kNoRef ? args[0] : block[static_cast<std::size_t>(node.args[i])];
    if (free.empty()) free.push_back(first_work + work_blocks_++);
    const int out = free.back();
    free.pop_back();
    block[static_cast<std::size_t>(ref)] = out;
    steps_.push_back({loop_of(node.fn), args[0], args[1], args[2], out});
    for (std::size_t i = 0; i < 3; ++i) {
      const bool repeated = std::find(args.begin(), args.begin() + i, args[i]) != args.begin() + i;
      if (node.args[i] == kNoRef || repeated || args[i] < first_work) continue;
      if (last[static_cast<std::size_t>(node.args[i])] == ref) free.push_back(args[i]);
    }
  }
}

template <typename T>
ChainInterpreter<T>::Frame::Frame(const ChainInterpreter& program, Scratch& scratch)
    : program_(program) {
  const std::size_t leaves = program.leaves_.size(), constants = program.constants_.size();
  const auto work = static_cast<std::size_t>(program.work_blocks_);
  blocks_ = scratch.take_array<const T*>(leaves + constants + work + 1);
  T* memory = scratch.take_array<T>((constants + work) * kBlock + 1);
  work_ = memory + constants * kBlock;
  for (std::size_t i = 0; i < constants; ++i)
    std::fill_n(memory + i * kBlock, kBlock, program.constants_[i]);
  for (std::size_t i = 0; i < constants + work; ++i) blocks_[leaves + i] = memory + i * kBlock;
}

template <typename T>
void ChainInterpreter<T>::Frame::run(std::size_t count) {
  const std::size_t first = program_.leaves_.size() + program_.constants_.size();
  for (const Step& step : program_.steps_)
    step.loop(blocks_[step.a], blocks_[step.b], blocks_[step.c],
              work_ + (static_cast<std::size_t>(step.out) - first) * kBlock, count);
}

template <typename T>
const T* ChainInterpreter<T>::Frame::root(std::size_t number) const {
  return blocks_[program_.roots_[number]];
}

template class ChainInterpreter<float>;
template class ChainInterpreter<double>;

}  // namespace fuseplan::cpu
