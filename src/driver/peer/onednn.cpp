// SPDX-License-Identifier: MIT
#include "driver/peer/onednn.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <stdexcept>

#include "driver/peer/onednn_conv.hpp"
#include "driver/peer/onednn_norm.hpp"
#include "driver/peer/onednn_training.hpp"
#include "driver/peer/wider_peer.hpp"

namespace fuseplan::driver {
namespace {

// oneDNN takes as many threads as OpenMP offers, at creation and at execution.
void use_threads(const PeerSettings& settings) { omp_set_num_threads(settings.threads); }

class OnednnPeer : public Peer {
 public:
  std::string title() const override {
    const dnnl_version_t& version = *dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch);
  }
  PeerWays ways(Case& problem, const PeerSettings& settings) override {
    use_threads(settings);
    // On CPUs without f16 arithmetic oneDNN has nothing for f16: its users stay in f32.
    const bool f16 = problem.input().type() == test::Element::f16;
    try {
      return own_ways(problem, settings);
    } catch (const std::invalid_argument&) {
      if (!f16 || settings.raw_weights) throw;
    }
    return wider_ways(problem, [&](Case& wider) { return own_ways(wider, settings); });
  }
  std::function<void()> creation(Case& problem, const PeerSettings& settings) override {
    use_threads(settings);
    dnnl::set_primitive_cache_capacity(0);
    if (problem.problem().conv() != nullptr) return onednn_conv_creation(problem);
    if (is_onednn_training(problem.problem()))
      return [&problem] { (void)onednn_training_ways(problem); };
    return [&problem] { create_onednn_norm(problem); };
  }

 private:
  static PeerWays own_ways(Case& problem, const PeerSettings& settings) {
    if (problem.problem().conv() != nullptr) return onednn_conv_ways(problem, settings);
    if (is_onednn_training(problem.problem())) return onednn_training_ways(problem);
    return onednn_norm_ways(problem);
  }
};

}  // namespace

std::unique_ptr<Peer> make_onednn() { return std::make_unique<OnednnPeer>(); }

}  // namespace fuseplan::driver
