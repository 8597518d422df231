// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/tile_finisher.hpp"

#include <algorithm>
#include <cstddef>

#include "base/integer.hpp"
#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {
namespace {

// More sums than that are worth moving one to the stack for a value that all of them read.
constexpr std::size_t kManySums = 8;
constexpr std::size_t kManyTurns = 4;

bool is_long(const Expr& body) {
  constexpr int kShort = 12;
  return work_of(body) > kShort;
}

}  // namespace

TileFinisher::TileFinisher(VectorCode& code, const FinishSpec& spec, ChainPointers& pointers,
                           Storage& storage)
    : code_(code),
      spec_(spec),
      needs_(FinishNeeds::of(code.is_avx512() ? Isa::avx512 : Isa::avx2, spec)),
      pointers_(pointers),
      storage_(storage) {
  if (code.is_avx512() && is_long(spec.body)) turn_ = code.reserve_words(1);
}

/// What the body takes, registers for the first `kept` keepable leaves included. Shows when it is
/// emitted for nothing.
FinishNeeds::Need TileFinisher::need(Isa isa, const FinishSpec& spec, std::size_t kept,
                                     const FinishNeeds::Sums& sums) {
  const Xbyak::Reg64 any[] = {Xbyak::util::r8};
  VectorCode code(isa);
  ChainPointers pointers(code, spec, any);
  Storage storage(code, {code.rdx, code.rax, code.rcx}, spec.bf16);
  TileFinisher trial(code, spec, pointers, storage);
  const std::size_t before = code.vectors().free() - 1;
  if (sums.partial) storage.begin_partial(code.rcx);
  // A sum that waits to be joined keeps its register beside the chain's.
  trial.gives_sums_ = !sums.joined;
  trial.sums_.push_back({code.vectors().take(), {}, false});
  trial.parts_ = {false};
  const std::vector<Node>& leaves = trial.needs_->keepable();
  try {
    for (std::size_t i = 0; i < kept; ++i)
      trial.kept_.push_back({leaves[i], code.vectors().take()});
    trial.finish_one(0);
    if (sums.partial) {
      trial.sums_[0] = {code.vectors().take(), {}, true};
      trial.finish_one(0);
    }
  } catch (const OutOfRegisters&) {
    return {FinishNeeds::Need::kTooMany, {}};
  }
  return {before - code.vectors().lowest(), code.used_constants()};
}

/// Sums that are in the way wait on the stack; they are finished last.
void TileFinisher::spill(std::size_t wanted) {
  while (code_.vectors().free() < wanted && slots_.size() + 1 < sums_.size()) {
    const int reg = sums_[sums_.size() - 1 - slots_.size()].reg;
    slots_.push_back(code_.take_slot());
    code_.vmovups(code_.slot(slots_.back()), code_.vec(reg));
    code_.vectors().give(reg);
  }
}

void TileFinisher::plan(const FinishNeeds::Sums& sums) {
  const std::size_t movable = sums_.size() > kManySums ? sums_.size() - kManySums : 0;
  std::vector<Node> leaves = needs_->keepable();
  const auto fits = [&] {
    const bool worth_moving = leaves.back().leaf != Leaf::constant;
    return needs_->with(leaves.size(), sums).registers <=
           code_.vectors().free() + (worth_moving ? movable : 0);
  };
  while (!leaves.empty() && !fits()) leaves.pop_back();
  const FinishNeeds::Need& known = needs_->with(leaves.size(), sums);
  const std::size_t least = std::min<std::size_t>(known.registers - leaves.size(), kExprRegisters);
  spill(least + leaves.size());
  for (const Node& leaf : leaves) kept_.push_back({leaf, code_.vectors().take()});
  for (const std::uint32_t constant : known.constants)
    if (code_.vectors().free() > least) code_.hoist(constant);
}

