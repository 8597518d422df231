// SPDX-License-Identifier: MIT
#include "driver/peer/onednn_training.hpp"

#include <cmath>
#include <optional>
#include <stdexcept>

#include "driver/peer/onednn_norm.hpp"

namespace fuseplan::driver {
namespace {

using dnnl::batch_normalization_backward;
using dnnl::batch_normalization_forward;
using dnnl::memory;
using dnnl::normalization_flags;
using dnnl::prop_kind;

const normalization_flags kAffine = normalization_flags::use_scale | normalization_flags::use_shift;

std::vector<float> floats(const test::HostTensor& tensor) {
  const std::vector<double> values = tensor.values();
  return {values.begin(), values.end()};
}

dnnl::primitive_attr own_scratchpad() { return PostOps().attributes(); }

bool is_relu(const Chain& chain) {
  const auto* eltwise = chain.size() == 1 ? std::get_if<Eltwise>(&chain[0]) : nullptr;
  return eltwise != nullptr && eltwise->algorithm == dnnl::algorithm::eltwise_relu &&
         eltwise->alpha == 0;
}

/// Both directions share: tensors, the layouts to try, the ways in the making.
class TrainingWays {
 public:
  explicit TrainingWays(Case& problem)
      : place_(std::make_shared<OnednnPlace>(problem.output())),
        channels_(problem.output().dims()[1]),
        from_(place_->wrap(problem.input())),
        to_(place_->wrap(place_->output)) {}

  template <typename Build>
  void try_way(const std::string& name, const Build& build) {
    auto way = std::make_unique<OnednnWay>(name, WayRole::contender, place_);
    try {
      build(*way);
    } catch (const dnnl::error&) {
      return;  // what oneDNN does not have is not a way
    }
    ways_.push_back(std::move(way));
  }

  PeerWays take() {
    if (ways_.empty()) throw std::invalid_argument("oneDNN: no primitives for this chain");
    return std::move(ways_);
  }

 protected:
  /// The tensor's lengths in blocks of 16 channels; nothing where channels are innermost already.
  std::optional<memory::desc> blocked() const {
    const memory::desc plain = from_.get_desc();
    if (plain.get_strides()[1] == 1 || plain.get_ndims() != 4) return std::nullopt;
    return memory::desc(plain.get_dims(), plain.get_data_type(), memory::format_tag::nChw16c);
  }
  memory new_memory(const memory::desc& desc) const { return {desc, place_->engine}; }
  memory new_values() const {
    return new_memory({{channels_}, memory::data_type::f32, memory::format_tag::a});
  }
  void run(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& arguments) {
    primitive.execute(place_->stream, arguments);
    place_->stream.wait();
  }
  memory reordered(memory from, const memory::desc& desc) {
    memory to = new_memory(desc);
    dnnl::reorder(from, to).execute(place_->stream, from, to);
    place_->stream.wait();
    return to;
  }

  std::shared_ptr<OnednnPlace> place_;
  memory::dim channels_;
  memory from_, to_;

 private:
  PeerWays ways_;
};

class ForwardWays : public TrainingWays {
 public:
  ForwardWays(Case& problem, const test::BatchNormTraining& norm, Chain rest)
      : TrainingWays(problem),
        rest_(std::move(rest)),
        epsilon_(static_cast<float>(norm.epsilon)),
        scale_(place_->channels(floats(*norm.scale), 1)),
        shift_(place_->channels(floats(*norm.bias), 1)),
        mean_(new_values()),
        variance_(new_values()) {
    const bool relu = is_relu(rest_);
    if (relu) try_way("batchnorm, relu flag", [&](OnednnWay& way) { add(way, from_, to_, true); });
    try_way(rest_.empty() ? "batchnorm" : "batchnorm, then the rest",
            [&](OnednnWay& way) { add_in_steps(way, from_, to_); });
    const auto desc = blocked();
    if (!desc) return;
    const memory source = new_memory(*desc), result = new_memory(*desc);
    const auto around = [&](OnednnWay& way, const auto& middle) {
      way.add_reorder(from_, source);
      middle();
      way.add_reorder(result, to_);
    };
    if (relu)
      try_way("reorders, batchnorm, relu flag",
              [&](OnednnWay& way) { around(way, [&] { add(way, source, result, true); }); });
    try_way("reorders, batchnorm, then the rest",
            [&](OnednnWay& way) { around(way, [&] { add_in_steps(way, source, result); }); });
  }

