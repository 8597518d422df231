// SPDX-License-Identifier: MIT
// Numbers at the edges of their types: every one is refused, or every result is exactly right.
#include <cstdint>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

constexpr std::int64_t kLengths[] = {INT64_MIN,
                                     -1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     INT32_MAX,
                                     std::int64_t{1} << 31,
                                     (std::int64_t{1} << 32) + 1,
                                     std::int64_t{3037000500},  // its square exceeds 2^63
                                     std::int64_t{1} << 62,
                                     INT64_MAX};

using Wide = __int128;

/// Bytes the descriptor spans, or -1 where the rules refuse it.
Wide expected_bytes(const std::size_t* lens, const std::size_t* strides, int rank, Wide element) {
  constexpr Wide kMax = INT64_MAX;
  Wide last = 0, elements = 1;
  for (int i = 0; i < rank; ++i) {
    const Wide length = lens[i], stride = strides[i];
    if (length < 1 || length > kMax || stride < 1 || stride > kMax) return -1;
    last += (length - 1) * stride;
    elements *= length;
    if (last > kMax || elements > kMax) return -1;
  }
  return (last + 1) * element;
}

TEST(Dimensions, OfTensorsAreExactOrRefused) {
  TensorPtr tensor = make_tensor({1, 1, 1, 1});
  int cases = 0, accepted = 0;
  for (int axis = 0; axis < 4; ++axis)
    for (const std::int64_t length : kLengths)
      for (const std::int64_t stride : kLengths)
        for (const std::int64_t other : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1} << 31}) {
          std::size_t lens[] = {2, 2, 2, 2}, strides[] = {1, 1, 1, 1};
          lens[axis] = static_cast<std::size_t>(length);
          strides[axis] = static_cast<std::size_t>(stride);
          lens[(axis + 1) % 4] = static_cast<std::size_t>(other);
          const fuseplanStatus_t status =
              fuseplanSetTensorDescriptorV2(tensor, fuseplanFloat, 4, lens, strides);
          ++cases;
          const Wide expected = expected_bytes(lens, strides, 4, 4);
          if (status == fuseplanStatusSuccess) {
            std::size_t bytes = 0;
            ASSERT_TRUE(ok(fuseplanGetTensorNumBytes(tensor, &bytes)));
            ASSERT_EQ(Wide{bytes}, expected) << length << " stride " << stride;
            ++accepted;
          } else {
            ASSERT_TRUE(refused(status, fuseplanStatusBadParm, "tensorDesc"));
            ASSERT_TRUE(expected < 0 || expected > Wide{INT64_MAX} / 2)
                << length << " stride " << stride << " other " << other;
          }
        }
  EXPECT_GE(cases, 1700);
  EXPECT_GE(accepted, 200);
}

TEST(Dimensions, OfPackedTensorsAreExactOrRefused) {
  TensorPtr tensor = make_tensor({1, 1, 1, 1});
  int accepted = 0;
  for (const std::int64_t a : kLengths)
    for (const std::int64_t b : kLengths)
      for (const std::int64_t c : kLengths) {
        const std::size_t lens[] = {static_cast<std::size_t>(a), static_cast<std::size_t>(b),
                                    static_cast<std::size_t>(c)};
        if (fuseplanSetTensorDescriptorV2(tensor, fuseplanHalf, 3, lens, nullptr) !=
            fuseplanStatusSuccess)
          continue;
        std::size_t bytes = 0;
        ASSERT_TRUE(ok(fuseplanGetTensorNumBytes(tensor, &bytes)));
        ASSERT_GT(std::min({a, b, c}), 0);
        ASSERT_EQ(Wide{bytes}, Wide{a} * b * c * 2);
        ++accepted;
      }
  EXPECT_GE(accepted, 50);
}

constexpr int kInts[] = {INT32_MIN, -1, 0, 1, 2, 1 << 20, (1 << 30) - 1, 1 << 30, INT32_MAX};

/// (in + 2 pad - (1 + dilation (filter - 1))) / stride + 1, or -1.
Wide expected_length(Wide in, Wide filter, Wide pad, Wide stride, Wide dilation) {
  const Wide room = in + 2 * pad - (1 + dilation * (filter - 1));
  return room < 0 ? -1 : room / stride + 1;
}

