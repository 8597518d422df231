// SPDX-License-Identifier: MIT
// Barriers, registers and the order of things. PTX ISA 8.0, "Parallel synchronization and
// communication instructions: mbarrier", "setmaxnreg".
#include "hopper_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fuseplan::emulator {
namespace {

constexpr unsigned kLanes = 32, kRegisters = 64 << 10;

}  // namespace

HopperModel::HopperModel(const Engine& engine, Landing landing)
    : engine_(engine),
      landing_(landing),
      warps_((engine.threads + kLanes - 1) / kLanes),
      unfenced_((engine.shared_bytes + 15) / 16) {
  functions_.model = this;
  for (Warp& warp : warps_)  // in eights, as a launch gives them
    warp.registers = std::min(255u, kRegisters / (8 * engine.threads) * 8);
  functions_.blocks = engine.blocks;
  functions_.shared = engine.shared;
  set_functions();
  set_product_functions();
}

HopperModel& HopperModel::of(fp_machine* machine) {
  return *static_cast<Functions*>(machine->hopper)->model;
}

void HopperModel::fault(std::string what) {
  if (in_thread_) stop(std::move(what));
  engine_.report(what);
}
void HopperModel::stop(std::string what) {
  engine_.report(std::exchange(what, {}));
  for (;;) engine_.yield();  // never resumed
}

void HopperModel::set_functions() {
  functions_.named_barrier = [](fp_machine* m, int line, unsigned id, unsigned threads) {
    of(m).named_barrier(line, id, threads);
  };
  functions_.bar_init = [](fp_machine* m, unsigned long long* at, unsigned count) {
    of(m).check_shared(at, sizeof *at, sizeof *at, "an mbarrier");
    of(m).bars_[at] = {.count = count, .pending = count, .owner = m->thread};
  };
  functions_.bar_publish = [](fp_machine* m) {
    for (auto& [at, bar] : of(m).bars_) bar.published |= bar.owner == m->thread;
  };
  functions_.bar_arrive = [](fp_machine* m, unsigned long long* at, unsigned bytes) {
    of(m).arrive(at, bytes);
  };
  functions_.bar_wait = [](fp_machine* m, unsigned long long* at, unsigned parity) {
    of(m).wait(at, parity);
  };
  functions_.copy_in = [](fp_machine* m, const fp_hopper::load& load) { of(m).copy_in(load); };
  functions_.copy_out = [](fp_machine* m, const void* map, const void* from, int x, int y) {
    of(m).copy_out(map, from, x, y);
  };
  functions_.copy_commit = [](fp_machine* m) {
    HopperModel& model = of(m);
    model.stores_[m->thread].push_back(std::move(model.open_stores_[m->thread]));
    model.open_stores_[m->thread].clear();
  };
  functions_.copy_wait = [](fp_machine* m, unsigned left) { of(m).wait_for_copies(left); };
  functions_.registers = [](fp_machine* m, int line, unsigned count, bool more) {
    const auto nothing = [](fp_machine*, void* const*, unsigned) {};
    m->meet(m, line, kLanes, nothing, nullptr);
    if (m->thread % kLanes == 0) of(m).change_registers(count, more);
    m->meet(m, line, kLanes, nothing, nullptr);
  };
}

bool HopperModel::tick() {
  const std::uint64_t before = events_;
  in_thread_ = false;
  if (landing_ == Landing::any)
    for (std::size_t i = 0; i < loads_.size();) {
      if (engine_.random() % 4 != 0) {
        ++i;
        continue;
      }
      land(loads_[i]);
      loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  in_thread_ = true;
  return events_ != before;
}

bool HopperModel::stalled() {
  if (loads_.empty()) return false;
  in_thread_ = false;
  const auto at = static_cast<std::ptrdiff_t>(engine_.random() % loads_.size());
  land(loads_[static_cast<std::size_t>(at)]);
  loads_.erase(loads_.begin() + at);
  in_thread_ = true;
  return true;
}

void HopperModel::finish() {
  in_thread_ = false;
  if (!loads_.empty()) fault("the block ended before its copies into shared memory");
  for (const auto& [t, groups] : stores_) {
    bool unread = !open_stores_[t].empty();
    for (const auto& group : groups)
      unread |= std::ranges::any_of(group, [](const Store& store) { return !store.done; });
    if (unread) fault(fmt::format("thread {} ended before its stores had read their memory", t));
  }
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (!warps_[w].groups.empty() || !warps_[w].open.empty())
      fault(fmt::format("warp {} ended before its products", w));
    if (warps_[w].issued != warps_[w / 4 * 4].issued)
      fault(fmt::format("warp {} multiplied {} times, its group's first one {} times", w,
                        warps_[w].issued, warps_[w / 4 * 4].issued));
  }
  in_thread_ = true;
}

std::size_t HopperModel::offset_of(const void* at) const {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(at) - engine_.shared);
}

void HopperModel::check_shared(const void* at, std::size_t bytes, std::size_t alignment,
                               const char* what) {
  const std::size_t offset = offset_of(at);
  if (offset > engine_.shared_bytes || engine_.shared_bytes - offset < bytes)
    fault(fmt::format("{} outside shared memory", what));
  if (offset % alignment != 0) fault(fmt::format("{} off a multiple of {}", what, alignment));
}

void HopperModel::named_barrier(int line, unsigned id, unsigned threads) {
  if (id == 0 || id > 15 || threads % kLanes != 0) stop("a barrier that the hardware has not");
  Named& barrier = named_[id];
  if (barrier.arrived > 0 && (barrier.line != line || barrier.threads != threads))
    stop(fmt::format("divergent barrier {}: threads wait at lines {} and {}", id, barrier.line,
                     line));
  barrier.line = line;
  barrier.threads = threads;
  const std::uint64_t generation = barrier.generation;
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.generation;
    ++events_;
  }
  while (barrier.generation == generation) engine_.yield();
}

HopperModel::Bar& HopperModel::bar_at(unsigned long long* at) {
  const auto found = bars_.find(at);
  if (found == bars_.end()) stop("an mbarrier that is not initialised");
  return found->second;
}

void HopperModel::arrive(unsigned long long* at, unsigned bytes) {
  Bar& bar = bar_at(at);
  if (bar.pending == 0) stop("more arrivals at an mbarrier than it counts");
  bar.bytes += bytes;
  --bar.pending;
  end_phase(bar);
}

void HopperModel::end_phase(Bar& bar) {
  if (bar.pending != 0 || bar.bytes != 0) return;
  bar.pending = bar.count;
  ++bar.phase;
  ++events_;
}

void HopperModel::wait(unsigned long long* at, unsigned parity) {
  while (bar_at(at).phase % 2 == parity) engine_.yield();
}

void HopperModel::change_registers(unsigned count, bool more) {
  unsigned& mine = warp().registers;
  if (count % 8 != 0 || count < 24 || count > 256 || more != (count > mine))
    stop(fmt::format("setmaxnreg from {} to {} registers", mine, count));
  if (more)
    while (free_registers_ < (count - mine) * kLanes) engine_.yield();
  free_registers_ = free_registers_ + mine * kLanes - count * kLanes;
  mine = count;
  ++events_;
}

}  // namespace fuseplan::emulator
