// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "driver/cudnn/backend.hpp"
#include "driver/cudnn/graph_spec.hpp"

namespace fuseplan::driver {

/// What plans are built for: a handle's device, or one described by its properties (a finalised
/// object of that kind), which need not be there.
struct GraphTarget {
  void* handle = nullptr;
  const CudnnDescriptor* device = nullptr;
};

/// cuDNN's description of a device, from its JSON text.
CudnnDescriptor device_of_json(const CudnnBackend& backend, const std::string& json);

/// A graph as cuDNN's objects. Tensor i has the identifier i + 1.
class CudnnGraph {
 public:
  /// Throws std::runtime_error with cuDNN's words for a graph that it refuses.
  CudnnGraph(const CudnnBackend& backend, const GraphTarget& target, const GraphSpec& spec);

  /// What a heuristic proposes, the best first; it may be nothing.
  std::vector<CudnnDescriptor> configurations(CudnnHeuristics mode, std::size_t most) const;

  const CudnnBackend& backend() const { return backend_; }
  const GraphTarget& target() const { return target_; }

 private:
  CudnnDescriptor& keep(CudnnObjectKind kind) { return objects_.emplace_back(backend_, kind); }
  CudnnDescriptor& describe(const GraphTensor& tensor, std::size_t index);
  CudnnDescriptor& describe(const GraphNode& node, const std::vector<CudnnDescriptor*>& tensors);
  CudnnDescriptor& convolution(const GraphNode& node);
  CudnnDescriptor& mode(const GraphNode& node);

  const CudnnBackend& backend_;
  GraphTarget target_;
  std::deque<CudnnDescriptor> objects_;
  CudnnDescriptor graph_;
};

/// What an engine configuration says of itself.
struct EngineFacts {
  std::int64_t engine = -1;
  bool compiled_at_run_time = false, tensor_cores = false, rounds_inputs = false;
  std::string text;  ///< "engine 39, knobs 2=13 23=1, compiled at run time"
};
EngineFacts facts_of(const CudnnBackend& backend, const CudnnDescriptor& configuration);

/// A plan that can be executed.
class CudnnPlan {
 public:
  /// Takes the configuration, as cuDNN makes one plan of each. The graph outlives the plan. Throws
  /// std::runtime_error with cuDNN's words where the engine cannot.
  CudnnPlan(const CudnnGraph& graph, CudnnDescriptor configuration);
  /// From the text that json() gave, for the same kind of device.
  CudnnPlan(const CudnnBackend& backend, const GraphTarget& target, const std::string& json);

  std::size_t workspace() const { return workspace_; }
  std::string json() const;
  /// Queues it. Pointers by tensor of the graph; those of inner tensors are not looked at.
  void execute(void* handle, const GraphSpec& spec, const std::vector<void*>& pointers,
               void* workspace) const;

 private:
  const CudnnBackend& backend_;
  std::optional<CudnnDescriptor> configuration_;
  CudnnDescriptor plan_;
  std::size_t workspace_ = 0;
};

}  // namespace fuseplan::driver
