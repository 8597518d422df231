// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/tile_emitter.hpp"

#include <algorithm>
#include <cstddef>

#include "base/status.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

// Multiply-adds written out before the loop over a run starts again; where each tap has a loop of
// its own, fewer.
constexpr int kUnrolled = 128, kUnrolledPerTap = 32;

int registers_besides_sums(DotKind dot, int vectors) {
  return vectors + (dot == DotKind::quads ? 1 : 2);
}

class ByteTileCode {
 public:
  ByteTileCode(const ByteTileSpec& spec, const FinishSpec& finish)
      : spec_(spec),
        finish_(finish),
        code_(spec.isa),
        storage_(code_, kScratch, finish.bf16),
        pointers_(code_, finish, kPointers) {}

  std::vector<std::byte> emit() {
    Xbyak::Label next;
    code_.enter();
    code_.align(32);
    code_.L(next);
    if (spec_.finished && !finish_.elements.empty()) expect();
    code_.mov(kInput, code_.ptr[kCall + static_cast<int>(offsetof(ByteTileCall, input))]);
    code_.mov(kWeights, code_.ptr[kCall + static_cast<int>(offsetof(ByteTileCall, weights))]);
    take_registers();
    start_sums();
    sum_planes();
    give_registers();
    if (spec_.finished) {
      finish();
    } else {
      store_sums();
    }
    move_on();
    code_.jnz(next);
    code_.leave();
    storage_.emit_tables();
    return code_.finish();
  }

 private:
  // By vector and pixel, the order in which they are finished.
  const Vec& sum(int pixel, int vector) const {
    return sums_[static_cast<std::size_t>(vector * spec_.pixels + pixel)];
  }

  Vec take() { return code_.vec(code_.vectors().take()); }

  void take_registers() {
    for (int i = 0; i < spec_.pixels * spec_.vectors; ++i) sums_.push_back(take());
    for (int i = 0; i < spec_.vectors; ++i) weights_.push_back(take());
    if (spec_.dot.kind == DotKind::pairs) product_.push_back(take());
    constexpr std::size_t kMostInFlight = 4;
    while (inputs_.size() < kMostInFlight && code_.vectors().free() > 0) inputs_.push_back(take());
  }

  void give_registers() {
    for (const auto* list : {&weights_, &product_, &inputs_})
      for (const Vec& v : *list) code_.vectors().give(v.getIdx());
  }

  // What the packed weights say every sum starts from.
  void start_sums() {
    for (int v = 0; v < spec_.vectors; ++v) {
      code_.vmovups(sum(0, v), code_.ptr[kWeights + v * code_.bytes()]);
      for (int p = 1; p < spec_.pixels; ++p) code_.vmovaps(sum(p, v), sum(0, v));
    }
    code_.add(kWeights, spec_.vectors * code_.bytes());
  }

  /// `body`, `count` times, with the input `step` bytes further each time; `advance` is how far the
  /// body moves it. Returns how far all of it does.
  template <typename Body>
  std::int64_t repeat(std::int64_t count, const Xbyak::Reg32& counter, std::int64_t step,
                      const Body& body) {
    if (count == 1) return body();
    Xbyak::Label next;
    code_.mov(counter, static_cast<std::uint32_t>(count));
    code_.L(next);
    advance(kInput, step - body());
    code_.dec(counter);
    code_.jnz(next);
    return count * step;
  }

  void sum_planes() {
    const ByteReduction& r = spec_.reduction;
    repeat(r.planes, r10d, r.plane_step, [&] { return sum_rows(); });
  }

  /// Each tap for the pixels that have it; neighbours that the same pixels have in a loop.
  std::int64_t sum_rows() {
    const ByteReduction& r = spec_.reduction;
    std::int64_t at = 0;
    for (std::int64_t row = 0, next = 0; row < r.rows; row = next) {
      while (next < r.rows && has_alike(row, next)) ++next;
      advance(kInput, row * r.row_step - at);
      at = row * r.row_step + repeat(next - row, r9d, r.row_step, [&] { return sum_taps(row); });
    }
    return at;
  }

