// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/rows_leaves.hpp"

#include <algorithm>
#include <cstddef>

#include "base/status.hpp"
#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {

namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kPointers[] = {r8, r9, r10, r11, rbx, r12, r13, r14, r15};

int field(std::size_t offset) { return static_cast<int>(offset); }

}  // namespace

RowsLeaves::RowsLeaves(VectorCode& code, const RowsSpec& spec)
    : code_(code), spec_(spec), storage_(code, {rdx, rax, rdi}, spec.bf16) {}

void RowsLeaves::plan_streams() {
  streams_.push_back(
      {.leaf = Leaf::input, .dtype = spec_.input, .lane_stride = spec_.input_lane_stride});
  streams_.push_back({.leaf = Leaf::previous, .dtype = spec_.output});
  output_ = 1;
  const Graph& graph = spec_.body.graph;
  for (Ref i = 0; i < graph.size(); ++i) {
    const Node& node = graph[i];
    if (node.leaf != Leaf::channel && node.leaf != Leaf::element) continue;
    if (stream_of(node.leaf, node.index) < streams_.size()) continue;
    Stream stream{.leaf = node.leaf, .index = node.index};
    if (node.leaf == Leaf::channel) {
      stream.per_lane = spec_.lanes_are_channels;
    } else {
      const auto& element = spec_.elements.at(static_cast<std::size_t>(node.index));
      stream.dtype = element.dtype;
      stream.per_lane = element.per_lane;
      stream.lane_stride = element.lane_stride;
    }
    streams_.push_back(stream);
  }
  const int words = code_.reserve_words(2 * static_cast<int>(streams_.size()));
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (i < std::size(kPointers)) streams_[i].reg = kPointers[i];
    streams_[i].words = words + 2 * static_cast<int>(i);
  }
}

/// Constant leaves are worth a register too: on first place of an instruction they would be
/// loaded each time.
void RowsLeaves::plan_kept() {
  const Graph& graph = spec_.body.graph;
  for (Ref i = 0; i < graph.size(); ++i) {
    const Node& node = graph[i];
    const bool is_stream = node.leaf == Leaf::channel || node.leaf == Leaf::element;
    const bool along_row = is_stream && !streams_[stream_of(node.leaf, node.index)].per_lane;
    if (!along_row && node.leaf != Leaf::scalar && node.leaf != Leaf::constant) continue;
    const bool known = std::any_of(kept_.begin(), kept_.end(),
                                   [&](const Kept& kept) { return same_leaf(kept.leaf, node); });
    if (known) continue;
    Kept kept{.leaf = node};
    if (code_.vectors().free() > kExprRegisters) {
      kept.reg = code_.vec(code_.vectors().take());
    } else if (node.leaf != Leaf::constant) {
      kept.slot = code_.take_slot();
    } else {
      continue;  // the constant pool serves it
    }
    kept_.push_back(kept);
  }
}

void RowsLeaves::read_pointer(const Stream& s) {
  VectorCode& c = code_;
  const Xbyak::Reg64 pointer = s.reg.value_or(rax);
  switch (s.leaf) {
    case Leaf::input:
      c.mov(pointer, ptr[call() + field(offsetof(RowsCall, input))]);
      break;
    case Leaf::previous:
      c.mov(pointer, ptr[call() + field(offsetof(RowsCall, output))]);
      break;
    case Leaf::channel:
      c.imul(pointer, ptr[call() + field(offsetof(RowsCall, channel_stride_bytes))], s.index);
      c.add(pointer, ptr[call() + field(offsetof(RowsCall, channels))]);
      break;
    default:
      c.mov(pointer, ptr[call() + field(offsetof(RowsCall, elements))]);
      c.mov(pointer, ptr[pointer + 8 * s.index]);
  }
  if (!s.reg) c.mov(c.stack_word(s.words), pointer);
}

void RowsLeaves::read_step(const Stream& s) {
  VectorCode& c = code_;
  switch (s.leaf) {
    case Leaf::input:
      c.mov(rax, ptr[call() + field(offsetof(RowsCall, input_step))]);
      break;
    case Leaf::previous:
      c.mov(rax, ptr[call() + field(offsetof(RowsCall, output_step))]);
      break;
    case Leaf::channel:
      c.mov(rax, ptr[call() + field(offsetof(RowsCall, channel_step))]);
      break;
    default:
      c.mov(rax, ptr[call() + field(offsetof(RowsCall, element_steps))]);
      c.mov(rax, ptr[rax + 8 * s.index]);
  }
  c.mov(c.stack_word(s.words + 1), rax);
}

void RowsLeaves::start(Rows rows) {
  plan_streams();
  plan_kept();
  for (const Stream& stream : streams_) {
    read_pointer(stream);
    if (rows == Rows::many) read_step(stream);
  }
  for (const Kept& kept : kept_)
    if (kept.leaf.leaf == Leaf::scalar || kept.leaf.leaf == Leaf::constant) fill(kept);
}

