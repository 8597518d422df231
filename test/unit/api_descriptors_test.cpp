// SPDX-License-Identifier: MIT
#include <numeric>

#include "api_world.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

struct LayoutCase {
  fuseplanTensorLayout_t layout;
  std::vector<int> lens, strides;
};

void PrintTo(const LayoutCase& c, std::ostream* out) { *out << "layout " << c.layout; }

class TensorLayouts : public ::testing::TestWithParam<LayoutCase> {};

TEST_P(TensorLayouts, HaveTheseStrides) {
  const LayoutCase& expected = GetParam();
  const int rank = static_cast<int>(expected.lens.size());
  TensorPtr tensor;
  ASSERT_TRUE(ok(fuseplanCreateTensorDescriptor(&tensor)));
  ASSERT_TRUE(ok(fuseplanSetNdTensorDescriptorWithLayout(tensor, fuseplanBFloat16, expected.layout,
                                                         expected.lens.data(), rank)));
  fuseplanDataType_t type;
  std::vector<int> lens(expected.lens.size()), strides(expected.lens.size());
  ASSERT_TRUE(ok(fuseplanGetTensorDescriptor(tensor, &type, lens.data(), strides.data())));
  EXPECT_EQ(type, fuseplanBFloat16);
  EXPECT_EQ(lens, expected.lens);
  EXPECT_EQ(strides, expected.strides);
  std::size_t bytes = 0;
  ASSERT_TRUE(ok(fuseplanGetTensorNumBytes(tensor, &bytes)));
  EXPECT_EQ(bytes, 2u * std::accumulate(lens.begin(), lens.end(), 1, std::multiplies<>()));
  fuseplanTensorLayout_t layout;
  ASSERT_TRUE(ok(fuseplanGetTensorDescriptorLayout(tensor, &layout)));
  EXPECT_EQ(layout,
            expected.layout == fuseplanTensorCHWN ? fuseplanTensorStrided : expected.layout);
}

INSTANTIATE_TEST_SUITE_P(
    All, TensorLayouts,
    ::testing::Values(LayoutCase{fuseplanTensorNCHW, {2, 3, 5, 7}, {105, 35, 7, 1}},
                      LayoutCase{fuseplanTensorNHWC, {2, 3, 5, 7}, {105, 1, 21, 3}},
                      LayoutCase{fuseplanTensorCHWN, {2, 3, 5, 7}, {1, 70, 14, 2}},
                      LayoutCase{fuseplanTensorNCDHW, {2, 3, 5, 7, 11}, {1155, 385, 77, 11, 1}},
                      LayoutCase{fuseplanTensorNDHWC, {2, 3, 5, 7, 11}, {1155, 1, 231, 33, 3}}));

TEST(TensorDescriptors, RefuseWhatTheyCannotBe) {
  TensorPtr tensor = make_tensor({1, 2, 3, 4});
  const int lens[] = {1, 2, 3, 4, 5, 6};
  const auto with_layout = [&](int layout, int rank) {
    return fuseplanSetNdTensorDescriptorWithLayout(
        tensor, fuseplanFloat, static_cast<fuseplanTensorLayout_t>(layout), lens, rank);
  };
  EXPECT_TRUE(refused(with_layout(fuseplanTensorNHWC, 5), fuseplanStatusBadParm, "num_lens is 5"));
  EXPECT_TRUE(refused(with_layout(fuseplanTensorNDHWC, 4), fuseplanStatusBadParm, "5 dimensions"));
  EXPECT_TRUE(refused(with_layout(4, 4), fuseplanStatusNotImplemented, "tensorLayout 4"));
  EXPECT_TRUE(
      refused(with_layout(fuseplanTensorStrided, 4), fuseplanStatusBadParm, "tensorLayout"));
  EXPECT_TRUE(refused(with_layout(fuseplanTensorNCHW, 0), fuseplanStatusInvalidValue, "0 dim"));
  EXPECT_TRUE(refused(fuseplanSetTensorDescriptor(tensor, fuseplanFloat, 6, lens, nullptr),
                      fuseplanStatusInvalidValue, "6 dimensions"));
  EXPECT_TRUE(
      refused(fuseplanSet4dTensorDescriptor(tensor, static_cast<fuseplanDataType_t>(4), 1, 1, 1, 1),
              fuseplanStatusBadParm, "4 is no data type"));
  EXPECT_TRUE(refused(fuseplanSet4dTensorDescriptor(tensor, fuseplanFloat, 1, 0, 1, 1),
                      fuseplanStatusBadParm, "dimension 1 has length 0"));
  int n, c, h, w, strides[4];
  fuseplanDataType_t type;
  ASSERT_TRUE(ok(fuseplanGet4dTensorDescriptor(tensor, &type, &n, &c, &h, &w, strides, strides + 1,
                                               strides + 2, strides + 3)));
  EXPECT_EQ(c, 2) << "a refused setter must leave the descriptor as it was";
}

