// SPDX-License-Identifier: MIT
#include "driver/peer/onednn_conv.hpp"

#include <cmath>

#include "driver/peer/onednn_norm.hpp"

namespace fuseplan::driver {
namespace {

using dnnl::convolution_forward;
using dnnl::memory;
using Purpose = OnednnPlace::Purpose;

/// A division of the chain between the convolution's bias and what is done to its result.
struct Recipe {
  std::string name;
  std::vector<float> bias{};
  Chain chain{};
  std::vector<float> fold{};    ///< multiplied into the weights of each output channel
  std::vector<float> scales{};  ///< of integer weights
};

Chain joined(const ChannelAffine& affine, const Chain& rest) {
  Chain chain{};
  if (!affine.mul.empty()) chain.emplace_back(ChannelMul{affine.mul});
  if (!affine.add.empty()) chain.emplace_back(ChannelAdd{affine.add});
  chain.insert(chain.end(), rest.begin(), rest.end());
  return chain;
}

// (x + add / mul) mul = mul x + add: one post-op less, where no mul is (nearly) 0.
std::vector<float> divided(const std::vector<float>& add, const std::vector<float>& mul) {
  std::vector<float> result;
  for (std::size_t c = 0; c < add.size(); ++c) result.push_back(add[c] / mul[c]);
  return result;
}
bool divisible(const std::vector<float>& mul) {
  for (float value : mul)
    if (std::abs(value) < 1e-3f) return false;
  return true;
}

std::vector<Recipe> recipes(const ChainParts& parts, bool integers) {
  if (parts.all.mul.empty()) return {{"bias", parts.all.add, parts.rest}};
  std::vector<Recipe> list;
  if (!parts.bias.empty())
    list.push_back({"bias, mul, add", parts.bias, joined(parts.after_bias, parts.rest), {}});
  list.push_back({"mul, add", {}, joined(parts.all, parts.rest), {}});
  if (divisible(parts.all.mul))
    list.push_back({"bias, mul",
                    divided(parts.all.add, parts.all.mul),
                    joined({parts.all.mul, {}}, parts.rest),
                    {}});
  // Integer weights have scales for this; others would have to be multiplied beforehand.
  if (integers) {
    list.push_back({"weight scales", parts.all.add, parts.rest, {}, parts.all.mul});
  } else {
    list.push_back({"bn in weights", parts.all.add, parts.rest, parts.all.mul});
  }
  return list;
}

bool has_integers(Case& problem) { return is_integer(problem.problem().input.type); }

/// The convolution of a case, as oneDNN describes one.
struct Geometry {
  explicit Geometry(const OpSpec& conv)
      : stride(conv.stride), pad_lo(conv.pad_lo), pad_hi(conv.pad_hi), groups(conv.groups) {
    for (std::int64_t d : conv.dilation) dilation.push_back(d - 1);  // its count of gaps
  }
  memory::desc weights(const test::HostTensor& tensor) const {
    memory::dims lens = tensor.dims(), strides = tensor.strides();
    if (groups > 1) {
      lens[0] /= groups;
      lens.insert(lens.begin(), groups);
      strides.insert(strides.begin(), lens[1] * strides[0]);
    }
    return {lens, onednn_type(tensor.type()), strides};
  }
  memory::dims stride, dilation, pad_lo, pad_hi;
  std::int64_t groups;
};

memory::desc in_any_layout(const memory::desc& desc) {
  return {desc.get_dims(), desc.get_data_type(), memory::format_tag::any};
}

convolution_forward::primitive_desc conv_desc(const dnnl::engine& engine, const Geometry& geometry,
                                              const memory::desc& source,
                                              const memory::desc& weights, bool bias,
                                              const memory::desc& destination,
                                              const PostOps& post_ops) {
  const memory::desc none;
  const memory::desc channels({destination.get_dims()[1]}, memory::data_type::f32,
                              memory::format_tag::a);
  return {engine,
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_auto,
          source,
          in_any_layout(weights),
          bias ? channels : none,
          destination,
          geometry.stride,
          geometry.dilation,
          geometry.pad_lo,
          geometry.pad_hi,
          post_ops.attributes()};
}

class ConvWays {
 public:
  ConvWays(Case& problem, const PeerSettings& settings)
      : problem_(problem),
        settings_(settings),
        geometry_(*problem.problem().conv()),
        place_(std::make_shared<OnednnPlace>(problem.output())),
        source_(place_->wrap(problem.input())),
        destination_(place_->wrap(place_->output)) {}

