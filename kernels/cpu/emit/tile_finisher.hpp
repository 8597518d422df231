// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/emit/chain_pointers.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/finish_needs.hpp"
#include "kernels/cpu/emit/storage.hpp"
#include "kernels/cpu/emit/sum_turns.hpp"

namespace fuseplan::cpu {

/// Applies a chain to a tile of sums where they were summed, and stores it. A short chain is
/// written out for every sum: registers that the sums leave over hold what it reads often; if it
/// needs more, some sums wait on the stack. A long one is a loop over sums that all wait there,
/// which is made in a third of the time and not slower.
class TileFinisher : LeafSource {
 public:
  TileFinisher(VectorCode& code, const FinishSpec& spec, ChainPointers& pointers, Storage& storage);

  TileFinisher(const TileFinisher&) = delete;
  TileFinisher& operator=(const TileFinisher&) = delete;

  /// Jumps if the optional sums are not there; none of those is the first of its channels.
  using Skip = std::function<VectorCode::Forward()>;
  /// In this order: those that share channels next to one another. Afterwards the pool is as it was
  /// and the sums are gone. Long chains are written out where some sums are optional and others
  /// not, unless each turn of their loop has both.
  void finish(std::span<const TileSum> sums, const Skip& skip = {});

  /// Emits the chain for nothing.
  static FinishNeeds::Need need(Isa isa, const FinishSpec& spec, std::size_t kept,
                                const FinishNeeds::Sums& sums);

  std::optional<Source> find(const Node& leaf) override;
  std::optional<int> take(const Node& leaf) override;
  void load(const Vec& d, const Node& leaf) override;

 private:
  struct Kept {
    Node leaf;
    int reg;
  };
  void spill(std::size_t wanted);
  void plan(const FinishNeeds::Sums& sums);
  void begin(std::span<const TileSum> sums);
  void finish_all(const Skip& skip);
  void finish_in_turns(const SumTurns& turns, const Skip& skip);
  void load_kept(Leaf leaf);
  void find_parts();
  std::vector<std::size_t> parts_before(std::size_t index) const;
  void finish_one(std::size_t index);
  bool is_ordinary(std::size_t index) const;
  void finish_alike(std::size_t index);
  bool waits(std::size_t index) const { return index >= sums_.size() - slots_.size(); }
  void store(std::size_t index, const Vec& value);
  void drain(std::size_t sums);
  bool starts_channels(std::size_t index) const;
  void load_lanes(const Vec& d, const Xbyak::Address& from, DType dtype);

  VectorCode& code_;
  const FinishSpec& spec_;
  const std::shared_ptr<FinishNeeds> needs_;
  ChainPointers& pointers_;
  Storage& storage_;
  std::vector<TileSum> sums_;
  std::vector<bool> parts_;  ///< by sum: it waits in its register for those stored behind it
  std::vector<int> slots_;   ///< of the sums that wait on the stack, which are the last
  std::optional<int> turn_;  ///< word of the stack, of long chains: where a turn's sums wait
  struct Slots {
    int first = 0, count = 0;
  };
  Slots waiting_;  ///< of the most sums that wait for their turns, kept for other tiles
  std::vector<Kept> kept_;
  /// What finishing an ordinary sum takes, if it can be repeated for others.
  struct Model {
    TileSum sum;
    std::optional<std::vector<VectorInstruction>> instructions;
  };
  std::optional<Model> model_;
  Source sum_{Vec(0)};      ///< being finished
  bool gives_sums_ = true;  ///< their registers to the chain
  bool owns_sum_ = false;   ///< in a register that the chain may take
  TilePlace place_;
  bool partial_ = false;
};

}  // namespace fuseplan::cpu
