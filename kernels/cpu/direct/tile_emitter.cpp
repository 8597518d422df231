// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/tile_emitter.hpp"

#include <algorithm>
#include <bit>

#include "base/integer.hpp"
#include "base/status.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

/// Of a tap's pixels and vectors of weights, the fewer stay in registers while the others pass by.
bool keeps_pixels(int pixels, int vectors) { return pixels < vectors; }

/// System V: rdi holds the call. The loops, outermost first: planes, rows, channels, taps.
class TileCode {
 public:
  TileCode(const TileSpec& spec, const FinishSpec* finish)
      : spec_(spec), finish_(finish), code_(spec.isa) {}

  std::vector<std::byte> emit() {
    if (finish_ != nullptr) {
      code_.enter();
    } else if (spec_.asks_ahead > 0) {
      code_.push(kAhead);
    }
    zero_or_load();
    if (finish_ != nullptr) expect();
    planes();
    finish_or_store();
    return code_.finish();
  }

 private:
  /// How a channel's pixel gets into the lanes of a register.
  enum class Load { whole, single };

  void finish_or_store() {
    Xbyak::Label store;
    if (finish_ != nullptr) {
      code_.mov(rdx, field(offsetof(TileCall, finish)));
      if (!spec_.all_channels) {
        code_.test(rdx, rdx);
        code_.jz(store);
      }
      finish(rdx);
      code_.leave();
      if (spec_.all_channels) return;
      code_.L(store);
    }
    code_.mov(rdx, field(offsetof(TileCall, result)));
    for (int i = 0; i < sums(); ++i) code_.vmovups(ptr[rdx + i * code_.bytes()], code_.vec(i));
    if (finish_ != nullptr) return code_.leave();
    if (spec_.asks_ahead > 0) code_.pop(kAhead);
    code_.vzeroupper();
    code_.ret();
  }

  void finish(const Xbyak::Reg64& call) {
    const Xbyak::Reg64 pointers[] = {rcx, r8, r9, r10, r11, rbx, r12, r13, r14, r15};
    ChainPointers at(code_, *finish_, pointers);
    at.read(call);
    Storage storage(code_, {rax, rax, rax}, finish_->bf16);
    for (int i = 0; i < sums(); ++i) code_.vectors().take();
    std::vector<TileSum> tile;
    for (int vector = 0; vector < spec_.vectors; ++vector)
      for (int pixel = 0; pixel < spec_.pixels; ++pixel)
        tile.push_back({sum(pixel, vector).getIdx(), place(pixel, vector)});
    TileFinisher(code_, *finish_, at, storage).finish(tile);
  }

  int sums() const { return spec_.pixels * spec_.vectors; }
  Vec sum(int pixel, int vector) const { return code_.vec(pixel * spec_.vectors + vector); }
  Vec weight(int vector) const { return code_.vec(sums() + vector); }
  Vec broadcast() const { return code_.vec(sums() + spec_.vectors); }
  static Xbyak::Address field(std::size_t offset) { return ptr[rdi + static_cast<int>(offset)]; }
  int tap_bytes() const { return spec_.vectors * code_.bytes(); }

  void zero_or_load() {
    Xbyak::Label load, ready;
    code_.mov(rsi, field(offsetof(TileCall, weights_ahead)));
    code_.mov(r8, field(offsetof(TileCall, input)));
    code_.mov(r9, field(offsetof(TileCall, weights)));
    if (spec_.asks_ahead > 0) code_.mov(kAhead, field(offsetof(TileCall, ahead)));
    if (spec_.odd) {
      constexpr int kEvenHalves = 0x55555555;
      code_.mov(eax, kEvenHalves);
      code_.kmovd(even_halves_, eax);
    }
    if (!spec_.all_channels) {
      code_.cmp(qword[rdi + static_cast<int>(offsetof(TileCall, accumulate))], 0);
      code_.jne(load);
    }
    for (int i = 0; i < sums(); ++i) code_.clear(i);
    if (spec_.all_channels) return;
    code_.jmp(ready);
    code_.L(load);
    code_.mov(rdx, field(offsetof(TileCall, result)));
    for (int i = 0; i < sums(); ++i) code_.vmovups(code_.vec(i), ptr[rdx + i * code_.bytes()]);
    code_.L(ready);
  }