  void add(const Recipe& recipe) {
    const bool folded = !recipe.fold.empty();
    if (folded && settings_.raw_weights) return;
    const WayRole role = folded ? WayRole::folded : WayRole::contender;
    try_way("fused: " + recipe.name, role, [&](OnednnWay& way) { add_fused(way, recipe); });
    try_way("reorders, fused: " + recipe.name, role,
            [&](OnednnWay& way) { return add_reordered(way, recipe); });
    if (!recipe.chain.empty() && !integers())  // whose sums an 8-bit result cannot hold
      try_way("conv, then: " + recipe.name, role, [&](OnednnWay& way) {
        add_conv(way, recipe, source_, destination_, {});
        add_links(way, recipe.chain, destination_, destination_);
      });
    if (!folded)
      try_way("own layout: " + recipe.name, WayRole::free_layout,
              [&](OnednnWay& way) { return add_free(way, recipe); });
  }

  /// bias, then the primitives that are named after what they do.
  void add_apart(const ChainParts& parts) {
    const auto& steps = problem_.steps();
    const std::size_t first = parts.bias.empty() ? 1 : 2;
    const auto* norm =
        first < steps.size() ? std::get_if<test::BatchNorm>(&steps[first].op) : nullptr;
    const auto channels = static_cast<std::size_t>(problem_.output().dims()[1]);
    if (norm == nullptr || !chain_parts(steps, first + 1, channels).all.add.empty()) return;
    try_way("conv, batchnorm, rest", WayRole::contender, [&](OnednnWay& way) {
      add_conv(way, {"", parts.bias}, source_, destination_, {});
      add_norm(way, *norm, destination_, destination_);
      if (!parts.rest.empty()) add_links(way, parts.rest, destination_, destination_);
    });
  }

  /// Ways that end in its slow reference are left out if there are others: nobody would use them.
  PeerWays take() {
    const auto slow = [](const std::unique_ptr<PeerWay>& way) {
      return way->implementation().find("ref") != std::string::npos;
    };
    bool fast = false;
    for (const auto& way : ways_) fast = fast || (way->role() == WayRole::contender && !slow(way));
    if (fast) std::erase_if(ways_, slow);
    if (ways_.empty()) throw std::invalid_argument("oneDNN: no primitives for this chain");
    return std::move(ways_);
  }

 private:
  template <typename Build>
  void try_way(const std::string& name, WayRole role, const Build& build) {
    auto way = std::make_unique<OnednnWay>(name, role, place_);
    try {
      if constexpr (std::is_same_v<decltype(build(*way)), bool>) {
        if (!build(*way)) return;
      } else {
        build(*way);
      }
    } catch (const dnnl::error&) {
      return;
    }
    ways_.push_back(std::move(way));
  }

  PostOps post_ops(const Recipe& recipe) {
    PostOps post_ops;
    if (!recipe.scales.empty())
      post_ops.scale_weights(*place_, recipe.scales, geometry_.groups > 1);
    for (const Link& link : recipe.chain)
      post_ops.append(*place_, link, static_cast<int>(place_->output.dims().size()));
    return post_ops;
  }

  bool integers() const { return has_integers(problem_); }

  void add_fused(OnednnWay& way, const Recipe& recipe) {
    add_conv(way, recipe, source_, destination_, post_ops(recipe));
  }

  /// The layouts that a convolution left free would have; equal to the caller's if those are best.
  convolution_forward::primitive_desc free_desc(const Recipe& recipe, const PostOps& fused) {
    return conv_desc(place_->engine, geometry_, in_any_layout(source_.get_desc()),
                     geometry_.weights(problem_.parameter(0)), !recipe.bias.empty(),
                     in_any_layout(destination_.get_desc()), fused);
  }

  bool add_reordered(OnednnWay& way, const Recipe& recipe) {
    const PostOps fused = post_ops(recipe);
    const auto desc = free_desc(recipe, fused);
    const bool in = desc.src_desc() != source_.get_desc();
    const bool out = desc.dst_desc() != destination_.get_desc();
    if (!in && !out) return false;
    const memory source = in ? place_->temporary(Purpose::source, desc.src_desc()) : source_;
    const memory destination =
        out ? place_->temporary(Purpose::destination, desc.dst_desc()) : destination_;
    if (in) way.add_reorder(source_, source);
    add_conv(way, recipe, source, destination, fused);
    if (out) way.add_reorder(destination, destination_);
    return true;
  }

