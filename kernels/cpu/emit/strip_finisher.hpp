// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"

namespace fuseplan::cpu {

/// A kernel that applies a short chain to a strip of sums in memory, [pixel][channel] with whole
/// vectors of channels, and stores it: for outputs whose channels are contiguous, on AVX-512.
struct StripSpec {
  int vectors = 0;     ///< of channels, at most 4
  int last_lanes = 0;  ///< of the last vector
  bool operator==(const StripSpec&) const = default;
};

/// What it reads, as `void(const StripCall*)`.
struct StripCall {
  const void* sums = nullptr;
  const RowsCall* chain = nullptr;  ///< at the first pixel and channel
  std::int64_t pixels = 0;          ///< neighbours in a row of the output, at least 1
};

/// Whether the chain is short enough, and the tensors near enough.
bool strip_finisher_takes(const FinishSpec& finish);

/// Such code inside of a kernel: `pixels` pixels at a time, and on to the next sums, and to where
/// they are stored. rax is scratch.
class StripEmitter {
 public:
  /// `sums` points to the first pixel's, `pointers` to what the chain reads and stores there.
  StripEmitter(VectorCode& code, const StripSpec& spec, const FinishSpec& finish,
               const Xbyak::Reg64& sums, ChainPointers& pointers, Storage& storage)
      : code_(code),
        spec_(spec),
        sums_(sums),
        finish_(finish),
        pointers_(pointers),
        finisher_(code, finish, pointers, storage) {}

  /// Pixels that are best finished at a time.
  static int most_pixels(const StripSpec& spec);

  void finish(int pixels);
  void move_sums(int pixels);
  void move_pointers(int pixels);

 private:
  int part_of_line(int vector) const;

  VectorCode& code_;
  const StripSpec& spec_;
  Xbyak::Reg64 sums_;
  const FinishSpec& finish_;
  ChainPointers& pointers_;
  TileFinisher finisher_;
};

std::vector<std::byte> emit_strip_finisher(const StripSpec& spec, const FinishSpec& finish);

}  // namespace fuseplan::cpu
