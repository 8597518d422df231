// SPDX-License-Identifier: MIT
#include "kernels/cpu/streaming.hpp"

#include <cstdint>
#include <utility>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kLine = 64;

std::int64_t bytes_of(const ChainTensors& tensors) {
  return tensors.output.elements() * static_cast<std::int64_t>(size_of(tensors.dtype));
}

/// When a launch streams.
struct Gain {
  std::int64_t bytes = 0;      ///< of the output
  std::int64_t alignment = 1;  ///< that it must have
  std::int64_t touched = 0;    ///< that no cache may keep, or 0

  bool is_worth_it(const CoreRates& rates) const {
    // From kFarBytes on it pays where the third-level cache is hardly nearer than memory
    // (res2_1x1b of resnet50.csv, 3.2 MB: 700 to 600 us; at batch 16, 51 MB: 16.1 to 12.8 ms).
    // Elsewhere that cache should keep it for the next operation, if it can.
    const auto kept = [&](std::int64_t bytes) {
      return static_cast<double>(bytes) < rates.third_level_bytes;
    };
    return !(rates.third_level_is_near() && kept(bytes)) && (touched == 0 || !kept(touched));
  }
};

class EitherProgram final : public Program {
 public:
  EitherProgram(std::unique_ptr<Program> plain, std::unique_ptr<Program> streaming,
                std::int64_t alignment)
      : plain_(std::move(plain)), streaming_(std::move(streaming)), alignment_(alignment) {}

  void run(const Arguments& arguments) const override {
    (streams(arguments) ? streaming_ : plain_)->run(arguments);
  }
  std::size_t prepared_bytes() const override { return plain_->prepared_bytes(); }
  std::string weight_format() const override { return plain_->weight_format(); }
  bool takes_raw_weights() const override { return plain_->takes_raw_weights(); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    plain_->prepare(raw, prepared, parallel);
  }

 private:
  bool streams(const Arguments& arguments) const {
    const auto address = reinterpret_cast<std::uintptr_t>(arguments.output);
    return address % static_cast<std::uintptr_t>(alignment_) == 0;
  }

  std::unique_ptr<Program> plain_, streaming_;
  std::int64_t alignment_;
};

class EitherRecipe final : public Recipe {
 public:
  EitherRecipe(std::shared_ptr<const Recipe> plain, std::shared_ptr<const Recipe> streaming,
               const Gain& gain)
      : plain_(std::move(plain)), streaming_(std::move(streaming)), gain_(gain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions = plain_->emit();
    for (Function& function : streaming_->emit()) {
      function.name += "_streaming";
      functions.push_back(std::move(function));
    }
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    const std::size_t half = entries.size() / 2;
    std::unique_ptr<Program> plain = plain_->bind(entries.first(half));
    if (!gain_.is_worth_it(core_rates(host_family()))) return plain;
    return std::make_unique<EitherProgram>(std::move(plain), streaming_->bind(entries.last(half)),
                                           gain_.alignment);
  }

 private:
  std::shared_ptr<const Recipe> plain_, streaming_;
  Gain gain_;
};

}  // namespace

bool is_made_of_lines(const ChainTensors& tensors) {
  const auto whole = [&](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(size_of(tensors.dtype)) % kLine == 0;
  };
  const View& output = tensors.output;
  if (!contiguous_along(output, static_cast<int>(tensors.lane_axis))) return false;
  if (!whole(output.len[tensors.lane_axis])) return false;
  for (std::size_t axis = 0; axis < output.len.size(); ++axis)
    if (axis != tensors.lane_axis && output.len[axis] > 1 && !whole(output.stride[axis]))
      return false;
  return true;
}

void fence_streams() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

std::shared_ptr<const Recipe> with_streaming(
    const ChainTensors& tensors, const SplitChain& chain, std::int64_t lanes,
    const std::function<std::shared_ptr<const Recipe>(bool streaming)>& make) {
  const std::int64_t bytes = bytes_of(tensors);
  // Parts of lines whose other parts follow late are no gain: bf16 was 10 % slower by halves.
  const bool whole = lanes * static_cast<std::int64_t>(size_of(tensors.dtype)) % kLine == 0;
  if (bytes < kFarBytes || chain.keeps_output() || !whole || !is_made_of_lines(tensors))
    return make(false);
  return std::make_shared<EitherRecipe>(make(false), make(true), Gain{bytes, kLine});
}

std::shared_ptr<const Recipe> with_streamed_regions(
    const ChainTensors& tensors, const SplitChain& chain, std::int64_t touched,
    const std::function<std::shared_ptr<const Recipe>(bool streaming)>& make) {
  const std::int64_t bytes = bytes_of(tensors);
  if (bytes < kFarBytes || chain.keeps_output()) return make(false);
  return std::make_shared<EitherRecipe>(make(false), make(true),
                                        Gain{.bytes = bytes, .touched = touched});
}

}  // namespace fuseplan::cpu
