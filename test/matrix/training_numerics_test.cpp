// SPDX-License-Identifier: MIT
// Training: statistics of data far from 0, and bits that do not depend on the number of threads.
#include <cstring>

#include "matrix.hpp"

namespace fuseplan::test {
namespace {

// Large enough for many tasks; small; of few channels; per activation.
const char* const kForward[] = {
    "f32:16x24x40x40:nchw;norm_training(spatial,f32:1x24x1x1,running);activation(relu)",
    "f32:7x19x6x5:nchw;norm_training(spatial,f32:1x19x1x1,running);activation(relu)",
    "f32:16x3x70x70:nchw;norm_training(spatial,f32:1x3x1x1,running);activation(relu)",
    "f32:64x5x13x7:nchw;norm_training(per_activation,f32:1x5x13x7,running);activation(relu)"};
const char* const kBackward[] = {
    "f32:16x24x40x40:nchw;activation_backward(tanh,f32:16x24x40x40);norm_backward(spatial,f32:"
    "1x24x1x1,f32:16x24x40x40)",
    "f32:16x3x70x70:nchw;activation_backward(relu,f32:16x3x70x70);norm_backward(spatial,f32:"
    "1x3x1x1,f32:16x3x70x70)",
    "f32:64x5x13x7:nchw;activation_backward(relu,f32:64x5x13x7);norm_backward(per_activation,f32:"
    "1x5x13x7,f32:64x5x13x7)"};

// Deviations of 1e-2 around 1e4: f32 holds ten steps of them, and sum(x^2) none.
TEST(TrainingNumerics, DataFarFromZeroDoNotCancel) {
  for (const char* text : kForward)
    for (const std::string& level : kLevels)
      for (bool channels_last : {false, true}) {
        const ProblemSpec problem =
            converted(driver::parse_problem(text), fuseplanFloat, channels_last);
        SCOPED_TRACE(driver::to_text(problem) + " at " + level);
        const Handle handle = handle_at(level);
        Case c(problem);
        Random random(1);
        random.fill(c.input(), 1e4 - 0.02, 1e4 + 0.02);
        c.compile(handle.get());
        c.execute(handle.get());
        const Comparison comparison = c.compare();
        EXPECT_TRUE(comparison.ok()) << comparison.describe();
      }
}

// Every 64th value is 300 times the others' size, some channels begin with one: a shift by the
// first value must not do harm either.
TEST(TrainingNumerics, Outliers) {
  for (const char* text : kForward)
    for (const std::string& level : kLevels) {
      const ProblemSpec problem = driver::parse_problem(text);
      SCOPED_TRACE(driver::to_text(problem) + " at " + level);
      const Handle handle = handle_at(level);
      Case c(problem);
      std::vector<double> values = c.input().values();
      for (std::size_t i = 0; i < values.size(); i += 64) values[i] *= 300;
      c.input().set_values(values);
      c.compile(handle.get());
      c.execute(handle.get());
      const Comparison comparison = c.compare();
      EXPECT_TRUE(comparison.ok()) << comparison.describe();
    }
}

std::vector<HostTensor> all_written(const ProblemSpec& problem, const std::string& level,
                                    int threads) {
  const Handle handle = handle_at(level);
  driver::check(fuseplanSetThreadCount(handle.get(), threads));
  Case c(problem);
  c.compile(handle.get());
  c.execute(handle.get());
  std::vector<HostTensor> written{c.output()};
  for (std::size_t i = 0; i < c.result_count(); ++i) written.push_back(c.result(i));
  return written;
}

void expect_same_bits(const ProblemSpec& problem, const std::string& level) {
  const std::vector<HostTensor> alone = all_written(problem, level, 1);
  ASSERT_GE(alone.size(), 3u);
  for (int threads : {2, 3, 4}) {
    const std::vector<HostTensor> many = all_written(problem, level, threads);
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_EQ(std::memcmp(alone[i].data(), many[i].data(), alone[i].bytes()), 0)
          << driver::to_text(problem) << " at " << level << ", tensor " << i << ", " << threads
          << " threads";
  }
}

TEST(TrainingNumerics, ThreadsDoNotChangeABit) {
  std::vector<std::string> texts(std::begin(kForward), std::end(kForward));
  texts.insert(texts.end(), std::begin(kBackward), std::end(kBackward));
  texts.push_back(
      "f32:6x32x40x40:nchw;conv(f32:40x32x3x3,pad=1x1);bias(f32:1x40x1x1);statistics(f32:"
      "1x40x1x1)");
  for (const std::string& text : texts)
    for (const std::string& level : kLevels)
      for (bool channels_last : {false, true})
        expect_same_bits(converted(driver::parse_problem(text), fuseplanFloat, channels_last),
                         level);
}

}  // namespace
}  // namespace fuseplan::test
