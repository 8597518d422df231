// SPDX-License-Identifier: MIT
#include <map>
#include <mutex>
#include <utility>

#include "cache/store.hpp"

namespace fuseplan {

std::shared_ptr<KernelStore> open_store(const StoreConfig& config) {
  const bool wants_disk = config.mode == CacheMode::rw || config.mode == CacheMode::ro;
  const Place place = wants_disk ? find_place(config.directory, config.environment) : Place{};
  // Each refused place has a store of its own, which warns of it.
  const std::string& name = place.directory.empty() ? place.refusal : place.directory;
  // Never destroyed: a store may be opened and dropped by another library's static objects.
  using Registry = std::map<std::pair<CacheMode, std::string>, std::weak_ptr<KernelStore>>;
  static auto* const registry = new Registry;
  const auto present = [&](std::shared_ptr<KernelStore> made) {
    std::lock_guard lock(fork_state().memory);
    std::weak_ptr<KernelStore>& entry = (*registry)[{config.mode, name}];
    auto store = entry.lock();
    if (!store && made) entry = store = std::move(made);
    return store;
  };
  auto store = present(nullptr);
  if (!store) store = present(std::make_shared<KernelStore>(config, place));
  store->reconfigure(config);
  return store;
}

}  // namespace fuseplan