void TileFinisher::finish(std::span<const TileSum> sums, const Skip& skip) {
  const RegisterPool before = code_.vectors();
  const std::optional<SumTurns> turns =
      turn_ ? turns_of(sums, spec_.lanes_are_channels) : std::nullopt;
  if (turns && turns->turns() >= kManyTurns) {
    finish_in_turns(*turns, skip);
  } else {
    begin(sums);
    finish_all(skip);
  }
  if (spec_.drains) drain(sums.size());
  for (const int slot : slots_) code_.give_slot(slot);
  slots_.clear();
  kept_.clear();
  code_.drop_hoisted();
  code_.vectors() = before;
}

/// Loads what stays in registers.
void TileFinisher::begin(std::span<const TileSum> sums) {
  sums_.assign(sums.begin(), sums.end());
  plan({.partial = std::ranges::any_of(sums, &TileSum::partial),
        .joined = std::ranges::any_of(sums, [](const TileSum& sum) { return sum.before >= 0; })});
  find_parts();
  load_kept(Leaf::scalar);
  load_kept(Leaf::constant);
}

void TileFinisher::finish_all(const Skip& skip) {
  std::optional<VectorCode::Forward> over;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i].optional && !over) over = skip();
    place_ = sums_[i].place;
    partial_ = sums_[i].partial;
    if (starts_channels(i)) load_kept(Leaf::channel);
    finish_alike(i);
    const bool goes_on = i + 1 < sums_.size() && sums_[i + 1].optional;
    if (!over || goes_on) continue;
    code_.land(*over);
    over.reset();
  }
  model_.reset();
}

void TileFinisher::finish_in_turns(const SumTurns& turns, const Skip& skip) {
  using Xbyak::util::ptr, Xbyak::util::rax;
  const auto all = static_cast<int>(turns.regs.size());
  if (waiting_.count < all) waiting_ = {code_.take_slots(all), all};
  const int first = waiting_.first;
  for (int i = 0; i < all; ++i) {
    const int reg = turns.regs[static_cast<std::size_t>(i)];
    code_.vmovups(code_.slot(first + i), code_.vec(reg));
    code_.vectors().give(reg);
  }
  std::vector<TileSum> sums = turns.first;
  for (TileSum& sum : sums) sum.reg = code_.vectors().take();
  begin(sums);
  require(slots_.empty(), Status::InternalError, "sums of a turn do not leave registers");

  const Xbyak::Address waits = code_.stack_word(*turn_);
  const auto address = [](const Near& near) {
    return ptr[Xbyak::Reg64(near.base) + near.displacement];
  };
  code_.lea(rax, address(code_.slot(first)));
  code_.mov(waits, rax);
  Xbyak::Label next;
  code_.align(32);
  code_.L(next);
  code_.mov(rax, waits);
  for (std::size_t i = 0; i < sums.size(); ++i)
    code_.vmovups(code_.vec(sums[i].reg), ptr[rax + static_cast<int>(i) * code_.bytes()]);
  code_.add(rax, static_cast<int>(sums.size()) * code_.bytes());
  code_.mov(waits, rax);
  finish_all(skip);
  pointers_.move(turns.step);
  code_.lea(rax, address(code_.slot(first + all)));
  code_.cmp(waits, rax);
  code_.jb(next);
  const auto back = -static_cast<std::int64_t>(turns.turns());
  pointers_.move({back * turns.step.channel, back * turns.step.row, back * turns.step.column});
}

/// In the order in which they are stored.
std::vector<std::size_t> TileFinisher::parts_before(std::size_t index) const {
  std::vector<std::size_t> parts;
  for (int at = sums_[index].before; at >= 0; at = sums_[static_cast<std::size_t>(at)].before)
    parts.push_back(static_cast<std::size_t>(at));
  std::ranges::reverse(parts);
  return parts;
}

