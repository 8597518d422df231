// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/finish.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

// Longer chains run faster as a loop over sums in memory than written out for each of 28.
constexpr int kMostFunctions = 8;
const Xbyak::Reg64 kPointers[] = {r8, r9, r10, r11, rbx, r12, r13, r14};
const Xbyak::Reg64 kOutput = rsi, kUniforms = r15;

struct Leaves {
  int channel, element;
};
Leaves count_leaves(const Expr& body) {
  Leaves most{0, 0};
  for (Ref i = 0; i < body.graph.size(); ++i) {
    const Node& node = body.graph[i];
    if (node.leaf == Leaf::channel) most.channel = std::max(most.channel, node.index + 1);
    if (node.leaf == Leaf::element) most.element = std::max(most.element, node.index + 1);
  }
  return most;
}

int call_field(std::size_t offset) { return static_cast<int>(offset); }

/// The leaves of the chain at one pixel and vector of the tile.
class FinishLeaves final : public LeafSource {
 public:
  FinishLeaves(VectorCode& code, const ByteTileSpec& tile, const ByteFinishSpec& spec)
      : code_(code), tile_(tile), spec_(spec), storage_(code, {rdx, rax, rcx}) {
    counts_ = count_leaves(spec.body);
  }

  void start() {
    code_.mov(kOutput, code_.ptr[rdi + call_field(offsetof(ByteTileCall, result))]);
    code_.mov(kUniforms, code_.ptr[rdi + call_field(offsetof(ByteTileCall, uniforms))]);
    for (int i = 0; i < counts_.channel; ++i) {
      const Xbyak::Reg64 to = kPointers[i];
      code_.imul(to, code_.ptr[rdi + call_field(offsetof(ByteTileCall, channel_stride_bytes))], i);
      code_.add(to, code_.ptr[rdi + call_field(offsetof(ByteTileCall, channels))]);
    }
    if (counts_.element > 0)
      code_.mov(rax, code_.ptr[rdi + call_field(offsetof(ByteTileCall, elements))]);
    for (int i = 0; i < counts_.element; ++i)
      code_.mov(kPointers[counts_.channel + i], code_.ptr[rax + 8 * i]);
    if (tile_.last_lanes == code_.lanes()) return;
    code_.mov(ecx, tile_.last_lanes);
    storage_.begin_partial(rcx);
  }

  /// Loads what the next vector's pixels share.
  void start_vector(int vector) {
    vector_ = vector;
    partial_ = vector + 1 == tile_.vectors && tile_.last_lanes < code_.lanes();
    for (std::size_t i = 0; i < kept_.size(); ++i) load_channel(kept_[i], static_cast<int>(i));
  }
  void select(int pixel, const Vec& value) {
    pixel_ = pixel;
    value_ = value;
  }
  void keep_channels() {
    for (int i = 0; i < counts_.channel; ++i) kept_.push_back(code_.vec(code_.vectors().take()));
  }
  int channels() const { return counts_.channel; }
  void store(const Vec& value) {
    const Xbyak::Address to = at(kOutput, tile_.output, spec_.output);
    partial_ ? storage_.store_partial(to, value, spec_.output)
             : storage_.store(to, value, spec_.output);
  }

  std::optional<Source> find(const Node& leaf) override {
    if (leaf.leaf == Leaf::input) return Source(value_);
    if (leaf.leaf != Leaf::channel) return std::nullopt;
    if (!kept_.empty()) return Source(kept_[static_cast<std::size_t>(leaf.index)]);
    if (partial_) return std::nullopt;
    return Source(channel_address(leaf.index));
  }
  void load(const Vec& d, const Node& leaf) override {
    switch (leaf.leaf) {
      case Leaf::channel:
        return load_channel(d, leaf.index);
      case Leaf::scalar:
        return code_.vbroadcastss(d, code_.ptr[kUniforms + 4 * leaf.index]);
      case Leaf::previous:
        return load_from(d, at(kOutput, tile_.output, spec_.output), spec_.output);
      default: {
        const auto index = static_cast<std::size_t>(leaf.index);
        const DType dtype = spec_.elements[index];
        load_from(d, at(kPointers[counts_.channel + leaf.index], tile_.elements[index], dtype),
                  dtype);
      }
    }
  }

 private:
  Xbyak::Address channel_address(int index) const {
    return code_.ptr[kPointers[index] + vector_ * code_.bytes()];
  }
  void load_channel(const Vec& d, int index) { load_from(d, channel_address(index), DType::f32); }
  void load_from(const Vec& d, const Xbyak::Address& from, DType dtype) {
    partial_ ? storage_.load_partial(d, from, dtype) : storage_.load(d, from, dtype);
  }
  Xbyak::Address at(const Xbyak::Reg64& base, const PixelSteps& steps, DType dtype) const {
    const auto lane = static_cast<std::int64_t>(vector_ * code_.lanes()) *
                      static_cast<std::int64_t>(size_of(dtype));
    return code_.ptr[base + static_cast<int>(tile_.offset(steps, pixel_) + lane)];
  }

