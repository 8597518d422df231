// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/case.hpp"

namespace fuseplan::driver {

/// What a way of running a problem counts as.
enum class WayRole {
  contender,    ///< same function, same tensors, same arguments: the fastest of these is the peer
  folded,       ///< batchnorm multiplied into the weights beforehand, so that less is computed
  free_layout,  ///< tensors lie as the peer likes best, as between layers of a network of its own
  beyond        ///< same function by primitives that are not meant for it; for information
};
const char* name_of(WayRole role);

/// One way in which a peer runs a problem, ready to be timed.
class PeerWay {
 public:
  PeerWay(std::string name, WayRole role) : name_(std::move(name)), role_(role) {}
  virtual ~PeerWay() = default;
  PeerWay(const PeerWay&) = delete;
  PeerWay& operator=(const PeerWay&) = delete;

  const std::string& name() const { return name_; }
  WayRole role() const { return role_; }
  /// What the peer says of itself: the implementation it chose.
  virtual std::string implementation() const = 0;
  virtual void execute() = 0;
  /// What the last execution wrote, of the case's type, in any layout.
  virtual test::HostTensor result() = 0;

 private:
  std::string name_;
  WayRole role_;
};
using PeerWays = std::vector<std::unique_ptr<PeerWay>>;

struct PeerSettings {
  int threads = 1;
  bool raw_weights = false;  ///< weights may have changed before every execution
};

/// Another library, or another way to use this one, that a bench compares with. Functions throw
/// std::exception with a sentence for what the peer cannot do.
class Peer {
 public:
  virtual ~Peer() = default;
  /// For people, with the version, such as "oneDNN 3.13.1".
  virtual std::string title() const = 0;
  /// Every way worth trying; at least one contender. They read the case's tensors where they lie.
  virtual PeerWays ways(Case& problem, const PeerSettings& settings) = 0;
  /// Makes, without any cache, what runs the fused problem, and drops it.
  virtual std::function<void()> creation(Case& problem, const PeerSettings& settings) = 0;
};

/// "onednn" or "unfused". Throws for a peer this program was built without, saying how to get it.
std::unique_ptr<Peer> make_peer(const std::string& name, fuseplanHandle_t handle);

}  // namespace fuseplan::driver
