// SPDX-License-Identifier: MIT
#include "kernels/cpu/chain_runner.hpp"

#include <algorithm>

#include "base/half.hpp"

namespace fuseplan::cpu {

namespace {

/// Stride of the channel axis: axis 1, or the only one.
std::int64_t channel_stride(const Tensor& tensor) {
  const std::size_t axis = tensor.rank() > 1 ? 1 : 0;
  return tensor.lens[axis] == 1 ? 0 : tensor.strides[axis];
}

template <typename T, float (*to_float)(T)>
void gather(const void* raw, std::int64_t stride, std::int64_t count, float* out) {
  const T* from = static_cast<const T*>(raw);
  for (std::int64_t k = 0; k < count; ++k) out[k] = to_float(from[k * stride]);
}
template <typename T>
float widened(T value) {
  return value;
}

}  // namespace

ChainRunner::ChainRunner(const SplitChain& chain, std::int64_t channels, const void* prologue)
    : channels_(channels),
      stride_(channel_stride_of(channels)),
      roots_(chain.channels.roots.size()),
      uniform_roots_(chain.uniforms.roots.size()),
      prologue_(prologue) {
  for (const Operand& operand : chain.channels_in) {
    const std::int64_t stride = channels == 1 ? 1 : channel_stride(operand.tensor);
    operands_.push_back({operand.tensor.dtype, stride});
  }
  if (roots_ > 0 && prologue == nullptr) interpreter_.emplace(chain.channels);
  if (uniform_roots_ == 0) return;
  uniforms_.emplace(chain.uniforms);
  if (!uniforms_->leaves().empty()) return;
  Scratch scratch;
  const float* values = run_uniforms({}, scratch);
  constant_uniforms_.assign(values, values + uniform_roots_);
}

const float* ChainRunner::run_uniforms(std::span<const double> scalars, Scratch& scratch) const {
  if (uniform_roots_ == 0) return nullptr;
  if (!constant_uniforms_.empty()) return constant_uniforms_.data();
  float* values = scratch.take_array<float>(uniform_roots_);
  ChainInterpreter<double>::Frame frame(*uniforms_, scratch);
  const auto leaves = uniforms_->leaves();
  for (std::size_t i = 0; i < leaves.size(); ++i)
    frame.bind(i, &scalars[static_cast<std::size_t>(leaves[i].index)]);
  frame.run(1);
  for (std::size_t r = 0; r < uniform_roots_; ++r) values[r] = static_cast<float>(*frame.root(r));
  return values;
}

const float* ChainRunner::operand(std::size_t index, const void* raw, Scratch& scratch) const {
  const ChannelOperand& operand = operands_[index];
  if (operand.is_direct()) return static_cast<const float*>(raw);
  float* values = scratch.take_array<float>(static_cast<std::size_t>(channels_));
  switch (operand.dtype) {
    case DType::f32:
      gather<float, widened<float>>(raw, operand.stride, channels_, values);
      break;
    case DType::f16:
      gather<std::uint16_t, f16_to_float>(raw, operand.stride, channels_, values);
      break;
    case DType::i8:
      gather<std::int8_t, widened<std::int8_t>>(raw, operand.stride, channels_, values);
      break;
    case DType::u8:
      gather<std::uint8_t, widened<std::uint8_t>>(raw, operand.stride, channels_, values);
      break;
    default:
      gather<std::uint16_t, bf16_to_float>(raw, operand.stride, channels_, values);
  }
  return values;
}

void ChainRunner::interpret(const Pending& pending, Range range, Scratch& scratch) const {
  using Interpreter = ChainInterpreter<float>;
  Interpreter::Frame frame(*interpreter_, scratch);
  const auto leaves = interpreter_->leaves();
  constexpr auto kBlock = static_cast<std::int64_t>(Interpreter::kBlock);
  for (std::int64_t first = range.first; first < range.last; first += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, range.last - first));
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto index = static_cast<std::size_t>(leaves[i].index);
      if (leaves[i].leaf == Leaf::channel) {
        frame.bind(i, pending.operands[index] + first);
      } else if (first == range.first) {
        float* values = scratch.take_array<float>(count);
        std::fill_n(values, count, pending.frame.uniforms[index]);
        frame.bind(i, values);
      }
    }
    frame.run(count);
    for (std::size_t r = 0; r < roots_; ++r)
      std::copy_n(frame.root(r), count,
                  pending.values + static_cast<std::int64_t>(r) * stride_ + first);
  }
}

ChainRunner::Pending ChainRunner::begin(const Arguments& arguments, Scratch& scratch) const {
  const float* uniforms = run_uniforms(arguments.scalars, scratch);
  if (roots_ == 0) return {{uniforms, nullptr, stride_}};
  float* out = scratch.take_array<float>(roots_ * static_cast<std::size_t>(stride_));
  const float** operands = scratch.take_array<const float*>(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i)
    operands[i] = operand(i, arguments.channels[i], scratch);
  for (std::size_t r = 0; r < roots_; ++r)
    std::fill(out + static_cast<std::int64_t>(r) * stride_ + channels_,
              out + static_cast<std::int64_t>(r + 1) * stride_, 0.0f);
  return {{uniforms, out, stride_}, out, operands};
}

void ChainRunner::run_channels(const Pending& pending, Range range, Scratch& scratch) const {
  if (roots_ == 0 || range.first == range.last) return;
  if (prologue_ == nullptr) return interpret(pending, range, scratch);
  const float** operands = scratch.take_array<const float*>(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i)
    operands[i] = pending.operands[i] + range.first;
  const RowsCall call{.output = pending.values + range.first,
                      .elements = reinterpret_cast<const void* const*>(operands),
                      .element_steps = nullptr,
                      .uniforms = pending.frame.uniforms,
                      .rows = 1,
                      .lanes = range.last - range.first,
                      .output_step = stride_ * static_cast<std::int64_t>(sizeof(float))};
  reinterpret_cast<void (*)(const RowsCall*)>(reinterpret_cast<std::uintptr_t>(prologue_))(&call);
}

ChainFrame ChainRunner::prepare(const Arguments& arguments, Scratch& scratch) const {
  const Pending pending = begin(arguments, scratch);
  run_channels(pending, {0, channels_}, scratch);
  return pending.frame;
}

}  // namespace fuseplan::cpu