/// Those whose other parts come. On the stack is no place to wait for them.
void TileFinisher::find_parts() {
  parts_.assign(sums_.size(), false);
  std::vector<bool> is_last(sums_.size(), true);
  for (const TileSum& sum : sums_)
    if (sum.before >= 0) is_last[static_cast<std::size_t>(sum.before)] = false;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const std::vector<std::size_t> before =
        is_last[i] ? parts_before(i) : std::vector<std::size_t>{};
    if (std::ranges::any_of(before, [&](std::size_t part) { return waits(part); })) continue;
    for (const std::size_t part : before) parts_[part] = true;
  }
}

bool TileFinisher::starts_channels(std::size_t index) const {
  return index == 0 || sums_[index].place.channel != sums_[index - 1].place.channel;
}

void TileFinisher::load_kept(Leaf leaf) {
  for (const Kept& kept : kept_)
    if (kept.leaf.leaf == leaf) load(code_.vec(kept.reg), kept.leaf);
}

void TileFinisher::finish_one(std::size_t index) {
  const TileSum& sum = sums_[index];
  const bool waits = this->waits(index);
  place_ = sum.place;
  partial_ = sum.partial;
  sum_ = waits ? Source(code_.slot(slots_[sums_.size() - 1 - index])) : Source(code_.vec(sum.reg));
  std::optional<Temp> converted;
  if (spec_.integers) {
    if (waits) converted.emplace(code_);
    const Vec to = waits ? Vec(*converted) : code_.vec(sum.reg);
    code_.vcvtdq2ps(to, sum_);
    sum_ = Source(to);
  }
  owns_sum_ = !waits && !parts_[index];
  emit_expr(code_, spec_.body, needs_->uses(), *this,
            [&](std::size_t, const Vec& value) { store(index, value); });
  if (owns_sum_) code_.vectors().give(sum.reg);
  owns_sum_ = false;
}

std::optional<int> TileFinisher::take(const Node& leaf) {
  if (leaf.leaf != Leaf::input || !owns_sum_ || !gives_sums_ || !needs_->reads_sum_once())
    return std::nullopt;
  owns_sum_ = false;
  return sum_.reg().getIdx();
}

/// In its register from the beginning to the end, and stored as it is.
bool TileFinisher::is_ordinary(std::size_t index) const {
  const TileSum& sum = sums_[index];
  return !waits(index) && !parts_[index] && !sum.partial && sum.before < 0;
}

/// All ordinary sums are finished as the first of them is, with another register and in another
/// place: repeating its instructions takes a tenth of the time of walking through the chain again.
/// Registers that were free for the first are free for all that follow.
void TileFinisher::finish_alike(std::size_t index) {
  if (!is_ordinary(index)) return finish_one(index);
  if (!model_) {
    code_.record();
    finish_one(index);
    model_ = {sums_[index], code_.recorded()};
    return;
  }
  if (!model_->instructions) return finish_one(index);
  const TileSum& sum = sums_[index];
  const auto moved = [&]<typename Number>(Number& reg) {
    if (reg == model_->sum.reg) reg = static_cast<Number>(sum.reg);
  };
  for (VectorInstruction instruction : *model_->instructions) {
    moved(instruction.d);
    moved(instruction.source);
    if (!instruction.memory)
      moved(instruction.last);
    else
      instruction.at.displacement += static_cast<std::int32_t>(
          pointers_.step(instruction.at.base, model_->sum.place, sum.place));
    code_.put(instruction);
  }
  code_.vectors().give(sum.reg);
}

void TileFinisher::store(std::size_t index, const Vec& value) {
  const TileSum& sum = sums_[index];
  const DType dtype = spec_.output.dtype;
  if (parts_[index]) return storage_.wait_to_join(code_.vec(sum.reg), value, dtype);
  if (sum.before >= 0 && parts_[static_cast<std::size_t>(sum.before)]) {
    const std::vector<std::size_t> before = parts_before(index);
    std::vector<Vec> waiting;
    for (const std::size_t part : before) waiting.push_back(code_.vec(sums_[part].reg));
    storage_.store_joined(pointers_.output(sums_[before.front()].place), waiting, value, dtype,
                          spec_.streaming);
    for (const std::size_t part : before) code_.vectors().give(sums_[part].reg);
    return;
  }
  const Xbyak::Address to = pointers_.output(place_);
  partial_ ? storage_.store_partial(to, value, dtype)
           : storage_.store(to, value, dtype, spec_.streaming);
}