  VectorCode& code_;
  const ByteTileSpec& tile_;
  const ByteFinishSpec& spec_;
  Storage storage_;
  Leaves counts_;
  std::vector<Vec> kept_;
  Vec value_{0};
  int vector_ = 0, pixel_ = 0;
  bool partial_ = false;
};

void emit_one(VectorCode& code, FinishLeaves& leaves, const Expr& body, int pixel,
              const Vec& value) {
  leaves.select(pixel, value);
  emit_expr(code, body, leaves, [&](std::size_t, const Vec& result) { leaves.store(result); });
}

/// Registers that the chain takes for one vector, seen by emitting it once for nothing.
std::size_t registers_needed(const ByteTileSpec& tile, const ByteFinishSpec& spec) {
  VectorCode trial(tile.isa);
  FinishLeaves leaves(trial, tile, spec);
  const Vec value = trial.vec(trial.vectors().take());
  const std::size_t before = trial.vectors().free();
  leaves.start_vector(0);
  emit_one(trial, leaves, spec.body, 0, value);
  leaves.start_vector(tile.vectors - 1);
  emit_one(trial, leaves, spec.body, 0, value);
  return before - trial.vectors().lowest();
}

}  // namespace

bool can_finish_bytes(const DirectShape& shape, const SplitChain& chain, Isa isa) {
  if (isa != Isa::avx512 || !shape.lanes_are_channels) return false;
  const Leaves leaves = count_leaves(chain.body);
  if (leaves.channel + leaves.element > static_cast<int>(std::size(kPointers))) return false;
  int functions = 0;
  for (Ref i = 0; i < chain.body.graph.size(); ++i) {
    const Node& node = chain.body.graph[i];
    if (node.leaf != Leaf::none) continue;
    // Functions of many instructions each.
    if ((node.fn >= Fn::rsqrt_ && node.fn <= Fn::logistic_) || node.fn == Fn::pow_) return false;
    ++functions;
  }
  const auto along_lanes = [](const ElementView& e) { return e.view.stride[1] == 1; };
  return functions <= kMostFunctions && std::ranges::all_of(shape.elements, along_lanes);
}

Expr finishing_body(const Expr& body, DType output) {
  const Node& root = body.graph[body.roots.front()];
  if (output != DType::u8 || root.leaf != Leaf::none || root.fn != Fn::max_) return body;
  const Node& bound = body.graph[root.args[0]];
  if (bound.leaf != Leaf::constant || bound.value != 0) return body;
  return compact({body.graph, {root.args[1]}});
}

void emit_byte_finish(VectorCode& code, const ByteTileSpec& tile, const ByteFinishSpec& spec,
                      std::span<const Vec> sums) {
  FinishLeaves leaves(code, tile, spec);
  leaves.start();
  const std::size_t needed = registers_needed(tile, spec);
  const auto channels = static_cast<std::size_t>(leaves.channels());
  // With few channel values, each is loaded once per vector and not once per pixel.
  constexpr std::size_t kMostKept = 2;
  const std::size_t wanted = needed + (channels <= kMostKept ? channels : 0);
  // Sums that are in the way wait on the stack; they are finished last.
  std::vector<int> slots;
  std::size_t in_registers = sums.size();
  while (code.vectors().free() < wanted && in_registers > 1) {
    const Vec& last = sums[--in_registers];
    slots.insert(slots.begin(), code.take_slot());
    code.vmovups(code.slot(slots.front()), last);
    code.vectors().give(last.getIdx());
  }
  if (channels > 0 && channels <= kMostKept) leaves.keep_channels();
  for (int vector = 0; vector < tile.vectors; ++vector) {
    leaves.start_vector(vector);
    for (int pixel = 0; pixel < tile.pixels; ++pixel) {
      const auto index = static_cast<std::size_t>(vector * tile.pixels + pixel);
      if (index < in_registers) {
        code.vcvtdq2ps(sums[index], sums[index]);
        emit_one(code, leaves, spec.body, pixel, sums[index]);
        code.vectors().give(sums[index].getIdx());
      } else {
        Temp sum(code);
        code.vcvtdq2ps(sum, code.slot(slots[index - in_registers]));
        emit_one(code, leaves, spec.body, pixel, sum);
      }
    }
  }
}

}  // namespace fuseplan::cpu
