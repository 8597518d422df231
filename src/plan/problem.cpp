// SPDX-License-Identifier: MIT
#include "plan/problem.hpp"

#include <fmt/format.h>

#include "base/status.hpp"
#include "plan/overlap.hpp"
#include "plan/spelled.hpp"

namespace fuseplan {

Problem::Problem(Tensor input, std::vector<Op> ops, Tensor output)
    : ops_(std::move(ops)), output_(std::move(output)) {
  validate(input, "plan input");
  values_.push_back(std::move(input));
  std::vector<OpBody> before;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    require_place(op.body, before);
    before.push_back(op.body);
    require(!op.blend.beta || i + 1 == ops_.size(), Status::BadParm,
            "op {} ({}) blends the output with beta, but only the last op ({}) may", i,
            kind_of(op.body), ops_.size() - 1);
    values_.push_back(op_output(op.body, values_.back()));
  }
  if (output_.rank() == 0) output_ = values_.back();
  validate(output_, "plan output");
  require_storage(output_, "plan output");
  require(!may_overlap(output_), Status::BadParm,
          "plan output {} with strides {} has elements that share memory", Spelled{output_.lens},
          Spelled{output_.strides, ','});
  require(output_.lens == values_.back().lens, Status::BadParm, "plan output is {}, expected {}",
          Spelled{output_.lens}, Spelled{values_.back().lens});
}

int Problem::batch_op() const {
  for (std::size_t i = 0; i < ops_.size(); ++i)
    if (is_batch_op(ops_[i].body) && !std::holds_alternative<StatisticsOp>(ops_[i].body))
      return static_cast<int>(i);
  return -1;
}

const StatisticsOp* Problem::statistics() const {
  return ops_.empty() ? nullptr : std::get_if<StatisticsOp>(&ops_.back().body);
}

const ConvOp* Problem::conv() const {
  return ops_.empty() ? nullptr : std::get_if<ConvOp>(&ops_.front().body);
}

}  // namespace fuseplan