  bool has_alike(std::int64_t row, std::int64_t other) const {
    for (int i = 0; i < spec_.pixels / spec_.width; ++i)
      if (spec_.rows.has(i, row) != spec_.rows.has(i, other)) return false;
    return true;
  }

  std::int64_t sum_taps(std::int64_t row) {
    const ByteReduction& r = spec_.reduction;
    const std::int64_t taps = std::max(r.runs, spec_.taps), lanes = r.runs * r.lanes / taps;
    const std::int64_t step = r.runs > 1 ? r.run_step : 4 * lanes;
    std::int64_t at = 0;
    for (std::int64_t tap = 0, next = 0; tap < taps; tap = next) {
      pixels_ = pixels_of(row, tap);
      while (next < taps && pixels_of(row, next) == pixels_) ++next;
      if (pixels_.empty()) {
        advance(kWeights, (next - tap) * lanes * spec_.vectors * code_.bytes());
        continue;
      }
      advance(kInput, tap * step - at);
      at = tap * step;
      at += r.runs > 1 ? repeat(next - tap, r8d, step, [&] { return sum_run(lanes); })
                       : sum_run((next - tap) * lanes);
    }
    return at;
  }

  std::vector<int> pixels_of(std::int64_t row, std::int64_t tap) const {
    std::vector<int> pixels;
    for (int p = 0; p < spec_.pixels; ++p)
      if (spec_.has(p, row, tap)) pixels.push_back(p);
    return pixels;
  }

  /// Of `pixels_`.
  std::int64_t sum_run(std::int64_t lanes) {
    const int products = spec_.leaves_out() ? kUnrolledPerTap : kUnrolled;
    const auto sums = static_cast<int>(pixels_.size()) * spec_.vectors;
    const std::int64_t unroll = std::max(1, products / sums);
    const std::int64_t turns = lanes >= 2 * unroll ? lanes / unroll : 0;
    if (turns > 0) {
      Xbyak::Label next;
      code_.mov(ecx, static_cast<std::uint32_t>(turns));
      code_.align(32);
      code_.L(next);
      sum_lanes(unroll);
      code_.dec(ecx);
      code_.jnz(next);
    }
    sum_lanes(lanes - turns * unroll);
    return 4 * lanes;
  }

  void sum_lanes(std::int64_t lanes) {
    if (lanes == 0) return;
    for (int lane = 0; lane < lanes; ++lane) sum_lane(lane);
    advance(kInput, 4 * lanes);
    code_.add(kWeights, static_cast<int>(lanes) * spec_.vectors * code_.bytes());
  }

  void sum_lane(int lane) {
    for (int v = 0; v < spec_.vectors; ++v)
      code_.vmovups(weights(v), code_.ptr[kWeights + (lane * spec_.vectors + v) * code_.bytes()]);
    for (const int p : pixels_) {
      const Vec& input = inputs_[static_cast<std::size_t>(p) % inputs_.size()];
      const auto offset = static_cast<int>(spec_.offset(spec_.input, p)) + 4 * lane;
      code_.vpbroadcastd(input, code_.ptr[kInput + offset]);
      for (int v = 0; v < spec_.vectors; ++v) add_product(sum(p, v), input, weights(v));
    }
  }

  const Vec& weights(int vector) const { return weights_[static_cast<std::size_t>(vector)]; }

  void add_product(const Vec& sum, const Vec& input, const Vec& weights) {
    if (spec_.dot.kind == DotKind::quads) {
      // In ymm registers both sets have it, each with a spelling of its own.
      const auto spelling = code_.is_avx512() ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
      return code_.vpdpbusd(sum, input, weights, spelling);
    }
    const Vec& product = product_.front();
    code_.vpmaddwd(product, input, weights);
    code_.vpaddd(sum, sum, product);
  }

  void advance(const Xbyak::Reg64& pointer, std::int64_t bytes) {
    if (bytes == static_cast<std::int32_t>(bytes)) {
      if (bytes != 0) code_.add(pointer, static_cast<std::uint32_t>(bytes));
    } else {
      code_.mov(rax, static_cast<std::uint64_t>(bytes));
      code_.add(pointer, rax);
    }
  }

