// SPDX-License-Identifier: MIT
// Quantised plans: every shape that breaks kernels, and the extremes of 8-bit arithmetic.
#include <limits>

#include "matrix.hpp"
#include "support/shapes.hpp"

namespace fuseplan::test {
namespace {

std::string tensor(const std::string& type, const Dims& dims, const std::string& layout) {
  return type + ":" + to_text(dims) + ":" + layout;
}
std::string pair(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + "x" + std::to_string(b);
}

std::string conv_text(const ConvProblem& row, const std::string& type, const std::string& layout) {
  return tensor(type, {row.n, row.c, row.h, row.w}, layout) + ";conv(" +
         tensor("i8", {row.k, row.c / row.groups, row.r, row.s}, layout) +
         ",pad=" + pair(row.pad_h, row.pad_w) + ",stride=" + pair(row.stride_h, row.stride_w) +
         ",dilation=" + pair(row.dil_h, row.dil_w) + ",groups=" + std::to_string(row.groups) + ")";
}

class ByteOddities : public testing::TestWithParam<ConvProblem> {};

TEST_P(ByteOddities, InEveryTypeAndLayout) {
  const ConvProblem& row = GetParam();
  const std::string channel = tensor("f32", {1, row.k, 1, 1}, "nchw");
  const std::string outputs[] = {"u8", "i8", "f32", "bf16"};
  std::uint64_t stream = 0;
  for (const std::string& level : kByteLevels)
    for (const char* type : {"u8", "i8"})
      for (const char* layout : {"nchw", "nhwc"}) {
        const std::string conv = conv_text(row, type, layout);
        const Dims lens = driver::parse_problem(conv).output_lens();
        const std::string& out = outputs[++stream % 4];
        const CaseOptions options{.stream = stream, .misalign = static_cast<int>(stream % 5)};
        expect_right(driver::parse_problem(conv + ";scale_shift(" + channel + ");add(" +
                                           tensor(out, lens, layout) + ");activation(relu)->" +
                                           tensor(out, lens, layout)),
                     level, options);
        expect_right(driver::parse_problem(conv), level, options);
      }
}

INSTANTIATE_TEST_SUITE_P(List, ByteOddities, testing::ValuesIn(read_conv_problems("oddities.csv")),
                         [](const testing::TestParamInfo<ConvProblem>& info) {
                           return "row" + std::to_string(info.index) + "_" + info.param.name;
                         });

// Sums at the ends of what 8-bit products give: any saturation on the way shows.
TEST(Bytes, ExtremesAreExact) {
  const struct {
    const char* type;
    double input, weight;
  } kCases[] = {{"u8", 255, 127},  {"u8", 255, -128}, {"i8", -128, -128},
                {"i8", 127, -128}, {"i8", -128, 127}, {"u8", 0, -128}};
  for (const std::string& level : kByteLevels)
    for (const auto& row : kCases)
      for (const char* rest :
           {":1x64x9x11:nhwc;conv(i8:40x64x3x3,pad=1x1)", ":2x33x7x7:nchw;conv(i8:18x33x1x1)",
            ":1x7x19x9:nhwc;conv(i8:5x7x5x3,pad=3x2,dilation=2x1)",
            ":1x16x9x9:nchw;conv(i8:16x1x3x3,pad=1x1,groups=16)",
            // As many products as f32 certainly sums exactly.
            ":1x9x4x266:nchw;conv(i8:9x1x2x257,groups=9)",
            ":1x9x4x266:nhwc;conv(i8:9x1x2x257,groups=9)"}) {
        const std::string text = std::string(row.type) + rest;
        SCOPED_TRACE(text + " at " + level);
        const Handle handle = handle_at(level);
        Case c(driver::parse_problem(text));
        c.input().fill(row.input);
        c.parameter(0).fill(row.weight);
        c.compile(handle.get());
        c.execute(handle.get());
        std::size_t i = 0;
        for (double value : c.output().values())
          ASSERT_EQ(value, c.reference().values[i++].value) << "element " << i - 1;
      }
}

// More products of a small group than f32 sums exactly: -128 and -127 in turn.
TEST(Bytes, LongSumsOfSmallGroupsAreExact) {
  for (const std::string& level : kByteLevels)
    for (const char* layout : {"nchw", "nhwc"}) {
      SCOPED_TRACE(std::string(layout) + " at " + level);
      const Handle handle = handle_at(level);
      Case c(driver::parse_problem("u8:1x9x3x1007:" + std::string(layout) +
                                   ";conv(i8:9x1x2x1000,groups=9)"));
      c.input().fill(255);
      c.parameter(0).fill(-128);
      for (int channel = 0; channel < 9; ++channel)
        for (int row = 0; row < 2; ++row)
          for (int column = 0; column < 1000; column += 2)
            c.parameter(0).set({channel, 0, row, column}, -127);
      c.compile(handle.get());
      c.execute(handle.get());
      for (double value : c.output().values())
        ASSERT_EQ(value, static_cast<float>(-255 * 1000 * (127 + 128)));
    }
}

// A sum that neither 24 bits of a float nor 16 bits of an integer hold on the way.
TEST(Bytes, TheLongestSumIsExact) {
  for (const std::string& level : kByteLevels)
    for (const char* layout : {"nchw", "nhwc"}) {
      const Handle handle = handle_at(level);
      Case c(
          driver::parse_problem("u8:1x65793x1x3:" + std::string(layout) + ";conv(i8:3x65793x1x1)"));
      c.input().fill(255);
      c.parameter(0).fill(-128);
      c.parameter(0).set({2, 0, 0, 0}, 127);
      c.compile(handle.get());
      c.execute(handle.get());
      EXPECT_EQ(c.output().get({0, 0, 0, 0}), -2147483520.0) << level;
      EXPECT_EQ(c.output().get({0, 2, 0, 2}), static_cast<float>(-2147483520.0 + 255 * 255));
    }
}

TEST(Bytes, StoresRoundToEvenAndSaturate) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0,     -0.0,      0.5,        -0.5,  1.5,   2.5,     -1.5,
                                      126.5, 127.49,    127.5,      128.5, 254.5, 255.499, 255.5,
                                      256,   -127.5,    -128.5,     -129,  3e9,   -3e9,    1e30,
                                      -1e30, kInfinity, -kInfinity, kNan,  -kNan, 1e-40};
  const std::string count = std::to_string(values.size());
  for (const std::string& level : kByteLevels)
    for (const char* type : {"i8", "u8"})
      for (const char* layout : {"nchw", "nhwc"}) {
        SCOPED_TRACE(std::string(type) + " " + layout + " at " + level);
        const Handle handle = handle_at(level);
        const std::string shape = std::string(":3x5x1x") + count + ":" + layout;
        Case c(driver::parse_problem("f32" + shape + ";activation(pasthru)->" + type + shape));
        std::vector<double> all;
        while (all.size() < static_cast<std::size_t>(c.input().elements()))
          all.insert(all.end(), values.begin(), values.end());
        c.input().set_values(all);
        c.compile(handle.get());
        c.execute(handle.get());
        std::vector<double> expected;
        for (double value : all) expected.push_back(stored(c.output().type(), value));
        EXPECT_EQ(c.output().values(), expected);
        EXPECT_EQ(c.output().damage(), "");
      }
}