 private:
  void add(OnednnWay& way, const memory& from, const memory& to, bool relu) {
    const auto flags = relu ? kAffine | normalization_flags::fuse_norm_relu : kAffine;
    const batch_normalization_forward::primitive_desc desc(
        place_->engine, prop_kind::forward_training, from.get_desc(), to.get_desc(), epsilon_,
        flags, own_scratchpad());
    std::vector<std::pair<int, memory>> arguments{
        {DNNL_ARG_SRC, from},           {DNNL_ARG_DST, to},       {DNNL_ARG_MEAN, mean_},
        {DNNL_ARG_VARIANCE, variance_}, {DNNL_ARG_SCALE, scale_}, {DNNL_ARG_SHIFT, shift_}};
    if (relu) arguments.emplace_back(DNNL_ARG_WORKSPACE, new_memory(desc.workspace_desc()));
    way.add(desc, std::move(arguments));
  }
  void add_in_steps(OnednnWay& way, const memory& from, const memory& to) {
    add(way, from, to, false);
    if (!rest_.empty()) add_links(way, rest_, to, to);
  }

  Chain rest_;
  float epsilon_;
  memory scale_, shift_, mean_, variance_;
};

/// The variance whose inverse deviation, without an epsilon, is the saved one.
std::vector<float> variances_of(const test::HostTensor& inverse) {
  std::vector<float> values = floats(inverse);
  for (float& value : values) value = 1 / (value * value);
  return values;
}

class BackwardWays : public TrainingWays {
 public:
  BackwardWays(Case& problem, const test::BatchNormBackward& norm,
               const test::ActivationBackward* activation)
      : TrainingWays(problem),
        source_(place_->wrap(*norm.source)),
        scale_(place_->channels(floats(*norm.scale), 1)),
        shift_(place_->channels(floats(*norm.bias), 1)),
        mean_(place_->channels(floats(*norm.mean), 1)),
        variance_(place_->channels(variances_of(*norm.inverse), 1)),
        scale_gradient_(new_values()),
        shift_gradient_(new_values()) {
    if (activation != nullptr) eltwise_ = eltwise_of(activation->forward);
    add_in("", from_, source_, to_, {});
    const auto desc = blocked();
    if (!desc) return;
    const memory gradient = new_memory(*desc), source = new_memory(*desc);
    add_in("reorders, ", gradient, source, new_memory(*desc), [&](OnednnWay& way) {
      way.add_reorder(from_, gradient);
      way.add_reorder(source_, source);
    });
  }

 private:
  using Before = std::function<void(OnednnWay&)>;
  void add_in(const std::string& name, const memory& from, const memory& source, const memory& to,
              const Before& before) {
    const auto finished = [&](OnednnWay& way, const auto& middle) {
      if (before) before(way);
      middle();
      if (before) way.add_reorder(to, to_);
    };
    const bool relu = eltwise_ && is_relu({*eltwise_});
    if (relu)
      try_way(name + "batchnorm, relu flag",
              [&](OnednnWay& way) { finished(way, [&] { add(way, from, source, to, true); }); });
    if (!eltwise_)
      try_way(name + "batchnorm",
              [&](OnednnWay& way) { finished(way, [&] { add(way, from, source, to, false); }); });
    if (eltwise_)
      try_way(name + "activation, then batchnorm", [&](OnednnWay& way) {
        finished(way, [&] {
          add_activation(way, from, to, relu);
          add(way, to, source, to, false);
        });
      });
  }

  static normalization_flags flags_of(bool relu) {
    return relu ? kAffine | normalization_flags::fuse_norm_relu : kAffine;
  }
  batch_normalization_forward::primitive_desc forward(const memory::desc& desc, bool relu,
                                                      bool given_statistics) const {
    auto flags = flags_of(relu);
    if (given_statistics) flags = flags | normalization_flags::use_global_stats;
    return {place_->engine, prop_kind::forward_training, desc, desc, 0.0f, flags};
  }

