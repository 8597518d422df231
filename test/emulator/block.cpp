// SPDX-License-Identifier: MIT
#include "block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace fuseplan::emulator {
namespace {

/// Of shared memory, as swizzling sees it.
constexpr std::uintptr_t kArenaAlignment = 1024;
constexpr unsigned kWarp = 32;

}  // namespace

Block::Block(const Launch& launch, unsigned number, ClusterShare& cluster, std::span<Fiber> fibers,
             std::mt19937_64& random)
    : fp_machine{},
      launch_(launch),
      cluster_(cluster),
      fibers_(fibers),
      random_(random),
      shared_((launch.shared_bytes + kArenaAlignment) / sizeof(float), nan()),
      waits_(launch.block),
      arrivals_(launch.block),
      copies_(launch.block),
      live_(launch.block),
      landing_(static_cast<Landing>((launch.seed + number) % 3)),
      hopper_(model_engine(), landing_) {
  block = number;
  cluster_rank = number % launch.cluster;
  cluster_blocks = launch.cluster;
  set_functions();
  this->shared = arena();
  hopper = hopper_.functions();
  this->shared_bytes = static_cast<unsigned>(launch.shared_bytes);
  ranges = launch.memory.data();
  range_count = launch.memory.size();
  all_.expected = launch.block;
  std::iota(live_.begin(), live_.end(), 0u);
  for (unsigned t : live_) fibers_[t].start([this] { launch_.kernel(launch_.args); });
}

void Block::set_functions() {
  barrier = [](fp_machine* m, int line) { of(m).wait_for_all(line); };
  meet = [](fp_machine* m, int line, unsigned lanes, act what, void* mine) {
    of(m).meet_group(line, lanes, what, mine);
  };
  copy = [](fp_machine* m, unsigned to, const void* from, unsigned bytes) {
    Block& b = of(m);
    b.copies_[b.thread].add(reinterpret_cast<char*>(b.shared) + to, from, bytes, b.landing_,
                            b.random_);
  };
  copy_commit = [](fp_machine* m) { of(m).copies_[m->thread].commit(); };
  copy_wait = [](fp_machine* m, unsigned groups) { of(m).copies_[m->thread].wait(groups); };
  fault = [](fp_machine* m, const char* what, unsigned long long address, unsigned bytes) {
    of(m).stop(fmt::format("{} ({} bytes at {:#x})", what, bytes, address));
  };
  cluster_arrive = [](fp_machine* m, int line) { of(m).arrive_in_cluster(line); };
  cluster_wait = [](fp_machine* m) { of(m).wait_for_cluster(); };
  cluster_memory = [](fp_machine* m, unsigned rank, unsigned at, unsigned bytes) {
    return of(m).remote(rank, at, bytes);
  };
}

bool Block::turn(bool calm) {
  const std::uint64_t before = progress_ + hopper_.events();
  if (calm)
    laggard_ = kNobody;
  else
    choose_laggard();
  std::shuffle(live_.begin(), live_.end(), random_);
  for (unsigned t : live_) {
    if (waits_[t].goes_on() || t / kWarp == laggard_) continue;
    thread = t;
    launch_.enter(this);
    fibers_[t].resume();
    if (!fault_.empty()) return false;
  }
  progress_ += std::erase_if(live_, [&](unsigned t) { return fibers_[t].done(); });
  hopper_.tick();
  return progress_ + hopper_.events() != before;
}

