// SPDX-License-Identifier: MIT
#include "driver/problem.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

namespace fuseplan::driver {
namespace {

struct NamedType {
  fuseplanDataType_t type;
  const char* name;
  std::size_t bytes;
};
constexpr NamedType kTypes[] = {{fuseplanFloat, "f32", 4},
                                {fuseplanHalf, "f16", 2},
                                {fuseplanBFloat16, "bf16", 2},
                                {fuseplanInt8, "i8", 1},
                                {fuseplanUint8, "u8", 1}};

const NamedType& row(fuseplanDataType_t type) {
  for (const NamedType& row : kTypes)
    if (row.type == type) return row;
  throw std::invalid_argument("data type " + std::to_string(type) + " is not one the driver runs");
}

double elements(const TensorSpec& tensor) {
  double count = 1;
  for (std::int64_t length : tensor.lens) count *= static_cast<double>(length);
  return count;
}

double bytes_of(const TensorSpec& tensor) {
  return tensor.rank() == 0 ? 0 : elements(tensor) * static_cast<double>(size_of(tensor.type));
}

// How many tensors of an op's description the op reads or writes.
int tensor_count(OpKind kind) {
  switch (kind) {
    case OpKind::norm:
      return 4;
    case OpKind::scale_shift:
      return 2;
    case OpKind::norm_training:
    case OpKind::norm_backward:
      return 6;
    case OpKind::statistics:
      return 5;
    case OpKind::activation:
    case OpKind::activation_backward:
      return 0;
    default:
      return 1;
  }
}

std::vector<int> ints(const Dims& values) { return {values.begin(), values.end()}; }

// The lengths are computed apart from the library; what does not fit, it says best.
void require_fit(const TensorSpec& input, const OpSpec& conv) {
  int rank = 0;
  std::vector<int> lens(input.rank());
  const TensorDesc in = describe(input), weights = describe(conv.tensor);
  check(fuseplanGetConvolutionNdForwardOutputDim(describe_conv(conv).get(), in.get(), weights.get(),
                                                 &rank, lens.data()));
}

}  // namespace

Dims packed_strides(const Dims& lens, bool channels_last) {
  std::vector<std::size_t> inner_first;
  if (channels_last && lens.size() > 2) {
    inner_first.push_back(1);
    for (std::size_t axis = lens.size() - 1; axis >= 2; --axis) inner_first.push_back(axis);
    inner_first.push_back(0);
  } else {
    for (std::size_t axis = lens.size(); axis-- > 0;) inner_first.push_back(axis);
  }
  Dims strides(lens.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t axis : inner_first) {
    strides[axis] = stride;
    stride *= lens[axis];
  }
  return strides;
}

TensorSpec packed(fuseplanDataType_t type, const Dims& lens, bool channels_last) {
  return {type, lens, packed_strides(lens, channels_last)};
}

bool is_channels_last(const TensorSpec& tensor) {
  return tensor.strides == packed_strides(tensor.lens, true) &&
         tensor.strides != packed_strides(tensor.lens, false);
}

TensorSpec ProblemSpec::result() const {
  if (output.rank() > 0) return output;
  return packed(computed_type(input.type), output_lens(), is_channels_last(input));
}

Dims ProblemSpec::output_lens() const {
  const OpSpec* op = conv();
  if (op == nullptr) return input.lens;
  require_fit(input, *op);
  Dims lens{input.lens[0], op->tensor.lens[0]};
  for (std::size_t axis = 0; axis < op->stride.size(); ++axis) {
    const std::int64_t reach = 1 + op->dilation[axis] * (op->tensor.lens[axis + 2] - 1);
    lens.push_back((input.lens[axis + 2] + op->pad_lo[axis] + op->pad_hi[axis] - reach) /
                       op->stride[axis] +
                   1);
  }
  return lens;
}

const OpSpec* ProblemSpec::conv() const {
  return !ops.empty() && ops.front().kind == OpKind::conv ? &ops.front() : nullptr;
}

double ProblemSpec::conv_flops() const {
  const OpSpec* op = conv();
  if (op == nullptr) return 0;
  const Dims lens = output_lens();
  const double outputs = std::accumulate(lens.begin(), lens.end(), 1.0,
                                         [](double a, std::int64_t b) { return a * double(b); });
  return 2 * outputs * elements(op->tensor) / static_cast<double>(op->tensor.lens[0]);
}

double ProblemSpec::bytes() const {
  double bytes = bytes_of(input);
  const fuseplanDataType_t type = output.rank() > 0 ? output.type : computed_type(input.type);
  bytes += bytes_of(packed(type, output_lens(), false));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const OpSpec& op = ops[i];
    bytes += tensor_count(op.kind) * bytes_of(op.tensor);
    const bool summed = op.kind == OpKind::norm_training || op.kind == OpKind::norm_backward;
    if (summed) bytes += bytes_of(input) + 2 * bytes_of(op.source);
    const bool recomputed = i + 1 < ops.size() && ops[i + 1].kind == OpKind::norm_backward;
    if (op.kind == OpKind::activation_backward && !recomputed) bytes += bytes_of(op.source);
  }
  return bytes;
}

