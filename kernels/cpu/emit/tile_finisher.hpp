// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cpu/emit/chain_pointers.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/storage.hpp"
#include "kernels/cpu/emit/sum_turns.hpp"

namespace fuseplan::cpu {

/// What emitting a chain takes, for kernels that all finish sums by the same one: found once.
class FinishNeeds {
 public:
  FinishNeeds(Isa isa, const FinishSpec& spec) : isa_(isa), spec_(spec) {}

  struct Need {
    static constexpr std::size_t kTooMany = 1000;
    std::size_t registers;                 ///< kTooMany: more than the set has
    std::vector<std::uint32_t> constants;  ///< most often used first
  };
  /// What sums there are besides whole ones that are stored alone.
  struct Sums {
    bool partial = false, joined = false;
    auto operator<=>(const Sums&) const = default;
  };
  /// With registers for the first `kept` keepable leaves.
  const Need& of(std::size_t kept, const Sums& sums);

 private:
  Isa isa_;
  const FinishSpec& spec_;
  std::map<std::pair<std::size_t, Sums>, Need> known_;
};

/// Applies a chain to a tile of sums where they were summed, and stores it. A short chain is
/// written out for every sum: registers that the sums leave over hold what it reads often; if it
/// needs more, some sums wait on the stack. A long one is a loop over sums that all wait there,
/// which is made in a third of the time and not slower.
class TileFinisher : LeafSource {
 public:
  /// `shared`: with other kernels.
  TileFinisher(VectorCode& code, const FinishSpec& spec, ChainPointers& pointers, Storage& storage,
               FinishNeeds* shared = nullptr);

  TileFinisher(const TileFinisher&) = delete;
  TileFinisher& operator=(const TileFinisher&) = delete;

  /// In this order: those that share channels next to one another. Afterwards the pool is as it was
  /// and the sums are gone.
  void finish(std::span<const TileSum> sums);

  /// Registers that the chain takes besides a sum and what it reads at every sum alike.
  static std::size_t registers(Isa isa, const FinishSpec& spec);
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
  static std::vector<Node> keepable(const Expr& body);
  void spill(std::size_t wanted);
  void plan(const FinishNeeds::Sums& sums);
  void begin(std::span<const TileSum> sums);
  void finish_all();
  void finish_in_turns(const SumTurns& turns);
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
  ExprUses uses_;
  bool reads_sum_once_;
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
  FinishNeeds own_needs_;
  FinishNeeds& needs_;
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
