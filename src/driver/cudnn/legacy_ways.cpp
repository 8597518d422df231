// SPDX-License-Identifier: MIT
#include "driver/cudnn/legacy_ways.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "driver/cudnn/on_device.hpp"
#include "driver/device/buffer.hpp"

namespace fuseplan::driver {
namespace {

using test::HostTensor;

constexpr float kOne = 1, kZero = 0;

/// What the chain must be: a convolution of two axes, then any of bias, batch normalisation and
/// RELU in this order; or those without one, a bias with the normalisation only.
struct Chain {
  const OpSpec *conv = nullptr, *bias = nullptr, *norm = nullptr, *relu = nullptr;
};
Chain chain_of(const ProblemSpec& problem) {
  Chain chain;
  int last = -1;
  const auto take = [&](const OpSpec*& place, int order, const OpSpec& op) {
    if (order <= last) throw std::invalid_argument("cuDNN: the ops are in no order it fuses");
    last = order;
    place = &op;
  };
  for (const OpSpec& op : problem.ops) {
    if (op.kind == OpKind::conv) {
      if (op.stride.size() != 2 || op.pad_lo != op.pad_hi)
        throw std::invalid_argument(
            "cuDNN's single functions are asked for convolutions of two axes with as much padding "
            "on either side");
      take(chain.conv, 0, op);
    } else if (op.kind == OpKind::bias) {
      take(chain.bias, 1, op);
    } else if (op.kind == OpKind::norm && op.norm_mode == fuseplanBNSpatial) {
      take(chain.norm, 2, op);
    } else if (op.kind == OpKind::activation && op.mode == fuseplanActivationRELU) {
      take(chain.relu, 3, op);
    } else {
      throw std::invalid_argument(std::string("cuDNN is not asked for ") + name_of(op.kind));
    }
  }
  if (chain.bias != nullptr && chain.conv == nullptr && chain.norm == nullptr)
    throw std::invalid_argument(
        "cuDNN is asked for a bias behind a convolution, or in front of a "
        "batch normalisation, only");
  return chain;
}

/// Everything that the ways of one problem share.
class LegacyProblem {
 public:
  LegacyProblem(fuseplanHandle_t handle, const CudnnLegacy& cudnn, void* dnn, BatchedCase& fused)
      : handle_(handle),
        cudnn_(cudnn),
        dnn_(dnn),
        fused_(fused),
        chain_(chain_of(fused.problem())) {
    type_ = cudnn_type(spec().input.type);
    describe(x_, spec().input.lens, spec().input.strides, type_);
    const bool last = is_channels_last(spec().input);
    const Dims out = spec().output_lens();
    describe(y_, out, packed_strides(out, last), type_);
    const Dims channels{1, out[1], 1, 1};
    describe(bias_form_, channels, packed_strides(channels, false), type_);
    describe(norm_form_, channels, packed_strides(channels, false), kCudnnFloat);
    cudnn_.check(cudnn_.set_activation(relu_.get(), kCudnnRelu, kCudnnPropagateNan, 0),
                 "cudnnSetActivationDescriptor");
    if (chain_.conv != nullptr) describe_conv(*chain_.conv, last);
    make_parameters();
  }

  const Chain& chain() const { return chain_; }
  const ProblemSpec& spec() const { return fused_.problem(); }

  /// The fastest algorithm of those cuDNN tries, with its math type; room for its workspace.
  std::string choose(int math) {
    cudnn_.check(cudnn_.set_math(conv_.get(), math), "cudnnSetConvolutionMathType");
    std::array<CudnnAlgorithm, 8> rows{};
    int count = 0;
    cudnn_.check(cudnn_.find(dnn_, x_.get(), w_.get(), conv_.get(), y_.get(),
                             static_cast<int>(rows.size()), &count, rows.data()),
                 "cudnnFindConvolutionForwardAlgorithm");
    if (count == 0 || rows[0].status != 0)
      throw std::runtime_error("cuDNN finds no algorithm for the convolution");
    algorithm_ = rows[0];
    cudnn_.check(cudnn_.set_math(conv_.get(), algorithm_.math), "cudnnSetConvolutionMathType");
    workspace_.reserve(algorithm_.workspace);
    return fmt::format("algorithm {}, math {}, workspace {} KiB", algorithm_.algorithm,
                       algorithm_.math, algorithm_.workspace >> 10);
  }

