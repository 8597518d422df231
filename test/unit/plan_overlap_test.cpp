// SPDX-License-Identifier: MIT
#include "plan/overlap.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "support/random.hpp"

namespace fuseplan {
namespace {

using test::Random;

// Offset of every element, in elements.
std::vector<std::int64_t> places(const Tensor& tensor) {
  std::vector<std::int64_t> places{0};
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    std::vector<std::int64_t> more;
    for (const std::int64_t place : places)
      for (std::int64_t i = 0; i < tensor.lens[axis]; ++i)
        more.push_back(place + i * tensor.strides[axis]);
    places = more;
  }
  return places;
}

bool overlaps(const Tensor& tensor) {
  const std::vector<std::int64_t> all = places(tensor);
  return std::set(all.begin(), all.end()).size() < all.size();
}

bool overlaps(const Tensor& a, const Tensor& b, std::int64_t distance) {
  const auto a_size = static_cast<std::int64_t>(size_of(a.dtype)),
             b_size = static_cast<std::int64_t>(size_of(b.dtype));
  std::set<std::int64_t> bytes;
  for (const std::int64_t place : places(a))
    for (std::int64_t byte = 0; byte < a_size; ++byte) bytes.insert(place * a_size + byte);
  for (const std::int64_t place : places(b))
    for (std::int64_t byte = 0; byte < b_size; ++byte)
      if (bytes.contains(distance + place * b_size + byte)) return true;
  return false;
}

Tensor random_tensor(Random& random, std::int64_t longest, std::int64_t stride) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i8};
  Tensor tensor{kTypes[random.between(0, 2)], {}, {}};
  for (std::int64_t axes = random.between(1, kMaxRank); axes > 0; --axes) {
    tensor.lens.push_back(random.between(1, longest));
    tensor.strides.push_back(random.between(1, stride));
  }
  return tensor;
}

TEST(PlanOverlap, IsSeen) {
  EXPECT_FALSE(may_overlap(parse_tensor("f32:2x3x4x5:s70,1,17,3")));
  EXPECT_FALSE(may_overlap(parse_tensor("f32:1x3x4x5:s1,20,5,1")));
  EXPECT_TRUE(may_overlap(parse_tensor("f32:2x3x4x5:s60,1,14,3")));
  EXPECT_TRUE(may_overlap(parse_tensor("f32:2x2:s1,1")));
  // Offsets 0, 2, 4, 3, 5 and 7.
  EXPECT_FALSE(may_overlap(parse_tensor("f32:2x3x1x1:s3,2,1,1")));
  EXPECT_TRUE(may_overlap(parse_tensor("f32:2x4x1x1:s6,2,1,1")));
}

TEST(PlanOverlap, OfRandomTensorsIsWhatTheirElementsSay) {
  Random random(5);
  int overlapping = 0, nested = 0;
  for (int i = 0; i < 4000; ++i) {
    const Tensor tensor = random_tensor(random, 4, random.between(1, 200));
    ASSERT_EQ(may_overlap(tensor), overlaps(tensor)) << to_text(tensor);
    (overlaps(tensor) ? overlapping : nested) += 1;
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_GT(nested, 500);
}

TEST(PlanOverlap, OfTwoRandomTensorsIsWhatTheirElementsSay) {
  Random random(6);
  int overlapping = 0, apart = 0;
  for (int i = 0; i < 4000; ++i) {
    const Tensor a = random_tensor(random, 3, 60), b = random_tensor(random, 3, 60);
    const std::int64_t distance = random.between(-300, 300);
    ASSERT_EQ(may_overlap(a, b, distance), overlaps(a, b, distance))
        << to_text(a) << ", " << to_text(b) << ", " << distance;
    (overlaps(a, b, distance) ? overlapping : apart) += 1;
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_GT(apart, 500);
}

TEST(PlanOverlap, SlicesOfOneBufferAreApart) {
  // Channels 0 to 63, and 64 to 95, of 2 x 256 x 56 x 56.
  const Tensor in = parse_tensor("f16:2x64x56x56:s802816,1,14336,256"),
               out = parse_tensor("f16:2x32x56x56:s802816,1,14336,256");
  EXPECT_FALSE(may_overlap(in, out, 2 * 64));
  EXPECT_FALSE(may_overlap(out, in, -2 * 64));
  EXPECT_TRUE(may_overlap(in, out, 2 * 63));
  EXPECT_TRUE(may_overlap(in, out, 2 * 64 - 1));
  EXPECT_TRUE(may_overlap(in, out, 2 * (256 - 31)));  // reaches into the next pixel
  EXPECT_FALSE(may_overlap(parse_tensor("f32:2x3x8x8:s640,64,8,1"),
                           parse_tensor("f32:2x7x8x8:s640,64,8,1"), 4 * 192));
}

// Two tensors that take turns in one buffer, each in an order of its own.
TEST(PlanOverlap, OfInterleavedLayoutsIsTold) {
  const Tensor pixels = parse_tensor("f32:64x64x14x14:s2,128,8192,114688"),
               planes = parse_tensor("f32:64x64x14x14:s25088,392,28,2");
  for (const std::int64_t turn : {-1, 1, 3, 99}) {
    EXPECT_FALSE(may_overlap(pixels, planes, 4 * turn)) << turn;
    EXPECT_TRUE(may_overlap(pixels, planes, 4 * turn + 1)) << turn;
  }
  EXPECT_TRUE(may_overlap(pixels, planes, 8));
  // Four elements of every eight, and then five.
  EXPECT_FALSE(may_overlap(parse_tensor("f16:30x4x7x9x11:s8,1,240,1680,15120"),
                           parse_tensor("f16:30x4x7x9x11:s5544,1,792,88,8"), 2 * 4));
  EXPECT_TRUE(may_overlap(parse_tensor("f16:30x5x7x9x11:s8,1,240,1680,15120"),
                          parse_tensor("f16:30x4x7x9x11:s5544,1,792,88,8"), 2 * 4));
  // So within every other image.
  EXPECT_FALSE(may_overlap(parse_tensor("i8:5x31x4x17:s34000,8,1,248"),
                           parse_tensor("i8:5x31x4x17:s34000,136,1,8"), 4));
}

TEST(PlanOverlap, IsTakenForGrantedWhereTellingTakesLong) {
  // Many sums of strides come near each other before two of them meet, or none does.
  const Tensor odd{DType::f32,
                   {90000, 90000, 90000, 90000, 90000},
                   {1000003, 1000033, 1000037, 1000039, 1000081}};
  const auto start = std::chrono::steady_clock::now();
  (void)may_overlap(odd);
  (void)may_overlap(odd, odd, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace fuseplan