TEST(TensorDescriptors, ThatExceedAnIntAreReadWholeOrNotAtAll) {
  const TensorPtr tensor = make_tensor({1});
  const std::size_t lens[] = {2, 3, 4, 5}, strides[] = {std::size_t{1} << 40, 20, 5, 1};
  ASSERT_TRUE(ok(fuseplanSetTensorDescriptorV2(tensor, fuseplanFloat, 4, lens, strides)));
  fuseplanDataType_t type = fuseplanHalf;
  std::vector<int> got_lens(4, -7), got_strides(4, -7);
  EXPECT_TRUE(
      refused(fuseplanGetTensorDescriptor(tensor, &type, got_lens.data(), got_strides.data()),
              fuseplanStatusBadParm, "fuseplanGetTensorDescriptorV2"));
  EXPECT_EQ(type, fuseplanHalf);
  EXPECT_EQ(got_lens, std::vector<int>(4, -7)) << "a failed call leaves its outputs untouched";
  EXPECT_EQ(got_strides, std::vector<int>(4, -7));
  ASSERT_TRUE(ok(fuseplanGetTensorDescriptor(tensor, &type, got_lens.data(), nullptr)));
  EXPECT_EQ(got_lens, (std::vector<int>{2, 3, 4, 5}));
}

TEST(TensorDescriptors, NeedToBeSetBeforeUse) {
  TensorPtr tensor;
  ASSERT_TRUE(ok(fuseplanCreateTensorDescriptor(&tensor)));
  int size = 0;
  EXPECT_TRUE(refused(fuseplanGetTensorDescriptorSize(tensor, &size), fuseplanStatusNotInitialized,
                      "tensorDesc was created but never set"));
  PlanPtr plan;
  EXPECT_TRUE(refused(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, tensor),
                      fuseplanStatusNotInitialized, "inputDesc"));
}

TEST(TensorDescriptors, DeriveBatchNormParameters) {
  TensorPtr derived;
  ASSERT_TRUE(ok(fuseplanCreateTensorDescriptor(&derived)));
  const TensorPtr x = make_tensor({2, 3, 5, 7}, fuseplanHalf, fuseplanTensorNHWC);
  const auto check = [&](fuseplanBatchNormMode_t mode, std::vector<int> lens,
                         std::vector<int> strides) {
    ASSERT_TRUE(ok(fuseplanDeriveBNTensorDescriptor(derived, x, mode)));
    fuseplanDataType_t type;
    std::vector<int> got_lens(4), got_strides(4);
    ASSERT_TRUE(
        ok(fuseplanGetTensorDescriptor(derived, &type, got_lens.data(), got_strides.data())));
    EXPECT_EQ(type, fuseplanFloat);
    EXPECT_EQ(got_lens, lens);
    EXPECT_EQ(got_strides, strides);
  };
  check(fuseplanBNSpatial, {1, 3, 1, 1}, {3, 1, 3, 3});
  check(fuseplanBNPerActivation, {1, 3, 5, 7}, {105, 1, 21, 3});
  EXPECT_TRUE(
      refused(fuseplanDeriveBNTensorDescriptor(derived, x, static_cast<fuseplanBatchNormMode_t>(2)),
              fuseplanStatusBadParm, "bn_mode is 2"));
  EXPECT_TRUE(
      refused(fuseplanDeriveBNTensorDescriptor(derived, make_tensor({3}), fuseplanBNSpatial),
              fuseplanStatusBadParm, "rank 1, expected N x C"));
}

