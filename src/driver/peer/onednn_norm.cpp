// SPDX-License-Identifier: MIT
#include "driver/peer/onednn_norm.hpp"

#include <stdexcept>

namespace fuseplan::driver {
namespace {

using dnnl::batch_normalization_forward;
using dnnl::memory;
using dnnl::normalization_flags;
using dnnl::prop_kind;

batch_normalization_forward::primitive_desc norm_desc(const dnnl::engine& engine,
                                                      const memory::desc& from,
                                                      const memory::desc& to, float epsilon,
                                                      bool fused_relu, const PostOps& post_ops) {
  auto flags = normalization_flags::use_global_stats | normalization_flags::use_scale |
               normalization_flags::use_shift;
  if (fused_relu) flags = flags | normalization_flags::fuse_norm_relu;
  return {engine, prop_kind::forward_inference, from, to, epsilon, flags, post_ops.attributes()};
}

std::vector<float> floats(const test::HostTensor& tensor) {
  const std::vector<double> values = tensor.values();
  return {values.begin(), values.end()};
}

/// The batchnorm that the chain starts with; the chain's other steps, in oneDNN's terms.
struct NormThenRest {
  const test::BatchNorm* norm = nullptr;
  Chain rest;
};

NormThenRest norm_then_rest(const std::vector<test::Step>& steps, std::size_t channels) {
  NormThenRest parts;
  if (steps.empty()) return parts;
  parts.norm = std::get_if<test::BatchNorm>(&steps[0].op);
  if (parts.norm != nullptr) parts.rest = chain_parts(steps, 1, channels).rest;
  if (parts.norm != nullptr && !chain_parts(steps, 1, channels).all.add.empty())
    throw std::invalid_argument("oneDNN: more than one per-channel op behind each other");
  return parts;
}

bool is_relu(const Chain& chain) {
  if (chain.size() != 1) return false;
  const auto* eltwise = std::get_if<Eltwise>(&chain[0]);
  return eltwise != nullptr && eltwise->algorithm == dnnl::algorithm::eltwise_relu &&
         eltwise->alpha == 0;
}

/// The ways of one problem in the making. What oneDNN does not have is not a way.
class NormWays {
 public:
  explicit NormWays(Case& problem)
      : place_(std::make_shared<OnednnPlace>(problem.output())),
        from_(place_->wrap(problem.input())),
        to_(place_->wrap(place_->output)) {}

  template <typename Build>
  void try_way(const char* name, WayRole role, const Build& build) {
    auto way = std::make_unique<OnednnWay>(name, role, place_);
    try {
      build(*way);
    } catch (const dnnl::error&) {
      return;
    }
    ways_.push_back(std::move(way));
  }

  void add(const test::BatchNorm& norm, const Chain& rest) {
    if (is_relu(rest))
      try_way("batchnorm, relu flag", WayRole::contender,
              [&](OnednnWay& way) { add_norm(way, norm, from_, to_, true); });
    try_way(rest.empty() ? "batchnorm" : "batchnorm, post-ops", WayRole::contender,
            [&](OnednnWay& way) {
              PostOps post_ops;
              for (const Link& link : rest) post_ops.append(*place_, link, rank());
              add_norm(way, norm, from_, to_, false, post_ops);
            });
    if (!rest.empty())
      try_way("batchnorm, then the rest", WayRole::contender, [&](OnednnWay& way) {
        add_norm(way, norm, from_, to_);
        add_links(way, rest, to_, to_);
      });
  }

  void add_affine(const ChannelAffine& affine, const Chain& rest, WayRole role) {
    Chain chain;
    if (!affine.mul.empty()) chain.emplace_back(ChannelMul{affine.mul});
    if (!affine.add.empty()) chain.emplace_back(ChannelAdd{affine.add});
    chain.insert(chain.end(), rest.begin(), rest.end());
    try_way("binary, post-ops", role, [&](OnednnWay& way) { add_links(way, chain, from_, to_); });
  }

  bool none() const { return ways_.empty(); }
  PeerWays take() {
    if (ways_.empty()) throw std::invalid_argument("oneDNN: no primitives for this chain");
    return std::move(ways_);
  }

 private:
  int rank() const { return static_cast<int>(place_->output.dims().size()); }

  std::shared_ptr<OnednnPlace> place_;
  memory from_, to_;
  PeerWays ways_;
};

}  // namespace

void add_norm(OnednnWay& way, const test::BatchNorm& norm, const memory& from, const memory& to,
              bool fused_relu, const PostOps& post_ops) {
  OnednnPlace& place = way.place();
  const auto desc = norm_desc(place.engine, from.get_desc(), to.get_desc(),
                              static_cast<float>(norm.epsilon), fused_relu, post_ops);
  way.add(desc,
          {{DNNL_ARG_SRC, from},
           {DNNL_ARG_DST, to},
           {DNNL_ARG_MEAN, place.channels(floats(*norm.mean), 1)},
           {DNNL_ARG_VARIANCE, place.channels(floats(*norm.variance), 1)},
           {DNNL_ARG_SCALE, place.channels(floats(*norm.scale), 1)},
           {DNNL_ARG_SHIFT, place.channels(floats(*norm.bias), 1)}},
          post_ops);
}

void add_links(OnednnWay& way, const Chain& chain, const memory& from, const memory& to) {
  OnednnPlace& place = way.place();
  const auto rank = static_cast<int>(to.get_desc().get_ndims());
  PostOps post_ops;
  for (std::size_t i = 1; i < chain.size(); ++i) post_ops.append(place, chain[i], rank);
  if (const auto* eltwise = std::get_if<Eltwise>(&chain[0])) {
    way.add(dnnl::eltwise_forward::primitive_desc(
                place.engine, prop_kind::forward_inference, eltwise->algorithm, from.get_desc(),
                to.get_desc(), eltwise->alpha, eltwise->beta, post_ops.attributes()),
            {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}}, post_ops);
    return;
  }
  const auto* mul = std::get_if<ChannelMul>(&chain[0]);
  const auto* add = std::get_if<ChannelAdd>(&chain[0]);
  const memory other = mul != nullptr   ? place.channels(mul->values, rank)
                       : add != nullptr ? place.channels(add->values, rank)
                                        : place.keep(std::get<TensorSum>(chain[0]).other);
  way.add(
      dnnl::binary::primitive_desc(
          place.engine, mul != nullptr ? dnnl::algorithm::binary_mul : dnnl::algorithm::binary_add,
          from.get_desc(), other.get_desc(), to.get_desc(), post_ops.attributes()),
      {{DNNL_ARG_SRC_0, from}, {DNNL_ARG_SRC_1, other}, {DNNL_ARG_DST, to}}, post_ops);
}

PeerWays onednn_norm_ways(Case& problem) {
  const auto channels = static_cast<std::size_t>(problem.output().dims()[1]);
  NormWays ways(problem);
  const ChainParts parts = chain_parts(problem.steps(), 0, channels);
  if (const auto [norm, rest] = norm_then_rest(problem.steps(), channels); norm != nullptr) {
    ways.add(*norm, rest);
    // Where there is no batchnorm, of 8-bit integers, it is what a user is left with.
    ways.add_affine(parts.all, parts.rest, ways.none() ? WayRole::contender : WayRole::beyond);
  } else {
    ways.add_affine(parts.all, parts.rest, WayRole::contender);
  }
  return ways.take();
}

void create_onednn_norm(Case& problem) { (void)onednn_norm_ways(problem); }

}  // namespace fuseplan::driver
