// SPDX-License-Identifier: MIT
#include "engine.hpp"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "fiber.hpp"

namespace fuseplan::emulator {
namespace {

constexpr int kWarp = 32;

/// Threads that wait for each other: all of a block at a barrier, all of a warp at an exchange.
struct Meeting {
  unsigned expected = 0, arrived = 0;
  std::uint64_t generation = 0;
  int line = 0;
};

class Block : fp_machine {
 public:
  Block(const Launch& launch, std::vector<Fiber>& fibers, std::mt19937_64& random)
      : fp_machine{},
        launch_(launch),
        fibers_(fibers),
        random_(random),
        shared_((launch.shared_bytes + 15) / 16 * 4, fp_machine_nan()),
        warps_((launch.block + kWarp - 1) / kWarp),
        values_(launch.block) {
    barrier = [](fp_machine* m, int line) { of(m).wait(of(m).all_, "barrier", line); };
    exchange = [](fp_machine* m, int line, float value, int lanes) {
      return of(m).meet_warp(line, value, lanes);
    };
    fault = [](fp_machine* m, const char* what, unsigned long long address, unsigned bytes) {
      of(m).stop(fmt::format("{} ({} bytes at {:#x})", what, bytes, address));
    };
    this->shared = shared_.data();
    ranges = launch.memory.data();
    range_count = launch.memory.size();
    all_.expected = launch.block;
    for (unsigned w = 0; w < warps_.size(); ++w)
      warps_[w].expected = std::min<unsigned>(kWarp, launch.block - w * kWarp);
  }

  std::string run(unsigned number) {
    block = number;
    std::vector<unsigned> live(launch_.block);
    std::iota(live.begin(), live.end(), 0u);
    for (unsigned t : live) fibers_[t].start([this] { launch_.kernel(launch_.args); });
    while (!live.empty()) {
      const std::uint64_t before = progress_;
      std::shuffle(live.begin(), live.end(), random_);
      for (unsigned t : live) {
        thread = t;
        launch_.enter(this);
        fibers_[t].resume();
        if (!fault_.empty()) return fault_;
      }
      progress_ += std::erase_if(live, [&](unsigned t) { return fibers_[t].done(); });
      if (progress_ == before)
        return fmt::format("deadlock or divergent barrier in block {}: {} of {} threads at line {}",
                           number, all_.arrived, launch_.block, all_.line);
    }
    return {};
  }

 private:
  static float fp_machine_nan() {
    const std::uint32_t bits = ~0u;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static Block& of(fp_machine* machine) { return *static_cast<Block*>(machine); }

  void stop(const std::string& what) {
    if (fault_.empty()) fault_ = fmt::format("{} in block {}, thread {}", what, block, thread);
    for (;;) fibers_[thread].yield();  // never resumed
  }

  void wait(Meeting& meeting, const char* what, int line) {
    const unsigned self = thread;
    if (meeting.arrived > 0 && meeting.line != line)
      stop(fmt::format("divergent {}: threads wait at lines {} and {}", what, meeting.line, line));
    meeting.line = line;
    const std::uint64_t generation = meeting.generation;
    if (++meeting.arrived == meeting.expected) {
      meeting.arrived = 0;
      ++meeting.generation;
      ++progress_;
    }
    while (meeting.generation == generation) fibers_[self].yield();
    thread = self;
  }

  // Two meetings: all values are there after the first, none is overwritten before the second.
  float meet_warp(int line, float value, int lanes) {
    const unsigned self = thread;
    Meeting& warp = warps_[self / kWarp];
    values_[self] = value;
    wait(warp, "shuffle", line);
    const float other = values_[self ^ static_cast<unsigned>(lanes)];
    wait(warp, "shuffle", line);
    return other;
  }

  const Launch& launch_;
  std::vector<Fiber>& fibers_;
  std::mt19937_64& random_;
  std::vector<float> shared_;
  Meeting all_;
  std::vector<Meeting> warps_;
  std::vector<float> values_;
  std::uint64_t progress_ = 0;
  std::string fault_;
};

}  // namespace

std::string run(const Launch& launch) {
  static thread_local std::vector<Fiber> fibers;
  if (fibers.size() < launch.block) fibers = std::vector<Fiber>(launch.block);
  std::mt19937_64 random(launch.seed);
  for (unsigned number = 0; number < launch.grid; ++number) {
    std::string fault = Block(launch, fibers, random).run(number);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace fuseplan::emulator