  void expect() {
    const FinishSpec& spec = *finish_;
    if (spec.streaming && spec.elements.empty()) return;
    Xbyak::Label none;
    code_.mov(rdx, field(offsetof(TileCall, finish)));
    if (!spec_.all_channels) {
      code_.test(rdx, rdx);
      code_.jz(none);
    }
    const Xbyak::Reg64 pointers[] = {rcx, r10, r11, r12, r13, r14, r15};
    ChainPointers at(code_, spec, pointers);
    at.read(rdx);
    std::vector<TilePlace> tile;
    for (int i = 0; i < sums(); ++i) tile.push_back(place(i / spec_.vectors, i % spec_.vectors));
    if (!spec.streaming) at.expect_output(tile);
    at.expect_elements(tile);
    code_.L(none);
  }

  TilePlace place(int pixel, int vector) const { return {vector * code_.lanes(), 0, pixel}; }

  void planes() {
    Xbyak::Label plane, row, done;
    code_.mov(r10, field(offsetof(TileCall, planes)));
    code_.test(r10, r10);
    code_.jz(done);
    code_.L(plane);
    code_.mov(r11, r8);
    code_.mov(rcx, field(offsetof(TileCall, rows)));
    code_.L(row);
    code_.mov(rax, r11);
    channels();
    code_.add(r11, static_cast<int>(spec_.steps.row));
    code_.dec(rcx);
    code_.jnz(row);
    code_.add(r9, field(offsetof(TileCall, weight_skip)));
    code_.add(r8, static_cast<int>(spec_.steps.plane));
    code_.dec(r10);
    code_.jnz(plane);
    code_.L(done);
  }

  void channels() {
    Xbyak::Label done;
    code_.mov(rdx, field(offsetof(TileCall, channels)));
    if (!spec_.odd) return all_channels();
    code_.test(rdx, rdx);
    code_.jz(done);
    all_channels();
    code_.L(done);
    Xbyak::Label even;
    code_.cmp(qword[rdi + static_cast<int>(offsetof(TileCall, single))], 0);
    code_.je(even);
    channel(Load::single);
    code_.L(even);
  }

  void all_channels() {
    const int turn = channels_of_turn(spec_);
    Xbyak::Label many, rest, one, done;
    if (turn > 1) {
      const bool none_left = spec_.channels > 0 && spec_.channels % turn == 0;
      if (!none_left) {
        code_.sub(rdx, turn);
        code_.jl(rest);
      }
      code_.align(32);
      code_.L(many);
      for (int i = 0; i < turn; ++i) {
        ask_ahead(i, turn);
        taps(i, Load::whole);
      }
      advance(turn);
      code_.sub(rdx, turn);
      if (none_left) return code_.jnz(many);
      code_.jge(many);
      code_.L(rest);
      code_.add(rdx, turn);
      code_.jz(done);
    } else {
      code_.align(32);
    }
    code_.L(one);
    if (turn == 1) ask_ahead(0, turn);
    channel(Load::whole);
    code_.dec(rdx);
    code_.jnz(one);
    code_.L(done);
  }

  void channel(Load load) {
    if (spec_.tap_loop) return looped_taps(load);
    taps(0, load);
    advance(1);
  }

  /// A channel's share of what a turn asks for.
  void ask_ahead(int channel, int turn) {
    const int before = spec_.asks_ahead * channel / turn;
    for (int ask = before; ask < spec_.asks_ahead * (channel + 1) / turn; ++ask) {
      code_.prefetcht1(ptr[kAhead]);
      code_.add(kAhead, field(offsetof(TileCall, ahead_step)));
    }
  }

  void advance(int count) {
    code_.add(rax, static_cast<int>(count * spec_.steps.channel));
    code_.add(r9, static_cast<int>(count * spec_.taps * tap_bytes()));
  }

  void taps(int channel, Load load) {
    for (std::int64_t tap = 0; tap < spec_.taps; ++tap)
      products(channel * spec_.steps.channel + tap * spec_.steps.tap,
               (channel * spec_.taps + tap) * tap_bytes(), tap, load);
  }

  void looped_taps(Load load) {
    Xbyak::Label next;
    code_.push(rax);
    code_.push(rdx);
    code_.mov(rdx, field(offsetof(TileCall, taps)));
    code_.L(next);
    products(0, 0, 0, load);
    code_.add(rax, static_cast<int>(spec_.steps.tap));
    code_.add(r9, tap_bytes());
    code_.dec(rdx);
    code_.jnz(next);
    code_.pop(rdx);
    code_.pop(rax);
    code_.add(rax, static_cast<int>(spec_.steps.channel));
    code_.add(r9, field(offsetof(TileCall, tap_skip)));
  }

