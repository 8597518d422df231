// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {

/// From depth to depth and from row to row.
struct ScalarSteps {
  std::int64_t depth = 0, row = 0;
};

/// `rows` x `vectors` sums over `depth` products of a vector and a scalar,
///   sum[row][vector] = sum over d of vectors[d][vector] * scalars[d][row].
/// Steps in bytes.
struct LoopSpec {
  Isa isa{};  ///< AVX2 or AVX-512
  int rows = 0, vectors = 0;
  int tail = 16;  ///< lanes of the last vector
  std::int64_t depth = 0;
  std::int64_t vector_depth = 0;  ///< neighbouring vectors are neighbours in memory
  ScalarSteps scalars;
  /// Asks the first-level cache at each depth for the next tile's scalars, where those of all rows
  /// are neighbours and a depth's lie far from the next's.
  bool prefetch_depths = false;
  /// Asks for so many bytes from where a register points, a few lines each turn; and the same of
  /// another place.
  std::int64_t ahead_bytes = 0, other_ahead_bytes = 0;
  bool ahead_to_first_level = false;
  /// Multiply-adds of a turn, about: enough to hide the loop.
  int turn = 50;

  bool is_partial() const { return tail < lanes_of(isa); }
  /// Depths of a turn, and how many whole turns there are.
  int unroll() const;
  std::int64_t turns() const { return depth / unroll(); }
  /// Lines that a turn asks for, of either.
  std::int64_t ahead_lines() const { return lines_of(ahead_bytes); }
  std::int64_t other_ahead_lines() const { return lines_of(other_ahead_bytes); }

 private:
  std::int64_t lines_of(std::int64_t bytes) const;
};

/// Vectors as they are read: what lies so many bytes behind the loop's pointer. Of them the first
/// `whole` exist, and some lanes of the next if it is `partial`; the others must not be read and
/// are zero.
struct VectorTerm {
  std::int64_t offset = 0;
  int whole = 0;
  bool partial = false;
  bool minus = false;  ///< subtracted; not the first
  /// Asks the first-level cache for what lies behind these vectors: the next tile's.
  bool prefetch = false;
};

/// Sums, vectors and a scalar fit the registers.
bool product_fits(Isa isa, int rows, int vectors);
/// On AVX-512: no register is left for a scalar, or none pays, and every product loads its own.
bool product_embeds(Isa isa, int rows, int vectors);

/// Emits that loop.
class ProductLoop {
 public:
  /// General registers, all clobbered but those of what is ahead, which move on.
  struct Pointers {
    Xbyak::Reg64 vector, scalar, left, ahead, other_ahead;
  };
  /// `storage`: where partial vectors have begun, if there are any.
  ProductLoop(VectorCode& code, Storage& storage, const LoopSpec& spec, const Pointers& pointers)
      : code_(code), storage_(storage), spec_(spec), at_(pointers) {}

  /// Takes registers for sums and operands. give_operands returns those of operands, which the
  /// loop clobbers whoever has them.
  void take_registers();
  void give_operands();

  /// The register of a sum.
  int sum(int row, int vector) const {
    return sums_[static_cast<std::size_t>(row * spec_.vectors + vector)];
  }
  const std::vector<int>& sums() const { return sums_; }
  void clear();
  /// Adds the products of scalars and the sum of these vectors to the sums.
  void emit(std::span<const VectorTerm> terms) { emit(terms, spec_.scalars); }
  /// The same of scalars that lie otherwise.
  void emit(std::span<const VectorTerm> terms, const ScalarSteps& scalars);

 private:
  Vec narrow(int index, int vector) const;
  void prefetch(int depth);
  void ask(const Xbyak::Reg64& from, std::int64_t lines, int depth);
  void load_vectors(int depth, std::span<const VectorTerm> terms);
  void load_vector(int vector, std::int64_t at, const VectorTerm& term, bool first);
  void add_partial(const Vec& d, const Xbyak::Address& from, bool minus);
  void products(int depth, std::span<const VectorTerm> terms);

  VectorCode& code_;
  Storage& storage_;
  const LoopSpec& spec_;
  Pointers at_;
  ScalarSteps scalars_at_;  ///< of the loop that is being emitted
  std::vector<int> sums_, vectors_, scalars_;
};

}  // namespace fuseplan::cpu
