// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/finish_spec.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// What emitting a chain takes: found once for all that ask for it while one of them is there.
class FinishNeeds {
 public:
  static std::shared_ptr<FinishNeeds> of(Isa isa, const FinishSpec& spec);
  FinishNeeds(Isa isa, const FinishSpec& spec);

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
  const Need& with(std::size_t kept, const Sums& sums);
  /// Registers besides a sum and what is read at every sum alike.
  std::size_t registers();

  /// Leaves that are worth a register, the most wanted first: without one each sum reads channel
  /// values from memory, and constants only where they stand first in an instruction.
  const std::vector<Node>& keepable() const { return keepable_; }
  const ExprUses& uses() const { return uses_; }
  /// By one leaf, which may stand in several places.
  bool reads_sum_once() const { return reads_sum_once_; }

 private:
  Isa isa_;
  FinishSpec spec_;
  ExprUses uses_;
  std::vector<Node> keepable_;
  bool reads_sum_once_;
  std::map<std::pair<std::size_t, Sums>, Need> known_;
};

}  // namespace fuseplan::cpu
