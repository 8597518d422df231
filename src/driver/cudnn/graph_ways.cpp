// SPDX-License-Identifier: MIT
#include "driver/cudnn/graph_ways.hpp"

#include <chrono>
#include <optional>

#include "driver/cudnn/graph_choice.hpp"
#include "driver/cudnn/graph_parameters.hpp"
#include "driver/cudnn/transposition.hpp"
#include "driver/device/buffer.hpp"

namespace fuseplan::driver {
namespace {

/// Where the tensors of a whole chain's graphs lie that are no parameters.
struct Ends {
  const void* input;
  void* output;
};

/// A graph with its parameters on the device, and the plan that was chosen for it.
class GraphRun {
 public:
  /// The problem is the case's own, or the same in another layout.
  GraphRun(const GraphSide& side, BatchedCase& fused, ProblemSpec problem, const GraphForm& form,
           GraphNumbers numbers, const Ends& ends)
      : side_(side),
        problem_(std::move(problem)),
        spec_(graph_of(problem_, form)),
        parameters_(side.device, fused.one(), spec_, form),
        workspace_(side.device) {
    for (const GraphTensor& tensor : spec_.tensors) {
      const bool end = tensor.role == GraphRole::input || tensor.role == GraphRole::output ||
                       tensor.role == GraphRole::inside;
      pointers_.push_back(end ? nullptr : parameters_.at(tensor));
    }
    choice_ = choose_plan(side.backend, {side.handle, nullptr}, spec_, numbers,
                          [&](const CudnnPlan& plan) { return seconds(plan, ends); });
    choice_.times.first_in_process = !std::exchange(side.built_any, true);
  }

  void launch(const Ends& ends) { execute(*choice_.plan, ends); }
  const GraphChoice& choice() const { return choice_; }

 private:
  void execute(const CudnnPlan& plan, const Ends& ends) {
    for (std::size_t i = 0; i < spec_.tensors.size(); ++i) {
      if (spec_.tensors[i].role == GraphRole::input) pointers_[i] = const_cast<void*>(ends.input);
      if (spec_.tensors[i].role == GraphRole::output) pointers_[i] = ends.output;
    }
    plan.execute(side_.handle, spec_, pointers_, workspace_.get());
  }

  double seconds(const CudnnPlan& plan, const Ends& ends) {
    workspace_.reserve(plan.workspace());
    check(fuseplanSynchronize(side_.device));
    const auto start = std::chrono::steady_clock::now();
    execute(plan, ends);
    check(fuseplanSynchronize(side_.device));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const GraphSide side_;
  const ProblemSpec problem_;
  GraphSpec spec_;
  GraphParameters parameters_;
  DeviceBuffer workspace_;
  std::vector<void*> pointers_;
  GraphChoice choice_;
};

/// The same chain over tensors and weights with the channels last.
ProblemSpec channels_last(ProblemSpec problem) {
  const TensorSpec result = problem.result();
  problem.input = packed(problem.input.type, problem.input.lens, true);
  problem.output = packed(result.type, result.lens, true);
  for (OpSpec& op : problem.ops)
    if (op.kind == OpKind::conv) op.tensor = packed(op.tensor.type, op.tensor.lens, true);
  return problem;
}

/// A graph in NHWC between copies from NCHW and to it.
class TransposedRun {
 public:
  TransposedRun(const GraphSide& side, BatchedCase& fused, GraphNumbers numbers)
      : transposition_(side.handle),
        from_(fused.problem().input),
        to_(fused.problem().result()),
        inner_(channels_last(fused.problem())),
        x_(side.device, fused.input_bytes()),
        y_(side.device, fused.output_bytes()) {
    run_.emplace(side, fused, inner_, GraphForm{}, numbers, Ends{x_.get(), y_.get()});
  }

  void launch(const Ends& ends) {
    transposition_.run(from_, ends.input, inner_.input, x_.get());
    run_->launch({x_.get(), y_.get()});
    transposition_.run(inner_.output, y_.get(), to_, ends.output);
  }
  const GraphChoice& choice() const { return run_->choice(); }

 private:
  CudnnTransposition transposition_;
  TensorSpec from_, to_;
  ProblemSpec inner_;
  DeviceBuffer x_, y_;
  std::optional<GraphRun> run_;
};

/// What the ways are made of.
struct Maker {
  DeviceWays& ways;
  const GraphSide& side;
  BatchedCase& fused;
  Ends ends;
  GraphNumbers numbers;
  std::string remark;
  bool rounds;

