// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "copies.hpp"
#include "fiber.hpp"
#include "hopper_model.hpp"
#include "meeting.hpp"

namespace fuseplan::emulator {

class Block;

/// What the blocks of a cluster share.
struct ClusterShare {
  std::vector<Block*> blocks;  ///< by rank
  Meeting barrier;
};

/// A block's threads, which run in random turns from barrier to barrier, and its shared memory.
class Block : fp_machine {
 public:
  Block(const Launch& launch, unsigned number, ClusterShare& cluster, std::span<Fiber> fibers,
        std::mt19937_64& random);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Lets each thread that can go on do so once, save those held back, of which a calm turn has
  /// none. False if nothing came of it.
  bool turn(bool calm);
  /// When no thread can go on: makes something happen that was held back. False: a deadlock.
  bool stalled() { return hopper_.stalled(); }
  bool done() const { return live_.empty(); }
  /// After the last thread.
  void finish() { hopper_.finish(); }
  const std::string& failure() const { return fault_; }
  unsigned number() const { return block; }
  /// "; 3 of 32 threads at line 40" for each place where threads wait in vain.
  std::string waiting() const;

 private:
  static float nan();
  static Block& of(fp_machine* machine) { return *static_cast<Block*>(machine); }
  void set_functions();
  float* arena();
  HopperModel::Engine model_engine();

  void choose_laggard();

  void report(const std::string& what);
  /// The thread that runs goes no further. Nothing unwinds its stack, so what that owns is lost.
  [[noreturn]] void stop(std::string what);

  void wait_for_all(int line);
  void meet_group(int line, unsigned lanes, act what, void* mine);
  void wait(Meeting& meeting, const char* what, int line, act todo, void* mine, unsigned lane);
  void wait_until(Meeting& meeting, std::uint64_t generation);
  void check_line(const Meeting& meeting, const char* what, int line, act todo);

  void arrive_in_cluster(int line);
  void wait_for_cluster();
  const void* remote(unsigned rank, unsigned at, unsigned bytes);

  /// What a thread waits for; it is not resumed before that is over.
  struct Wait {
    const Meeting* meeting = nullptr;
    std::uint64_t generation = 0;
    bool goes_on() const { return meeting != nullptr && meeting->generation == generation; }
  };
  static constexpr unsigned kNobody = ~0u;

  const Launch& launch_;
  ClusterShare& cluster_;
  std::span<Fiber> fibers_;
  std::mt19937_64& random_;
  std::vector<float> shared_;
  Meeting all_;
  std::map<std::pair<unsigned, unsigned>, Meeting> groups_;  ///< by size and first thread
  std::vector<Wait> waits_;
  /// By thread: the cluster's barrier at which it has arrived and not waited.
  std::vector<std::optional<std::uint64_t>> arrivals_;
  std::vector<Copies> copies_;
  std::vector<unsigned> live_;
  unsigned laggard_ = kNobody;
  std::uint64_t progress_ = 0;
  std::string fault_;
  Landing landing_;
  HopperModel hopper_;
};

}  // namespace fuseplan::emulator