  /// What the forward pass with the saved statistics leaves in the layout: its output, and its
  /// workspace if it applied RELU.
  std::pair<memory, memory> forward_result(const memory::desc& layout, bool relu) {
    const auto desc = forward(layout, relu, true);
    memory output = new_memory(layout), workspace;
    std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, reordered(source_, layout)},
                                              {DNNL_ARG_DST, output},
                                              {DNNL_ARG_MEAN, mean_},
                                              {DNNL_ARG_VARIANCE, variance_},
                                              {DNNL_ARG_SCALE, scale_},
                                              {DNNL_ARG_SHIFT, shift_}};
    if (relu) arguments[DNNL_ARG_WORKSPACE] = workspace = new_memory(desc.workspace_desc());
    run(batch_normalization_forward(desc), arguments);
    return {output, workspace};
  }

  void add(OnednnWay& way, const memory& from, const memory& source, const memory& to, bool relu) {
    const memory::desc layout = source.get_desc();
    const batch_normalization_backward::primitive_desc desc(
        place_->engine, prop_kind::backward, to.get_desc(), from.get_desc(), layout, 0.0f,
        flags_of(relu), forward(layout, relu, false), own_scratchpad());
    std::vector<std::pair<int, memory>> arguments{{DNNL_ARG_SRC, source},
                                                  {DNNL_ARG_MEAN, mean_},
                                                  {DNNL_ARG_VARIANCE, variance_},
                                                  {DNNL_ARG_DIFF_DST, from},
                                                  {DNNL_ARG_SCALE, scale_},
                                                  {DNNL_ARG_DIFF_SRC, to},
                                                  {DNNL_ARG_DIFF_SCALE, scale_gradient_},
                                                  {DNNL_ARG_DIFF_SHIFT, shift_gradient_}};
    if (relu) arguments.emplace_back(DNNL_ARG_WORKSPACE, forward_result(layout, true).second);
    way.add(desc, std::move(arguments));
  }

  /// RELU's derivative is read off the forward output, which has gone through it or not.
  void add_activation(OnednnWay& way, const memory& from, const memory& to, bool relu) {
    const memory::desc layout = from.get_desc();
    const memory before = forward_result(layout, relu).first;
    const dnnl::eltwise_forward::primitive_desc hint(place_->engine, prop_kind::forward_training,
                                                     eltwise_->algorithm, layout, layout,
                                                     eltwise_->alpha, eltwise_->beta);
    const dnnl::eltwise_backward::primitive_desc desc(place_->engine, eltwise_->algorithm, layout,
                                                      layout, layout, eltwise_->alpha,
                                                      eltwise_->beta, hint, own_scratchpad());
    way.add(desc, {{DNNL_ARG_SRC, before}, {DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, to}});
  }

  std::optional<Eltwise> eltwise_;
  memory source_, scale_, shift_, mean_, variance_, scale_gradient_, shift_gradient_;
};

}  // namespace

bool is_onednn_training(const ProblemSpec& problem) {
  for (const OpSpec& op : problem.ops)
    if (op.kind == OpKind::norm_training || op.kind == OpKind::norm_backward) return true;
  return false;
}

PeerWays onednn_training_ways(Case& problem) {
  for (const OpSpec& op : problem.problem().ops)
    if (op.norm_mode != fuseplanBNSpatial)
      throw std::invalid_argument("oneDNN: no statistics per activation");
  const std::vector<test::Step>& steps = problem.steps();
  if (const auto* norm = std::get_if<test::BatchNormTraining>(&steps[0].op)) {
    const auto channels = static_cast<std::size_t>(problem.output().dims()[1]);
    const ChainParts parts = chain_parts(steps, 1, channels);
    if (parts.all.add.empty()) return ForwardWays(problem, *norm, parts.rest).take();
  } else if (const auto* last = std::get_if<test::BatchNormBackward>(&steps.back().op)) {
    const auto* activation = std::get_if<test::ActivationBackward>(&steps[0].op);
    if (steps.size() == (activation != nullptr ? 2u : 1u))
      return BackwardWays(problem, *last, activation).take();
  }
  throw std::invalid_argument("oneDNN: training with other ops around the batchnorm");
}

}  // namespace fuseplan::driver
