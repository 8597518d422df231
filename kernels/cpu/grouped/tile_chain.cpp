// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/tile_chain.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/grouped/call.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kPointers[] = {r12, r13, r14};
const Xbyak::Reg64 kCall = rdi;

/// Unlike ==, tells -0 from 0.
bool same_leaf(const Node& a, const Node& b) {
  return a == b && std::signbit(a.value) == std::signbit(b.value);
}

int field(std::size_t offset) { return static_cast<int>(offset); }

}  // namespace

TileChain::TileChain(VectorCode& code, const GroupedPlan& plan)
    : code_(code), plan_(plan), storage_(code, {rdx, rax, rcx}), sum_(code.vec(0)) {
  streams_.push_back({plan.output, &plan.g.output, true});
  const auto axis = static_cast<std::size_t>(plan.lane_axis());
  for (const ElementView& element : plan.elements)
    streams_.push_back({element.dtype, &element.view, element.view.stride[axis] != 0});
  list_kept();
}

void TileChain::list_kept() {
  const Graph& graph = plan_.body.graph;
  for (Ref i = 0; i < graph.size(); ++i) {
    const Node& node = graph[i];
    if (node.leaf != Leaf::channel && node.leaf != Leaf::scalar && node.leaf != Leaf::constant)
      continue;
    if (std::ranges::any_of(kept_, [&](const Kept& k) { return same_leaf(k.leaf, node); }))
      continue;
    const int outputs = node.leaf == Leaf::channel ? plan_.outputs_of_tile() : 1;
    for (int output = 0; output < outputs; ++output)
      kept_.push_back({.leaf = node, .output = output});
  }
}

int TileChain::registers(const GroupedPlan& plan) {
  VectorCode trial(plan.isa);
  trial.enter();
  TileChain chain(trial, plan);
  chain.reserve();
  const int sum = trial.vectors().take();
  chain.keep(VectorCode::count(plan.isa));
  chain.start();
  const auto before = static_cast<int>(trial.vectors().free());
  chain.storage().begin_partial(count());
  for (bool partial : {false, true}) chain.finish(trial.vec(sum), {}, partial);
  return before - static_cast<int>(trial.vectors().lowest());
}

void TileChain::reserve() {
  channels_word_ = code_.reserve_words(1);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (i < std::size(kPointers)) streams_[i].reg = kPointers[i];
    streams_[i].word = code_.reserve_words(2);
  }
}

void TileChain::keep(int spare) {
  for (Kept& kept : kept_) {
    if (static_cast<int>(code_.vectors().free()) > spare) {
      kept.reg = code_.vec(code_.vectors().take());
    } else if (kept.leaf.leaf != Leaf::constant) {
      kept.slot = code_.take_slot();
    }
  }
}

void TileChain::start() {
  VectorCode& c = code_;
  c.mov(rax, ptr[kCall + field(offsetof(GroupedCall, channels))]);
  c.mov(c.stack_word(channels_word_), rax);
  c.mov(rdx, ptr[kCall + field(offsetof(GroupedCall, elements))]);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (i == 0) {
      c.mov(rax, ptr[kCall + field(offsetof(GroupedCall, output))]);
    } else {
      c.mov(rax, ptr[rdx + 8 * static_cast<int>(i - 1)]);
    }
    c.mov(c.stack_word(streams_[i].word), rax);
  }
  for (const Kept& kept : kept_)
    if (kept.leaf.leaf != Leaf::channel) fill(kept, false);
}

void TileChain::fill(const Kept& kept, bool partial) {
  VectorCode& c = code_;
  if (!kept.reg && kept.slot < 0) return;  // the constant pool serves it
  std::optional<Temp> temp;
  if (!kept.reg) temp.emplace(c);
  const Vec d = kept.reg ? *kept.reg : Vec(*temp);
  if (kept.leaf.leaf == Leaf::constant) {
    c.load(d, static_cast<float>(kept.leaf.value));
  } else if (kept.leaf.leaf == Leaf::scalar) {
    c.mov(rax, ptr[kCall + field(offsetof(GroupedCall, uniforms))]);
    c.vbroadcastss(d, ptr[rax + 4 * kept.leaf.index]);
  } else {
    c.imul(rdx, ptr[kCall + field(offsetof(GroupedCall, channel_stride_bytes))], kept.leaf.index);
    c.add(rdx, c.stack_word(channels_word_));
    if (!plan_.lanes_are_channels) {
      c.vbroadcastss(d, ptr[rdx + 4 * kept.output]);
    } else if (partial) {
      storage_.load_partial(d, ptr[rdx], DType::f32);
    } else {
      c.vmovups(d, ptr[rdx]);
    }
  }
  if (!kept.reg) c.vmovups(c.slot(kept.slot), d);
}

