// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "base/half.hpp"
#include "kernels/cpu/matrix/pieces.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

using cpu::kPieceChannels;
using cpu::kTileBytes;
using cpu::Product;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();

struct Case {
  Product product;
  int pieces;
  std::size_t element;
};
constexpr Case kCases[] = {{Product::f32, 3, 4}, {Product::f16, 2, 2}};

bool runs() {
  if (cpu::host_isa() == cpu::Isa::avx512) return true;
  std::printf("NOT TESTED: pieces of numbers, which are made with AVX-512\n");
  return false;
}

/// Numbers of the type as its bytes, and as what they are worth.
struct Numbers {
  std::vector<std::byte> bytes;
  std::vector<float> values;
};
Numbers numbers(const Case& type, std::size_t count, Random& random) {
  Numbers all;
  all.bytes.resize(count * type.element);
  for (std::size_t i = 0; i < count; ++i) {
    const auto wide = static_cast<float>(random.uniform(-1, 1) *
                                         std::ldexp(1, static_cast<int>(random.between(-12, 12))));
    const float value = type.element == 2 ? f16_to_float(float_to_f16(wide)) : wide;
    const std::uint16_t half = float_to_f16(value);
    std::memcpy(all.bytes.data() + i * type.element,
                type.element == 2 ? static_cast<const void*>(&half) : &value, type.element);
    all.values.push_back(value);
  }
  return all;
}

float piece_at(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return bf16_to_float(bits);
}

/// [pixel][32 channels][piece][channel of the 32], as tiles of pixels read it.
struct Rows {
  const std::byte* from;
  std::int64_t step;
  int pieces;
  float operator()(std::int64_t pixel, std::int64_t channel, int piece) const {
    const std::int64_t block = channel / kPieceChannels, within = channel % kPieceChannels;
    return piece_at(from + pixel * step + (block * pieces + piece) * kTileBytes + 2 * within);
  }
  double sum(std::int64_t pixel, std::int64_t channel) const {
    double total = 0;
    for (int piece = 0; piece < pieces; ++piece) total += (*this)(pixel, channel, piece);
    return total;
  }
};

// Contiguous channels, contiguous pixels, and pixels two and three apart: each to the same pieces,
// whose sum is the number, with zeros behind the last channel.
TEST(MatrixPieces, AddUpToTheNumber) {
  if (!runs()) return;
  Random random(71);
  for (const Case& type : kCases)
    for (const auto& [pixels, channels] :
         {std::pair<std::int64_t, std::int64_t>{37, 64}, {16, 35}, {5, 3}, {70, 33}})
      for (const std::int64_t stride : {0, 1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << type.pieces << " pieces, stride " << stride);
        // Stride 0: channels are contiguous.
        const std::int64_t plane = pixels * std::max<std::int64_t>(stride, 1) + 5;
        const cpu::PixelBlock block = stride == 0
                                          ? cpu::PixelBlock{pixels, channels, channels + 7, 1}
                                          : cpu::PixelBlock{pixels, channels, stride, plane};
        const Numbers from =
            numbers(type, static_cast<std::size_t>((channels + 7) * (plane + 1)), random);
        const std::int64_t blocks = (channels + kPieceChannels - 1) / kPieceChannels;
        const std::int64_t step = blocks * type.pieces * kTileBytes + kTileBytes;
        std::vector<std::byte> to(static_cast<std::size_t>(pixels * step), std::byte{0xff});
        cpu::split_copy_for(type.product)(from.bytes.data(), block,
                                          {to.data(), step, step - kTileBytes});
        const Rows rows{to.data(), step, type.pieces};
        for (std::int64_t p = 0; p < pixels; ++p)
          for (std::int64_t c = 0; c < blocks * kPieceChannels; ++c) {
            const std::int64_t at = p * block.pixel_stride + c * block.channel_stride;
            const double expected = c < channels ? from.values[static_cast<std::size_t>(at)] : 0.0;
            ASSERT_EQ(rows.sum(p, c), expected) << p << " " << c;
          }
      }
}

TEST(MatrixPieces, OfPairsOfChannelsAreTheSame) {
  if (!runs()) return;
  Random random(72);
  for (const Case& type : kCases)
    for (const std::int64_t stride : {1, 2, 5})
      for (const bool odd : {false, true}) {
        constexpr std::int64_t kPixels = 531;
        const Numbers even = numbers(type, kPixels * 5, random),
                      next = numbers(type, kPixels * 5, random);
        constexpr std::int64_t kPiece = kPixels * cpu::kLaneBytes + 64;
        std::vector<std::byte> to(static_cast<std::size_t>(type.pieces * kPiece), std::byte{0xff});
        cpu::lane_copy_for(type.product)(
            {even.bytes.data(), odd ? next.bytes.data() : nullptr, stride, kPixels}, to.data(),
            kPiece);
        for (std::int64_t p = 0; p < kPixels; ++p) {
          double sums[2] = {};
          for (int i = 0; i < 2 * type.pieces; ++i)
            sums[i % 2] += piece_at(to.data() + i / 2 * kPiece + p * cpu::kLaneBytes + i % 2 * 2);
          const auto at = static_cast<std::size_t>(p * stride);
          ASSERT_EQ(sums[0], even.values[at]) << p;
          ASSERT_EQ(sums[1], odd ? next.values[at] : 0.0F) << p;
        }
        // Nothing behind the last pixel.
        EXPECT_EQ(to[kPixels * cpu::kLaneBytes], std::byte{0xff});
      }
}

