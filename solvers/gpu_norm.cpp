// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/status.hpp"
#include "kernels/gpu/norm.hpp"
#include "solvers/gpu_conditions.hpp"

namespace fuseplan {
namespace {

// Samples of more than a line.
constexpr const char* kSample1 =
    "f32:2x37x13x11:nchw;activation_backward(relu,f32:2x37x13x11:nchw);norm_backward(spatial,"
    "f32:1x37x1x1,f32:2x37x13x11:nchw)";
constexpr const char* kSample2 =
    "f32:2x32x8x11:nhwc;activation_backward(silu,f32:2x32x8x11:nhwc);norm_backward(spatial,"
    "f32:1x32x1x1,f32:2x32x8x11:nhwc)";
constexpr const char* kSample3 =
    "f32:9x20x5x4:nhwc;activation_backward(tanh,f32:9x20x5x4:nhwc);norm_backward("
    "per_activation,f32:1x20x5x4:nhwc,f32:9x20x5x4:nhwc)";

class GpuNorm final : public Solver {
 public:
  std::string_view id() const override { return "gpu_norm"; }
  std::string_view sentence() const override {
    return "batch normalisation for training, forward and backward, with any chain of pointwise "
           "ops and any strides";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::none; }

  void accepts(const Question& question, Verdict& verdict) const override {
    const Problem& problem = question.problem;
    need_real_data(question, verdict);
    verdict.need(problem.batch_op() >= 0, RejectCode::Sequence, "ops",
                 "none that needs sums over the batch", "norm_training or norm_backward");
    verdict.need(problem.conv() == nullptr, RejectCode::Sequence, "first op",
                 kind_of(problem.ops().front().body), "any op but conv");
    verdict.need(problem.statistics() == nullptr, RejectCode::Sequence, "last op",
                 kind_of(problem.ops().back().body), "any op but statistics");
    need_count(verdict, "elements", static_cast<double>(problem.output().elements()));
  }

  std::vector<std::string> configs(const Question& question) const override {
    std::vector<std::string> texts;
    for (gpu::NormWay way : {gpu::NormWay::automatic, gpu::NormWay::whole, gpu::NormWay::chunks})
      texts.emplace_back(to_text(way));
    if (has_clusters(question.traits)) texts.emplace_back(to_text(gpu::NormWay::cluster));
    return texts;
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto way = gpu::parse_norm_way(config);
    require(way.has_value(), Status::InternalError, "gpu_norm has no configuration \"{}\"", config);
    return {
        "gpu_norm", nullptr,
        gpu::norm_recipe(question.problem, question.chain, *way, has_clusters(question.traits))};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x37x13x11:nchw;norm_training(spatial,f32:1x37x1x1,running);activation(relu)",
        "f32:2x40x13x11:nhwc;norm_training(spatial,f32:1x40x1x1,running);activation(gelu_tanh)",
        "f32:2x3x24x25:nchw;norm_training(spatial,f32:1x3x1x1);add(f32:2x3x24x25)",
        "f32:7x5x9x8:nchw;norm_training(per_activation,f32:1x5x9x8,running);activation(tanh)",
        "f32:5x24x4x3:nhwc;norm_training(spatial,f32:1x24x1x1);bias(f32:1x24x1x1)",
        "f32:40x50:nchw;norm_training(spatial,f32:1x50)",
        "f32:2x9x6x6:s1000,3,31,200;norm_training(spatial,f32:1x9x1x1)",
        kSample1,
        kSample2,
        "f32:4x6x3x5x7:ndhwc;norm_backward(spatial,f32:1x6x1x1x1,f32:4x6x3x5x7:ndhwc)",
        kSample3,
    };
  }
};

}  // namespace

const Solver& solver_gpu_norm() {
  static const GpuNorm solver;
  return solver;
}

}  // namespace fuseplan
