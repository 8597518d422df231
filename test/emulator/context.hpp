// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)

// Saves what a call must keep on the stack and the stack's pointer in `*from`, and goes on where
// `to` was saved. swapcontext() does the same with two system calls for the signal mask.
extern "C" void fuseplan_emulator_switch(void** from, void* to);
asm(R"(
.pushsection .text
.weak fuseplan_emulator_switch
.hidden fuseplan_emulator_switch
.type fuseplan_emulator_switch, @function
fuseplan_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size fuseplan_emulator_switch, .-fuseplan_emulator_switch
.popsection
)");

namespace fuseplan::emulator {

/// A point in a computation, to be gone back to.
class Context {
 public:
  /// The next switch here calls `main` on that stack; it must not return.
  void make(std::byte* stack, std::size_t bytes, void (*main)()) {
    const auto end = (reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{15};
    auto** top = reinterpret_cast<void**>(end) - 2;  // what `ret` leaves is aligned as after a call
    top[0] = reinterpret_cast<void*>(main);
    top[1] = nullptr;
    constexpr int kSaved = 6;
    for (int i = 0; i < kSaved; ++i) *--top = nullptr;
    pointer_ = top;
  }
  static void go(Context& from, Context& to) {
    fuseplan_emulator_switch(&from.pointer_, to.pointer_);
  }

 private:
  void* pointer_ = nullptr;
};

}  // namespace fuseplan::emulator

#else

#include <ucontext.h>

namespace fuseplan::emulator {

class Context {
 public:
  void make(std::byte* stack, std::size_t bytes, void (*main)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, main, 0);
  }
  static void go(Context& from, Context& to) { swapcontext(&from.context_, &to.context_); }

 private:
  ucontext_t context_{};
};

}  // namespace fuseplan::emulator

#endif