fuseplanDataType_t parse_type(std::string_view name) {
  for (const NamedType& row : kTypes)
    if (row.name == name) return row.type;
  throw std::invalid_argument("\"" + std::string(name) +
                              "\" is no data type: f32, f16, bf16, i8 or u8");
}
bool is_integer(fuseplanDataType_t type) { return type == fuseplanInt8 || type == fuseplanUint8; }
fuseplanDataType_t computed_type(fuseplanDataType_t type) {
  return is_integer(type) ? fuseplanFloat : type;
}
const char* name_of(fuseplanDataType_t type) { return row(type).name; }
std::size_t size_of(fuseplanDataType_t type) { return row(type).bytes; }

const std::vector<NamedActivation>& all_activations() {
  static const std::vector<NamedActivation> kActivations = {
      {fuseplanActivationPASTHRU, "pasthru"},
      {fuseplanActivationLOGISTIC, "logistic"},
      {fuseplanActivationTANH, "tanh"},
      {fuseplanActivationRELU, "relu"},
      {fuseplanActivationSOFTRELU, "softrelu"},
      {fuseplanActivationABS, "abs"},
      {fuseplanActivationPOWER, "power"},
      {fuseplanActivationCLIPPEDRELU, "clippedrelu"},
      {fuseplanActivationLEAKYRELU, "leakyrelu"},
      {fuseplanActivationELU, "elu"},
      {fuseplanActivationCLAMP, "clamp"},
      {fuseplanActivationGELU_ERF, "gelu_erf"},
      {fuseplanActivationGELU_TANH, "gelu_tanh"},
      {fuseplanActivationSILU, "silu"},
      {fuseplanActivationMISH, "mish"},
      {fuseplanActivationHARDSWISH, "hardswish"},
      {fuseplanActivationHARDSIGMOID, "hardsigmoid"},
      {fuseplanActivationSOFTPLUS, "softplus"},
      {fuseplanActivationTRUNCATEDPOWER, "truncated_power"}};
  return kActivations;
}

fuseplanActivationMode_t parse_activation(std::string_view name) {
  for (const NamedActivation& row : all_activations())
    if (row.name == name) return row.mode;
  throw std::invalid_argument("\"" + std::string(name) + "\" is no activation");
}

const char* name_of(fuseplanActivationMode_t mode) {
  for (const NamedActivation& row : all_activations())
    if (row.mode == mode) return row.name;
  throw std::invalid_argument(std::to_string(mode) + " is no activation");
}

TensorDesc describe(const TensorSpec& tensor) {
  auto desc = make<TensorDesc>(fuseplanCreateTensorDescriptor);
  const std::vector<std::size_t> lens(tensor.lens.begin(), tensor.lens.end());
  const std::vector<std::size_t> strides(tensor.strides.begin(), tensor.strides.end());
  check(fuseplanSetTensorDescriptorV2(desc.get(), tensor.type, static_cast<int>(lens.size()),
                                      lens.data(), strides.data()));
  return desc;
}

ConvDesc describe_conv(const OpSpec& op) {
  auto desc = make<ConvDesc>(fuseplanCreateConvolutionDescriptor);
  const int axes = static_cast<int>(op.stride.size());
  check(fuseplanInitConvolutionNdDescriptor(desc.get(), axes, ints(op.pad_lo).data(),
                                            ints(op.stride).data(), ints(op.dilation).data(),
                                            fuseplanConvolution));
  check(fuseplanSetConvolutionPadding(desc.get(), axes, ints(op.pad_lo).data(),
                                      ints(op.pad_hi).data()));
  check(fuseplanSetConvolutionGroupCount(desc.get(), static_cast<int>(op.groups)));
  check(fuseplanSetConvolutionAttribute(desc.get(), FUSEPLAN_CONVOLUTION_ATTRIB_STRICT, op.strict));
  check(fuseplanSetConvolutionAttribute(desc.get(), FUSEPLAN_CONVOLUTION_ATTRIB_DETERMINISTIC,
                                        op.deterministic));
  return desc;
}

}  // namespace fuseplan::driver
