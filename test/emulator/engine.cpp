// SPDX-License-Identifier: MIT
#include "engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "copies.hpp"
#include "fiber.hpp"
#include "hopper_model.hpp"

namespace fuseplan::emulator {
namespace {

/// Of shared memory, as swizzling sees it.
constexpr std::uintptr_t kArenaAlignment = 1024;
constexpr unsigned kWarp = 32, kNobody = ~0u;

/// Threads that wait for each other: all of a block at a barrier, all of a warp at a collective.
struct Meeting {
  unsigned expected = 0, arrived = 0;
  std::uint64_t generation = 0;
  int line = 0;
  fp_machine::act act = nullptr;
  std::vector<void*> given;  ///< by lane
};

class Block : fp_machine {
 public:
  Block(const Launch& launch, unsigned number, std::vector<Fiber>& fibers, std::mt19937_64& random)
      : fp_machine{},
        launch_(launch),
        fibers_(fibers),
        random_(random),
        shared_((launch.shared_bytes + kArenaAlignment) / sizeof(float), fp_machine_nan()),
        waits_(launch.block),
        copies_(launch.block),
        landing_(static_cast<Landing>((launch.seed + number) % 3)),
        hopper_(model_engine(), landing_) {
    block = number;
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
    this->shared = arena();
    hopper = hopper_.functions();
    this->shared_bytes = static_cast<unsigned>(launch.shared_bytes);
    ranges = launch.memory.data();
    range_count = launch.memory.size();
    all_.expected = launch.block;
  }

  std::string run() {
    std::vector<unsigned> live(launch_.block);
    std::iota(live.begin(), live.end(), 0u);
    for (unsigned t : live) fibers_[t].start([this] { launch_.kernel(launch_.args); });
    while (!live.empty()) {
      const std::uint64_t before = progress_ + hopper_.events();
      choose_laggard(live);
      std::shuffle(live.begin(), live.end(), random_);
      for (unsigned t : live) {
        if (waits_[t].goes_on() || t / kWarp == laggard_) continue;
        thread = t;
        launch_.enter(this);
        fibers_[t].resume();
        if (!fault_.empty()) return fault_;
      }
      progress_ += std::erase_if(live, [&](unsigned t) { return fibers_[t].done(); });
      hopper_.tick();
      if (progress_ + hopper_.events() == before && !wake_laggard() && !hopper_.stalled())
        return deadlock();
      if (!fault_.empty()) return fault_;
    }
    hopper_.finish();
    return fault_;
  }

 private:
  static float fp_machine_nan() {
    const std::uint32_t bits = ~0u;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  float* arena() {
    const auto at = reinterpret_cast<std::uintptr_t>(shared_.data());
    return reinterpret_cast<float*>((at + kArenaAlignment - 1) & ~(kArenaAlignment - 1));
  }
  HopperModel::Engine model_engine() {
    return {this,
            [this] { fibers_[thread].yield(); },
            [this](const std::string& what) { report(what); },
            random_,
            launch_.block,
            launch_.grid,
            launch_.shared_bytes,
            reinterpret_cast<unsigned char*>(arena())};
  }
  static Block& of(fp_machine* machine) { return *static_cast<Block*>(machine); }

  /// One warp may stay behind until no other can go on.
  void choose_laggard(const std::vector<unsigned>& live) {
    constexpr unsigned kOnce = 2;  // of how many turns
    if (laggard_ == kNobody && random_() % kOnce == 0)
      laggard_ = live[random_() % live.size()] / kWarp;
  }
  bool wake_laggard() { return std::exchange(laggard_, kNobody) != kNobody; }

  void report(const std::string& what) {
    if (fault_.empty()) fault_ = fmt::format("{} in block {}, thread {}", what, block, thread);
  }
  void stop(const std::string& what) {
    report(what);
    for (;;) fibers_[thread].yield();  // never resumed
  }

  std::string deadlock() const {
    std::string text = fmt::format("deadlock or divergent barrier in block {}", block);
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
  void wait_for_all(int line) {
    if (landing_ == Landing::any) copies_[thread].land_some(random_);
    wait(all_, "barrier", line, nullptr, nullptr, 0);
  }

  /// Groups of different sizes are different meetings.
  void meet_group(int line, unsigned lanes, act what, void* mine) {
    const unsigned first = thread / lanes * lanes;
    Meeting& group = groups_[{lanes, first}];
    group.expected = std::min(lanes, launch_.block - first);
    group.given.resize(group.expected);
    wait(group, "collective", line, what, mine, thread - first);
  }

  void wait(Meeting& meeting, const char* what, int line, act todo, void* mine, unsigned lane) {
    const unsigned self = thread;
    if (meeting.arrived > 0 && (meeting.line != line || meeting.act != todo))
      stop(fmt::format("divergent {}: threads wait at lines {} and {}", what, meeting.line, line));
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
    waits_[self] = {&meeting, generation};
    fibers_[self].yield();
    waits_[self] = {};
  }

  /// What a thread waits for; it is not resumed before that is over.
  struct Wait {
    const Meeting* meeting = nullptr;
    std::uint64_t generation = 0;
    bool goes_on() const { return meeting != nullptr && meeting->generation == generation; }
  };

  const Launch& launch_;
  std::vector<Fiber>& fibers_;
  std::mt19937_64& random_;
  std::vector<float> shared_;
  Meeting all_;
  std::map<std::pair<unsigned, unsigned>, Meeting> groups_;  ///< by size and first thread
  std::vector<Wait> waits_;
  std::vector<Copies> copies_;
  unsigned laggard_ = kNobody;
  std::uint64_t progress_ = 0;
  std::string fault_;
  Landing landing_;
  HopperModel hopper_;
};

}  // namespace

std::string run(const Launch& launch) {
  static thread_local std::vector<Fiber> fibers;
  if (fibers.size() < launch.block) fibers = std::vector<Fiber>(launch.block);
  std::mt19937_64 random(launch.seed);
  for (unsigned number = 0; number < launch.grid; ++number) {
    std::string fault = Block(launch, number, fibers, random).run();
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace fuseplan::emulator