  void run_apart(const void* input, void* output) {
    const void* from = input;
    void* from_desc = x_.get();
    if (chain_.conv != nullptr) {
      cudnn_.check(cudnn_.convolve(dnn_, &kOne, x_.get(), input, w_.get(), fused_.parameter_at(0),
                                   conv_.get(), algorithm_.algorithm, workspace_.get(),
                                   algorithm_.workspace, &kZero, y_.get(), output),
                   "cudnnConvolutionForward");
      from = output, from_desc = y_.get();
    }
    if (chain_.bias != nullptr && chain_.norm == nullptr)
      cudnn_.check(cudnn_.add(dnn_, &kOne, bias_form_.get(), bias_->get(), &kOne, y_.get(), output),
                   "cudnnAddTensor");
    if (chain_.norm != nullptr) {
      cudnn_.check(
          cudnn_.normalize(dnn_, kCudnnSpatial, &kOne, &kZero, from_desc, from, y_.get(), output,
                           norm_form_.get(), norm(0), norm(1), mean_->get(), norm(3), kNormEpsilon),
          "cudnnBatchNormalizationForwardInference");
      from = output, from_desc = y_.get();
    }
    if (chain_.relu != nullptr)
      cudnn_.check(
          cudnn_.activate(dnn_, relu_.get(), &kOne, from_desc, from, &kZero, y_.get(), output),
          "cudnnActivationForward");
  }

  void run_fused(const void* input, void* output) {
    cudnn_.check(cudnn_.convolve_bias_activate(
                     dnn_, &kOne, x_.get(), input, w_.get(), folded_weights_->get(), conv_.get(),
                     algorithm_.algorithm, workspace_.get(), algorithm_.workspace, &kZero, y_.get(),
                     output, bias_form_.get(), folded_bias_->get(), relu_.get(), y_.get(), output),
                 "cudnnConvolutionBiasActivationForward");
  }

 private:
  void describe(const CudnnObject& desc, const Dims& lens, const Dims& strides, int type) {
    set_tensor(cudnn_, cudnn_.set_tensor, desc, type, lens, strides);
  }

  void describe_conv(const OpSpec& op, bool last) {
    const auto i = [](std::int64_t value) { return static_cast<int>(value); };
    const Dims& w = op.tensor.lens;
    cudnn_.check(cudnn_.set_filter(w_.get(), type_, last ? kCudnnNhwc : kCudnnNchw, i(w[0]),
                                   i(w[1]), i(w[2]), i(w[3])),
                 "cudnnSetFilter4dDescriptor");
    cudnn_.check(cudnn_.set_conv(conv_.get(), i(op.pad_lo[0]), i(op.pad_lo[1]), i(op.stride[0]),
                                 i(op.stride[1]), i(op.dilation[0]), i(op.dilation[1]),
                                 kCudnnCrossCorrelation, kCudnnFloat),
                 "cudnnSetConvolution2dDescriptor");
    cudnn_.check(cudnn_.set_groups(conv_.get(), i(op.groups)), "cudnnSetConvolutionGroupCount");
  }

  // cuDNN's bias has the data's type; folded: s (conv(x) + b - m) + t with s = scale / sqrt(v + e).
  void make_parameters() {
    Case& one = fused_.one();
    std::size_t next = chain_.conv != nullptr ? 1 : 0;
    const auto channels = static_cast<std::size_t>(spec().output_lens()[1]);
    std::vector<double> bias(channels, 0), factor(channels, 1);
    if (chain_.bias != nullptr) bias = one.parameter(next++).values();
    bias_ = tensor_of(bias, fused_.one().output().type());
    norm_ = next;
    if (chain_.norm != nullptr) {
      std::array<std::vector<double>, 4> p;
      for (std::size_t i = 0; i < 4; ++i) p[i] = one.parameter(norm_ + i).values();
      // x + b - m is x - (m - b): one launch less.
      std::vector<double> mean = p[2];
      for (std::size_t c = 0; c < channels; ++c) mean[c] -= bias[c];
      mean_ = tensor_of(mean, test::Element::f32);
      for (std::size_t c = 0; c < channels; ++c) {
        factor[c] = p[0][c] / std::sqrt(p[3][c] + kNormEpsilon);
        bias[c] = factor[c] * (bias[c] - p[2][c]) + p[1][c];
      }
    }
    if (chain_.conv == nullptr) return;
    HostTensor weights = one.parameter(0).like();
    std::vector<double> values = one.parameter(0).values();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] *= factor[i / (values.size() / channels)];
    weights.set_values(values);
    folded_weights_ = std::make_unique<OnDevice>(handle_, std::move(weights));
    folded_bias_ = tensor_of(bias, fused_.one().output().type());
  }

