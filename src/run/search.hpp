// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "run/choice.hpp"
#include "run/variant.hpp"

namespace fuseplan {

/// Times the candidates on tensors of the problem's sizes, for about as long as the tune_ms option
/// allows, not counting the compiling of GPU kernels; the first is the one to beat. CPU kernels
/// that lose are not kept. Nothing if there is no room for the tensors or no candidate runs. One
/// search at a time in a process: they would time each other. But a search by a caller's loop waits
/// for nobody and nobody for it, as that loop may do other work of the caller's meanwhile.
std::optional<TuningValue> search(const CompileContext& context, const Question& question,
                                  const std::vector<Candidate>& candidates,
                                  const Parallel& parallel);

}  // namespace fuseplan
