// SPDX-License-Identifier: MIT
#include "driver/peer/onednn_chain.hpp"

#include <cmath>
#include <stdexcept>

namespace fuseplan::driver {
namespace {

using test::HostTensor;
using test::Mode;

std::vector<double> channel_values(const HostTensor& tensor, std::size_t channels) {
  std::vector<double> values = tensor.values();
  if (values.size() == 1) values.resize(channels, values[0]);
  if (values.size() != channels)
    throw std::invalid_argument("oneDNN: parameters per element have no fused form");
  return values;
}

std::vector<float> rounded(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Per-channel multiply-adds in a row, as one in double.
class Affine {
 public:
  explicit Affine(std::size_t channels) : mul_(channels, 1), add_(channels, 0) {}

  /// True if the step is one that it could take in.
  bool append(const test::Step& step) {
    const std::size_t channels = mul_.size();
    if (const auto* bias = std::get_if<test::Bias>(&step.op)) {
      append({}, channel_values(*bias->bias, channels));
    } else if (const auto* affine = std::get_if<test::ScaleShift>(&step.op)) {
      append(channel_values(*affine->scale, channels), channel_values(*affine->shift, channels));
    } else if (const auto* norm = std::get_if<test::BatchNorm>(&step.op)) {
      const auto scale = channel_values(*norm->scale, channels);
      const auto bias = channel_values(*norm->bias, channels);
      const auto mean = channel_values(*norm->mean, channels);
      const auto variance = channel_values(*norm->variance, channels);
      std::vector<double> mul(channels), add(channels);
      for (std::size_t c = 0; c < channels; ++c) {
        mul[c] = scale[c] / std::sqrt(variance[c] + norm->epsilon);
        add[c] = bias[c] - mean[c] * mul[c];
      }
      append(mul, add);
    } else {
      return false;
    }
    any_ = true;
    return true;
  }

  ChannelAffine result() const {
    if (!any_) return {};
    return {scales_ ? rounded(mul_) : std::vector<float>{}, rounded(add_)};
  }

 private:
  void append(const std::vector<double>& mul, const std::vector<double>& add) {
    scales_ = scales_ || !mul.empty();
    for (std::size_t c = 0; c < mul_.size(); ++c) {
      const double factor = mul.empty() ? 1 : mul[c];
      mul_[c] *= factor;
      add_[c] = add_[c] * factor + add[c];
    }
  }

  std::vector<double> mul_, add_;
  bool scales_ = false, any_ = false;
};

void append_affine(const ChannelAffine& affine, Chain& chain) {
  if (!affine.mul.empty()) chain.emplace_back(ChannelMul{affine.mul});
  if (!affine.add.empty()) chain.emplace_back(ChannelAdd{affine.add});
}

TensorSum sum_of(const test::Add& add) {
  HostTensor other = add.other->like();
  std::vector<double> values = add.other->values();
  for (double& value : values) value *= add.scale;
  other.set_values(values);
  return {std::move(other)};
}

}  // namespace

Eltwise eltwise_of(const test::Activation& activation) {
  using dnnl::algorithm;
  const auto a = static_cast<float>(activation.alpha), b = static_cast<float>(activation.beta);
  switch (activation.mode) {
    case Mode::PASTHRU:
      return {algorithm::eltwise_linear, 1, 0};
    case Mode::LOGISTIC:
      return {algorithm::eltwise_logistic, 0, 0};
    case Mode::TANH:
      if (a != 1 || b != 1) break;
      return {algorithm::eltwise_tanh, 0, 0};
    case Mode::RELU:
      return {algorithm::eltwise_relu, 0, 0};
    case Mode::SOFTRELU:
      return {algorithm::eltwise_soft_relu, 1, 0};
    case Mode::ABS:
      return {algorithm::eltwise_abs, 0, 0};
    case Mode::CLIPPEDRELU:
      return {algorithm::eltwise_clip_v2, 0, a};
    case Mode::LEAKYRELU:
      return {algorithm::eltwise_relu, a, 0};
    case Mode::ELU:
      return {algorithm::eltwise_elu, a, 0};
    case Mode::CLAMP:
      return {algorithm::eltwise_clip_v2, a, b};
    case Mode::GELU_ERF:
      return {algorithm::eltwise_gelu_erf, 0, 0};
    case Mode::GELU_TANH:
      return {algorithm::eltwise_gelu_tanh, 0, 0};
    case Mode::SILU:
      return {algorithm::eltwise_swish, 1, 0};
    case Mode::MISH:
      return {algorithm::eltwise_mish, 0, 0};
    case Mode::HARDSWISH:
      return {algorithm::eltwise_hardswish, a, b};
    case Mode::HARDSIGMOID:
      return {algorithm::eltwise_hardsigmoid, a, b};
    case Mode::SOFTPLUS:
      return {algorithm::eltwise_soft_relu, a, 0};
    case Mode::POWER:
    case Mode::TRUNCATEDPOWER:
      break;
  }
  throw std::invalid_argument("oneDNN: no such activation, or not with these parameters");
}

ChainParts chain_parts(const std::vector<test::Step>& steps, std::size_t first,
                       std::size_t channels) {
  ChainParts parts;
  Affine all(channels), after_bias(channels);
  std::size_t i = first;
  for (; i < steps.size() && all.append(steps[i]); ++i) {
    const auto* bias = std::get_if<test::Bias>(&steps[i].op);
    if (i == first && bias != nullptr) {
      parts.bias = rounded(channel_values(*bias->bias, channels));
    } else {
      after_bias.append(steps[i]);
    }
  }
  parts.all = all.result();
  parts.after_bias = after_bias.result();
  while (i < steps.size()) {
    Affine affine(channels);
    std::size_t end = i;
    while (end < steps.size() && affine.append(steps[end])) ++end;
    append_affine(affine.result(), parts.rest);
    if (end == i) {
      if (const auto* add = std::get_if<test::Add>(&steps[i].op)) {
        parts.rest.emplace_back(sum_of(*add));
      } else if (const auto* activation = std::get_if<test::Activation>(&steps[i].op)) {
        parts.rest.emplace_back(eltwise_of(*activation));
      } else {
        throw std::invalid_argument("oneDNN: a convolution in the middle of a chain");
      }
      ++end;
    }
    i = end;
  }
  return parts;
}

}  // namespace fuseplan::driver
