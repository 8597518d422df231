// SPDX-License-Identifier: MIT
#include <map>
#include <mutex>
#include <utility>

#include "cache/store.hpp"

namespace fuseplan {

std::shared_ptr<KernelStore> open_store(const StoreConfig& config) {
  const bool wants_disk = config.mode == CacheMode::rw || config.mode == CacheMode::ro;
  const Place place = wants_disk ? find_place(config.directory, config.environment) : Place{};
  // Never destroyed: a store may be opened and dropped by another library's static objects.
  using Registry = std::map<std::pair<CacheMode, std::string>, std::weak_ptr<KernelStore>>;
  static auto* const registry = new Registry;
  auto made = std::make_shared<KernelStore>(config, place);
  std::lock_guard lock(fork_state().memory);
  std::weak_ptr<KernelStore>& entry = (*registry)[{config.mode, place.directory}];
  if (auto present = entry.lock()) return present;
  entry = made;
  return made;
}

}  // namespace fuseplan
