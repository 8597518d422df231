// SPDX-License-Identifier: MIT
#include "state.hpp"

#include "fake_streams.hpp"

namespace fuseplan::emulator {

State& state() {
  static State& state = *new State;
  return state;
}

void reset() {
  queues().settle();
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.counters = {};
  s.countdown = 0;
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
  state().keeps_failing = false;
}

void fail_from(long number, int code) {
  fail_call(number, code);
  const std::lock_guard lock(state().mutex);
  state().keeps_failing = true;
}

bool fails_now() {
  State& s = state();
  if (s.countdown == 0 || --s.countdown > 0) return false;
  if (s.keeps_failing) s.countdown = 1;
  return true;
}

void set_seed(std::uint64_t seed) {
  queues().set_seed(seed);
  const std::lock_guard lock(state().mutex);
  state().seed = seed;
}

void set_progress(Progress progress) { queues().set_progress(progress); }

void know_memory(const void* first, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  if (bytes == 0) {
    state().memory.erase(address);
  } else {
    state().memory[address] = bytes;
  }
}

void* new_stream(bool blocking) {
  cuda::Stream stream = nullptr;
  (void)queues().create(&stream, primary_context(), blocking ? 0 : 1);
  return stream;
}

void* foreign_stream() {
  cuda::Stream stream = nullptr;
  (void)queues().create(&stream, other_context(), 0);
  return stream;
}

void hold(void* stream, bool on) { queues().hold(static_cast<cuda::Stream>(stream), on); }
std::size_t pending(void* stream) { return queues().pending(static_cast<cuda::Stream>(stream)); }

void mutate(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state().mutex);
  state().mutation.emplace(from, to);
}

extern "C" FUSEPLAN_EMULATOR_API const Control* fuseplan_emulator_control() {
  static constexpr Control kControl = {
#define FUSEPLAN_EMULATOR(result, name, parameters, arguments) .name = name,
#include "control_functions.def"
#undef FUSEPLAN_EMULATOR
  };
  return &kControl;
}

}  // namespace fuseplan::emulator
