// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>

#include "emit_kernel.hpp"
#include "expr/readers.hpp"
#include "kernels/cpu/emit/sums.hpp"
#include "rows_data.hpp"

namespace fuseplan::test {
namespace {

/// Rows of random data, and what a call needs besides; some of it is turned, as `spec` then says.
struct Rows {
  Rows(cpu::RowsSpec& spec, std::int64_t row_count, std::int64_t lane_count, Random& random)
      : rows(row_count),
        lanes(lane_count),
        across(spec.lanes_are_channels),
        input(spec.input, rows, lanes, true, random, random.between(0, 2) == 0),
        channels(DType::f32, kChannels, across ? lanes : rows, true, random) {
    spec.input_lane_stride = input.lane_stride();
    for (auto& element : spec.elements) {
      per_lane.push_back(element.per_lane);
      const bool turned = element.per_lane && random.between(0, 2) == 0;
      elements.push_back(std::make_unique<RowsTensor>(
          element.dtype, rows, element.per_lane ? lanes : 1, true, random, turned));
      element.lane_stride = elements.back()->lane_stride();
      data.push_back(elements.back()->buffer.data());
      steps.push_back(elements.back()->step);
    }
  }
  std::vector<double> roots(const Expr& body, std::int64_t r, std::int64_t l) const {
    std::vector<double> channel, element;
    for (int c = 0; c < kChannels; ++c) channel.push_back(channels.get(c, across ? l : r));
    for (std::size_t e = 0; e < elements.size(); ++e)
      element.push_back(elements[e]->get(r, per_lane[e] ? l : 0));
    const std::vector<double> scalars(uniforms, uniforms + kScalars);
    return evaluate(body, {input.get(r, l), 0, scalars, channel, element});
  }
  cpu::RowsCall call(float* sums, std::int64_t output_step) const {
    return {.input = input.buffer.data(),
            .output = sums,
            .elements = data.data(),
            .element_steps = steps.data(),
            .uniforms = uniforms,
            .channels = reinterpret_cast<const float*>(channels.buffer.data()),
            .channel_stride_bytes = channels.step,
            .channel_step = across ? 0 : 4,
            .rows = rows,
            .lanes = lanes,
            .input_step = input.step,
            .output_step = output_step};
  }

  std::int64_t rows, lanes;
  bool across;
  RowsTensor input, channels;
  std::vector<std::unique_ptr<RowsTensor>> elements;
  std::vector<bool> per_lane;
  std::vector<const void*> data;
  std::vector<std::int64_t> steps;
  float uniforms[kScalars] = {2, -5};
};

struct Size {
  int nodes, elements, roots;
  std::int64_t max_rows, max_lanes;
};

cpu::SumsSpec random_spec(cpu::Isa isa, Random& random, const Size& size) {
  cpu::SumsSpec spec{
      .rows = {.isa = isa,
               .body = ExactExpr(random, size.nodes, size.elements, false).roots(size.roots),
               .input = any_dtype(random),
               .output = DType::f32,
               .lanes_are_channels = random.between(0, 1) != 0,
               .elements = {}},
      .per_lane = random.between(0, 1) != 0};
  for (int i = 0; i < size.elements; ++i)
    spec.rows.elements.push_back({any_dtype(random), random.between(0, 2) != 0});
  return spec;
}

void run_random_sums(cpu::Isa isa, Random& random, const Size& size) {
  cpu::SumsSpec spec = random_spec(isa, random, size);
  const Rows data(spec.rows, random.between(1, size.max_rows), random.between(1, size.max_lanes),
                  random);
  const CodeMemory code(cpu::emit_sums(spec));
  const auto kernel = reinterpret_cast<void (*)(const cpu::RowsCall*)>(
      reinterpret_cast<std::uintptr_t>(code.data()));
  const auto roots = static_cast<std::size_t>(size.roots);
  const auto cells = static_cast<std::size_t>(spec.per_lane ? data.lanes : data.rows);
  const std::size_t padded = (cells + 15) / 16 * 16;
  const std::int64_t step =
      spec.per_lane ? 4 * static_cast<std::int64_t>(padded) : 4 * cpu::kSumLanes * size.roots;
  std::vector<float> sums(roots * padded * cpu::kSumLanes, 0.0f);
  std::vector<double> expected(roots * cells, 0.0);
  for (int turn = 0; turn < 2; ++turn) {  // a call adds to what is there
    const cpu::RowsCall call = data.call(sums.data(), step);
    kernel(&call);
  }
  for (std::int64_t r = 0; r < data.rows; ++r)
    for (std::int64_t l = 0; l < data.lanes; ++l) {
      const std::vector<double> values = data.roots(spec.rows.body, r, l);
      const auto cell = static_cast<std::size_t>(spec.per_lane ? l : r);
      for (std::size_t i = 0; i < roots; ++i) expected[i * cells + cell] += 2 * values[i];
    }
  for (std::size_t i = 0; i < roots; ++i)
    for (std::size_t cell = 0; cell < cells; ++cell) {
      double got = 0;
      if (spec.per_lane) {
        got = sums[i * padded + cell];
      } else {
        for (std::size_t l = 0; l < cpu::kSumLanes; ++l)
          got += sums[(cell * roots + i) * cpu::kSumLanes + l];
      }
      ASSERT_EQ(got, expected[i * cells + cell])
          << name_of(isa) << " " << data.rows << "x" << data.lanes << " root " << i << " cell "
          << cell << (spec.per_lane ? " per lane " : " per row ") << name_of(spec.rows.input)
          << " of " << to_text(spec.rows.body);
    }
}

class EmitSums : public ::testing::TestWithParam<cpu::Isa> {};

TEST_P(EmitSums, EveryShapeAndTypeOfSmallChains) {
  Random random(21);
  for (int i = 0; i < 400 && !HasFatalFailure(); ++i)
    run_random_sums(GetParam(), random,
                    {12, static_cast<int>(random.between(0, 3)),
                     static_cast<int>(random.between(1, 3)), 7, 83});
}

TEST_P(EmitSums, ChainsThatNeedTheStack) {
  Random random(22);
  for (int i = 0; i < 40 && !HasFatalFailure(); ++i)
    run_random_sums(GetParam(), random,
                    {static_cast<int>(random.between(60, 300)),
                     static_cast<int>(random.between(0, 20)), 2, 3, 40});
}

INSTANTIATE_TEST_SUITE_P(Isa, EmitSums, ::testing::ValuesIn(vector_isas()),
                         [](const auto& info) { return cpu::name_of(info.param); });

}  // namespace
}  // namespace fuseplan::test