float Block::nan() {
  const std::uint32_t bits = ~0u;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float* Block::arena() {
  const auto at = reinterpret_cast<std::uintptr_t>(shared_.data());
  return reinterpret_cast<float*>((at + kArenaAlignment - 1) & ~(kArenaAlignment - 1));
}

HopperModel::Engine Block::model_engine() {
  return {this,
          [this] { fibers_[thread].yield(); },
          [this](const std::string& what) { report(what); },
          random_,
          launch_.block,
          launch_.grid,
          launch_.shared_bytes,
          reinterpret_cast<unsigned char*>(arena())};
}

/// One warp may stay behind until no other can go on.
void Block::choose_laggard() {
  constexpr unsigned kOnce = 2;  // of how many turns
  if (laggard_ == kNobody && random_() % kOnce == 0)
    laggard_ = live_[random_() % live_.size()] / kWarp;
}

void Block::report(const std::string& what) {
  if (fault_.empty()) fault_ = fmt::format("{} in block {}, thread {}", what, block, thread);
}
void Block::stop(std::string what) {
  report(std::exchange(what, {}));
  for (;;) fibers_[thread].yield();  // never resumed
}

std::string Block::waiting() const {
  std::string text;
  const auto add = [&](const Meeting& meeting) {
    if (meeting.arrived > 0)
      text += fmt::format("; {} of {} threads at line {}", meeting.arrived, meeting.expected,
                          meeting.line);
  };
  add(all_);
  for (const auto& [place, group] : groups_) add(group);
  return text;
}

/// Copies that nobody waited for may land while others work.
void Block::wait_for_all(int line) {
  if (landing_ == Landing::any) copies_[thread].land_some(random_);
  wait(all_, "barrier", line, nullptr, nullptr, 0);
}

/// Groups of different sizes are different meetings.
void Block::meet_group(int line, unsigned lanes, act what, void* mine) {
  const unsigned first = thread / lanes * lanes;
  Meeting& group = groups_[{lanes, first}];
  group.expected = std::min(lanes, launch_.block - first);
  group.given.resize(group.expected);
  wait(group, "collective", line, what, mine, thread - first);
}

void Block::check_line(const Meeting& meeting, const char* what, int line, act todo) {
  if (meeting.arrived > 0 && (meeting.line != line || meeting.act != todo))
    stop(fmt::format("divergent {}: threads wait at lines {} and {}", what, meeting.line, line));
}

void Block::wait(Meeting& meeting, const char* what, int line, act todo, void* mine,
                 unsigned lane) {
  check_line(meeting, what, line, todo);
  meeting.line = line;
  meeting.act = todo;
  if (todo != nullptr) meeting.given[lane] = mine;
  const std::uint64_t generation = meeting.generation;
  if (++meeting.arrived == meeting.expected) {
    if (todo != nullptr) todo(this, meeting.given.data(), meeting.expected);
    meeting.arrived = 0;
    ++meeting.generation;
    ++progress_;
    return;
  }
  wait_until(meeting, generation);
}

void Block::wait_until(Meeting& meeting, std::uint64_t generation) {
  const unsigned self = thread;
  waits_[self] = {&meeting, generation};
  fibers_[self].yield();
  waits_[self] = {};
}

/// The hardware counts threads that have ended as arrived; here all of the cluster's must come.
void Block::arrive_in_cluster(int line) {
  Meeting& all = cluster_.barrier;
  if (arrivals_[thread]) stop("a second arrival at the cluster's barrier without a wait");
  check_line(all, "cluster barrier", line, nullptr);
  all.line = line;
  arrivals_[thread] = all.generation;
  if (++all.arrived < all.expected) return;
  all.arrived = 0;
  ++all.generation;
  ++progress_;
}

void Block::wait_for_cluster() {
  if (!arrivals_[thread]) stop("a wait for the cluster's barrier without an arrival");
  const std::uint64_t generation = *arrivals_[thread];
  if (generation == cluster_.barrier.generation) wait_until(cluster_.barrier, generation);
  arrivals_[thread].reset();
}

const void* Block::remote(unsigned rank, unsigned at, unsigned bytes) {
  if (rank >= cluster_.blocks.size()) stop(fmt::format("no block {} in the cluster", rank));
  const Block& other = *cluster_.blocks[rank];
  if (at % bytes != 0 || at > shared_bytes || shared_bytes - at < bytes)
    stop(fmt::format("{} bytes at {:#x} of block {}'s shared memory", bytes, at, other.block));
  if (other.done())
    stop(fmt::format("a load from shared memory of block {}, which has ended", other.block));
  return reinterpret_cast<const char*>(other.shared) + at;
}

}  // namespace fuseplan::emulator
