// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {
namespace {

class VectorTransform {
 public:
  VectorTransform(const StemPlan& plan, FilterKernel kernel, const void* raw, Scratch& scratch)
      : plan_(plan),
        kernel_(kernel),
        raw_(static_cast<const std::byte*>(raw)),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
        moves_(moves_for(plan.shape.weights, plan.isa)),
        lanes_(plan.lanes()),
        filters_(scratch.take_array<float>(static_cast<std::size_t>(
            plan.channels * plan.row_phases.taps * plan.column_phases.taps * lanes_))),
        transformed_(scratch.take_array<float>(static_cast<std::size_t>(plan.vector_weights()))) {}

  void run(std::int64_t vector, float* to) {
    gather(vector * lanes_);
    const std::int64_t position = plan_.channels * lanes_;
    const FilterCall call{filters_, transformed_, position * std::int64_t{sizeof(float)},
                          lanes_ * std::int64_t{sizeof(float)}, plan_.channels};
    kernel_(&call);
    for (std::int64_t row = 0; row < plan_.rows->inputs(); ++row)
      for (std::int64_t channel = 0; channel < plan_.channels; ++channel)
        for (std::int64_t column = 0; column < plan_.columns->inputs(); ++column, to += lanes_)
          std::copy_n(
              transformed_ + (row * plan_.columns->inputs() + column) * position + channel * lanes_,
              lanes_, to);
  }

 private:
  /// filters_[channel][tap][lane] of phases.
  void gather(std::int64_t output) {
    const ConvGeometry& conv = plan_.shape.conv;
    const std::int64_t count = std::min(lanes_, plan_.outputs() - output);
    float* to = filters_;
    for (std::int64_t row_phase = 0; row_phase < plan_.row_phases.count; ++row_phase)
      for (std::int64_t phase = 0; phase < plan_.column_phases.count; ++phase)
        for (std::int64_t channel = 0; channel < plan_.inputs(); ++channel)
          for (std::int64_t r = 0; r < plan_.row_phases.taps; ++r)
            for (std::int64_t s = 0; s < plan_.column_phases.taps; ++s, to += lanes_) {
              const std::int64_t row = plan_.row_phases.tap(row_phase, r);
              const std::int64_t column = plan_.column_phases.tap(phase, s);
              std::fill_n(to, lanes_, 0.0F);
              if (row >= conv.filter[1] || column >= conv.filter[2]) continue;
              const std::int64_t at = output * conv.weight_stride[0] +
                                      channel * conv.weight_stride[1] +
                                      row * conv.weight_stride[3] + column * conv.weight_stride[4];
              moves_.widen(raw_ + at * bytes_, conv.weight_stride[0], to, count);
            }
  }

  const StemPlan& plan_;
  FilterKernel kernel_;
  const std::byte* raw_;
  std::int64_t bytes_;  ///< of a raw weight
  Moves moves_;
  std::int64_t lanes_;
  float *filters_, *transformed_;
};

}  // namespace

std::size_t stem_weight_bytes(const StemPlan& plan) {
  return static_cast<std::size_t>(plan.vectors * plan.vector_weights()) * sizeof(float);
}

void transform_stem_weights(const StemPlan& plan, FilterKernel kernel, const void* raw,
                            float* transformed, const Parallel& parallel) {
  for_each_range(parallel, plan.vectors, [&](Range range) {
    Scratch scratch;
    VectorTransform transform(plan, kernel, raw, scratch);
    for (long vector = range.first; vector < range.last; ++vector)
      transform.run(vector, transformed + vector * plan.vector_weights());
  });
}

std::string stem_weight_format(const StemPlan& plan) {
  return fmt::format("stem:{}x{}:{}x{}:{}", plan.config.rows, plan.config.columns,
                     plan.row_phases.count, plan.column_phases.count, plan.lanes());
}

}  // namespace fuseplan::cpu
