// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "emit_kernel.hpp"
#include "expr/chain.hpp"
#include "guarded_run.hpp"
#include "kernels/cpu/norm/gathered.hpp"
#include "support/element.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

enum class Cells { channels, activations };

/// Of the cells, dense, in the order of the tensor's memory; as a view of the tensor's lengths.
cpu::View cell_view(const cpu::View& tensor, Cells cells) {
  cpu::View view{tensor.len, {}};
  if (cells == Cells::channels) {
    view.stride[1] = 1;
    return view;
  }
  std::array<std::size_t, 4> axes{1, 2, 3, 4};
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) {
    return tensor.stride[a] < tensor.stride[b];
  });
  std::int64_t stride = 1;
  for (const std::size_t axis : axes) {
    if (tensor.len[axis] > 1) view.stride[axis] = stride;
    stride *= tensor.len[axis];
  }
  return view;
}

/// A tensor of random data at the end of the accessible memory.
struct Data {
  Data(const Tensor& shape, double mean, double spread, Random& random)
      : tensor(shape), view(cpu::view_of(shape)), memory(shape.bytes(), End::back) {
    each([&](std::size_t at, std::size_t) {
      const double value = mean + spread * random.uniform(-1, 1);
      store_element(static_cast<Element>(tensor.dtype), place(at), 0, value);
    });
  }
  std::byte* place(std::size_t at) const {
    return static_cast<std::byte*>(memory.data()) + at * size_of(tensor.dtype);
  }
  double get(std::size_t at) const {
    return load_element(static_cast<Element>(tensor.dtype), place(at), 0);
  }
  /// f(offset, cell) for every element, cells numbered as the tensor's memory has them.
  template <typename F>
  void each(const F& f, Cells cells = Cells::channels) const {
    const cpu::View cell = cell_view(view, cells);
    for (std::int64_t i = 0; i < view.len[0] * view.len[1] * view.pixels(); ++i) {
      std::int64_t rest = i, at = 0, number = 0;
      for (std::size_t axis = 5; axis-- > 0;) {
        at += rest % view.len[axis] * view.stride[axis];
        number += rest % view.len[axis] * cell.stride[axis];
        rest /= view.len[axis];
      }
      f(static_cast<std::size_t>(at), static_cast<std::size_t>(number));
    }
  }

  Tensor tensor;
  cpu::View view;
  Guarded memory;
};

cpu::CellWalk walk_over(const Data& data, Cells cells) {
  std::string reason;
  const cpu::View none{data.view.len, {}};
  auto walk = cpu::plan_cell_walk(
      {data.view, data.view, none, {}, {data.tensor.dtype, data.tensor.dtype, DType::f32}},
      cell_view(data.view, cells), cells == Cells::channels, &reason);
  EXPECT_TRUE(walk) << reason;
  return *walk;
}

struct Moments {
  std::vector<double> mean, squares;
};
Moments expected_moments(const Data& data, Cells cells, const cpu::CellWalk& walk) {
  Moments moments{std::vector<double>(static_cast<std::size_t>(walk.cells)),
                  std::vector<double>(static_cast<std::size_t>(walk.cells))};
  const auto count = static_cast<double>(walk.samples);
  data.each([&](auto at, auto cell) { moments.mean[cell] += data.get(at) / count; }, cells);
  data.each(
      [&](auto at, auto cell) {
        const double deviation = data.get(at) - moments.mean[cell];
        moments.squares[cell] += deviation * deviation;
      },
      cells);
  return moments;
}

/// In parts of units, put together.
cpu::Gathered gathered_moments(const Data& data, const cpu::CellWalk& walk, cpu::Isa isa, int parts,
                               Scratch& scratch) {
  const CodeMemory code(cpu::emit_sums(cpu::moments_spec(walk, isa)));
  const cpu::SumsKernel kernel{reinterpret_cast<void (*)(const cpu::RowsCall*)>(
                                   reinterpret_cast<std::uintptr_t>(code.data())),
                               2};
  const cpu::WalkPlace place{.input = data.memory.data(), .elements = {}};
  cpu::Gathered all = cpu::nothing_gathered(walk.cells, 2, scratch);
  for (int i = 0; i < parts; ++i) {
    cpu::Gathered part = cpu::nothing_gathered(walk.cells, 2, scratch);
    cpu::gather_moments(walk, place, kernel, {0, walk.cells}, split(walk.units, parts, i), part);
    cpu::add_moments(all, part);
  }
  return all;
}