TEST(ConvolutionDescriptors, KeepWhatTheyAreGiven) {
  ConvolutionPtr conv;
  ASSERT_TRUE(ok(fuseplanCreateConvolutionDescriptor(&conv)));
  ASSERT_TRUE(ok(fuseplanSetConvolutionGroupCount(conv, 4)));
  ASSERT_TRUE(ok(fuseplanInitConvolutionDescriptor(conv, fuseplanDepthwise, 1, 2, 3, 4, 5, 6)));
  fuseplanConvolutionMode_t mode;
  int v[6], groups = 0;
  ASSERT_TRUE(
      ok(fuseplanGetConvolutionDescriptor(conv, &mode, v, v + 1, v + 2, v + 3, v + 4, v + 5)));
  EXPECT_EQ(mode, fuseplanConvolution);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(v[i], i + 1);
  ASSERT_TRUE(ok(fuseplanGetConvolutionGroupCount(conv, &groups)));
  EXPECT_EQ(groups, 4) << "Init keeps the group count";

  const int pad[] = {1, 2, 3}, stride[] = {2, 2, 2}, dilation[] = {1, 1, 2};
  ASSERT_TRUE(
      ok(fuseplanInitConvolutionNdDescriptor(conv, 3, pad, stride, dilation, fuseplanConvolution)));
  EXPECT_TRUE(refused(fuseplanGetConvolutionDescriptor(conv, &mode, v, v, v, v, v, v),
                      fuseplanStatusBadParm, "3 spatial dimensions"));
  const int low[] = {0, 1, 2}, high[] = {3, 4, 5};
  ASSERT_TRUE(ok(fuseplanSetConvolutionPadding(conv, 3, low, high)));
  int got_low[3], got_high[3];
  ASSERT_TRUE(ok(fuseplanGetConvolutionPadding(conv, 3, got_low, got_high)));
  EXPECT_TRUE(std::equal(low, low + 3, got_low) && std::equal(high, high + 3, got_high));
}

TEST(ConvolutionDescriptors, CanBeProbedForTheirDimensions) {
  const ConvolutionPtr conv = make_convolution(1);
  int dims = 0, out[5];
  ASSERT_TRUE(
      ok(fuseplanGetConvolutionNdDescriptor(conv, 0, &dims, nullptr, nullptr, nullptr, nullptr)));
  EXPECT_EQ(dims, 2);
  for (int request = 0; request < 5; ++request)
    EXPECT_EQ(fuseplanGetConvolutionNdDescriptor(conv, request, &dims, out, out, out, nullptr),
              request <= 2 ? fuseplanStatusSuccess : fuseplanStatusBadParm);
}

TEST(ConvolutionDescriptors, WriteAsMuchAsIsAsked) {
  const ConvolutionPtr conv = make_convolution(1);
  for (int request = 0; request <= 2; ++request) {
    const auto expect_written = [&](const std::vector<int>& written) {
      EXPECT_EQ(std::count(written.begin(), written.begin() + request, 1), request);
      EXPECT_EQ(std::count(written.begin() + request, written.end(), -7), 3 - request);
    };
    std::vector<int> low(3, -7), high(3, -7), pad(3, -7);
    ASSERT_TRUE(ok(fuseplanGetConvolutionPadding(conv, request, low.data(), high.data())));
    ASSERT_TRUE(ok(fuseplanGetConvolutionNdDescriptor(conv, request, nullptr, pad.data(), nullptr,
                                                      nullptr, nullptr)));
    for (const auto& written : {low, high, pad}) expect_written(written);
  }
  int none = -7;
  for (const int request : {-1, 3})
    EXPECT_TRUE(refused(fuseplanGetConvolutionPadding(conv, request, &none, &none),
                        fuseplanStatusBadParm, "the descriptor has 2"));
  EXPECT_EQ(none, -7);
}

