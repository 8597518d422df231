// SPDX-License-Identifier: MIT
#include "driver/peer/peer.hpp"

#include <stdexcept>

#include "driver/peer/onednn.hpp"
#include "driver/peer/unfused_peer.hpp"

namespace fuseplan::driver {

const char* name_of(WayRole role) {
  constexpr const char* kNames[] = {"contender", "folded", "free_layout", "beyond"};
  return kNames[static_cast<int>(role)];
}

#if !defined(FUSEPLAN_ONEDNN)
std::unique_ptr<Peer> make_onednn() {
  throw std::runtime_error(
      "this fuseplan-driver was built without oneDNN: configure with "
      "-DFUSEPLAN_ONEDNN_DIR=<prefix of oneDNN 3 with include/ and lib/> and build again "
      "(test/bench/README.md tells how to get it)");
}
#endif

std::unique_ptr<Peer> make_peer(const std::string& name, fuseplanHandle_t handle) {
  if (name == "onednn") return make_onednn();
  if (name == "unfused") return make_unfused_peer(handle);
  throw std::invalid_argument("\"" + name + "\" is no peer: onednn or unfused");
}

}  // namespace fuseplan::driver