  bool add_free(OnednnWay& way, const Recipe& recipe) {
    const PostOps fused = post_ops(recipe);
    const auto desc = free_desc(recipe, fused);
    if (desc.src_desc() == source_.get_desc() && desc.dst_desc() == destination_.get_desc())
      return false;
    memory source(desc.src_desc(), place_->engine), destination(desc.dst_desc(), place_->engine);
    memory from = source_;
    dnnl::reorder(from, source).execute(place_->stream, from, source);
    place_->stream.wait();
    add_conv(way, recipe, source, destination, fused);
    way.set_result(destination);
    return true;
  }

  void add_conv(OnednnWay& way, const Recipe& recipe, const memory& source,
                const memory& destination, const PostOps& fused) {
    const memory::desc plain = geometry_.weights(problem_.parameter(0));
    const auto desc = conv_desc(place_->engine, geometry_, source.get_desc(), plain,
                                !recipe.bias.empty(), destination.get_desc(), fused);
    std::vector<std::pair<int, memory>> arguments{
        {DNNL_ARG_SRC, source},
        {DNNL_ARG_WEIGHTS, packed_weights(way, recipe, plain, desc.weights_desc())},
        {DNNL_ARG_DST, destination}};
    if (!recipe.bias.empty())
      arguments.emplace_back(DNNL_ARG_BIAS, place_->channels(recipe.bias, 1));
    way.add(desc, std::move(arguments), fused);
  }

  /// Reordered now, or before every convolution where weights may change.
  memory packed_weights(OnednnWay& way, const Recipe& recipe, const memory::desc& plain,
                        const memory::desc& wanted) {
    const test::HostTensor& weights = problem_.parameter(0);
    memory from = recipe.fold.empty() ? place_->wrap(plain, weights.data())
                                      : place_->wrap(plain, folded(weights, recipe.fold));
    memory packed(wanted, place_->engine);
    if (settings_.raw_weights) {
      way.add_reorder(from, packed);
    } else {
      dnnl::reorder(from, packed).execute(place_->stream, from, packed);
      place_->stream.wait();
    }
    return packed;
  }

  const void* folded(const test::HostTensor& weights, const std::vector<float>& factors) {
    test::HostTensor scaled = weights.like();
    std::vector<double> values = weights.values();
    const std::size_t filter = values.size() / factors.size();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factors[i / filter];
    scaled.set_values(values);
    return place_->keep(std::move(scaled)).get_data_handle();
  }

  Case& problem_;
  PeerSettings settings_;
  Geometry geometry_;
  std::shared_ptr<OnednnPlace> place_;
  memory source_, destination_;
  PeerWays ways_;
};

ChainParts parts_of(const Case& problem, const test::HostTensor& output) {
  return chain_parts(problem.steps(), 1, static_cast<std::size_t>(output.dims()[1]));
}

}  // namespace

PeerWays onednn_conv_ways(Case& problem, const PeerSettings& settings) {
  const ChainParts parts = parts_of(problem, problem.output());
  ConvWays ways(problem, settings);
  for (const Recipe& recipe : recipes(parts, has_integers(problem))) ways.add(recipe);
  if (!has_integers(problem)) ways.add_apart(parts);
  return ways.take();
}

std::function<void()> onednn_conv_creation(Case& problem) {
  std::vector<Recipe> list = recipes(parts_of(problem, problem.output()), has_integers(problem));
  while (!list.back().fold.empty()) list.pop_back();
  auto place = std::make_shared<OnednnPlace>(problem.output());
  PostOps fused;
  if (!list.back().scales.empty())
    fused.scale_weights(*place, list.back().scales, problem.problem().conv()->groups > 1);
  for (const Link& link : list.back().chain)
    fused.append(*place, link, static_cast<int>(problem.output().dims().size()));
  return [place, fused, bias = !list.back().bias.empty(),
          geometry = Geometry(*problem.problem().conv()), source = onednn_desc(problem.input()),
          destination = onednn_desc(problem.output()), &problem] {
    const auto desc = conv_desc(place->engine, geometry, source,
                                geometry.weights(problem.parameter(0)), bias, destination, fused);
    const convolution_forward conv(desc);
  };
}

}  // namespace fuseplan::driver