  std::unique_ptr<OnDevice> tensor_of(const std::vector<double>& values, test::Element type) {
    HostTensor tensor(type, {static_cast<std::int64_t>(values.size())});
    tensor.set_values(values);
    return std::make_unique<OnDevice>(handle_, std::move(tensor));
  }
  const void* norm(std::size_t which) { return fused_.parameter_at(norm_ + which); }

  fuseplanHandle_t handle_;
  const CudnnLegacy& cudnn_;
  void* dnn_;
  BatchedCase& fused_;
  Chain chain_;
  int type_ = 0;
  CudnnObject x_{cudnn_, cudnn_.create_tensor, cudnn_.destroy_tensor},
      y_{cudnn_, cudnn_.create_tensor, cudnn_.destroy_tensor},
      bias_form_{cudnn_, cudnn_.create_tensor, cudnn_.destroy_tensor},
      norm_form_{cudnn_, cudnn_.create_tensor, cudnn_.destroy_tensor},
      w_{cudnn_, cudnn_.create_filter, cudnn_.destroy_filter},
      conv_{cudnn_, cudnn_.create_conv, cudnn_.destroy_conv},
      relu_{cudnn_, cudnn_.create_activation, cudnn_.destroy_activation};
  std::unique_ptr<OnDevice> bias_, mean_, folded_weights_, folded_bias_;
  std::size_t norm_ = 0;
  DeviceBuffer workspace_{handle_};
  CudnnAlgorithm algorithm_{};
};

void add_ways(DeviceWays& ways, const LegacySide& side, BatchedCase& fused, int math,
              const std::string& remark, WayRole role) {
  const auto problem = std::make_shared<LegacyProblem>(side.device, side.cudnn, side.handle, fused);
  const Chain& chain = problem->chain();
  const std::string found = chain.conv != nullptr ? problem->choose(math) : "";
  const bool rounds = fused.problem().input.type == fuseplanFloat && math == kCudnnDefaultMath;
  const auto add = [&](const char* name, WayRole as, auto run) {
    ways.ways.push_back({name + remark, as, found, run, {}, rounds});
  };
  add("op by op", role,
      [problem](const void* input, void* output) { problem->run_apart(input, output); });
  if (chain.conv == nullptr || chain.relu == nullptr) return;
  add("conv + bias + RELU",
      chain.norm != nullptr && role == WayRole::contender ? WayRole::folded : role,
      [problem](const void* input, void* output) { problem->run_fused(input, output); });
}

}  // namespace

void add_legacy_ways(DeviceWays& ways, const LegacySide& side, BatchedCase& fused,
                     const void* input, void* output) {
  const auto add = [&](int math, const std::string& remark, WayRole role) {
    DeviceWays found;
    try {
      add_ways(found, side, fused, math, remark, role);
      for (const DeviceWay& way : found.ways) way.launch(input, output);  // refusals come now
    } catch (const std::exception& error) {
      ways.refused.push_back({"op by op" + remark, error.what()});
      return;
    }
    for (DeviceWay& way : found.ways) ways.ways.push_back(std::move(way));
  };
  const bool real = fused.problem().input.type == fuseplanFloat;
  // f32 in f32 as fuseplan computes it; by tf32, unless fuseplan may, for information.
  add(real ? kCudnnFmaMath : kCudnnTensorMath, "", WayRole::contender);
  if (real && fused.problem().conv() != nullptr)
    add(kCudnnDefaultMath, " in tf32",
        fused.rounds_inputs() ? WayRole::contender : WayRole::beyond);
}

}  // namespace fuseplan::driver