TEST(Dimensions, OfConvolutionsAreExactOrRefused) {
  ConvolutionPtr convolution = make_convolution(0);
  int cases = 0, accepted = 0;
  for (const int in : {1, 7, 1 << 30, INT32_MAX})
    for (const int filter : {1, 3, INT32_MAX})
      for (const int pad : kInts)
        for (const int stride : kInts)
          for (const int dilation : kInts) {
            TensorPtr x = make_tensor({1, 1, in, 1}), w = make_tensor({1, 1, filter, 1});
            ++cases;
            int n, c, h = -1, width;
            if (fuseplanInitConvolutionDescriptor(convolution, fuseplanConvolution, pad, 0, stride,
                                                  1, dilation, 1) != fuseplanStatusSuccess)
              continue;
            const fuseplanStatus_t status =
                fuseplanGetConvolutionForwardOutputDim(convolution, x, w, &n, &c, &h, &width);
            const Wide expected = expected_length(in, filter, pad, stride, dilation);
            if (status == fuseplanStatusSuccess) {
              ASSERT_EQ(Wide{h}, expected);
              ++accepted;
            } else {
              ASSERT_EQ(status, fuseplanStatusBadParm);
              ASSERT_TRUE(expected < 1 || expected > INT32_MAX || filter == INT32_MAX ||
                          in == INT32_MAX)
                  << fuseplanGetLastErrorMessage();
            }
          }
  EXPECT_GE(cases, 8000);
  EXPECT_GE(accepted, 500);
}

TEST(Dimensions, OfPlansNeverOverflow) {
  HandlePtr handle = make_handle("--cache=mem");
  int cases = 0, plans = 0;
  for (const std::int64_t c : kLengths)
    for (const std::int64_t h : kLengths)
      for (const int groups : {1, 2, 1 << 30})
        for (const int pad : {0, 1, 1 << 30}) {
          const std::size_t lens[] = {1, static_cast<std::size_t>(c), static_cast<std::size_t>(h),
                                      3};
          const std::size_t filter[] = {4, static_cast<std::size_t>(c) / groups, 3, 3};
          TensorPtr x = make_tensor({1, 1, 1, 1}), w = make_tensor({1, 1, 1, 1});
          ++cases;
          if (fuseplanSetTensorDescriptorV2(x, fuseplanFloat, 4, lens, nullptr) ||
              fuseplanSetTensorDescriptorV2(w, fuseplanFloat, 4, filter, nullptr))
            continue;
          PlanPtr plan;
          fuseplanOp_t op;
          ConvolutionPtr convolution = make_convolution(pad);
          ASSERT_TRUE(ok(fuseplanSetConvolutionGroupCount(convolution, groups)));
          ASSERT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, x)));
          if (fuseplanCreateOpConvForward(plan, &op, convolution, w) != fuseplanStatusSuccess)
            continue;
          auto support = sized<fuseplanFusionSupport_t>();
          EXPECT_TRUE(ok(fuseplanQueryFusionSupport(handle, plan, &support)));
          TensorPtr y = make_tensor({1});
          EXPECT_TRUE(ok(fuseplanPlanGetOutputDescriptor(plan, y)));
          std::size_t out[5] = {};
          EXPECT_TRUE(ok(fuseplanGetTensorDescriptorV2(y, nullptr, out, nullptr)));
          EXPECT_EQ(Wide{out[2]}, expected_length(h, 3, pad, 1, 1));
          ++plans;
        }
  EXPECT_GE(cases, 1000);
  EXPECT_GE(plans, 20);
}

TEST(Dimensions, AboveAnIntNeedTheWideGetter) {
  TensorPtr tensor = make_tensor({1, 1, 1, 1});
  const std::size_t lens[] = {1, 1, std::size_t{1} << 32, 2};
  ASSERT_TRUE(ok(fuseplanSetTensorDescriptorV2(tensor, fuseplanFloat, 4, lens, nullptr)));
  int narrow[4];
  EXPECT_TRUE(refused(fuseplanGetTensorDescriptor(tensor, nullptr, narrow, nullptr),
                      fuseplanStatusBadParm, "fuseplanGetTensorDescriptorV2"));
  std::size_t wide[4];
  EXPECT_TRUE(ok(fuseplanGetTensorDescriptorV2(tensor, nullptr, wide, nullptr)));
  EXPECT_EQ(wide[2], std::size_t{1} << 32);
}

}  // namespace
}  // namespace fuseplan::test
