// SPDX-License-Identifier: MIT
// Where an output may lie: in place, beside what is read, and nowhere else.
#include <cstring>
#include <memory>

#include "matrix.hpp"

namespace fuseplan::test {
namespace {

void execute(const Handle& handle, Case& c, const void* input, void* output) {
  driver::check(fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), input, c.output_desc(),
                                    output, c.args()));
}

void expect_refused(const Handle& handle, Case& c, const void* input, void* output,
                    const std::string& reason) {
  EXPECT_EQ(fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), input, c.output_desc(),
                                output, c.args()),
            fuseplanStatusBadParm)
      << reason;
  const std::string message = fuseplanGetLastErrorMessage();
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

/// The parameter that is of the output's kind.
HostTensor& element_by_element(Case& c) {
  std::size_t i = 0;
  while (c.parameter(i).dims() != c.output().dims()) ++i;
  return c.parameter(i);
}

TEST(Output, LiesInPlaceOfTheInput) {
  for (const std::string& level : kLevels)
    for (const char* layout : {"nchw", "nhwc"}) {
      const Handle handle = handle_at(level);
      Case c(driver::parse_problem(std::string("f32:2x19x9x9:") + layout +
                                   ";norm(spatial,f32:1x19x1x1);activation(gelu_tanh)"));
      c.compile(handle.get());
      (void)c.reference();
      c.output().set_values(c.input().values());
      execute(handle, c, c.output().data(), c.output().data());
      EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
    }
}

TEST(Output, LiesInPlaceOfWhatIsReadByElement) {
  for (const std::string& level : kLevels)
    for (const char* type : {"f32", "f16"})
      for (const char* layout : {"nchw", "nhwc"})
        for (const char* ops :
             {"add(@);activation(silu)", "norm_training(spatial,f32:1x19x1x1);add(@)",
              "activation_backward(tanh,@);scale_shift(f32:1x19x1x1)",
              "norm_backward(spatial,f32:1x19x1x1,@)"}) {
          const std::string tensor = std::string(type) + ":3x19x11x9:" + layout;
          std::string text = tensor + ";" + ops;
          text.replace(text.find('@'), 1, tensor);
          SCOPED_TRACE(text + " at " + level);
          const Handle handle = handle_at(level);
          Case c(driver::parse_problem(text));
          c.compile(handle.get());
          (void)c.reference();
          HostTensor& shared = element_by_element(c);
          execute(handle, c, c.input().data(), shared.data());
          c.output().set_values(shared.values());
          EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
        }
}

TEST(Output, IsRefusedOverTheInputOtherwise) {
  const Handle handle = handle_at("amx");
  Case conv(driver::parse_problem("f32:1x8x6x6:nchw;conv(f32:8x8x1x1)"));
  conv.compile(handle.get());
  expect_refused(handle, conv, conv.input().data(), conv.input().data(), "overlaps input memory");
  Case chain(driver::parse_problem("f32:1x8x6x6:nchw;activation(relu)"));
  chain.compile(handle.get());
  expect_refused(handle, chain, static_cast<float*>(chain.output().data()) + 1,
                 chain.output().data(), "overlaps input memory");
}

// Channels 0 to c - 1 and c to c + k - 1 of one buffer, in either layout, as DenseNet's layers
// have.
void expect_slices_right(const std::string& level, const std::string& strides) {
  const Handle handle = handle_at(level);
  Case c(driver::parse_problem("f32:2x20x9x7:s" + strides + ";conv(f32:12x20x3x3,pad=1x1);" +
                               "bias(f32:1x12x1x1);activation(relu)->f32:2x12x9x7:s" + strides));
  c.compile(handle.get());
  // Strides of one channel and of one image; the pitch is 40 channels.
  const std::int64_t channel = c.problem().input.strides[1], image = c.problem().input.strides[0];
  std::vector<float> buffer(static_cast<std::size_t>(2 * image), -7.0f);
  const auto* input = static_cast<const float*>(c.input().data());
  auto* output = static_cast<float*>(c.output().data());
  const auto copy = [&](std::int64_t channels, const float* from, float* to) {
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t k = 0; k < channels; ++k)
        for (std::int64_t pixel = 0; pixel < 63; ++pixel) {
          const std::int64_t at = n * image + k * channel + pixel * (channel == 1 ? 40 : 1);
          to[at] = from[at];
        }
  };
  copy(20, input, buffer.data());
  float* const slice = buffer.data() + 20 * channel;
  driver::check(fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), buffer.data(),
                                    c.output_desc(), slice, c.args()));
  copy(12, slice, output);
  EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
  EXPECT_EQ(std::count(buffer.begin(), buffer.end(), -7.0f), 2 * 8 * 63);
}

TEST(Output, WritesASliceOfTheBufferItReads) {
  for (const std::string& level : kLevels) {
    expect_slices_right(level, "2520,1,280,40");
    expect_slices_right(level, "2520,63,7,1");
  }
}

}  // namespace
}  // namespace fuseplan::test