/// As much as a whole tile stores, of what earlier tiles did: those stores are done.
void TileFinisher::drain(std::size_t sums) {
  using Xbyak::util::ptr, Xbyak::util::qword;
  constexpr std::int64_t kLine = 64;
  const auto field = [](std::size_t offset) { return static_cast<int>(offset); };
  const auto& [at, from, to] = storage_.scratch();
  const auto lanes = static_cast<std::int64_t>(sums) * code_.lanes();
  const auto bytes = static_cast<int>(
      round_up(lanes * static_cast<std::int64_t>(size_of(spec_.output.dtype)), kLine));
  Xbyak::Label none;
  pointers_.read_drain(at);
  code_.cmp(qword[at + field(offsetof(Drain, bytes))], bytes);
  code_.jl(none);
  code_.mov(from, ptr[at + field(offsetof(Drain, from))]);
  code_.mov(to, ptr[at + field(offsetof(Drain, to))]);
  storage_.stream(to, from, bytes);
  code_.add(qword[at + field(offsetof(Drain, from))], bytes);
  code_.add(qword[at + field(offsetof(Drain, to))], bytes);
  code_.sub(qword[at + field(offsetof(Drain, bytes))], bytes);
  code_.L(none);
}

std::optional<Source> TileFinisher::find(const Node& leaf) {
  if (leaf.leaf == Leaf::input) return sum_;
  for (const Kept& kept : kept_)
    if (same_leaf(kept.leaf, leaf)) return Source(code_.vec(kept.reg));
  if (partial_) return std::nullopt;
  if (leaf.leaf == Leaf::channel && spec_.lanes_are_channels)
    return Source(pointers_.channel(leaf.index, place_));
  if (leaf.leaf == Leaf::previous && spec_.output.dtype == DType::f32)
    return Source(pointers_.output(place_));
  if (leaf.leaf != Leaf::element) return std::nullopt;
  const FinishTensor& element = spec_.elements[static_cast<std::size_t>(leaf.index)];
  if (element.dtype != DType::f32 || !element.is_contiguous() || !pointers_.is_at_hand(leaf.index))
    return std::nullopt;
  return Source(pointers_.element(leaf.index, place_));
}

void TileFinisher::load(const Vec& d, const Node& leaf) {
  switch (leaf.leaf) {
    case Leaf::constant:
      return code_.load(d, static_cast<float>(leaf.value));
    case Leaf::scalar:
      return code_.vbroadcastss(d, pointers_.uniform(leaf.index));
    case Leaf::channel: {
      const Xbyak::Address from = pointers_.channel(leaf.index, place_);
      if (!spec_.lanes_are_channels) return code_.vbroadcastss(d, from);
      return load_lanes(d, from, DType::f32);
    }
    case Leaf::previous:
      return load_lanes(d, pointers_.output(place_), spec_.output.dtype);
    default: {
      const FinishTensor& element = spec_.elements[static_cast<std::size_t>(leaf.index)];
      const Xbyak::Address from = pointers_.element(leaf.index, place_);
      if (!element.per_lane) return storage_.broadcast(d, from, element.dtype);
      if (element.lane_stride == 0) return load_lanes(d, from, element.dtype);
      partial_ ? storage_.load_partial_strided(d, from, element.lane_stride, element.dtype)
               : storage_.load_strided(d, from, element.lane_stride, element.dtype);
    }
  }
}

void TileFinisher::load_lanes(const Vec& d, const Xbyak::Address& from, DType dtype) {
  partial_ ? storage_.load_partial(d, from, dtype) : storage_.load(d, from, dtype);
}

}  // namespace fuseplan::cpu
