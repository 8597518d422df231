// SPDX-License-Identifier: MIT
#include <stdexcept>

#include "driver/cudnn/cudnn_types.hpp"
#include "driver/cudnn/graph_plan.hpp"

namespace fuseplan::driver {
namespace {

constexpr std::int64_t kAlignment = 16;

void set_computation(CudnnDescriptor& object, CudnnAttribute attribute) {
  object.set_enum(attribute, CudnnElement::data_type, kCudnnFloat);
}

}  // namespace

CudnnDescriptor device_of_json(const CudnnBackend& backend, const std::string& json) {
  CudnnDescriptor device(backend, CudnnObjectKind::device);
  device.set(CudnnAttribute::device_json, CudnnElement::character,
             static_cast<std::int64_t>(json.size()), json.data());
  device.finalize("finalising a device's properties");
  return device;
}

CudnnGraph::CudnnGraph(const CudnnBackend& backend, const GraphTarget& target,
                       const GraphSpec& spec)
    : backend_(backend), target_(target), graph_(backend, CudnnObjectKind::operation_graph) {
  std::vector<CudnnDescriptor*> tensors;
  for (std::size_t i = 0; i < spec.tensors.size(); ++i)
    tensors.push_back(&describe(spec.tensors[i], i));
  std::vector<void*> operations;
  for (const GraphNode& node : spec.nodes) operations.push_back(describe(node, tensors).get());
  graph_.set(CudnnAttribute::graph_operations, CudnnElement::descriptor,
             static_cast<std::int64_t>(operations.size()), operations.data());
  if (target_.device == nullptr)
    graph_.set(CudnnAttribute::graph_handle, CudnnElement::handle, 1, &target_.handle);
  graph_.finalize("finalising a graph");
}

std::vector<CudnnDescriptor> CudnnGraph::configurations(CudnnHeuristics mode,
                                                        std::size_t most) const {
  CudnnDescriptor heuristics(backend_, CudnnObjectKind::heuristics);
  heuristics.set(CudnnAttribute::heuristics_graph, graph_);
  heuristics.set_enum(CudnnAttribute::heuristics_mode, CudnnElement::heuristics_mode,
                      static_cast<int>(mode));
  if (target_.device != nullptr) heuristics.set(CudnnAttribute::heuristics_device, *target_.device);
  heuristics.finalize("asking a heuristic");
  std::vector<CudnnDescriptor> found;
  std::vector<void*> places;
  for (std::size_t i = 0; i < most; ++i)
    places.push_back(found.emplace_back(backend_, CudnnObjectKind::engine_config).get());
  const std::int64_t count =
      heuristics.read(CudnnAttribute::heuristics_results, CudnnElement::descriptor,
                      static_cast<std::int64_t>(most), places.data());
  while (static_cast<std::int64_t>(found.size()) > count) found.pop_back();
  return found;
}

CudnnDescriptor& CudnnGraph::describe(const GraphTensor& tensor, std::size_t index) {
  CudnnDescriptor& object = keep(CudnnObjectKind::tensor);
  const bool inside = tensor.role == GraphRole::inside;
  object.set_enum(CudnnAttribute::tensor_type, CudnnElement::data_type,
                  cudnn_type(tensor.spec.type));
  object.set(CudnnAttribute::tensor_lens, tensor.spec.lens);
  object.set(CudnnAttribute::tensor_strides, tensor.spec.strides);
  object.set(CudnnAttribute::tensor_id, static_cast<std::int64_t>(index) + 1);
  object.set(CudnnAttribute::tensor_alignment, kAlignment);
  object.set(CudnnAttribute::tensor_is_virtual, CudnnElement::boolean, 1, &inside);
  object.finalize("finalising a tensor");
  return object;
}

CudnnDescriptor& CudnnGraph::convolution(const GraphNode& node) {
  const OpSpec& conv = *node.conv;
  CudnnDescriptor& object = keep(CudnnObjectKind::convolution);
  set_computation(object, CudnnAttribute::convolution_precision);
  object.set_enum(CudnnAttribute::convolution_mode, CudnnElement::convolution_mode,
                  kCudnnCrossCorrelation);
  object.set(CudnnAttribute::convolution_axes, static_cast<std::int64_t>(conv.stride.size()));
  object.set(CudnnAttribute::convolution_pre_paddings, conv.pad_lo);
  object.set(CudnnAttribute::convolution_post_paddings, conv.pad_hi);
  object.set(CudnnAttribute::convolution_strides, conv.stride);
  object.set(CudnnAttribute::convolution_dilations, conv.dilation);
  object.finalize("finalising a convolution");
  return object;
}

CudnnDescriptor& CudnnGraph::mode(const GraphNode& node) {
  CudnnDescriptor& object = keep(CudnnObjectKind::pointwise);
  object.set_enum(CudnnAttribute::pointwise_mode, CudnnElement::pointwise_mode,
                  static_cast<int>(node.mode));
  set_computation(object, CudnnAttribute::pointwise_precision);
  for (const auto& [attribute, value] : node.parameters) object.set(attribute, value);
  object.finalize("finalising a pointwise mode");
  return object;
}

CudnnDescriptor& CudnnGraph::describe(const GraphNode& node,
                                      const std::vector<CudnnDescriptor*>& tensors) {
  if (node.conv != nullptr) {
    const CudnnDescriptor& conv = convolution(node);
    CudnnDescriptor& object = keep(CudnnObjectKind::convolution_forward);
    object.set(CudnnAttribute::forward_convolution, conv);
    object.set(CudnnAttribute::forward_x, *tensors[node.x]);
    object.set(CudnnAttribute::forward_w, *tensors[node.b.value()]);
    object.set(CudnnAttribute::forward_y, *tensors[node.y]);
    object.set(CudnnAttribute::forward_alpha, 1.0);
    object.set(CudnnAttribute::forward_beta, 0.0);
    object.finalize("finalising a convolution of tensors");
    return object;
  }
  const CudnnDescriptor& pointwise = mode(node);
  CudnnDescriptor& object = keep(CudnnObjectKind::pointwise_operation);
  object.set(CudnnAttribute::operation_pointwise, pointwise);
  object.set(CudnnAttribute::operation_x, *tensors[node.x]);
  if (node.b) object.set(CudnnAttribute::operation_b, *tensors[*node.b]);
  object.set(CudnnAttribute::operation_y, *tensors[node.y]);
  object.finalize("finalising a pointwise operation");
  return object;
}

}  // namespace fuseplan::driver
