// SPDX-License-Identifier: MIT
#include "driver/cudnn/graph_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace fuseplan::driver {
namespace {

void set_target(CudnnDescriptor& object, const GraphTarget& target, CudnnAttribute handle,
                CudnnAttribute device) {
  if (target.device != nullptr) return object.set(device, *target.device);
  object.set(handle, CudnnElement::handle, 1, &target.handle);
}

std::string knobs_of(const CudnnBackend& backend, const CudnnDescriptor& configuration) {
  std::deque<CudnnDescriptor> knobs;
  std::vector<void*> places;
  constexpr std::int64_t kMost = 64;
  for (std::int64_t i = 0; i < kMost; ++i)
    places.push_back(knobs.emplace_back(backend, CudnnObjectKind::knob_choice).get());
  const std::int64_t count = configuration.read(CudnnAttribute::config_knobs,
                                                CudnnElement::descriptor, kMost, places.data());
  std::string text;
  for (std::int64_t i = 0; i < std::min(count, kMost); ++i) {
    const CudnnDescriptor& knob = knobs[static_cast<std::size_t>(i)];
    int type = -1;
    (void)knob.read(CudnnAttribute::knob_type, CudnnElement::knob_type, 1, &type);
    text += " " + std::to_string(type) + "=" +
            std::to_string(knob.read_int64(CudnnAttribute::knob_value));
  }
  return text;
}

bool contains(const std::vector<int>& values, int value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

EngineFacts facts_of(const CudnnBackend& backend, const CudnnDescriptor& configuration) {
  const CudnnDescriptor engine(backend, CudnnObjectKind::engine);
  void* place = engine.get();
  (void)configuration.read(CudnnAttribute::config_engine, CudnnElement::descriptor, 1, &place);
  const std::vector<int> numerics =
      engine.read_enums(CudnnAttribute::engine_numerics, CudnnElement::numerical_note);
  const std::vector<int> behaviour =
      engine.read_enums(CudnnAttribute::engine_behaviour, CudnnElement::behaviour_note);
  EngineFacts facts;
  facts.engine = engine.read_int64(CudnnAttribute::engine_index);
  facts.tensor_cores = contains(numerics, static_cast<int>(CudnnNumericalNote::tensor_core));
  facts.rounds_inputs = contains(numerics, static_cast<int>(CudnnNumericalNote::rounds_inputs));
  facts.compiled_at_run_time =
      contains(behaviour, static_cast<int>(CudnnBehaviourNote::compiled_at_run_time));
  const std::string knobs = knobs_of(backend, configuration);
  facts.text = "engine " + std::to_string(facts.engine) + (knobs.empty() ? "" : ", knobs" + knobs) +
               (facts.compiled_at_run_time ? ", compiled at run time" : "");
  return facts;
}

CudnnPlan::CudnnPlan(const CudnnGraph& graph, CudnnDescriptor configuration)
    : backend_(graph.backend()),
      configuration_(std::move(configuration)),
      plan_(backend_, CudnnObjectKind::plan) {
  set_target(plan_, graph.target(), CudnnAttribute::plan_handle, CudnnAttribute::plan_device);
  plan_.set(CudnnAttribute::plan_config, *configuration_);
  plan_.finalize("finalising a plan");
  workspace_ = static_cast<std::size_t>(plan_.read_int64(CudnnAttribute::plan_workspace));
}

CudnnPlan::CudnnPlan(const CudnnBackend& backend, const GraphTarget& target,
                     const std::string& json)
    : backend_(backend), plan_(backend_, CudnnObjectKind::plan) {
  set_target(plan_, target, CudnnAttribute::plan_handle, CudnnAttribute::plan_device);
  plan_.set(CudnnAttribute::plan_json, CudnnElement::character,
            static_cast<std::int64_t>(json.size()), json.data());
  plan_.finalize("finalising a plan from its text");
  workspace_ = static_cast<std::size_t>(plan_.read_int64(CudnnAttribute::plan_workspace));
}

std::string CudnnPlan::json() const {
  const std::int64_t size =
      plan_.read(CudnnAttribute::plan_json, CudnnElement::character, 0, nullptr);
  std::string text(static_cast<std::size_t>(size), '\0');
  (void)plan_.read(CudnnAttribute::plan_json, CudnnElement::character, size, text.data());
  return text;
}

void CudnnPlan::execute(void* handle, const GraphSpec& spec, const std::vector<void*>& pointers,
                        void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> bound;
  for (std::size_t i = 0; i < spec.tensors.size(); ++i) {
    if (spec.tensors[i].role == GraphRole::inside) continue;
    ids.push_back(static_cast<std::int64_t>(i) + 1);
    bound.push_back(pointers[i]);
  }
  CudnnDescriptor pack(backend_, CudnnObjectKind::variant_pack);
  pack.set(CudnnAttribute::pack_ids, ids);
  pack.set(CudnnAttribute::pack_pointers, CudnnElement::pointer,
           static_cast<std::int64_t>(bound.size()), bound.data());
  pack.set(CudnnAttribute::pack_workspace, CudnnElement::pointer, 1, &workspace);
  pack.finalize("finalising a variant pack");
  backend_.check(backend_.execute(handle, plan_.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace fuseplan::driver
