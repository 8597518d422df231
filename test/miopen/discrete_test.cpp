// SPDX-License-Identifier: MIT
// Single operations, against the oracle.
#include <algorithm>
#include <cmath>
#include <limits>

#include "world.hpp"

namespace fuseplan::test {
namespace {

/// x, w, y of a 3x3 convolution, alone.
struct Convolve {
  explicit Convolve(Random& random, Element type = Element::f32)
      : all(random, type), expected(run_reference(all.x, std::vector<Step>{step()})) {}
  Step step(double alpha = 1, double beta = 0) const {
    return {Convolution{&all.w, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, alpha, beta};
  }
  miopenStatus_t forward(miopenHandle_t handle, int algo, const void* alpha = nullptr,
                         const void* beta = nullptr) {
    return miopenConvolutionForward(
        handle, alpha, all.x_desc, all.x.data(), all.w_desc, all.w.data(), all.conv_desc,
        static_cast<miopenConvFwdAlgorithm_t>(algo), beta, all.y_desc, all.y.data(), nullptr, 0);
  }

  ConvBiasAct all;
  ReferenceResult expected;
};

TEST(Discrete, ConvolutionWithoutAFindForAnyAlgorithm) {
  Random random;
  Handle handle;
  Convolve c(random);
  for (const int algo : {0, 1, 2, 3, 5, -1, 99}) {
    c.all.y = c.all.y.like();
    ASSERT_TRUE(ok(c.forward(handle, algo))) << algo;
    EXPECT_TRUE(is_close(c.all.y, c.expected)) << algo;
  }
}

TEST(Discrete, ConvolutionHonoursItsScalars) {
  Random random;
  Handle handle;
  Convolve c(random);
  random.fill(c.all.y);
  const HostTensor before = c.all.y;
  const float alpha = 0.5f, beta = -2;
  ASSERT_TRUE(ok(c.forward(handle, 1, &alpha, &beta)));
  EXPECT_TRUE(
      is_close(c.all.y, run_reference(c.all.x, std::vector<Step>{c.step(0.5, -2)}, &before)));
}

TEST(Discrete, FindTimesWhatForwardRuns) {
  Random random;
  Handle handle;
  Convolve c(random);
  miopenConvAlgoPerf_t found[4];
  int count = 0;
  std::size_t bytes = 77;
  ASSERT_TRUE(ok(miopenConvolutionForwardGetWorkSpaceSize(handle, c.all.w_desc, c.all.x_desc,
                                                          c.all.conv_desc, c.all.y_desc, &bytes)));
  EXPECT_EQ(bytes, 0u);
  ASSERT_TRUE(ok(miopenFindConvolutionForwardAlgorithm(
      handle, c.all.x_desc, c.all.x.data(), c.all.w_desc, c.all.w.data(), c.all.conv_desc,
      c.all.y_desc, c.all.y.data(), 4, &count, found, nullptr, 0, false)));
  ASSERT_GE(count, 1);
  EXPECT_TRUE(is_close(c.all.y, c.expected));
  for (int i = 0; i < count; ++i) {
    EXPECT_GT(found[i].time, 0);
    EXPECT_GE(found[i].time, found[0].time);
    EXPECT_EQ(found[i].memory, 0u);
    c.all.y = c.all.y.like();
    ASSERT_TRUE(ok(c.forward(handle, found[i].fwd_algo)));
    EXPECT_TRUE(is_close(c.all.y, c.expected));
  }
}

TEST(Discrete, ImmediateModeRunsEachSolution) {
  Random random;
  Handle handle;
  Convolve c(random);
  ConvBiasAct& a = c.all;
  std::size_t count = 0, bytes = 77;
  ASSERT_TRUE(ok(miopenConvolutionForwardGetSolutionCount(handle, a.w_desc, a.x_desc, a.conv_desc,
                                                          a.y_desc, &count)));
  ASSERT_GE(count, 2u);
  std::vector<miopenConvSolution_t> solutions(count + 1);
  ASSERT_TRUE(
      ok(miopenConvolutionForwardGetSolution(handle, a.w_desc, a.x_desc, a.conv_desc, a.y_desc,
                                             solutions.size(), &count, solutions.data())));
  ASSERT_EQ(count + 1, solutions.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t id = solutions[i].solution_id;
    a.y = a.y.like();
    ASSERT_TRUE(ok(miopenConvolutionForwardGetSolutionWorkspaceSize(
        handle, a.w_desc, a.x_desc, a.conv_desc, a.y_desc, id, &bytes)));
    EXPECT_EQ(bytes, 0u);
    ASSERT_TRUE(ok(miopenConvolutionForwardCompileSolution(handle, a.w_desc, a.x_desc, a.conv_desc,
                                                           a.y_desc, id)));
    ASSERT_TRUE(
        ok(miopenConvolutionForwardImmediate(handle, a.w_desc, a.w.data(), a.x_desc, a.x.data(),
                                             a.conv_desc, a.y_desc, a.y.data(), nullptr, 0, id)));
    EXPECT_TRUE(is_close(a.y, c.expected));
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(solutions[j].solution_id, id);
  }
  EXPECT_TRUE(refused(miopenConvolutionForwardCompileSolution(handle, a.w_desc, a.x_desc,
                                                              a.conv_desc, a.y_desc, 12345),
                      miopenStatusBadParm, "12345"));
}

TEST(Discrete, BiasIsAddedInPlace) {
  Random random;
  Handle handle;
  for (const Element type : {Element::f32, Element::bf16}) {
    HostTensor y = random_tensor(type, {2, 5, 3, 7}, random);
    const HostTensor b = random_tensor(type, {1, 5, 1, 1}, random), before = y;
    ASSERT_TRUE(ok(miopenConvolutionForwardBias(handle, nullptr, describe(b), b.data(), nullptr,
                                                describe(y), y.data())));
    EXPECT_TRUE(is_close(y, run_reference(before, std::vector<Step>{{Bias{&b}}})));
    // y = alpha y + alpha b + beta y
    y = before;
    const float alpha = 0.5f, beta = 2;
    ASSERT_TRUE(ok(miopenConvolutionForwardBias(handle, &alpha, describe(b), b.data(), &beta,
                                                describe(y), y.data())));
    EXPECT_TRUE(is_close(y, run_reference(before, std::vector<Step>{{Bias{&b}, 0.5, 2}}, &before)));
  }
}

TEST(Discrete, ActivationWithScalarsAndOtherStrides) {
  Random random;
  Handle handle;
  const Dims dims{2, 6, 5, 4};
  const HostTensor x = random_tensor(Element::f16, dims, random, -2, 2);
  HostTensor y = random_tensor(Element::f16, dims, channels_last(dims), random);
  const HostTensor before = y;
  const float alpha = 2, beta = 0.5f;
  ASSERT_TRUE(ok(miopenActivationForward(handle, activation(miopenActivationELU, 0.7), &alpha,
                                         describe(x), x.data(), &beta, describe(y), y.data())));
  EXPECT_TRUE(is_close(
      y, run_reference(x, std::vector<Step>{{Activation{Mode::ELU, 0.7}, 2, 0.5}}, &before)));
}

TEST(Discrete, NormInference) {
  Random random;
  Handle handle;
  for (const auto mode : {miopenBNSpatial, miopenBNPerActivation})
    for (const bool last : {false, true}) {
      const Dims dims{3, 6, 4, 5};
      const HostTensor x = random_tensor(Element::f32, dims,
                                         last ? channels_last(dims) : channels_first(dims), random);
      HostTensor y = x.like();
      const TensorDesc x_desc = describe(x);
      TensorDesc desc;
      ASSERT_TRUE(ok(miopenDeriveBNTensorDescriptor(desc, x_desc, mode)));
      int lens[4], strides[4];
      ASSERT_TRUE(ok(miopenGetTensorDescriptor(desc, nullptr, lens, strides)));
      const Dims shape(lens, lens + 4), steps(strides, strides + 4);
      HostTensor scale = random_tensor(Element::f32, shape, steps, random), bias = scale.like(),
                 mean = scale.like(), variance = scale.like();
      random.fill(bias);
      random.fill(mean);
      random.fill(variance, 0.1, 2);
      ASSERT_TRUE(ok(miopenBatchNormalizationForwardInference(
          handle, mode, nullptr, nullptr, x_desc, x.data(), x_desc, y.data(), desc, scale.data(),
          bias.data(), mean.data(), variance.data(), 1e-3)));
      EXPECT_TRUE(is_close(
          y,
          run_reference(x, std::vector<Step>{{BatchNorm{&scale, &bias, &mean, &variance, 1e-3}}})));
    }
}

/// C = op(a1 A, a2 B) + beta C by hand.
ReferenceResult combined(miopenTensorOp_t op, double a1, const HostTensor& a, double a2,
                         const HostTensor& b, double beta, const HostTensor& c) {
  ReferenceResult result{c.dims(), {}};
  Dims at(c.dims().size(), 0);
  do {
    Dims in_b = at;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (b.dims()[i] == 1) in_b[i] = 0;
    const double x = a1 * a.get(at), y = a2 * b.get(in_b);
    const double value = op == miopenTensorOpAdd   ? x + y
                         : op == miopenTensorOpMul ? x * y
                         : op == miopenTensorOpMin ? std::min(x, y)
                                                   : std::max(x, y);
    const double blended = value + (beta == 0 ? 0 : beta * c.get(at));
    result.values.push_back({blended, 8 * kUnit * (std::fabs(x) + std::fabs(y) + 1)});
  } while (advance(at, c.dims()));
  return result;
}

TEST(Discrete, OpTensor) {
  Random random;
  Handle handle;
  const Dims dims{2, 3, 4, 5};
  for (const auto op : {miopenTensorOpAdd, miopenTensorOpMul, miopenTensorOpMin, miopenTensorOpMax})
    for (const Dims& other : {dims, Dims{1, 3, 1, 1}, Dims{1, 1, 4, 1}})
      for (const float beta : {0.0f, 0.5f}) {
        const HostTensor a = random_tensor(Element::f32, dims, channels_last(dims), random),
                         b = random_tensor(Element::f32, other, random);
        HostTensor c(Element::f32, dims);  // canaries are NaN: not read for beta 0
        if (beta != 0) random.fill(c);
        const HostTensor before = c;
        const float a1 = 0.75f, a2 = -1.5f;
        ASSERT_TRUE(ok(miopenOpTensor(handle, op, &a1, describe(a), a.data(), &a2, describe(b),
                                      b.data(), &beta, describe(c), c.data())));
        EXPECT_TRUE(is_close(c, combined(op, 0.75, a, -1.5, b, beta, before)))
            << "op " << op << " of " << to_text(other);
      }
}

TEST(Discrete, OpTensorOverItsOperands) {
  Random random;
  Handle handle;
  const HostTensor a = random_tensor(Element::f32, {2, 3, 4, 5}, random),
                   b = random_tensor(Element::f32, {2, 3, 4, 5}, random);
  const TensorDesc desc = describe(a);
  const float two = 2;
  const auto add = [&](const void* left, const void* right, HostTensor& c) {
    return miopenOpTensor(handle, miopenTensorOpAdd, nullptr, desc, left, &two, desc, right,
                          nullptr, desc, c.data());
  };
  HostTensor c = a;
  ASSERT_TRUE(ok(add(c.data(), b.data(), c)));
  EXPECT_TRUE(is_close(c, combined(miopenTensorOpAdd, 1, a, 2, b, 0, c)));
  c = b;
  ASSERT_TRUE(ok(add(a.data(), c.data(), c)));
  EXPECT_TRUE(is_close(c, combined(miopenTensorOpAdd, 1, a, 2, b, 0, c)));
  c = a;
  ASSERT_TRUE(ok(add(c.data(), c.data(), c)));
  EXPECT_TRUE(is_close(c, combined(miopenTensorOpAdd, 1, a, 2, a, 0, c)));
  // The same elements under other lengths.
  const TensorDesc flat = describe(miopenFloat, {2, 60});
  ASSERT_TRUE(ok(miopenOpTensor(handle, miopenTensorOpAdd, nullptr, flat, a.data(), nullptr, desc,
                                b.data(), nullptr, desc, c.data())));
  EXPECT_TRUE(is_close(c, combined(miopenTensorOpAdd, 1, a, 1, b, 0, c)));
  const TensorDesc odd = describe(miopenFloat, {2, 2, 4, 5});
  EXPECT_TRUE(refused(miopenOpTensor(handle, miopenTensorOpAdd, nullptr, desc, a.data(), nullptr,
                                     odd, b.data(), nullptr, desc, c.data()),
                      miopenStatusBadParm, "length 1 of B"));
}

// As kernels compute, on the caller's thread and on others.
TEST(Discrete, SubnormalNumbersAreZero) {
  Handle handle;
  for (const std::int64_t height : {2, 512}) {  // on one thread, on several
    const Dims dims{1, 1, height, 512};
    const auto filled = [&](double value) {
      HostTensor tensor(Element::f32, dims);
      tensor.set_values(std::vector<double>(static_cast<std::size_t>(height * 512), value));
      return tensor;
    };
    const HostTensor tiny = filled(0x1p-130), huge = filled(0x1p+20);
    HostTensor product = tiny.like();
    ASSERT_TRUE(ok(miopenOpTensor(handle, miopenTensorOpMul, nullptr, describe(tiny), tiny.data(),
                                  nullptr, describe(huge), huge.data(), nullptr, describe(product),
                                  product.data())));
    EXPECT_EQ(product.values(), filled(0).values());
  }
}

TEST(Discrete, SetAndScaleTensor) {
  Random random;
  Handle handle;
  const Dims dims{2, 3, 4};
  HostTensor y(Element::f16, dims, padded(dims, random));
  const std::uint32_t three = encode(Element::f16, 3), half = encode(Element::f16, -0.5);
  ASSERT_TRUE(ok(miopenSetTensor(handle, describe(y), y.data(), &three)));
  EXPECT_EQ(y.values(), std::vector<double>(24, 3.0));
  ASSERT_TRUE(ok(miopenScaleTensor(handle, describe(y), y.data(), &half)));
  EXPECT_EQ(y.values(), std::vector<double>(24, -1.5));
  EXPECT_EQ(y.damage(), "");
}

TEST(Discrete, OneShot) {
  Random random;
  Handle handle;
  for (const bool last : {false, true}) {
    ConvBiasAct all(random, Element::f32, last);
    HostTensor z = all.y.like();
    random.fill(z);
    const TensorDesc wrong = describe(miopenFloat, {1, 6, 1, 1});
    const float a1 = 0.5f, a2 = -2;
    const auto run = [&](const void* z_data, miopenTensorDescriptor_t z_desc) {
      all.y = all.y.like();
      return miopenConvolutionBiasActivationForward(
          handle, &a1, all.x_desc, all.x.data(), all.w_desc, all.w.data(), all.conv_desc,
          miopenConvolutionFwdAlgoGEMM, nullptr, 16, &a2, z_desc, z_data, wrong, all.b.data(),
          activation(miopenActivationTANH, 0.7, 1.3), all.y_desc, all.y.data());
    };
    std::vector<Step> steps{{Convolution{&all.w, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 0.5},
                            {Add{&z, -2}},
                            {Bias{&all.b}},
                            {Activation{Mode::TANH, 0.7, 1.3}}};
    ASSERT_TRUE(ok(run(z.data(), all.y_desc)));
    EXPECT_TRUE(is_close(all.y, run_reference(all.x, steps)));
    steps.erase(steps.begin() + 1);
    ASSERT_TRUE(ok(run(nullptr, nullptr)));
    EXPECT_TRUE(is_close(all.y, run_reference(all.x, steps)));
  }
}

}  // namespace
}  // namespace fuseplan::test
