// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/chain_pointers.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

constexpr std::int64_t kFloat = sizeof(float);

int field(std::size_t offset) { return static_cast<int>(offset); }

bool reads(const Expr& body, Leaf leaf, int index = -1) {
  for (Ref i = 0; i < body.graph.size(); ++i) {
    const Node& node = body.graph[i];
    if (node.leaf == leaf && (index < 0 || node.index == index)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::int64_t> FinishTensor::line_offsets(std::span<const TilePlace> vectors) const {
  std::vector<std::int64_t> lines, offsets;
  for (const TilePlace& place : vectors) {
    const std::int64_t at = offset(place), line = at / kCacheLine;
    if (std::ranges::find(lines, line) != lines.end()) continue;
    lines.push_back(line);
    offsets.push_back(at);
  }
  return offsets;
}

bool FinishSpec::reaches(const TilePlace& last) const {
  constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / 2;
  const auto near = [&](const FinishTensor& tensor) { return tensor.offset(last) < kReach; };
  std::int64_t roots = 1;
  for (Ref i = 0; i < body.graph.size(); ++i)
    if (body.graph[i].leaf == Leaf::channel)
      roots = std::max<std::int64_t>(roots, body.graph[i].index + 1);
  return near(output) && std::ranges::all_of(elements, near) &&
         roots * channel_root + kFloat * last.channel < kReach;
}

ChainPointers::ChainPointers(VectorCode& code, const FinishSpec& spec,
                             std::span<const Xbyak::Reg64> registers)
    : code_(code), spec_(spec) {
  pointers_.push_back({.of = Of::output});
  if (reads(spec.body, Leaf::channel)) pointers_.push_back({.of = Of::channels});
  for (int i = 0; i < static_cast<int>(spec.elements.size()); ++i)
    if (reads(spec.body, Leaf::element, i)) pointers_.push_back({.of = Of::element, .index = i});
  if (reads(spec.body, Leaf::scalar)) pointers_.push_back({.of = Of::uniforms});
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    if (i < registers.size())
      pointers_[i].reg = registers[i];
    else
      pointers_[i].word = code.reserve_words(1);
  }
  if (spec.drains) drain_word_ = code.reserve_words(1);
}

void ChainPointers::read(const Xbyak::Reg64& call) {
  constexpr std::size_t kFields[] = {offsetof(RowsCall, output), offsetof(RowsCall, channels),
                                     offsetof(RowsCall, elements), offsetof(RowsCall, uniforms)};
  for (const Pointer& pointer : pointers_) {
    const Xbyak::Reg64 to = pointer.reg.value_or(rax);
    code_.mov(to, ptr[call + field(kFields[static_cast<std::size_t>(pointer.of)])]);
    if (pointer.of == Of::element) code_.mov(to, ptr[to + 8 * pointer.index]);
    if (!pointer.reg) code_.mov(code_.stack_word(pointer.word), rax);
  }
  if (!spec_.drains) return;
  code_.mov(rax, ptr[call + field(offsetof(RowsCall, drain))]);
  code_.mov(code_.stack_word(drain_word_), rax);
}

void ChainPointers::expect_output(std::span<const TilePlace> vectors) {
  const Pointer& output = find(Of::output);
  for (const std::int64_t offset : spec_.output.line_offsets(vectors))
    code_.prefetchw(at(output, offset));
}

void ChainPointers::expect_elements(std::span<const TilePlace> vectors) {
  for (const Pointer& pointer : pointers_) {
    if (pointer.of != Of::element) continue;
    const FinishTensor& tensor = spec_.elements[static_cast<std::size_t>(pointer.index)];
    if (!tensor.is_contiguous()) continue;
    for (const std::int64_t offset : tensor.line_offsets(vectors))
      code_.prefetcht0(at(pointer, offset));
  }
}

void ChainPointers::read_drain(const Xbyak::Reg64& to) {
  code_.mov(to, code_.stack_word(drain_word_));
}

std::int64_t ChainPointers::bytes(const Pointer& pointer, const TilePlace& by) const {
  switch (pointer.of) {
    case Of::output:
      return spec_.output.offset(by);
    case Of::channels:
      return kFloat * by.channel;
    case Of::element:
      return spec_.elements[static_cast<std::size_t>(pointer.index)].offset(by);
    default:
      return 0;
  }
}

void ChainPointers::move(const TilePlace& by) {
  for (const Pointer& pointer : pointers_) {
    const auto step = static_cast<int>(bytes(pointer, by));
    if (step == 0) continue;
    if (pointer.reg)
      code_.add(*pointer.reg, step);
    else
      code_.add(code_.stack_word(pointer.word), step);
  }
}

void ChainPointers::move_call(const Xbyak::Reg64& call, const TilePlace& by) const {
  for (const Pointer& pointer : pointers_) {
    const auto step = static_cast<int>(bytes(pointer, by));
    if (step == 0) continue;
    if (pointer.of == Of::element) {
      code_.mov(rax, ptr[call + field(offsetof(RowsCall, elements))]);
      code_.add(qword[rax + 8 * pointer.index], step);
    } else {
      code_.add(qword[call + field(pointer.of == Of::output ? offsetof(RowsCall, output)
                                                            : offsetof(RowsCall, channels))],
                step);
    }
  }
}

const ChainPointers::Pointer& ChainPointers::find(Of of, int index) const {
  return *std::ranges::find_if(pointers_,
                               [&](const Pointer& p) { return p.of == of && p.index == index; });
}

std::int64_t ChainPointers::step(int reg, const TilePlace& from, const TilePlace& to) const {
  const auto found = std::ranges::find_if(
      pointers_, [&](const Pointer& p) { return p.reg && p.reg->getIdx() == reg; });
  return found == pointers_.end() ? 0 : bytes(*found, to) - bytes(*found, from);
}

bool ChainPointers::is_at_hand(int element) const {
  return find(Of::element, element).reg.has_value();
}

Near ChainPointers::at(const Pointer& pointer, std::int64_t bytes) {
  if (!pointer.reg) code_.mov(rax, code_.stack_word(pointer.word));
  return {pointer.reg ? pointer.reg->getIdx() : rax.getIdx(), static_cast<std::int32_t>(bytes)};
}

Near ChainPointers::output(const TilePlace& place) {
  return at(find(Of::output), spec_.output.offset(place));
}

Xbyak::Address ChainPointers::element(int index, const TilePlace& place) {
  const FinishTensor& tensor = spec_.elements[static_cast<std::size_t>(index)];
  const Near from = at(find(Of::element, index), tensor.offset(place));
  const std::size_t width = tensor.per_lane ? 4 : size_of(tensor.dtype);
  const Xbyak::RegExp there = Xbyak::Reg64(from.base) + from.displacement;
  return width == 1 ? byte[there] : width == 2 ? word[there] : ptr[there];
}

Xbyak::Address ChainPointers::channel(int root, const TilePlace& place) {
  return at(find(Of::channels), root * spec_.channel_root + kFloat * place.channel);
}

Xbyak::Address ChainPointers::uniform(int root) { return at(find(Of::uniforms), kFloat * root); }

}  // namespace fuseplan::cpu