  void products(std::int64_t offset, std::int64_t weights, std::int64_t tap, Load load) {
    std::vector<int> pixels;
    for (int pixel = 0; pixel < spec_.pixels; ++pixel)
      if (spec_.tap_loop || spec_.inside(pixel, tap)) pixels.push_back(pixel);
    if (pixels.empty()) return;
    if (keeps_pixels(spec_.pixels, spec_.vectors)) return by_vector(pixels, offset, weights, load);
    for (int vector = 0; vector < spec_.vectors; ++vector)
      load_weight(weight(vector), vector, weights);
    for (const int pixel : pixels) {
      if (load == Load::whole && spec_.vectors == 1 && code_.is_avx512()) {
        add_product(sum(pixel, 0), weight(0), code_.ptr_b[rax + input(offset, pixel).displacement]);
        continue;
      }
      load_pixel(broadcast(), input(offset, pixel), load);
      for (int vector = 0; vector < spec_.vectors; ++vector)
        add_product(sum(pixel, vector), broadcast(), weight(vector));
    }
  }

  /// The pixels stay in registers while weights pass by.
  void by_vector(const std::vector<int>& pixels, std::int64_t offset, std::int64_t weights,
                 Load load) {
    const auto kept = [&](int pixel) { return code_.vec(sums() + pixel); };
    const Vec passing = code_.vec(sums() + spec_.pixels);
    for (const int pixel : pixels) load_pixel(kept(pixel), input(offset, pixel), load);
    for (int vector = 0; vector < spec_.vectors; ++vector) {
      load_weight(passing, vector, weights);
      for (const int pixel : pixels) add_product(sum(pixel, vector), kept(pixel), passing);
    }
  }

  Near input(std::int64_t offset, int pixel) const {
    return {rax.getIdx(), static_cast<std::int32_t>(offset + pixel * spec_.steps.pixel)};
  }

  void load_pixel(const Vec& d, Near at, Load load) {
    if (load == Load::single)
      code_.vpbroadcastw(d | even_halves_ | code_.T_z, word[rax + at.displacement]);
    else
      code_.vbroadcastss(d.getIdx(), at);
  }

  void load_weight(const Vec& d, int vector, std::int64_t at) {
    const int from = static_cast<int>(at) + vector * code_.bytes();
    code_.vmovups(d.getIdx(), Near{r9.getIdx(), from});
    code_.prefetcht0(Near{r9.getIdx(), from, rsi.getIdx()});
  }

  void add_product(const Vec& sum, const Vec& a, const Xbyak::Operand& b) {
    if (spec_.pairs) return code_.vdpbf16ps(sum, a, b);
    code_.vfmadd231ps(sum, a, b);
  }

  const Xbyak::Reg64 kAhead = rbx;
  const TileSpec& spec_;
  const FinishSpec* finish_;
  VectorCode code_;
  Xbyak::Opmask even_halves_{2};
};

}  // namespace

bool tile_fits(Isa isa, int pixels, int vectors) {
  const int registers = isa == Isa::avx512 ? 32 : 16;
  const int kept = keeps_pixels(pixels, vectors) ? pixels : vectors;
  const int passing = isa == Isa::avx512 && vectors == 1 ? 0 : 1;
  return pixels > 0 && vectors > 0 && pixels * vectors + kept + passing <= registers;
}

std::int64_t tile_products(const TileSpec& spec) {
  if (spec.tap_loop) return static_cast<std::int64_t>(spec.pixels) * spec.vectors;
  std::int64_t products = 0;
  for (int pixel = 0; pixel < spec.pixels; ++pixel)
    for (std::int64_t tap = 0; tap < spec.taps; ++tap) products += spec.inside(pixel, tap);
  return products * spec.vectors;
}

int channels_of_turn(const TileSpec& spec) {
  if (spec.tap_loop) return 1;
  constexpr std::int64_t kProductsOfTurn = 48;
  const std::int64_t products = std::max<std::int64_t>(1, tile_products(spec));
  const auto turn = static_cast<std::uint64_t>(ceil_div(kProductsOfTurn, products));
  return static_cast<int>(std::min<std::uint64_t>(std::bit_ceil(turn), 8));
}

std::int64_t bytes_asked(const TileSpec& spec, const TileCall& call) {
  const std::int64_t turns = call.planes * call.rows * (call.channels / channels_of_turn(spec));
  return turns * spec.asks_ahead * kCacheLine;
}

std::vector<std::byte> emit_tile(const TileSpec& spec, const FinishSpec* finish) {
  require(spec.isa != Isa::portable && tile_fits(spec.isa, spec.pixels, spec.vectors),
          Status::InternalError, "a tile of {} pixels x {} vectors does not fit the registers",
          spec.pixels, spec.vectors);
  require(!spec.pairs || spec.isa == Isa::avx512, Status::InternalError,
          "tiles of pairs are written for AVX-512");
  return TileCode(spec, finish).emit();
}

}  // namespace fuseplan::cpu
