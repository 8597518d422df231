// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "base/sanitizers.hpp"
#include "context.hpp"

#ifdef FUSEPLAN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace fuseplan::emulator {

/// A function with a stack of its own that can stop in the middle and go on later, on the same
/// operating system thread.
class Fiber {
 public:
  Fiber() : stack_(std::make_unique_for_overwrite<std::byte[]>(kStack)) {
    // Tops at equal distances would share a few sets of the CPU's cache.
    static thread_local std::size_t count = 0;
    bytes_ = kStack - ++count % kTops * kApart;
  }

  void start(std::function<void()> body) {
    body_ = std::move(body);
    done_ = false;
    forget_frames();
    own_.make(stack_.get(), bytes_, &Fiber::main);
  }
  bool done() const { return done_; }

  /// Runs until it yields or ends.
  void resume() {
    running_ = this;
    before_switch(&caller_fake_, stack_.get(), bytes_);
    Context::go(caller_, own_);
    after_switch(caller_fake_);
  }
  /// From inside: back to resume().
  void yield() {
    before_switch(&own_fake_, caller_stack_, caller_size_);
    Context::go(own_, caller_);
    after_switch(own_fake_);
  }

 private:
  static constexpr std::size_t kStack = 128 << 10, kTops = 32, kApart = 320;

  static void main() {
    Fiber& self = *running_;
    self.after_switch(nullptr);
    self.body_();
    self.done_ = true;
    self.before_switch(nullptr, self.caller_stack_, self.caller_size_);
    Context::go(self.own_, self.caller_);
  }

#ifdef FUSEPLAN_ADDRESS_SANITIZER
  void forget_frames() { __asan_unpoison_memory_region(stack_.get(), kStack); }
  static void before_switch(void** fake, const void* stack, std::size_t size) {
    __sanitizer_start_switch_fiber(fake, stack, size);
  }
  void after_switch(void* fake) {
    const void* stack = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake, &stack, &size);
    if (stack != stack_.get()) caller_stack_ = stack, caller_size_ = size;
  }
#else
  void forget_frames() {}
  static void before_switch(void**, const void*, std::size_t) {}
  void after_switch(void*) {}
#endif

  static inline thread_local Fiber* running_ = nullptr;

  std::unique_ptr<std::byte[]> stack_;
  std::size_t bytes_ = 0;
  std::function<void()> body_;
  Context own_, caller_;
  bool done_ = true;
  void *own_fake_ = nullptr, *caller_fake_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_size_ = 0;
};

}  // namespace fuseplan::emulator
