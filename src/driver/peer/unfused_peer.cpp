// SPDX-License-Identifier: MIT
#include "driver/peer/unfused_peer.hpp"

#include <stdexcept>

#include "driver/unfused.hpp"

namespace fuseplan::driver {
namespace {

class UnfusedWay : public PeerWay {
 public:
  UnfusedWay(Case& problem, fuseplanHandle_t handle)
      : PeerWay("op by op", WayRole::contender), unfused_(problem, handle), handle_(handle) {}
  std::string implementation() const override { return "fuseplan"; }
  void execute() override { unfused_.execute(handle_); }
  test::HostTensor result() override { return unfused_.output(); }

 private:
  Unfused unfused_;
  fuseplanHandle_t handle_;
};

class UnfusedPeer : public Peer {
 public:
  explicit UnfusedPeer(fuseplanHandle_t handle) : handle_(handle) {}
  std::string title() const override { return "fuseplan unfused"; }
  PeerWays ways(Case& problem, const PeerSettings& settings) override {
    if (settings.raw_weights)
      throw std::invalid_argument("unfused runs keep weights of their own: no raw weights");
    PeerWays ways;
    ways.push_back(std::make_unique<UnfusedWay>(problem, handle_));
    return ways;
  }
  std::function<void()> creation(Case& problem, const PeerSettings&) override {
    return [this, &problem] { Unfused(problem, handle_); };
  }

 private:
  fuseplanHandle_t handle_;
};

}  // namespace

std::unique_ptr<Peer> make_unfused_peer(fuseplanHandle_t handle) {
  return std::make_unique<UnfusedPeer>(handle);
}

}  // namespace fuseplan::driver