void RowsLeaves::fill(const Kept& kept) {
  std::optional<Temp> temp;
  if (!kept.reg) temp.emplace(code_);
  const Vec d = kept.reg ? *kept.reg : Vec(*temp);
  switch (kept.leaf.leaf) {
    case Leaf::constant:
      code_.load(d, static_cast<float>(kept.leaf.value));
      break;
    case Leaf::scalar:
      code_.mov(rax, ptr[call() + field(offsetof(RowsCall, uniforms))]);
      code_.vbroadcastss(d, ptr[rax + 4 * kept.leaf.index]);
      break;
    default: {
      const Stream& stream = streams_[stream_of(kept.leaf.leaf, kept.leaf.index)];
      const Xbyak::Reg64 from = pointer(stream);
      storage_.broadcast(d, storage_.element(from, stream.dtype), stream.dtype);
    }
  }
  if (!kept.reg) code_.vmovups(code_.slot(kept.slot), d);
}

void RowsLeaves::start_row() {
  for (const Kept& kept : kept_)
    if (is_along_row(kept)) fill(kept);
}

void RowsLeaves::blend_next_row() {
  for (const Kept& kept : kept_) {
    if (!is_along_row(kept)) continue;
    const Stream& stream = streams_[stream_of(kept.leaf.leaf, kept.leaf.index)];
    const Xbyak::Reg64 row = pointer(stream);
    if (row != rax) code_.mov(rax, row);
    code_.add(rax, code_.stack_word(stream.words + 1));
    Temp next(code_);
    storage_.broadcast(next, storage_.element(rax, stream.dtype), stream.dtype);
    if (kept.reg) {
      storage_.replace_rest(*kept.reg, next);
    } else {
      Temp current(code_);
      code_.vmovups(current, code_.slot(kept.slot));
      storage_.replace_rest(current, next);
      code_.vmovups(code_.slot(kept.slot), current);
    }
  }
}

void RowsLeaves::next_row() {
  for (const Stream& s : streams_) {
    const Xbyak::Reg64 value = s.reg.value_or(rax);
    if (!s.reg) code_.mov(rax, code_.stack_word(s.words));
    code_.add(value, code_.stack_word(s.words + 1));
    if (!s.reg) code_.mov(code_.stack_word(s.words), rax);
  }
}

void RowsLeaves::rewind() {
  for (const Stream& stream : streams_) read_pointer(stream);
}

void RowsLeaves::select(int number, bool partial) {
  number_ = number;
  for (Stream& stream : streams_) stream.at.reset();
  partial_ = partial;
}

std::size_t RowsLeaves::stream_of(Leaf leaf, int index) const {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& s) {
    return s.leaf == leaf && s.index == index;
  });
  return static_cast<std::size_t>(found - streams_.begin());
}

Xbyak::Reg64 RowsLeaves::pointer(const Stream& stream) {
  if (stream.reg) return *stream.reg;
  code_.mov(rax, code_.stack_word(stream.words));
  return rax;
}

/// Of the current vector. For a pointer on the stack, rax holds it until the next one is asked for.
Xbyak::Address RowsLeaves::address(std::size_t number) {
  Stream& stream = streams_[number];
  if (stream.at) return *stream.at;
  const int size = static_cast<int>(size_of(stream.dtype));
  const Xbyak::Address at = ptr[pointer(stream) + lane() * size + number_ * code_.lanes() * size];
  if (stream.reg) stream.at = at;
  return at;
}

/// Of the current vector where lanes lie apart; in rdx.
Xbyak::Address RowsLeaves::strided_address(const Stream& stream) {
  const auto stride = static_cast<int>(stream.lane_stride);
  code_.imul(rdx, lane(), stride);
  code_.add(rdx, pointer(stream));
  return ptr[rdx + number_ * code_.lanes() * stride];
}

int RowsLeaves::step(const Near& at) const {
  if (at.index != lane().getIdx()) return 0;
  const auto found = std::ranges::find_if(
      streams_, [&](const Stream& s) { return s.reg && s.reg->getIdx() == at.base; });
  require(found != streams_.end(), Status::InternalError, "a lane of no tensor");
  return code_.lanes() * static_cast<int>(size_of(found->dtype));
}

std::optional<Source> RowsLeaves::find(const Node& leaf) {
  for (const Kept& kept : kept_) {
    if (!same_leaf(kept.leaf, leaf)) continue;
    if (kept.reg) return Source(*kept.reg);
    return Source(code_.slot(kept.slot));
  }
  if (leaf.leaf == Leaf::constant || partial_) return std::nullopt;
  const std::size_t stream = stream_of(leaf.leaf, leaf.index);
  const Stream& found = streams_[stream];
  if (found.dtype != DType::f32 || !found.reg || found.lane_stride != 0) return std::nullopt;
  return Source(address(stream));
}

void RowsLeaves::load(const Vec& d, const Node& leaf) {
  const std::size_t stream = stream_of(leaf.leaf, leaf.index);
  const DType dtype = streams_[stream].dtype;
  if (const std::int64_t stride = streams_[stream].lane_stride; stride != 0) {
    const Xbyak::Address from = strided_address(streams_[stream]);
    partial_ ? storage_.load_partial_strided(d, from, stride, dtype)
             : storage_.load_strided(d, from, stride, dtype);
  } else if (partial_) {
    storage_.load_partial(d, address(stream), dtype);
  } else {
    storage_.load(d, address(stream), dtype);
  }
}

}  // namespace fuseplan::cpu