// Both forms of a tile of weights hold the pieces of [output][input], which add up to it.
TEST(MatrixPieces, OfWeightsAddUpToTheWeight) {
  if (!runs()) return;
  Random random(73);
  constexpr std::int64_t kStep = 45, kRows = cpu::kTileRows;
  for (const Case& type : kCases)
    for (const bool by_plane : {false, true}) {
      const Numbers from = numbers(type, kRows * kStep, random);
      std::vector<std::byte> to(static_cast<std::size_t>(type.pieces * kRows * kTileBytes));
      cpu::split_weights(type.product, from.values.data(), kStep, by_plane, to.data());
      for (std::int64_t k = 0; k < kRows; ++k)
        for (std::int64_t c = 0; c < kPieceChannels; ++c) {
          double sum = 0;
          for (int piece = 0; piece < type.pieces; ++piece)
            sum += piece_at(
                to.data() + piece * kRows * kTileBytes +
                (by_plane ? k * kTileBytes + 2 * c : c / 2 * kTileBytes + k * 4 + c % 2 * 2));
          const float weight = from.values[static_cast<std::size_t>(k * kStep + c)];
          // What stands in for an empty piece is less than any of f16.
          ASSERT_NEAR(sum, weight, type.pieces == 2 ? 2e-38 : 0) << k << " " << c;
        }
    }
}

// The pairs that are multiplied make of infinity what the numbers themselves would.
TEST(MatrixPieces, OfNoNumberGiveWhatItGives) {
  if (!runs()) return;
  const float inputs[] = {kInf, -kInf, kNan, 0.0F, -0.0F, 1.0F, -3.140625F, 1e-3F, 60000.0F};
  const float weights[] = {1.0F, -1.0F, 0.0F, 0.5F, 1.0F + 1.0F / 1024, -2.99F, 3e-5F, 7.0F};
  for (const Case& type : kCases) {
    float row[kPieceChannels] = {};
    std::copy(std::begin(inputs), std::end(inputs), row);
    std::uint16_t halves[kPieceChannels] = {};
    std::transform(std::begin(row), std::end(row), halves, float_to_f16);
    std::byte split[cpu::kMostPieces * kTileBytes];
    const void* from = type.element == 2 ? static_cast<const void*>(halves) : row;
    cpu::split_copy_for(type.product)(from, {1, kPieceChannels, kPieceChannels, 1},
                                      {split, sizeof split, sizeof split});
    float tile[cpu::kTileRows * kPieceChannels] = {};
    std::copy(std::begin(weights), std::end(weights), tile);
    std::vector<std::byte> packed(
        static_cast<std::size_t>(type.pieces * cpu::kTileRows * kTileBytes));
    cpu::split_weights(type.product, tile, kPieceChannels, true, packed.data());
    for (std::size_t i = 0; i < std::size(inputs); ++i)
      for (std::size_t w = 0; w < std::size(weights); ++w) {
        float sum = 0;
        for (const cpu::PiecePair& pair : cpu::traits_of(type.product).pairs)
          sum += piece_at(split + pair.input * kTileBytes + 2 * i) *
                 piece_at(packed.data() + pair.weights * cpu::kTileRows * kTileBytes + 2 * w);
        const float expected = inputs[i] * weights[w];
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(sum)) << inputs[i] << " x " << weights[w];
        } else if (std::isinf(expected)) {
          EXPECT_EQ(sum, expected) << inputs[i] << " x " << weights[w];
        } else {
          EXPECT_NEAR(sum, expected, std::abs(expected) * 0x1p-9)
              << inputs[i] << " x " << weights[w];
        }
      }
  }
}

// What the six products leave out of f32's, and rounding up to an infinity, which must not happen.
TEST(MatrixPieces, LeaveOutLittle) {
  if (!runs()) return;
  Random random(74);
  double worst = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    float row[kPieceChannels], tile[cpu::kTileRows * kPieceChannels] = {};
    for (float& value : row) value = static_cast<float>(random.uniform(-1, 1));
    for (int i = 0; i < kPieceChannels; ++i)
      tile[i] = turn == 0 ? kMost : static_cast<float>(random.uniform(-1, 1));
    std::byte split[cpu::kMostPieces * kTileBytes];
    cpu::split_copy_for(Product::f32)(row, {1, kPieceChannels, kPieceChannels, 1},
                                      {split, sizeof split, sizeof split});
    std::byte packed[cpu::kMostPieces * cpu::kTileRows * kTileBytes];
    cpu::split_weights(Product::f32, tile, kPieceChannels, true, packed);
    for (int i = 0; i < kPieceChannels; ++i) {
      double sum = 0;
      for (const cpu::PiecePair& pair : cpu::traits_of(Product::f32).pairs)
        sum += static_cast<double>(piece_at(split + pair.input * kTileBytes + 2 * i)) *
               piece_at(packed + pair.weights * cpu::kTileRows * kTileBytes + 2 * i);
      const double exact = static_cast<double>(row[i]) * tile[i];
      ASSERT_LE(std::abs(sum - exact), std::abs(exact) * 0x1p-23) << row[i] << " x " << tile[i];
      worst = std::max(worst, std::abs(sum - exact) / std::abs(exact));
    }
  }
  std::printf("left out: at most 2^%.1f of a product\n", std::log2(worst));
  EXPECT_GT(worst, 0) << "f32 does not fit into what six products hold";
}

}  // namespace
}  // namespace fuseplan::test
