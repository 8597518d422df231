// SPDX-License-Identifier: MIT
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

bool is_packed(const driver::TensorSpec& tensor) {
  return tensor.strides == driver::packed_strides(tensor.lens, false) ||
         tensor.strides == driver::packed_strides(tensor.lens, true);
}

void convert(driver::TensorSpec& tensor, fuseplanDataType_t type, bool channels_last) {
  tensor.type = type;
  if (is_packed(tensor)) tensor.strides = driver::packed_strides(tensor.lens, channels_last);
}

}  // namespace

ProblemSpec converted(ProblemSpec problem, fuseplanDataType_t type, bool channels_last) {
  convert(problem.input, type, channels_last);
  if (problem.output.rank() > 0) convert(problem.output, type, channels_last);
  for (driver::OpSpec& op : problem.ops) {
    const bool data = op.kind == driver::OpKind::conv || op.kind == driver::OpKind::add;
    if (data) convert(op.tensor, type, channels_last);
    if (op.kind == driver::OpKind::norm) convert(op.tensor, op.tensor.type, channels_last);
  }
  return problem;
}

void expect_right(const ProblemSpec& problem, const std::string& level,
                  const CaseOptions& options) {
  SCOPED_TRACE(driver::to_text(problem) + " at " + level + ", seed " + std::to_string(test_seed()) +
               ", stream " + std::to_string(options.stream));
  try {
    const Handle handle = handle_at(level);
    Case c(problem, options);
    c.compile(handle.get());
    c.execute(handle.get());
    const Comparison comparison = c.compare();
    EXPECT_TRUE(comparison.ok()) << comparison.describe();
    EXPECT_EQ(c.input().damage(), "");
  } catch (const driver::ApiError& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace fuseplan::test
