// SPDX-License-Identifier: MIT
#include "plan/row_form.hpp"

#include <algorithm>

namespace fuseplan {
namespace {

/// Whether there is nothing along spatial axis `axis`: one pixel, one tap, no padding.
bool is_single(const Problem& problem, std::size_t axis) {
  const ConvOp& op = *problem.conv();
  return problem.input().lens[axis + 2] == 1 && problem.output().lens[axis + 2] == 1 &&
         op.weights.lens[axis + 2] == 1 && op.conv.pad_lo[axis] == 0 && op.conv.pad_hi[axis] == 0;
}

/// Moves the last spatial axis to the front of them.
class Rotation {
 public:
  explicit Rotation(int rank) : rank_(rank) {}

  void operator()(Tensor& tensor) const {
    if (tensor.rank() != rank_) return;  // parameters by channel may be of rank 1
    rotate(tensor.lens, 2);
    rotate(tensor.strides, 2);
    tensor.strides[2] = tensor.strides[3] * tensor.lens[3];  // leads nowhere; this looks packed
  }
  void operator()(Conv& conv) const {
    for (Dims* dims : {&conv.pad_lo, &conv.pad_hi, &conv.stride, &conv.dilation}) rotate(*dims, 0);
  }
  Op operator()(Op op) const {
    std::visit([&](auto& body) { (*this)(body); }, op.body);
    return op;
  }

 private:
  static void rotate(Dims& dims, std::ptrdiff_t first) {
    std::rotate(dims.begin() + first, dims.end() - 1, dims.end());
  }

  void operator()(ConvOp& op) const {
    (*this)(op.conv);
    (*this)(op.weights);
  }
  void operator()(BiasOp& op) const { (*this)(op.bias); }
  void operator()(NormOp& op) const { (*this)(op.params); }
  void operator()(ActivationOp&) const {}
  void operator()(AddOp& op) const { (*this)(op.other); }
  void operator()(ScaleShiftOp& op) const { (*this)(op.params); }
  void operator()(NormTrainingOp& op) const { (*this)(op.params); }
  void operator()(ActivationBackwardOp& op) const { (*this)(op.source); }
  void operator()(NormBackwardOp& op) const {
    (*this)(op.params);
    (*this)(op.source);
  }
  void operator()(StatisticsOp& op) const { (*this)(op.params); }

  int rank_;
};

Problem rotated(const Problem& problem) {
  const Rotation rotate(problem.input().rank());
  Tensor input = problem.input(), output = problem.output();
  rotate(input);
  rotate(output);
  std::vector<Op> ops;
  for (const Op& op : problem.ops()) ops.push_back(rotate(op));
  return {std::move(input), std::move(ops), std::move(output)};
}

}  // namespace

Problem row_form(const Problem& problem) {
  if (problem.conv() == nullptr) return problem;
  const auto axes = static_cast<std::size_t>(problem.input().spatial());
  std::size_t single = 0;  // of the last axes
  while (single < axes && is_single(problem, axes - 1 - single)) ++single;
  if (single == axes) return problem;
  Problem rows = problem;
  for (; single > 0; --single) rows = rotated(rows);
  return rows;
}

}  // namespace fuseplan