  void store_sums() {
    code_.mov(rax, code_.ptr[kCall + static_cast<int>(offsetof(ByteTileCall, sums))]);
    for (int p = 0; p < spec_.pixels; ++p)
      for (int v = 0; v < spec_.vectors; ++v)
        code_.vmovups(code_.ptr[rax + (p * spec_.vectors + v) * code_.bytes()], sum(p, v));
  }

  void read_chain() {
    code_.mov(kChain, code_.ptr[kCall + static_cast<int>(offsetof(ByteTileCall, chain))]);
    pointers_.read(kChain);
  }

  TilePlace place(int pixel, int vector) const {
    return {vector * code_.lanes(), pixel / spec_.width, pixel % spec_.width};
  }

  void expect() {
    read_chain();
    std::vector<TilePlace> tile;
    for (int p = 0; p < spec_.pixels; ++p)
      for (int v = 0; v < spec_.vectors; ++v) tile.push_back(place(p, v));
    pointers_.expect_elements(tile);
  }

  void finish() {
    read_chain();
    const bool is_partial = spec_.last_lanes < code_.lanes();
    if (is_partial) {
      code_.mov(kLanes, spec_.last_lanes);
      storage_.begin_partial(kLanes, spec_.last_lanes);
    }
    std::vector<TileSum> tile;
    for (int v = 0; v < spec_.vectors; ++v)
      for (int p = 0; p < spec_.pixels; ++p)
        tile.push_back({sum(p, v).getIdx(), place(p, v), is_partial && v + 1 == spec_.vectors});
    TileFinisher(code_, finish_, pointers_, storage_).finish(tile);
  }

  /// To the next tile; flags say if there is one.
  void move_on() {
    using Call = ByteTileCall;
    const auto field = [](std::size_t offset) { return qword[kCall + static_cast<int>(offset)]; };
    const PixelSteps next = spec_.next();
    code_.add(field(offsetof(Call, input)),
              static_cast<int>(next.row * spec_.input.row + next.column * spec_.input.column));
    if (spec_.finished) {
      code_.mov(kChain, field(offsetof(Call, chain)));
      pointers_.move_call(kChain, {0, next.row, next.column});
    } else {
      code_.add(field(offsetof(Call, sums)), spec_.pixels * spec_.vectors * code_.bytes());
    }
    code_.dec(field(offsetof(Call, tiles)));
  }

  static inline const Xbyak::Reg64 kCall = rdi, kInput = rsi, kWeights = rdx, kChain = rcx;
  static inline const Xbyak::Reg64 kLanes = rcx;  ///< of a partial vector, behind the sums
  static inline const Storage::Scratch kScratch = {rdx, rax, r15};
  static inline const Xbyak::Reg64 kPointers[] = {rsi, r8, r9, r10, r11, rbx, r12, r13, r14};
  const ByteTileSpec& spec_;
  const FinishSpec& finish_;
  VectorCode code_;
  Storage storage_;
  ChainPointers pointers_;
  std::vector<Vec> sums_, weights_, inputs_, product_;
  std::vector<int> pixels_;  ///< that take part at present
};

}  // namespace

bool byte_tile_fits(Isa isa, DotKind dot, int pixels, int vectors) {
  return pixels > 0 && vectors > 0 &&
         pixels * vectors + registers_besides_sums(dot, vectors) <= VectorCode::count(isa);
}

std::vector<std::byte> emit_byte_tile(const ByteTileSpec& spec, const FinishSpec& finish) {
  require(spec.isa != Isa::portable &&
              byte_tile_fits(spec.isa, spec.dot.kind, spec.pixels, spec.vectors),
          Status::InternalError, "a tile of {} pixels x {} vectors does not fit the registers",
          spec.pixels, spec.vectors);
  return ByteTileCode(spec, finish).emit();
}

}  // namespace fuseplan::cpu