  DeviceWay way(const char* name, WayRole role) const {
    DeviceWay way;
    way.name = name + remark;
    way.role = role;
    way.rounds_inputs = rounds;
    return way;
  }

  /// Adds it, or says why not.
  template <typename Make>
  bool add(const char* name, const Make& make) const {
    try {
      ways.ways.push_back(make());
      return true;
    } catch (const std::exception& error) {
      ways.refused.push_back({name + remark, error.what()});
      return false;
    }
  }

  bool add_whole(const char* name, WayRole role, const GraphForm& form) const {
    return add(name, [&] {
      const auto run =
          std::make_shared<GraphRun>(side, fused, fused.problem(), form, numbers, ends);
      DeviceWay made = way(name, role);
      made.implementation = run->choice().text;
      made.plan = run->choice().times;
      made.launch = [run](const void* from, void* to) { run->launch({from, to}); };
      return made;
    });
  }

  void add_two(const char* name, WayRole role) const {
    (void)add(name, [&] {
      const auto between = std::make_shared<DeviceBuffer>(side.device, fused.output_bytes());
      const auto conv =
          std::make_shared<GraphRun>(side, fused, fused.problem(), GraphForm{.end = 1}, numbers,
                                     Ends{ends.input, between->get()});
      conv->launch({ends.input, between->get()});
      const auto rest =
          std::make_shared<GraphRun>(side, fused, fused.problem(), GraphForm{.first = 1},
                                     GraphNumbers::any, Ends{between->get(), ends.output});
      DeviceWay made = way(name, role);
      made.implementation = conv->choice().text + "; then " + rest->choice().text;
      made.plan = conv->choice().times;
      made.plan->build_us += rest->choice().times.build_us;
      made.plan->first_call_us += rest->choice().times.first_call_us;
      const std::optional<double>& load = rest->choice().times.load_us;
      made.plan->load_us =
          made.plan->load_us && load ? std::optional(*made.plan->load_us + *load) : std::nullopt;
      made.launch = [conv, rest, between](const void* from, void* to) {
        conv->launch({from, between->get()});
        rest->launch({between->get(), to});
      };
      return made;
    });
  }

  /// Weights and parameters are made in the other layout once.
  void add_transposed(const char* name, WayRole role) const {
    (void)add(name, [&] {
      const auto run = std::make_shared<TransposedRun>(side, fused, numbers);
      run->launch(ends);  // refusals come now
      DeviceWay made = way(name, role);
      made.implementation = run->choice().text;
      made.plan = run->choice().times;
      made.launch = [run](const void* from, void* to) { run->launch({from, to}); };
      return made;
    });
  }
};

bool has(const ProblemSpec& problem, OpKind kind) {
  for (const OpSpec& op : problem.ops)
    if (op.kind == kind) return true;
  return false;
}

void add_all(const Maker& maker, WayRole role) {
  const ProblemSpec& problem = maker.fused.problem();
  const bool conv = problem.conv() != nullptr;
  const bool fuses = maker.add_whole("graph, fused", role, {});
  if (role == WayRole::beyond) return;
  if (!fuses && conv && problem.ops.size() > 1) maker.add_two("graph, conv, then the rest", role);
  if (!fuses && !is_channels_last(problem.input))
    maker.add_transposed("transposed, graph, fused", role);
  if (conv && (has(problem, OpKind::norm) || has(problem, OpKind::scale_shift)))
    maker.add_whole("graph, bn in weights", WayRole::folded, {.folded = true});
}

}  // namespace

void add_graph_ways(DeviceWays& ways, const GraphSide& side, BatchedCase& fused, const void* input,
                    void* output) {
  const ProblemSpec& problem = fused.problem();
  const Ends ends{input, output};
  if (problem.input.type != fuseplanFloat || problem.conv() == nullptr)
    return add_all({ways, side, fused, ends, GraphNumbers::any, "", false}, WayRole::contender);
  // f32 in f32 as fuseplan computes it; by tf32, unless fuseplan may, for information.
  add_all({ways, side, fused, ends, GraphNumbers::no_tensor_cores, "", false}, WayRole::contender);
  add_all({ways, side, fused, ends, GraphNumbers::tensor_cores, " in tf32", true},
          fused.rounds_inputs() ? WayRole::contender : WayRole::beyond);
}

}  // namespace fuseplan::driver
