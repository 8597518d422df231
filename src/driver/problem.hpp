// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/api.hpp"

namespace fuseplan::driver {

using Dims = std::vector<std::int64_t>;

struct TensorSpec {
  fuseplanDataType_t type = fuseplanFloat;
  Dims lens, strides;
  std::size_t rank() const { return lens.size(); }
  bool operator==(const TensorSpec&) const = default;
};

/// Packed strides: channels innermost, or last.
Dims packed_strides(const Dims& lens, bool channels_last);
TensorSpec packed(fuseplanDataType_t type, const Dims& lens, bool channels_last);
/// Packed with the channels last, where that is another layout than with them first.
bool is_channels_last(const TensorSpec& tensor);

/// activAlpha, activBeta, activGamma.
struct ActivationParameters {
  double alpha, beta, gamma;
};

enum class OpKind {
  conv,
  bias,
  norm,
  activation,
  add,
  scale_shift,
  norm_training,
  activation_backward,
  norm_backward,
  statistics
};
const char* name_of(OpKind kind);

struct OpSpec {
  OpKind kind{};
  TensorSpec tensor;  ///< weights, or parameters; none for activations
  // conv
  Dims pad_lo, pad_hi, stride, dilation;
  std::int64_t groups = 1;
  bool strict = false, deterministic = false;
  // norm, activation, and those of training
  fuseplanBatchNormMode_t norm_mode = fuseplanBNSpatial;
  fuseplanActivationMode_t mode = fuseplanActivationPASTHRU;
  std::optional<ActivationParameters> parameters;  ///< of activations; nothing: usual ones
  TensorSpec source;                               ///< of backward ops: what forward read
  bool running = false;                            ///< norm_training: with running statistics
};

/// What a plan is made from: the driver's own reading of the one-line problem text, kept apart from
/// the library's so that each checks the other.
struct ProblemSpec {
  std::string name;  ///< for tables; the text if it has no other
  TensorSpec input;
  std::vector<OpSpec> ops;
  TensorSpec output;  ///< rank 0: as derived
  std::int64_t count = 1;
  double published_speedup = 0;

  /// Lengths of the result. Throws ApiError where the convolution does not fit.
  Dims output_lens() const;
  /// What a plan writes: the output, or what is derived without one.
  TensorSpec result() const;
  const OpSpec* conv() const;
  /// Floating-point operations of the convolution (taps on padding counted); 0 without one.
  double conv_flops() const;
  /// Bytes a single kernel has to move: input, output, weights, parameters, each once; data that
  /// is summed over the batch first, twice.
  double bytes() const;
};

ProblemSpec parse_problem(std::string_view text);
std::string to_text(const ProblemSpec& problem);

fuseplanDataType_t parse_type(std::string_view name);
const char* name_of(fuseplanDataType_t type);
std::size_t size_of(fuseplanDataType_t type);
bool is_integer(fuseplanDataType_t type);
/// What plans over that type write by default.
fuseplanDataType_t computed_type(fuseplanDataType_t type);
fuseplanActivationMode_t parse_activation(std::string_view name);
const char* name_of(fuseplanActivationMode_t mode);
struct NamedActivation {
  fuseplanActivationMode_t mode;
  const char* name;
};
const std::vector<NamedActivation>& all_activations();

TensorDesc describe(const TensorSpec& tensor);
ConvDesc describe_conv(const OpSpec& op);

}  // namespace fuseplan::driver
