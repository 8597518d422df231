// SPDX-License-Identifier: MIT
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace fuseplan::emulator {

/// A function with a stack of its own that can stop in the middle and go on later, on the same
/// operating system thread.
class Fiber {
 public:
  Fiber() : stack_(std::make_unique<std::byte[]>(kStack)) {}

  void start(std::function<void()> body) {
    body_ = std::move(body);
    done_ = false;
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStack;
    own_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::main), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  }
  bool done() const { return done_; }

  /// Runs until it yields or ends.
  void resume() {
    before_switch(&caller_fake_, stack_.get(), kStack);
    swapcontext(&caller_, &own_);
    after_switch(caller_fake_);
  }
  /// From inside: back to resume().
  void yield() {
    before_switch(&own_fake_, caller_stack_, caller_size_);
    swapcontext(&own_, &caller_);
    after_switch(own_fake_);
  }

 private:
  static constexpr std::size_t kStack = 128 << 10;

  static void main(unsigned high, unsigned low) {
    auto& self = *reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
    self.after_switch(nullptr);
    self.body_();
    self.done_ = true;
    self.before_switch(nullptr, self.caller_stack_, self.caller_size_);
    setcontext(&self.caller_);
  }

#if defined(__SANITIZE_ADDRESS__)
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
  static void before_switch(void**, const void*, std::size_t) {}
  void after_switch(void*) {}
#endif

  std::unique_ptr<std::byte[]> stack_;
  std::function<void()> body_;
  ucontext_t own_{}, caller_{};
  bool done_ = true;
  void *own_fake_ = nullptr, *caller_fake_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_size_ = 0;
};

}  // namespace fuseplan::emulator
