// SPDX-License-Identifier: MIT
#include "run/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "base/denormals.hpp"
#include "base/half.hpp"
#include "base/log.hpp"

namespace fuseplan {
namespace {

// Random bytes of one type, repeated over a tensor: long enough, and odd enough, that no two lines
// of an image are alike.
constexpr std::size_t kPattern = 16381;

std::vector<std::byte> pattern_of(DType dtype, double low, double high) {
  std::mt19937 engine(1);
  const std::size_t size = size_of(dtype);
  std::vector<std::byte> bytes(kPattern * size);
  for (std::size_t i = 0; i < kPattern; ++i) {
    const std::uint32_t bits = engine();
    const auto value = static_cast<float>(low + (high - low) * bits * 0x1p-32);
    std::byte* to = bytes.data() + i * size;
    const auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
    if (dtype == DType::f32) {
      put(value);
    } else if (dtype == DType::f16) {
      put(float_to_f16(value));
    } else if (dtype == DType::bf16) {
      put(float_to_bf16(value));
    } else if (dtype == DType::f64) {
      put(static_cast<double>(value));
    } else {
      std::memcpy(to, &bits, std::min(size, sizeof bits));
    }
  }
  return bytes;
}

}  // namespace

Trial::Trial(const CompileContext& context, const Question& question, const Parallel& parallel)
    : backend_(*context.backend), device_(context.device), parallel_(parallel) {
  const Problem& problem = question.problem;
  input_ = new_tensor(problem.input(), Fill::symmetric);
  output_ = new_tensor(problem.output(), Fill::symmetric);
  if (const ConvOp* conv = problem.conv()) weights_ = new_tensor(conv->weights, Fill::symmetric);
  for (const Operand& operand : question.chain.channels_in)
    channels_.push_back(new_operand(operand));
  for (const Operand& operand : question.chain.elements) elements_.push_back(new_operand(operand));
  for (const Operand& operand : question.chain.results) results_.push_back(new_operand(operand));
  scalars_.assign(question.chain.scalars.size(), 1);
}

Trial::~Trial() = default;

// A device whose kernel has failed gives nothing back any more.
void Trial::release(void* memory) const noexcept try {
  backend_.free(device_, memory);
} catch (const std::exception& error) {
  if (log_enabled(LogLevel::warning)) log_line(LogLevel::warning, "tune", error.what());
}

void* Trial::new_tensor(const Tensor& tensor, Fill fill) {
  const std::size_t bytes = tensor.bytes();
  std::unique_ptr<void, std::function<void(void*)>> memory(backend_.allocate(device_, bytes),
                                                           [this](void* old) { release(old); });
  const auto pattern = pattern_of(tensor.dtype, fill == Fill::positive ? 0.5 : -1, 1);
  for (std::size_t done = 0; done < bytes; done += pattern.size())
    backend_.copy(device_, static_cast<std::byte*>(memory.get()) + done, pattern.data(),
                  std::min(pattern.size(), bytes - done), Backend::Direction::to_device, nullptr);
  memory_.push_back(std::move(memory));
  return memory_.back().get();
}

// The root of a negative variance would be a NaN, which some kernels take longer for.
void* Trial::new_operand(const Operand& operand) {
  return new_tensor(operand.tensor,
                    operand.role == Role::norm_variance ? Fill::positive : Fill::symmetric);
}

Trial::Entry Trial::enter(std::shared_ptr<const Executable> executable) const {
  Entry entry{std::move(executable), {}};
  if (weights_ == nullptr || entry.executable->prepared_bytes() == 0) return entry;
  entry.weights = Buffer(entry.executable->prepared_bytes());
  entry.executable->prepare(weights_, entry.weights.data(), parallel_);
  return entry;
}

double Trial::run(const Entry& entry, int repeats) const {
  const bool raw = entry.weights.data() == nullptr;  // the kernel takes the plan's tensor
  const Launch launch{input_,
                      output_,
                      raw ? weights_ : entry.weights.data(),
                      channels_,
                      elements_,
                      scalars_,
                      results_,
                      parallel_,
                      nullptr,
                      raw && weights_ != nullptr};
  const FlushDenormals flush;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) entry.executable->launch(launch);
  backend_.synchronize(device_, nullptr);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace fuseplan
