// SPDX-License-Identifier: MIT
#include "run/handle.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/status.hpp"
#include "run/build_id.hpp"

namespace fuseplan {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> counter{1};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

StoreConfig store_config(const Options& options) {
  constexpr std::pair<std::string_view, CacheMode> kModes[] = {{"rw", CacheMode::rw},
                                                               {"ro", CacheMode::ro},
                                                               {"mem", CacheMode::mem},
                                                               {"off", CacheMode::off}};
  StoreConfig config;
  for (const auto& [name, mode] : kModes)
    if (options.cache == name) config.mode = mode;
  const bool uses_disk = config.mode == CacheMode::rw || config.mode == CacheMode::ro;
  if (uses_disk && !is_build_id_shared()) config.mode = CacheMode::mem;
  config.directory = options.cache_dir;
  config.cap_bytes = static_cast<std::uint64_t>(options.cache_mb) << 20;
  config.synchronous = options.cache_sync;
  config.allow_network = options.cache_netfs;
  return config;
}

}  // namespace

Handle::Handle(std::string_view device, void* stream)
    : device_(find_device(device)),
      stream_(stream),
      options_(Options::from_environment()),
      number_(next_number()),
      process_(getpid()) {
  require(stream == nullptr || device_.backend->name() != "cpu", Status::BadParm,
          "a CPU handle has no streams; expected NULL");
  apply_options();
}

void Handle::apply_options() {
  parallel_ = Parallel(options_.threads, loop_, loop_context_);
  store_ = open_store(store_config(options_));
}

std::string Handle::device_text() const {
  return fmt::format("{}:{}", device_.backend->name(), device_.index);
}

Traits Handle::traits() const {
  Traits traits = device_.backend->traits(device_.index);
  const cpu::IsaLimit limit = options_.max_isa;
  traits.isa = cpu::limited(traits.isa, limit);
  traits.extensions = cpu::limited(traits.extensions, limit);
  if (limit < cpu::IsaLimit::amx) traits.family = cpu::family_without_tiles(traits.family);
  traits.tf32 = options_.tf32;
  return traits;
}

void Handle::set_options(std::string_view flags) {
  options_.apply(flags);
  apply_options();
}

void Handle::set_threads(int threads) {
  require(threads >= 0 && threads <= 4096, Status::BadParm,
          "thread count is {}, expected 0 (as many as OpenMP offers) to 4096", threads);
  options_.threads = threads;
  parallel_ = Parallel(threads, loop_, loop_context_);
}

void Handle::set_parallel_for(Parallel::Loop loop, void* context) {
  loop_ = loop;
  loop_context_ = context;
  parallel_ = Parallel(options_.threads, loop_, loop_context_);
}

CompileContext Handle::compile_context(SolverFilter filter) const {
  return {device_.backend, device_.index, traits(), options_, std::move(filter), threads(), store_};
}

void Handle::check_process() const {
  require(device_.backend->name() == "cpu" || process_ == getpid(), Status::Forked,
          "the handle belongs to process {}; a child of it must create its own", process_);
}

}  // namespace fuseplan
