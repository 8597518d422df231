// SPDX-License-Identifier: MIT
#include "engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>

#include "block.hpp"

namespace fuseplan::emulator {
namespace {

/// Blocks that run at once, in random turns. A block that is no cluster's is one of its own.
class Cluster {
 public:
  Cluster(const Launch& launch, unsigned first, std::span<Fiber> fibers, std::mt19937_64& random)
      : random_(random), live_(launch.cluster) {
    share_.barrier.expected = launch.cluster * launch.block;
    for (unsigned rank = 0; rank < launch.cluster; ++rank) {
      const auto own = fibers.subspan(std::size_t{rank} * launch.block, launch.block);
      blocks_.push_back(std::make_unique<Block>(launch, first + rank, share_, own, random));
      share_.blocks.push_back(blocks_.back().get());
    }
    std::iota(live_.begin(), live_.end(), 0u);
  }

  std::string run() {
    bool calm = false;
    while (!live_.empty()) {
      const bool moved = turn(calm);
      for (const auto& block : blocks_)
        if (!block->failure().empty()) return block->failure();
      std::erase_if(live_, [&](unsigned rank) { return blocks_[rank]->done(); });
      if (!moved && calm && !stalled()) return deadlock();
      calm = !moved;
    }
    for (const auto& block : blocks_) {
      block->finish();
      if (!block->failure().empty()) return block->failure();
    }
    return {};
  }

 private:
  static constexpr unsigned kNobody = ~0u;

  /// One block may stay behind until no other can go on.
  bool turn(bool calm) {
    if (calm) {
      laggard_ = kNobody;
    } else if (laggard_ == kNobody && live_.size() > 1 && random_() % 2 == 0) {
      laggard_ = live_[random_() % live_.size()];
    }
    if (live_.size() > 1) std::shuffle(live_.begin(), live_.end(), random_);
    bool moved = false;
    for (unsigned rank : live_) {
      if (rank == laggard_) continue;
      moved |= blocks_[rank]->turn(calm);
      if (!blocks_[rank]->failure().empty()) break;
    }
    return moved;
  }

  bool stalled() {
    return std::ranges::any_of(live_, [&](unsigned rank) { return blocks_[rank]->stalled(); });
  }

  std::string deadlock() const {
    std::string text = "deadlock or divergent barrier in block";
    for (unsigned rank : live_) text += fmt::format(" {}", blocks_[rank]->number());
    for (unsigned rank : live_) text += blocks_[rank]->waiting();
    if (const Meeting& all = share_.barrier; all.arrived > 0)
      text += fmt::format("; {} of {} threads at the cluster's barrier at line {}", all.arrived,
                          all.expected, all.line);
    return text;
  }

  std::mt19937_64& random_;
  ClusterShare share_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<unsigned> live_;
  unsigned laggard_ = kNobody;
};

}  // namespace

std::string run(const Launch& launch) {
  // One launch at a time: kernels know the thread that they are by one variable (`fp_now`).
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  static auto& fibers = *new std::vector<Fiber>;
  const std::size_t threads = std::size_t{launch.cluster} * launch.block;
  if (fibers.size() < threads) fibers = std::vector<Fiber>(threads);
  std::mt19937_64 random(launch.seed);
  for (unsigned first = 0; first < launch.grid; first += launch.cluster) {
    std::string fault = Cluster(launch, first, fibers, random).run();
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace fuseplan::emulator