void TileChain::start_block(bool partial) {
  VectorCode& c = code_;
  for (const Kept& kept : kept_)
    if (kept.leaf.leaf == Leaf::channel) fill(kept, partial);
  for (const Stream& stream : streams_) {
    const Xbyak::Reg64 at = stream.reg.value_or(rax);
    c.mov(at, c.stack_word(stream.word));
    if (!stream.reg) c.mov(c.stack_word(stream.word + 1), at);
  }
}

void TileChain::next_block() {
  VectorCode& c = code_;
  c.add(c.stack_word(channels_word_), 4 * plan_.step);
  for (const Stream& stream : streams_)
    if (stream.bytes(1) != 0)
      c.add(c.stack_word(stream.word), static_cast<int>(plan_.step * stream.bytes(1)));
}

void TileChain::move(std::int64_t rows, std::int64_t columns) {
  VectorCode& c = code_;
  for (const Stream& stream : streams_) {
    const auto bytes = static_cast<int>(rows * stream.bytes(3) + columns * stream.bytes(4));
    if (bytes == 0) continue;
    if (stream.reg) {
      c.add(*stream.reg, bytes);
    } else {
      c.add(c.stack_word(stream.word + 1), bytes);
    }
  }
}

void TileChain::finish(const Vec& sum, Place place, bool partial) {
  sum_ = sum;
  place_ = place;
  partial_ = partial;
  const Stream& out = streams_.front();
  emit_expr(code_, plan_.body, *this, [&](std::size_t, const Vec& value) {
    if (partial) {
      storage_.store_partial(address(out), value, out.dtype);
    } else {
      storage_.store(address(out), value, out.dtype);
    }
  });
}

const TileChain::Stream& TileChain::stream_of(const Node& leaf) const {
  return leaf.leaf == Leaf::previous ? streams_.front()
                                     : streams_[1 + static_cast<std::size_t>(leaf.index)];
}

/// For a pointer on the stack, rax holds it until the next one is asked for.
Xbyak::Address TileChain::address(const Stream& stream) {
  const std::int64_t bytes = place_.output * stream.bytes(1) + place_.row * stream.bytes(3) +
                             place_.column * stream.bytes(4);
  const Xbyak::Reg64 at = stream.reg.value_or(rax);
  if (!stream.reg) code_.mov(at, code_.stack_word(stream.word + 1));
  return ptr[at + static_cast<int>(bytes)];
}

std::optional<Source> TileChain::find(const Node& leaf) {
  if (leaf.leaf == Leaf::input) return Source(sum_);
  const int output = leaf.leaf == Leaf::channel ? place_.output : 0;
  for (const Kept& kept : kept_) {
    if (!same_leaf(kept.leaf, leaf) || kept.output != output) continue;
    if (kept.reg) return Source(*kept.reg);
    if (kept.slot >= 0) return Source(code_.slot(kept.slot));
    return std::nullopt;
  }
  const Stream& stream = stream_of(leaf);
  if (partial_ || !stream.per_lane || !stream.reg || stream.dtype != DType::f32)
    return std::nullopt;
  return Source(address(stream));
}

void TileChain::broadcast(const Vec& d, const Stream& stream) {
  const Xbyak::Address from = address(stream);
  if (stream.dtype == DType::f32) return code_.vbroadcastss(d, from);
  code_.lea(rcx, from);
  storage_.broadcast(d, word[rcx], stream.dtype);
}

void TileChain::load(const Vec& d, const Node& leaf) {
  const Stream& stream = stream_of(leaf);
  if (!stream.per_lane) return broadcast(d, stream);
  if (partial_) return storage_.load_partial(d, address(stream), stream.dtype);
  storage_.load(d, address(stream), stream.dtype);
}

}  // namespace fuseplan::cpu
