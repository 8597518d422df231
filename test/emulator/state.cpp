// SPDX-License-Identifier: MIT
#include "state.hpp"

namespace fuseplan::emulator {

State& state() {
  static State& state = *new State;
  return state;
}

void reset() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.counters = {};
  s.countdown = 0;
  s.capturing = false;
  s.mutation.reset();
}

Counters counters() {
  const std::lock_guard lock(state().mutex);
  return state().counters;
}

void fail_call(long number, int code) {
  const std::lock_guard lock(state().mutex);
  state().countdown = number;
  state().failure = code;
}

void set_capturing(bool on) {
  const std::lock_guard lock(state().mutex);
  state().capturing = on;
}

void set_seed(std::uint64_t seed) {
  const std::lock_guard lock(state().mutex);
  state().seed = seed;
}

void know_memory(const void* first, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  if (bytes == 0) {
    state().memory.erase(address);
  } else {
    state().memory[address] = bytes;
  }
}

void mutate(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state().mutex);
  state().mutation.emplace(from, to);
}

}  // namespace fuseplan::emulator
