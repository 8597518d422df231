// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "expr/norm_stages.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/norm/gathered.hpp"
#include "kernels/cpu/norm/schedule.hpp"
#include "kernels/cpu/norm_results.hpp"

namespace fuseplan::cpu {

/// Both passes of a plan with batch normalisation for training.
class NormProgram final : public Program {
 public:
  using Rows = void (*)(const RowsCall*);
  struct Code {
    SumsKernel sums;                      ///< first pass
    Rows rows = nullptr;                  ///< second pass
    Rows streaming = nullptr;             ///< the same, or null; used if nothing else is written to
    const void* prologue = nullptr;       ///< of the second pass's channel values
    const void* sums_prologue = nullptr;  ///< of the first's
  };
  NormProgram(CellWalk cells, const NormSchedule& schedule, const SplitChain& chain,
              const NormStages& stages, const Code& code);
  void run(const Arguments& arguments) const override;

 private:
  struct Launch;
  Range part_of(Range cells, int parts, int index) const;
  Range group(int index) const { return part_of({0, cells_.cells}, schedule_.groups, index); }
  Range chunk(int index) const { return split(cells_.units, schedule_.chunks, index); }
  int strips_for(int threads) const;
  void run_group(const Launch& launch, Range cells, bool parallel) const;
  void gather(const Launch& launch, Range cells, Range units, Gathered& to) const;
  void add(Gathered& to, const Gathered& other) const;
  void finish(const Launch& launch, Range cells, const Gathered& all) const;
  void write(const Launch& launch, Range cells, Range units) const;

  CellWalk cells_;
  NormSchedule schedule_;
  NormStages stages_;
  NormResults results_;
  ChainRunner runner_;
  std::optional<ChainRunner> sums_runner_;
  Code code_;
};

}  // namespace fuseplan::cpu
