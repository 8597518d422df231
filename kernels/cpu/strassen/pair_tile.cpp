// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/pair_tile.hpp"

#include <algorithm>

#include "base/status.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"
#include "kernels/cpu/strassen/scheme.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kVectors = r8, kScalars = r9;               // of the tile
const Xbyak::Reg64 kCall = rdi, kInput = rdi;                  // first the one, then the other
const Xbyak::Reg64 kVector = rsi, kScalar = rdx, kLeft = rcx;  // in the loop over the depth
const Xbyak::Reg64 kTail = rcx;                         // behind it: lanes of a partial vector
const Xbyak::Reg64 kNextPiece = r15, kNextInput = r14;  // what the caches are asked for
const Xbyak::Reg64 kPointers[] = {r10, r11, rbx, r12, r13};

class PairTileEmitter {
 public:
  explicit PairTileEmitter(const PairTileSpec& spec)
      : spec_(spec),
        code_(spec.loop.isa),
        storage_(code_, {rdx, rax, rsi}),
        loop_(code_, storage_, spec_.loop, {kVector, kScalar, kLeft, kNextPiece, kNextInput}),
        pointers_(code_, spec_.finish, kPointers),
        finisher_(code_, spec_.finish, pointers_, storage_) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label tile;
    c.enter();
    const int left = c.reserve_words(1);
    if (spec_.continues) kept_ = c.reserve_words(2);
    start(left);
    loop_.take_registers();
    loop_.give_operands();
    take_places();
    c.align(32);
    c.L(tile);
    quarters();
    next_tile();
    c.dec(c.stack_word(left));
    c.jnz(tile);
    c.leave();
    if (spec_.input != Input::vectors) loop_as_function(product_, spec_.loop.scalars);
    if (spec_.input == Input::scalars) loop_as_function(in_place_, spec_.input_scalars);
    storage_.emit_tables();
    return c.finish();
  }

 private:
  using Input = PairTileSpec::Input;
  /// A quarter of the tile: halves of the pixels and of the output channels.
  struct Quarter {
    int pixels, channels;
  };
  int row_half(const Quarter& quarter) const {
    return spec_.along_lanes ? quarter.channels : quarter.pixels;
  }
  int lane_half(const Quarter& quarter) const {
    return spec_.along_lanes ? quarter.pixels : quarter.channels;
  }
  TilePlace place(std::int64_t row, std::int64_t lane) const {
    if (spec_.along_lanes) return {.channel = row, .column = lane};
    return {.channel = lane, .column = row};
  }

  void read(const Xbyak::Reg64& d, std::size_t offset) {
    code_.mov(d, ptr[kCall + static_cast<int>(offset)]);
  }

  void start(int left) {
    VectorCode& c = code_;
    read(rax, offsetof(ProductCall, tiles));
    c.mov(c.stack_word(left), rax);
    read(kVectors, offsetof(ProductCall, vectors));
    read(kScalars, offsetof(ProductCall, scalars));
    start_ahead(kNextPiece, offsetof(ProductCall, next_piece), spec_.slice);
    start_ahead(kNextInput, offsetof(ProductCall, next_input), spec_.input_slice);
    if (spec_.continues) {
      read(rax, offsetof(ProductCall, kept));
      c.mov(c.stack_word(kept_), rax);
      read(rax, offsetof(ProductCall, keeps));
      c.mov(c.stack_word(kept_ + 1), rax);
    }
    read(rcx, offsetof(ProductCall, chain));
    pointers_.read(rcx);
    if (spec_.input == Input::scalars) read(kInput, offsetof(ProductCall, input));
    if (!spec_.loop.is_partial()) return;
    c.mov(kTail, spec_.loop.tail);
    storage_.begin_partial(kTail, spec_.loop.tail);
  }

  void start_ahead(const Xbyak::Reg64& ahead, std::size_t offset, std::int64_t slice) {
    if (slice == 0) return;
    read(ahead, offset);
    code_.mov(rcx, spec_.first_slice * slice);
    code_.add(ahead, rcx);
  }

  // Where sums of products wait that several quarters share.
  static constexpr int kPlaces = 3;
  void take_places() {
    for (std::vector<int>& place : places_)
      for (std::size_t i = 0; i < loop_.sums().size(); ++i) place.push_back(code_.take_slot());
  }
  template <typename F>
  void for_each_sum(int place, const F& body) {
    const std::vector<int>& sums = loop_.sums();
    for (std::size_t i = 0; i < sums.size(); ++i) body(sums[i], code_.slot(places_[place][i]));
  }
  void save(int place) {
    for_each_sum(place, [&](int sum, Near at) { code_.vmovups(at, sum); });
  }
  void restore(int place) {
    for_each_sum(place, [&](int sum, Near at) { code_.vmovups(sum, at); });
  }
  void add(int place) {
    for_each_sum(place, [&](int sum, Near at) { code_.vaddps(sum, sum, at); });
  }
  /// The sums plus what is there, to there.
  void add_to(int place) {
    Temp one(code_), other(code_);
    bool odd = false;
    for_each_sum(place, [&](int sum, Near at) {
      const int both = odd ? other.getIdx() : one.getIdx();
      code_.vaddps(both, sum, at);
      code_.vmovups(at, both);
      odd = !odd;
    });
  }

  void loop_as_function(Xbyak::Label& label, const ScalarSteps& scalars) {
    const VectorTerm all{.whole = spec_.loop.vectors};
    code_.align(32);
    code_.L(label);
    loop_.emit({&all, 1}, scalars);
    code_.ret();
  }

  /// What is read of the tensor: halves of pixels and of input channels.
  std::int64_t input_offset(int pixels, int channels) const {
    return pixels * spec_.input_pixels + channels * spec_.input_channels;
  }

  void multiply(int product) {
    const auto at = [](std::int64_t bytes) { return static_cast<int>(bytes); };
    code_.lea(kVector, ptr[kVectors + at(vectors_of(product))]);
    if (spec_.input == Input::vectors) {
      code_.lea(kScalar, ptr[kScalars + at(product * spec_.scalar_product)]);
      return loop_.emit(terms_of(product));
    }
    const Source& source = kSources[product];
    if (spec_.input == Input::scalars && source.sum < 0) {
      code_.lea(kScalar, ptr[kInput + at(input_offset(source.pixels, source.channels))]);
      return code_.call(in_place_);
    }
    const int staged = spec_.input == Input::scalars ? source.sum : product;
    code_.lea(kScalar, ptr[kScalars + at(staged * spec_.scalar_product)]);
    code_.call(product_);
  }

  std::int64_t vectors_of(int product) const {
    return spec_.input == Input::vectors ? 0 : product * spec_.vector_product;
  }

  /// A left factor: a quarter of the input, or the n-th of the sums.
  struct Source {
    int sum, pixels, channels;
  };
  static constexpr Source kSources[kStrassenProducts] = {
      {-1, 0, 0}, {-1, 0, 1}, {0, 0, 0}, {1, 0, 0}, {-1, 1, 1}, {2, 0, 0}, {3, 0, 0}};

  VectorTerm term(int pixels, int channels, bool minus = false, bool prefetch = false) const {
    return {.offset = input_offset(pixels, channels),
            .whole = spec_.loop.vectors - (spec_.loop.is_partial() ? 1 : 0),
            .partial = spec_.loop.is_partial(),
            .minus = minus,
            .prefetch = prefetch};
  }
  /// The left factor as sums of quarters of the input. Each quarter's next is asked for once.
  std::vector<VectorTerm> terms_of(int product) const {
    switch (product) {
      case 0:
        return {term(0, 0, false, true)};
      case 1:
        return {term(0, 1, false, true)};
      case 2:
        return {term(1, 0, false, true), term(1, 1), term(0, 0, true)};
      case 3:
        return {term(0, 0), term(1, 0, true)};
      case 4:
        return {term(1, 1, false, true)};
      case 5:
        return {term(1, 0), term(1, 1)};
      default:
        return {term(0, 1), term(0, 0), term(1, 0, true), term(1, 1, true)};
    }
  }

  void quarters() {
    constexpr Quarter k11{0, 0}, k12{0, 1}, k21{1, 0}, k22{1, 1};
    expect(k11);
    loop_.clear();
    multiply(0);
    save(0);
    multiply(1);
    finish(k11);
    expect(k21);
    restore(0);
    multiply(2);
    save(1);
    multiply(3);
    save(2);
    multiply(4);
    finish(k21);
    expect(k12);
    expect(k22);
    loop_.clear();
    multiply(5);
    add_to(2);
    add(1);
    multiply(6);
    finish(k12);
    restore(2);
    finish(k22);
  }

  /// The sums of a quarter, those that share channels next to one another.
  template <typename F>
  void for_each_place(const Quarter& quarter, const F& body) {
    const LoopSpec& loop = spec_.loop;
    const int rows = loop.rows - (spec_.lacks_row ? row_half(quarter) : 0);
    const auto visit = [&](int row, int v) {
      body(row, v,
           place(row_half(quarter) * spec_.row_distance + row,
                 lane_half(quarter) * spec_.lane_distance + std::int64_t{v} * code_.lanes()));
    };
    const int outer = spec_.along_lanes ? rows : loop.vectors;
    const int inner = spec_.along_lanes ? loop.vectors : rows;
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < inner; ++j) spec_.along_lanes ? visit(i, j) : visit(j, i);
  }

  void expect(const Quarter& quarter) {
    if (!spec_.prefetch_output && spec_.finish.elements.empty()) return;
    std::vector<TilePlace> tile;
    for_each_place(quarter, [&](int, int, const TilePlace& place) { tile.push_back(place); });
    Xbyak::Label kept;
    unless_finished(kept);
    if (spec_.prefetch_output) pointers_.expect_output(tile);
    pointers_.expect_elements(tile);
    code_.L(kept);
  }

  void finish(const Quarter& quarter) {
    if (!spec_.continues) return apply_chain(quarter);
    Xbyak::Label kept, done;
    code_.mov(rax, code_.stack_word(kept_));
    for_each_kept(quarter, [&](int sum, Near at) { code_.vaddps(sum, sum, at); });
    unless_finished(kept);
    apply_chain(quarter);
    code_.jmp(done, code_.T_NEAR);
    code_.L(kept);
    for_each_kept(quarter, [&](int sum, Near at) { code_.vmovups(at, sum); });
    code_.L(done);
  }

  /// Where calls go on that keep the sums.
  void unless_finished(Xbyak::Label& kept) {
    if (!spec_.continues) return;
    code_.cmp(code_.stack_word(kept_ + 1), 0);
    code_.jne(kept, code_.T_NEAR);
  }

  /// The sums, and what rax points to that is kept of the tile: its quarters one behind the other.
  template <typename F>
  void for_each_kept(const Quarter& quarter, const F& body) {
    const std::vector<int>& sums = loop_.sums();
    auto at =
        (2 * quarter.pixels + quarter.channels) * static_cast<int>(sums.size()) * code_.bytes();
    for (const int sum : sums) {
      body(sum, {Xbyak::Operand::RAX, at});
      at += code_.bytes();
    }
  }

  void apply_chain(const Quarter& quarter) {
    std::vector<TileSum> tile;
    for_each_place(quarter, [&](int row, int v, const TilePlace& place) {
      tile.push_back(
          {loop_.sum(row, v), place, spec_.loop.is_partial() && v + 1 == spec_.loop.vectors});
    });
    if (spec_.loop.is_partial()) code_.mov(kTail, spec_.loop.tail);
    if (!tile.empty()) finisher_.finish(tile);
  }

  void next_tile() {
    const auto tile = static_cast<int>(spec_.tile);
    const std::int64_t rows = std::int64_t{2} * spec_.loop.rows;
    if (spec_.continues) code_.add(code_.stack_word(kept_), static_cast<int>(spec_.kept));
    code_.add(spec_.along_lanes ? kVectors : kScalars, tile);
    if (!spec_.along_lanes && spec_.input == Input::scalars)
      code_.add(kInput, static_cast<int>(rows * spec_.input_scalars.row));
    pointers_.move(spec_.along_lanes ? place(0, std::int64_t{spec_.loop.vectors} * code_.lanes())
                                     : place(rows, 0));
  }

  const PairTileSpec& spec_;
  VectorCode code_;
  Storage storage_;
  ProductLoop loop_;
  ChainPointers pointers_;
  TileFinisher finisher_;
  Xbyak::Label product_, in_place_;  ///< the loop, as a function
  std::vector<int> places_[kPlaces];
  /// The stack words that point to what is kept of the tile, and say whether it is kept again.
  int kept_ = 0;
};

}  // namespace

std::vector<std::byte> emit_pair_tile(const PairTileSpec& spec) {
  require(product_fits(spec.loop.isa, spec.loop.rows, spec.loop.vectors), Status::InternalError,
          "a tile of {} rows x {} vectors does not fit the registers", spec.loop.rows,
          spec.loop.vectors);
  return PairTileEmitter(spec).emit();
}

}  // namespace fuseplan::cpu
