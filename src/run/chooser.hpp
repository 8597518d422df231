// SPDX-License-Identifier: MIT
#pragma once

#include "run/choice.hpp"
#include "run/variant.hpp"

namespace fuseplan {

/// Who may run it. A solver whose pinned configuration it does not list for this problem declines.
Selection select_with_pin(const CompileContext& context, const Question& question);

/// Decides between the accepted solvers and their configurations without timing anything: what an
/// option pins if the solver lists it, else the stored winner of a search, else the shipped table,
/// else the model. `accepted` is not empty.
Choice choose(const CompileContext& context, const Question& question,
              const std::vector<const Solver*>& accepted);

/// The same under the find_mode option: where nothing is pinned it may time the candidates, with
/// `parallel`, and store the winner. A search that fails leaves the choice to choose().
Choice find_fastest(const CompileContext& context, const Question& question,
                    const std::vector<const Solver*>& accepted, const Parallel& parallel);

/// Keeps a candidate as the winner of a search that was made elsewhere. Throws Error(InternalError)
/// when it could not be stored where the cache option says.
void store_winner(const CompileContext& context, const Question& question,
                  const std::vector<const Solver*>& accepted, const Candidate& winner);

}  // namespace fuseplan