void check_moments(const Data& data, Cells cells, int parts) {
  const cpu::CellWalk walk = walk_over(data, cells);
  const Moments expected = expected_moments(data, cells, walk);
  for (const cpu::Isa isa : vector_isas()) {
    Scratch scratch;
    const cpu::Gathered got = gathered_moments(data, walk, isa, parts, scratch);
    ASSERT_EQ(got.count, walk.samples);
    for (std::size_t i = 0; i < expected.mean.size(); ++i) {
      const double deviation = std::sqrt(expected.squares[i] / static_cast<double>(walk.samples));
      const double mean_bound = 2e-6 * deviation + 1e-7 * std::abs(expected.mean[i]) * 1e-3;
      ASSERT_NEAR(got.of(0)[i], expected.mean[i], mean_bound)
          << to_text(data.tensor) << " " << name_of(isa) << " cell " << i;
      ASSERT_NEAR(got.of(1)[i], expected.squares[i], 1e-5 * expected.squares[i])
          << to_text(data.tensor) << " " << name_of(isa) << " cell " << i;
    }
  }
}

TEST(NormGather, MomentsOfEveryLayoutAndType) {
  Random random(31);
  for (const char* dims :
       {"2x37x13x11:nchw", "2x37x13x11:nhwc", "3x5x7x9:nhwc", "16x3x1x1:nchw", "5x130x3x3:nhwc",
        "1x1x50x41:nchw", "7x1x5x5:nhwc", "4x1000:nchw", "2x6x3x5x7:ndhwc", "2x6x3x5x7:nchw",
        "1x3x190x190:nchw", "2x4x170x160:nhwc"})
    for (const char* type : {"f32:", "f16:", "bf16:"})
      for (const Cells cells : {Cells::channels, Cells::activations}) {
        const Data data(parse_tensor(std::string(type) + dims), 3, 2, random);
        for (const int parts : {1, 3}) check_moments(data, cells, parts);
        if (HasFatalFailure()) return;
      }
}

// E[x^2] - m^2 in f32 would have nothing left of these variances.
TEST(NormGather, LargeMeansDoNotCancel) {
  Random random(32);
  for (const char* shape : {"f32:4x20x31x31:nchw", "f32:4x20x31x31:nhwc"}) {
    const Data data(parse_tensor(shape), 4096, 0.5, random);
    for (const int parts : {1, 4}) check_moments(data, Cells::channels, parts);
  }
}

// A level that changes on the way makes every pivot before it a bad one.
TEST(NormGather, LevelsThatChange) {
  Random random(33);
  for (const char* shape : {"f32:8x5x40x30:nchw", "f32:8x5x40x30:nhwc"}) {
    const Data data(parse_tensor(shape), 0, 0.01, random);
    std::size_t number = 0;
    const std::size_t all = data.tensor.bytes() / 4;
    data.each([&](std::size_t at, std::size_t) {
      if (at % all < all / 100) return;
      const auto value = static_cast<float>(data.get(at) + 3000);
      std::memcpy(data.place(at), &value, 4);
      ++number;
    });
    ASSERT_GT(number, all / 2);
    check_moments(data, Cells::channels, 1);
  }
}

TEST(NormGather, NotFiniteValuesShow) {
  Random random(34);
  for (const char* shape : {"f32:2x5x9x9:nchw", "f32:2x5x9x9:nhwc"}) {
    const Data data(parse_tensor(shape), 0, 1, random);
    const auto infinite = static_cast<float>(HUGE_VAL);
    data.each([&](std::size_t at, std::size_t cell) {
      if (cell == 3 && at % 7 == 0) std::memcpy(data.place(at), &infinite, 4);
    });
    const cpu::CellWalk walk = walk_over(data, Cells::channels);
    for (const cpu::Isa isa : vector_isas()) {
      Scratch scratch;
      const cpu::Gathered got = gathered_moments(data, walk, isa, 1, scratch);
      EXPECT_FALSE(std::isfinite(got.of(0)[3]));
      EXPECT_TRUE(std::isnan(got.of(1)[3]));
      EXPECT_TRUE(std::isfinite(got.of(1)[2]));
    }
  }
}

}  // namespace
}  // namespace fuseplan::test
