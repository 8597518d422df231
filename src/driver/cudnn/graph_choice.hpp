// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "driver/bench/row.hpp"
#include "driver/cudnn/graph_plan.hpp"

namespace fuseplan::driver {

/// Which of cuDNN's engines may run a graph of f32. Others are all the same to 16-bit types.
enum class GraphNumbers { any, no_tensor_cores, tensor_cores };

struct GraphChoice {
  std::unique_ptr<CudnnGraph> graph;
  std::unique_ptr<CudnnPlan> plan;
  std::string text;  ///< which engine, of how many
  PlanTimes times;
};

/// Seconds of one execution of a plan.
using PlanTimer = std::function<double(const CudnnPlan& plan)>;

/// Asks heuristic A, then "instant", then "fallback", until one has proposed something that can be
/// built, and keeps the fastest of the first few proposals. Throws std::runtime_error with cuDNN's
/// words where there is none.
GraphChoice choose_plan(const CudnnBackend& backend, const GraphTarget& target,
                        const GraphSpec& spec, GraphNumbers numbers, const PlanTimer& seconds);

}  // namespace fuseplan::driver
