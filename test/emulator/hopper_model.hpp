// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "copies.hpp"
#include "engine.hpp"
#include "fp_emulator_hopper.h"

namespace fuseplan::emulator {

struct FakeTensorMap;

/// What sm_90a has beyond sm_80, for one block, after the PTX ISA: what is asynchronous happens at
/// once, as late as waits allow, or at random, as `landing` says. The engine runs the threads.
class HopperModel {
 public:
  struct Engine {
    fp_machine* machine;
    std::function<void()> yield;                     ///< of the thread that runs
    std::function<void(const std::string&)> report;  ///< of a fault
    std::mt19937_64& random;
    unsigned threads, blocks;
    std::size_t shared_bytes;
    unsigned char* shared;  ///< at a multiple of 1024
  };
  HopperModel(const Engine& engine, Landing landing);

  fp_hopper* functions() { return &functions_; }
  /// Between turns of the threads. True if something happened.
  bool tick();
  /// When no thread can go on: makes something happen that was held back. False: a deadlock.
  bool stalled();
  /// After the last thread: what nobody waited for.
  void finish();
  /// Counts what threads that wait may be waiting for.
  std::uint64_t events() const { return events_; }

 private:
  struct Bar {
    unsigned count = 0, pending = 0;
    long bytes = 0;  ///< expected and not here yet
    std::uint64_t phase = 0;
    bool published = false;
    unsigned owner = 0;
  };
  struct Named {
    unsigned arrived = 0, threads = 0;
    int line = 0;
    std::uint64_t generation = 0;
  };
  struct Store {
    const void *map, *from;
    int x, y;
    bool done = false;
  };
  struct Product {
    const unsigned char *a, *b;
    unsigned columns, more;
    int type;
    std::vector<float*> d;  ///< by lane
  };
  using Products = std::vector<Product>;
  struct Warp {
    Products open;
    std::vector<Products> groups;
    std::size_t issued = 0;
    unsigned registers = 0;
    std::vector<std::size_t> unfenced;  ///< 16-byte pieces of shared memory
  };

  void set_functions();
  void set_product_functions();
  static HopperModel& of(fp_machine* machine);
  /// The thread that runs goes no further. Nothing unwinds its stack, so what that owns is lost.
  [[noreturn]] void stop(std::string what);
  void fault(std::string what);
  void check_shared(const void* at, std::size_t bytes, std::size_t alignment, const char* what);
  Warp& warp() { return warps_[machine().thread / 32]; }
  fp_machine& machine() { return *engine_.machine; }

  // Barriers.
  void named_barrier(int line, unsigned id, unsigned threads);
  Bar& bar_at(unsigned long long* at);
  void arrive(unsigned long long* at, unsigned bytes);
  void wait(unsigned long long* at, unsigned parity);
  void end_phase(Bar& bar);
  void change_registers(unsigned count, bool more);

  // The copy engine.
  void copy_in(const fp_hopper::load& load);
  void land(const fp_hopper::load& load);
  void land_tile(const FakeTensorMap& map, const fp_hopper::load& load);
  void land_im2col(const FakeTensorMap& map, const fp_hopper::load& load);
  void land_row(const FakeTensorMap& map, const int (&at)[4], unsigned channels, std::size_t to);
  void copy_out(const void* map, const void* from, int x, int y);
  void write(Store& store);
  void wait_for_copies(unsigned left);
  const FakeTensorMap* map_at(const void* map);
  bool known(std::uint64_t address, std::size_t bytes);
  std::size_t swizzled(std::size_t offset) const { return offset ^ (offset >> 7 & 7) << 4; }
  std::size_t offset_of(const void* at) const;

  // Tensor cores.
  void store_piece(void* to, const void* words);
  void store_matrices(void* const* given);
  void fence();
  void issue(void* const* given);
  void run(const Product& product, unsigned quarter);
  void wait_for_products(unsigned left);

  Engine engine_;
  Landing landing_;
  struct Functions : fp_hopper {
    HopperModel* model;
  };
  Functions functions_{};
  std::map<const void*, Bar> bars_;
  std::map<unsigned, Named> named_;
  std::vector<fp_hopper::load> loads_;                          ///< that have not landed
  std::map<unsigned, std::vector<std::vector<Store>>> stores_;  ///< by thread, in groups
  std::map<unsigned, std::vector<Store>> open_stores_;
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> unfenced_;  ///< lanes that wrote a piece and have not fenced
  unsigned free_registers_ = 0;
  std::uint64_t events_ = 0;
  bool in_thread_ = true;
};

}  // namespace fuseplan::emulator