TEST(Bytes, BlendWithIntegers) {
  const char* const kTexts[] = {
      "u8:2x19x9x7:nhwc;conv(i8:21x19x3x3,pad=1x1);scale_shift(f32:1x21x1x1)->i8:2x21x9x7:nhwc",
      ("i8:2x19x9x7:nchw;conv(i8:40x19x1x1);scale_shift(f32:1x40x1x1);bias(f16:1x40x1x1)"
       "->u8:2x40x9x7:nchw"),
      "i8:2x19x9x7:nchw;scale_shift(f32:1x19x1x1);add(u8:2x19x9x7)->u8:2x19x9x7:nchw",
      "u8:2x35x3x3:nhwc;norm(spatial,f32:1x35x1x1);activation(tanh)",
      "f16:2x35x5x3:nhwc;norm(spatial,f32:1x35x1x1);add(i8:1x35x1x1)->i8:2x35x5x3:nhwc",
      "f32:1x24x9x9:nchw;conv(f32:20x24x3x3);scale_shift(f32:1x20x1x1)->u8:1x20x7x7:nchw",
  };
  for (const std::string& level : kByteLevels)
    for (const char* text : kTexts)
      for (bool blend : {false, true})
        expect_right(driver::parse_problem(text), level, {.stream = 5, .blend = blend});
}

}  // namespace
}  // namespace fuseplan::test
