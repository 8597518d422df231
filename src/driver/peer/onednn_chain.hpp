// SPDX-License-Identifier: MIT
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <variant>
#include <vector>

#include "driver/case.hpp"

namespace fuseplan::driver {

// What follows the convolution, or is the whole problem, in oneDNN's terms.

/// Per channel: x * values[c], and x + values[c].
struct ChannelMul {
  std::vector<float> values;
};
struct ChannelAdd {
  std::vector<float> values;
};
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha, beta;
};
/// x + a tensor, which has been multiplied by its factor beforehand.
struct TensorSum {
  test::HostTensor other;
};
using Link = std::variant<ChannelMul, ChannelAdd, Eltwise, TensorSum>;
using Chain = std::vector<Link>;

/// y = mul[c] x + add[c]. mul is empty when it is 1 throughout.
struct ChannelAffine {
  std::vector<float> mul, add;
};

/// A problem's steps: the per-channel ops in front, as one (but also the bias that the first of
/// them may be, and the others), then the rest. Throws std::invalid_argument for a step that
/// oneDNN does not have.
struct ChainParts {
  std::vector<float> bias;   ///< empty: the first is none
  ChannelAffine after_bias;  ///< what follows the bias
  ChannelAffine all;         ///< bias and that together; both empty: no per-channel op in front
  Chain rest;
};
ChainParts chain_parts(const std::vector<test::Step>& steps, std::size_t first,
                       std::size_t channels);

/// oneDNN's name for an activation with these parameters.
Eltwise eltwise_of(const test::Activation& activation);

}  // namespace fuseplan::driver
