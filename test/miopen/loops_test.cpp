// SPDX-License-Identifier: MIT
// Pooling and softmax, written down from their definitions.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "world.hpp"

namespace fuseplan::test {
namespace {

constexpr Element kTypes[] = {Element::f32, Element::f16, Element::bf16};

struct Window {
  miopenPoolingMode_t mode;
  int size[2], pad[2], stride[2];
};

Bounded pooled(const HostTensor& x, const Window& window, const Dims& at) {
  double sum = 0, most = -std::numeric_limits<double>::infinity(), magnitude = 0;
  int inside = 0;
  for (int r = 0; r < window.size[0]; ++r)
    for (int s = 0; s < window.size[1]; ++s) {
      const std::int64_t row = at[2] * window.stride[0] - window.pad[0] + r,
                         column = at[3] * window.stride[1] - window.pad[1] + s;
      if (row < 0 || column < 0 || row >= x.dims()[2] || column >= x.dims()[3]) continue;
      const double value = x.get({at[0], at[1], row, column});
      sum += value;
      magnitude += std::fabs(value);
      most = std::max(most, value);
      ++inside;
    }
  if (window.mode == miopenPoolingMax) return {most};
  const int count = window.mode == miopenPoolingAverage ? inside : window.size[0] * window.size[1];
  return {sum / count, (inside + 2) * kUnit * magnitude / count};
}

TEST(Pooling, EveryModeTypeAndLayout) {
  Random random;
  Handle handle;
  for (const Element type : kTypes)
    for (const bool last : {false, true})
      for (const Window& window : {Window{miopenPoolingMax, {3, 3}, {1, 1}, {2, 2}},
                                   {miopenPoolingAverage, {3, 2}, {1, 0}, {2, 3}},
                                   {miopenPoolingAverageInclusive, {2, 3}, {1, 2}, {1, 2}}}) {
        const Dims dims{2, 5, 9, 8};
        const HostTensor x =
            random_tensor(type, dims, last ? channels_last(dims) : channels_first(dims), random);
        PoolDesc desc;
        ASSERT_TRUE(ok(miopenSet2dPoolingDescriptor(desc, window.mode, window.size[0],
                                                    window.size[1], window.pad[0], window.pad[1],
                                                    window.stride[0], window.stride[1])));
        int n, c, h, w;
        std::size_t bytes = 77;
        ASSERT_TRUE(ok(miopenGetPoolingForwardOutputDim(desc, describe(x), &n, &c, &h, &w)));
        const Dims out{n, c, h, w};
        HostTensor y(type, out, last ? channels_last(out) : channels_first(out));
        ASSERT_TRUE(ok(miopenPoolingGetWorkSpaceSize(describe(y), &bytes)));
        EXPECT_EQ(bytes, 0u);
        ASSERT_TRUE(ok(miopenPoolingForward(handle, desc, nullptr, describe(x), x.data(), nullptr,
                                            describe(y), y.data(), false, nullptr, 0)));
        ReferenceResult expected{out, {}};
        Dims at(4, 0);
        do expected.values.push_back(pooled(x, window, at));
        while (advance(at, out));
        EXPECT_TRUE(is_close(y, expected)) << "mode " << window.mode;
      }
}

TEST(Pooling, LengthsAndRefusals) {
  Handle handle;
  PoolDesc desc;
  int h = 0, w = 0, stride = 0;
  ASSERT_TRUE(ok(miopenSet2dPoolingDescriptor(desc, miopenPoolingMax, 3, 2, 1, 0, 2, 5)));
  ASSERT_TRUE(ok(miopenGet2dPoolingDescriptor(desc, nullptr, nullptr, nullptr, nullptr, nullptr,
                                              nullptr, &stride)));
  EXPECT_EQ(stride, 5);
  const TensorDesc x = describe(miopenFloat, {1, 1, 112, 12}),
                   y = describe(miopenFloat, {1, 1, 5, 5});
  ASSERT_TRUE(ok(miopenGetPoolingForwardOutputDim(desc, x, nullptr, nullptr, &h, &w)));
  EXPECT_EQ(h, 56);
  EXPECT_EQ(w, 3);
  EXPECT_EQ(miopenSet2dPoolingDescriptor(desc, miopenPoolingMax, 3, 3, 3, 1, 1, 1),
            miopenStatusBadParm);
  float data[1344] = {};
  EXPECT_TRUE(refused(
      miopenPoolingForward(handle, desc, nullptr, x, data, nullptr, y, data, false, nullptr, 0),
      miopenStatusBadParm, "yDesc"));
}

TEST(Softmax, OverChannelsAndOverInstances) {
  Random random;
  Handle handle;
  const Dims dims{3, 7, 2, 4};
  for (const Element type : kTypes)
    for (const bool last : {false, true})
      for (const auto mode : {MIOPEN_SOFTMAX_MODE_CHANNEL, MIOPEN_SOFTMAX_MODE_INSTANCE})
        for (const auto algorithm : {MIOPEN_SOFTMAX_ACCURATE, MIOPEN_SOFTMAX_LOG}) {
          const HostTensor x = random_tensor(
              type, dims, last ? channels_last(dims) : channels_first(dims), random, -60, 120);
          HostTensor y = x.like();
          ASSERT_TRUE(ok(miopenSoftmaxForward_V2(handle, nullptr, describe(x), x.data(), nullptr,
                                                 describe(x), y.data(), algorithm, mode)));
          ReferenceResult expected{dims, {}};
          Dims at(4, 0);
          do {
            // log(sum(exp(x - x[at]))) over the group of `at`: minus the logarithm of its softmax.
            double sum = 0;
            Dims other(4, 0);
            do {
              const bool together = other[0] == at[0] && (mode == MIOPEN_SOFTMAX_MODE_INSTANCE ||
                                                          (other[2] == at[2] && other[3] == at[3]));
              if (together) sum += std::exp(x.get(other) - x.get(at));
            } while (advance(other, dims));
            const bool logarithm = algorithm == MIOPEN_SOFTMAX_LOG;
            const double value = logarithm ? -std::log(sum) : 1 / sum;
            expected.values.push_back(
                {value, (logarithm ? 512 : 512 * std::fabs(value)) * kUnit + kFlush});
          } while (advance(at, dims));
          EXPECT_TRUE(is_close(y, expected)) << "mode " << mode << ", algorithm " << algorithm;
        }
}

TEST(Softmax, BlendsAndHasAnOlderForm) {
  Random random;
  Handle handle;
  const HostTensor x = random_tensor(Element::f32, {2, 4, 1, 1}, random);
  HostTensor y = random_tensor(Element::f32, {2, 4, 1, 1}, random), one = y.like();
  const HostTensor before = y;
  const float alpha = 3, beta = 0.5f;
  const TensorDesc desc = describe(x);
  ASSERT_TRUE(ok(miopenSoftmaxForward(handle, nullptr, desc, x.data(), nullptr, desc, one.data())));
  ASSERT_TRUE(ok(miopenSoftmaxForward(handle, &alpha, desc, x.data(), &beta, desc, y.data())));
  double sum = 0;
  for (std::int64_t c = 0; c < 4; ++c) {
    sum += one.get({1, c, 0, 0});
    EXPECT_NEAR(y.get({1, c, 0, 0}), 3 * one.get({1, c, 0, 0}) + 0.5 * before.get({1, c, 0, 0}),
                1e-6);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(Softmax, RunsInTheChildOfAFork) {
  Random random;
  Handle handle;
  const HostTensor x = random_tensor(Element::f32, {64, 16, 32, 32}, random);
  HostTensor y = x.like(), again = x.like();
  const TensorDesc desc = describe(x);
  const auto run = [&](HostTensor& to) {
    return miopenSoftmaxForward(handle, nullptr, desc, x.data(), nullptr, desc, to.data());
  };
  ASSERT_TRUE(ok(run(y)));  // the parent's OpenMP pool exists
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    const bool right = run(again) == miopenStatusSuccess && again.values() == y.values();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

}  // namespace
}  // namespace fuseplan::test
