// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "base/status.hpp"
#include "plan/problem.hpp"

namespace fuseplan {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// Runs `call`, which must throw, and returns "<status name>: <message>".
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(status_name(error.status())) + ": " + error.what();
  }
  return "accepted";
}

void expect_error(const std::string& error, const char* status, const char* part) {
  EXPECT_TRUE(error.starts_with(status)) << error;
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(PlanTensor, LayoutIsReadOffTheStrides) {
  EXPECT_EQ(parse_tensor("f32:2x3x4x5:nchw").layout(), Layout::channels_first);
  EXPECT_EQ(parse_tensor("f32:2x3x4x5:nhwc").layout(), Layout::channels_last);
  EXPECT_EQ(parse_tensor("f32:2x3x4x5x6:ndhwc").strides, (Dims{360, 1, 90, 18, 3}));
  EXPECT_EQ(parse_tensor("f32:2x3x4x5:s60,1,15,3").layout(), Layout::channels_last);
  EXPECT_EQ(parse_tensor("f32:2x3x4x5:s64,1,15,3").layout(), Layout::strided);
  // The stride of an axis of length 1 is never used.
  EXPECT_EQ(parse_tensor("f32:1x3x4x5:s999,20,5,1").layout(), Layout::channels_first);
  EXPECT_EQ(parse_tensor("f32:2x1x4x5:nhwc").layout(), Layout::channels_last);
}

TEST(PlanTensor, BytesReachToTheLastElement) {
  EXPECT_EQ(parse_tensor("f32:2x3x4x5").bytes(), 480u);
  EXPECT_EQ(parse_tensor("f16:2x3x4x5:s100,30,7,1").bytes(), 2u * (1 + 100 + 60 + 21 + 4));
}

TEST(PlanTensor, OtherLengthsKeepTheOrderOfAxes) {
  const Tensor strided = parse_tensor("bf16:2x3x4x5:s70,1,17,3");
  EXPECT_EQ(to_text(with_lens(strided, {2, 8, 6, 5})), "bf16:2x8x6x5:nhwc");
  EXPECT_EQ(to_text(with_lens(parse_tensor("f32:2x3x4x5:s1,2,8,40"), {3, 3, 2, 2})),
            "f32:3x3x2x2:s1,3,9,18");
}

TEST(PlanTensor, WhatCannotBeIsRefused) {
  const auto refused = [](Tensor tensor, const char* part) {
    expect_error(error_of([&] { validate(tensor, "the tensor"); }), "fuseplanStatusBadParm", part);
  };
  refused({DType::f32, {}, {}}, "expected 1 to 5 dimensions");
  refused({DType::f32, {2, 2}, {1}}, "got 2 and 1");
  refused({static_cast<DType>(77), {2}, {1}}, "77 is no data type");
  refused({DType::f32, {2, 0}, {1, 1}}, "dimension 1 has length 0");
  refused({DType::f32, {2, -3}, {1, 1}}, "dimension 1 has length -3");
  refused({DType::f32, {2, 3}, {1, 0}}, "stride 0");
  refused({DType::f32, {kHuge}, {1}}, "spans more");
  refused({DType::f32, {2, 2}, {1, kHuge}}, "spans more");
  refused({DType::f32, {kHuge, kHuge, kHuge}, {kHuge, kHuge, kHuge}}, "spans more");
  refused({DType::f32, {1 << 30, 1 << 30, 1 << 30}, {1, 1, 1}}, "elements");
  // The widest type still fits at the limit, and bytes() does not wrap.
  const Tensor largest{DType::f64, {(kHuge / 8)}, {1}};
  validate(largest, "largest");
  EXPECT_EQ(largest.bytes(), static_cast<std::size_t>(kHuge / 8) * 8);
}

// What a packed tensor of these lengths would be is not asked, only that nothing overflows.
TEST(PlanTensor, NegativeLengthsAreRefusedInEveryLayout) {
  for (const char* lens : {"2x-3x4x5", "2x3x4x-5", "2x-9223372036854775808x4x-9223372036854775808",
                           "-1x9223372036854775807x-9223372036854775808x-1"})
    for (const char* layout : {"nchw", "nhwc"}) {
      const std::string text = std::string("f32:") + lens + ":" + layout;
      expect_error(error_of([&] { parse_tensor(text); }), "fuseplanStatusBadParm", "-");
      for (const std::int64_t stride :
           packed_strides(parse_dims(lens), layout == std::string("nchw") ? Layout::channels_first
                                                                          : Layout::channels_last))
        EXPECT_GT(stride, 0) << text;
    }
}

struct ConvCase {
  const char *input, *conv, *output;
};

TEST(PlanConv, OutputShapes) {
  constexpr ConvCase kCases[] = {
      {"f32:1x3x224x224", "f32:64x3x7x7,pad=3x3,stride=2x2", "f32:1x64x112x112:nchw"},
      {"f32:2x8x7x9:nhwc", "f32:4x8x3x2:nhwc", "f32:2x4x5x8:nhwc"},
      {"f16:2x8x7x9", "f16:8x1x3x3,pad=1x1,groups=8", "f16:2x8x7x9:nchw"},
      {"f32:1x4x10x10", "f32:6x2x3x3,dilation=4x3,groups=2", "f32:1x6x2x4:nchw"},
      {"f32:1x4x5x5", "f32:4x4x3x3,pad=0x1,pad_hi=2x3,stride=3x2", "f32:1x4x2x4:nchw"},
      {"bf16:1x2x4x5x6:ndhwc", "bf16:3x2x2x3x1:ndhwc,pad=1x0x2", "bf16:1x3x5x3x10:ndhwc"},
      {"f32:3x2x9", "f32:5x2x4,stride=5", "f32:3x5x2:nchw"},
      {"f32:1x1x1x1", "f32:1x1x5x5,pad=2x2", "f32:1x1x1x1:nchw"},
      {"f32:1x2x4x4:s64,32,8,2", "f32:3x2x1x1", "f32:1x3x4x4:nchw"},
  };
  for (const ConvCase& row : kCases) {
    SCOPED_TRACE(std::string(row.input) + " " + row.conv);
    const Problem problem = parse_problem(std::string(row.input) + ";conv(" + row.conv + ")");
    EXPECT_EQ(to_text(problem.output()), row.output);
  }
}

TEST(PlanConv, WhatDoesNotFitIsRefused) {
  constexpr ConvCase kCases[] = {
      {"f32:1x4x9x9", "f32:8x3x3x3", "weights need 4/1 input channels, got 3"},
      {"f32:1x4x9x9", "f32:8x4x3x3,groups=3", "4 channels in 3 groups"},
      {"f32:1x4x9x9", "f32:7x2x3x3,groups=2", "7 filters cannot be divided into 2 groups"},
      {"f32:1x4x9x9", "f16:8x4x3x3", "input is f32 and weights are f16"},
      {"f32:1x4x9x9", "f32:8x4x3x10", "length 10"},
      {"f32:1x4x9x9", "f32:8x4x3x3,dilation=1x5", "dilated: 11"},
      {"f32:1x4x9x9", "f32:8x4x3x3,stride=0x1", "stride of axis 0 is 0"},
      {"f32:1x4x9x9", "f32:8x4x3x3,pad=1x-1", "padding of axis 1 is -1"},
      {"f32:1x4x9x9", "f32:8x4x3x3,dilation=1x0", "dilation of axis 1 is 0"},
      {"f32:1x4x9x9", "f32:8x4x3x3,groups=0", "group count is 0"},
      {"f32:1x4x9x9", "f32:8x4x3x3,groups=1073741825", "group count is 1073741825"},
      {"f32:1x4x9x9", "f32:8x4x3x3,pad=1x1x1", "it has padding of 3, strides of 2"},
      {"f32:1x4x9x9", "f32:8x4x3x3,dilation=1", "it has dilations of 1, strides of 2"},
      {"f32:1x4x9x9", "f32:8x4x3", "rank"},
      {"f32:1x4", "f32:8x4", "1 to 3 axes"},
      {"i32:1x4x9x9", "i32:8x4x3x3", "i32, expected f32, f16, bf16, i8 or u8"},
      {"u8:1x4x9x9", "u8:8x4x3x3", "input is u8 and weights are u8, expected i8"},
      {"f32:1x4x9x9", "i8:8x4x3x3", "input is f32 and weights are i8"},
      {"i8:1x65794x1x1", "i8:2x65794x1x1", "sums 65794 products"},
      {"f32:1x1x4x4", "f32:1x1x1x8589934592,pad=0x1073741824,dilation=1x1073741824",
       "expected less than 2^31"},
      {"f32:1x1x4x4", "f32:1x1x1x1,pad=9223372036854775807x0", "padding of axis 0"},
      {"f32:2147483648x1x1x1", "f32:2147483648x1x1x1,pad=1073741823x1073741823", "elements"},
  };
  for (const ConvCase& row : kCases) {
    SCOPED_TRACE(std::string(row.input) + " " + row.conv);
    const std::string text = std::string(row.input) + ";conv(" + row.conv + ")";
    expect_error(error_of([&] { parse_problem(text); }), "fuseplanStatusBadParm", row.output);
  }
}

TEST(PlanOps, ShapesAreCheckedAtOnce) {
  constexpr struct {
    const char *text, *part;
  } kCases[] = {
      {"f32:2x4x5x5;bias(f32:1x5x1x1)", "bias is 1x5x1x1, expected 1x4x1x1"},
      {"f32:2x4x5x5;bias(f32:5)", "expected 1x4x1x1"},
      {"f32:2x4x5x5;bias(i32:4)", "bias is i32"},
      {"i8:2x4x5x5;scale_shift(i8:4)", "scale and shift is i8, expected f32, f16 or bf16"},
      {"f32:2x4x5x5;norm(per_activation,u8:1x4x5x5)", "parameters is u8"},
      {"f32:2x4x5x5;add(i32:2x4x5x5)", "added tensor is i32"},
      {"f32:2x4x5x5;statistics(f32:5)", "tensor of statistics is 5, expected 1x4x1x1"},
      {"f32:2x4x5x5;statistics(f16:4)", "tensor of statistics is f16, expected f32"},
      {"u8:2x4x5x5;activation(relu)->i32:2x4x5x5", "plan output is i32"},
      {"f32:2x4x5x5;norm(spatial,f32:1x4x5x5)", "expected 1x4x1x1"},
      {"f32:2x4x5x5;norm(per_activation,f32:2x4x5x5)", "expected 1x4x5x5"},
      {"f32:2x4x5x5;add(f32:2x4x5x4)", "added tensor is 2x4x5x4"},
      {"f32:2x4x5x5;add(f32:4x5x5)", "added tensor is 4x5x5"},
      {"f32:2x4x5x5;scale_shift(f32:1x1x1x1)", "scale and shift is 1x1x1x1"},
      {"f32:7;activation(relu)", "rank 1"},
      {"f32:2x4x5x5;activation(relu,beta);bias(f32:4)", "op 0 (activation) blends"},
      {"f32:2x4x5x5;activation(relu)->f32:2x4x5x6", "plan output is 2x4x5x6, expected 2x4x5x5"},
      {"f32:2x4x5x5;activation(relu)->f32:2x4x5x5:s1,1,1,1", "share memory"},
  };
  for (const auto& [text, part] : kCases) {
    SCOPED_TRACE(text);
    expect_error(error_of([text = text] { parse_problem(text); }), "fuseplanStatusBadParm", part);
  }
  expect_error(error_of([] { parse_problem("f32:2x4x5x5;bias(f32:4);conv(f32:4x4x1x1)"); }),
               "fuseplanStatusUnsupportedOp", "op 1 is a convolution");
  expect_error(error_of([] { op_output(ActivationOp{Activation(42)}, parse_tensor("f32:1x2")); }),
               "fuseplanStatusBadParm", "42 is no activation mode");
  expect_error(error_of([] {
                 op_output(NormOp{NormMode(7), parse_tensor("f32:2")}, parse_tensor("f32:1x2"));
               }),
               "fuseplanStatusBadParm", "mode 7");
}

TEST(PlanOps, EachOpSeesTheValueBeforeIt) {
  const Problem problem = parse_problem(
      "f32:2x4x5x5:nhwc;conv(f32:6x4x3x3);bias(f32:6);add(f32:1x6x1x3)->f16:2x6x3x3:nchw");
  ASSERT_NE(problem.conv(), nullptr);
  EXPECT_EQ(to_text(problem.input_of(0)), "f32:2x4x5x5:nhwc");
  EXPECT_EQ(to_text(problem.output_of(0)), "f32:2x6x3x3:nhwc");
  EXPECT_EQ(to_text(problem.output_of(2)), "f32:2x6x3x3:nhwc");
  EXPECT_EQ(to_text(problem.output()), "f16:2x6x3x3:nchw");
}

TEST(PlanOps, EightBitIntegersBecomeF32) {
  for (const char* input : {"i8", "u8"}) {
    const std::string text =
        std::string(input) + ":2x4x5x5:nhwc;conv(i8:6x4x3x3);scale_shift(f32:6);add(u8:2x6x3x3)";
    const Problem problem = parse_problem(text);
    EXPECT_EQ(to_text(problem.output_of(0)), "f32:2x6x3x3:nhwc");
    EXPECT_EQ(to_text(problem.output()), "f32:2x6x3x3:nhwc");
    const Problem requantised = parse_problem(text + "->i8:2x6x3x3:nchw");
    EXPECT_EQ(to_text(requantised.output()), "i8:2x6x3x3:nchw");
    EXPECT_EQ(parse_problem(to_text(requantised)), requantised);
  }
  EXPECT_EQ(to_text(parse_problem("i8:2x4x5x5;activation(abs)").output()), "f32:2x4x5x5:nchw");
  // The longest sum that 32 bits hold for certain.
  EXPECT_NO_THROW(parse_problem("u8:1x65793x1x1;conv(i8:1x65793x1x1)"));
}

TEST(PlanOps, ActivationNamesReadBack) {
  for (const ActivationInfo& info : all_activations())
    EXPECT_EQ(parse_activation(info.text), info.mode) << info.text;
  EXPECT_EQ(parse_activation("swish"), std::nullopt);
}

}  // namespace
}  // namespace fuseplan