TEST(ConvolutionDescriptors, RefuseWhatTheyCannotBe) {
  ConvolutionPtr conv = make_convolution(1);
  const auto init = [&](int mode, int pad, int stride, int dilation) {
    return fuseplanInitConvolutionDescriptor(conv, static_cast<fuseplanConvolutionMode_t>(mode),
                                             pad, pad, stride, stride, dilation, dilation);
  };
  EXPECT_TRUE(refused(init(1, 0, 1, 1), fuseplanStatusNotImplemented, "fuseplanTranspose"));
  EXPECT_TRUE(refused(init(9, 0, 1, 1), fuseplanStatusBadParm, "c_mode is 9"));
  EXPECT_TRUE(refused(init(0, -1, 1, 1), fuseplanStatusBadParm, "padding"));
  EXPECT_TRUE(refused(init(0, 0, 0, 1), fuseplanStatusBadParm, "stride"));
  EXPECT_TRUE(refused(init(0, 0, 1, 0), fuseplanStatusBadParm, "dilation"));
  EXPECT_TRUE(
      refused(fuseplanSetConvolutionGroupCount(conv, 0), fuseplanStatusBadParm, "groupCount is 0"));
  EXPECT_TRUE(refused(fuseplanSetConvolutionGroupCount(conv, (1 << 30) + 1), fuseplanStatusBadParm,
                      "expected 1 to 2^30"));
  EXPECT_TRUE(refused(fuseplanSetConvolutionAttribute(conv, FUSEPLAN_CONVOLUTION_ATTRIB_STRICT, 2),
                      fuseplanStatusInvalidValue, "value is 2"));
  EXPECT_TRUE(
      refused(fuseplanSetConvolutionAttribute(conv, static_cast<fuseplanConvolutionAttrib_t>(5), 1),
              fuseplanStatusInvalidValue, "attr is 5"));
  int pads[2];
  ASSERT_TRUE(ok(fuseplanGetConvolutionPadding(conv, 2, pads, nullptr)));
  EXPECT_EQ(pads[0], 1) << "a refused setter must leave the descriptor as it was";
}

TEST(ConvolutionDescriptors, KeepAttributes) {
  ConvolutionPtr conv = make_convolution(0);
  for (const auto attribute :
       {FUSEPLAN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL, FUSEPLAN_CONVOLUTION_ATTRIB_DETERMINISTIC,
        FUSEPLAN_CONVOLUTION_ATTRIB_STRICT}) {
    int value = -1;
    ASSERT_TRUE(ok(fuseplanGetConvolutionAttribute(conv, attribute, &value)));
    EXPECT_EQ(value, 0);
    ASSERT_TRUE(ok(fuseplanSetConvolutionAttribute(conv, attribute, 1)));
    ASSERT_TRUE(ok(fuseplanGetConvolutionAttribute(conv, attribute, &value)));
    EXPECT_EQ(value, 1);
  }
}

TEST(ConvolutionDescriptors, SayWhatDoesNotFit) {
  const ConvolutionPtr conv = make_convolution(0);
  const TensorPtr x = make_tensor({1, 4, 6, 6});
  int dims[5], count = 0;
  const auto output = [&](const std::vector<int>& filter, fuseplanDataType_t type = fuseplanFloat) {
    return fuseplanGetConvolutionNdForwardOutputDim(conv, x, make_tensor(filter, type), &count,
                                                    dims);
  };
  ASSERT_TRUE(ok(output({8, 4, 3, 5})));
  EXPECT_EQ(std::vector<int>(dims, dims + count), (std::vector<int>{1, 8, 4, 2}));
  EXPECT_TRUE(refused(output({8, 3, 3, 3}), fuseplanStatusBadParm, "4 channels"));
  EXPECT_TRUE(refused(output({8, 4, 7, 3}), fuseplanStatusBadParm, "does not fit"));
  EXPECT_TRUE(refused(output({8, 4, 3}), fuseplanStatusBadParm, "rank"));
  EXPECT_TRUE(refused(output({8, 4, 3, 3}, fuseplanHalf), fuseplanStatusBadParm, "f16"));
}

TEST(ActivationDescriptors, KeepWhatTheyAreGiven) {
  ActivationPtr activation;
  ASSERT_TRUE(ok(fuseplanCreateActivationDescriptor(&activation)));
  ASSERT_TRUE(
      ok(fuseplanSetActivationDescriptor(activation, fuseplanActivationCLAMP, -0.5, 6.0, 2.0)));
  fuseplanActivationMode_t mode;
  double a, b, g;
  ASSERT_TRUE(ok(fuseplanGetActivationDescriptor(activation, &mode, &a, &b, &g)));
  EXPECT_EQ(mode, fuseplanActivationCLAMP);
  EXPECT_EQ(a, -0.5);
  EXPECT_EQ(b, 6.0);
  EXPECT_EQ(g, 2.0);
  EXPECT_TRUE(refused(fuseplanSetActivationDescriptor(
                          activation, static_cast<fuseplanActivationMode_t>(11), 0, 0, 0),
                      fuseplanStatusBadParm, "mode is 11"));
}

}  // namespace
}  // namespace fuseplan::test
