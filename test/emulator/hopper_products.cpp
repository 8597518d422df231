// SPDX-License-Identifier: MIT
// Tensor cores. PTX ISA 8.0, "Asynchronous warpgroup level matrix instructions": register fragments
// of D, shared memory matrix layout with 128-byte swizzling; "stmatrix". A warp's quarter of a
// product runs for itself, since nothing but barriers orders the warps of a group.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "hopper_model.hpp"

namespace fuseplan::emulator {
namespace {

constexpr unsigned kLanes = 32, kDepth = 16, kProductBytes = 32, kRowBytes = 128;
constexpr int kBFloat16 = 5, kFloat = 1;    // as the dialect numbers types
constexpr std::uint32_t kLeftOut = 0x1fff;  // bits of f32 that tensor cores do not read

struct Part {
  const void* row;
  const unsigned* words;
};

float widened(std::uint16_t bits, bool is_bf16) {
  if (is_bf16) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float sign = bits >> 15 != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

/// All f16 values, as decoding them one by one takes most of the time.
const float* all_halves() {
  static const std::vector<float> values = [] {
    std::vector<float> all(1 << 16);
    for (unsigned i = 0; i < all.size(); ++i)
      all[i] = widened(static_cast<std::uint16_t>(i), false);
    return all;
  }();
  return values.data();
}

/// Number k of a row's 32 bytes.
float factor(int type, const unsigned char* bytes, unsigned k, const float* halves) {
  if (type == kFloat) {
    std::uint32_t bits;
    std::memcpy(&bits, bytes + 4 * k, sizeof bits);
    bits &= ~kLeftOut;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, bytes + 2 * k, sizeof bits);
  return type == kBFloat16 ? widened(bits, true) : halves[bits];
}

}  // namespace

void HopperModel::set_product_functions() {
  functions_.fence_async = [](fp_machine* m) { of(m).fence(); };
  functions_.store_piece = [](fp_machine* m, void* to, const void* words) {
    of(m).store_piece(to, words);
  };
  functions_.store_matrices = [](fp_machine* m, int line, void* row, const unsigned* words) {
    Part mine{row, words};
    m->meet(
        m, line, kLanes,
        [](fp_machine* machine, void* const* given, unsigned) {
          of(machine).store_matrices(given);
        },
        &mine);
  };
  functions_.multiply = [](fp_machine* m, int line, fp_hopper::product what) {
    m->meet(
        m, line, kLanes,
        [](fp_machine* machine, void* const* given, unsigned) { of(machine).issue(given); }, &what);
  };
  functions_.multiply_fence = [](fp_machine*) {};
  functions_.multiply_commit = [](fp_machine* m, int line) {
    const auto commit = [](fp_machine* machine, void* const*, unsigned) {
      Warp& warp = of(machine).warp();
      warp.groups.push_back(std::move(warp.open));
      warp.open.clear();
    };
    m->meet(m, line, kLanes, commit, nullptr);
  };
  functions_.multiply_wait = [](fp_machine* m, int line, unsigned left) {
    m->meet(
        m, line, kLanes,
        [](fp_machine* machine, void* const* given, unsigned) {
          of(machine).wait_for_products(*static_cast<const unsigned*>(given[0]));
        },
        &left);
  };
}

void HopperModel::store_matrices(void* const* given) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned matrix = lane / 8, row = lane % 8;
    auto* to =
        static_cast<unsigned char*>(const_cast<void*>(static_cast<const Part*>(given[lane])->row));
    check_shared(to, 16, 16, "a matrix's row");
    for (unsigned pair = 0; pair < 4; ++pair) {
      const unsigned from = 4 * row + pair;
      std::memcpy(to + 4 * pair, &static_cast<const Part*>(given[from])->words[matrix], 4);
      unfenced_[offset_of(to) / 16] |= 1u << from;
    }
    warp().unfenced.push_back(offset_of(to) / 16);
  }
}

void HopperModel::store_piece(void* to, const void* words) {
  check_shared(to, 16, 16, "a piece");
  std::memcpy(to, words, 16);
  unfenced_[offset_of(to) / 16] |= 1u << machine().thread % kLanes;
  warp().unfenced.push_back(offset_of(to) / 16);
}

void HopperModel::fence() {
  const std::uint32_t mine = 1u << machine().thread % kLanes;
  bool any = false;
  for (std::size_t piece : warp().unfenced) {
    unfenced_[piece] &= ~mine;
    any |= unfenced_[piece] != 0;
  }
  if (!any) warp().unfenced.clear();
}

void HopperModel::issue(void* const* given) {
  const auto& first = *static_cast<const fp_hopper::product*>(given[0]);
  Product product{static_cast<const unsigned char*>(first.a),
                  static_cast<const unsigned char*>(first.b),
                  first.columns,
                  first.more,
                  first.type,
                  {}};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto& part = *static_cast<const fp_hopper::product*>(given[lane]);
    if (part.a != first.a || part.b != first.b || part.more != first.more)
      stop("lanes that multiply different matrices");
    product.d.push_back(part.d);
  }
  for (const auto& [at, rows] : {std::pair{product.a, 64u}, std::pair{product.b, first.columns}}) {
    check_shared(at, (rows - 1) * kRowBytes + kProductBytes, 16, "a matrix");
    if (offset_of(at) >> 7 & 7) stop("a matrix whose groups of rows are not at multiples of 1024");
  }
  ++warp().issued;
  if (landing_ == Landing::early) run(product, machine().thread / kLanes % 4);
  warp().open.push_back(std::move(product));
}

/// Rows 16 q to 16 q + 15 of D += A B', by lanes as the manual's figure shows.
void HopperModel::run(const Product& product, unsigned quarter) {
  const float* halves = all_halves();
  const unsigned depth = product.type == kFloat ? kDepth / 2 : kDepth;
  const auto decode = [&](const unsigned char* from, unsigned row, float* to) {
    const std::size_t at = offset_of(from) + row * kRowBytes;
    unsigned char bytes[kProductBytes];
    for (unsigned half = 0; half < 2; ++half) {
      const std::size_t piece = swizzled(at + 16 * half);
      if (unfenced_[piece / 16] != 0)
        fault("the tensor cores read shared memory that no fence has shown to them");
      std::memcpy(bytes + 16 * half, engine_.shared + piece, 16);
    }
    for (unsigned k = 0; k < depth; ++k) to[k] = factor(product.type, bytes, k, halves);
  };
  float a[16][kDepth];
  for (unsigned row = 0; row < 16; ++row) decode(product.a, 16 * quarter + row, a[row]);
  for (unsigned column = 0; column < product.columns; ++column) {
    float b[kDepth];
    decode(product.b, column, b);
    for (unsigned row = 0; row < 16; ++row) {
      float sum = 0.0f;
      for (unsigned k = 0; k < depth; ++k) sum += a[row][k] * b[k];
      const unsigned lane = row % 8 * 4 + column % 8 / 2;
      float& d = product.d[lane][column / 8 * 4 + row / 8 * 2 + column % 2];
      d = product.more != 0 ? d + sum : sum;
    }
  }
}

void HopperModel::wait_for_products(unsigned left) {
  const unsigned quarter = machine().thread / kLanes % 4;
  for (auto& groups = warp().groups; groups.size() > left; groups.erase(groups.begin()))
    if (landing_ != Landing::early)
      for (const Product& product : groups.front()) run(product, quarter);
}

}  // namespace fuseplan::emulator
