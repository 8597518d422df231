// SPDX-License-Identifier: MIT
// Execute allocates nothing once its kernel, its thread's scratch memory and its prepared weights
// exist. Every allocation of this program through operator new is counted.
#include <atomic>
#include <cstdlib>
#include <new>

#include "matrix.hpp"

namespace {
std::atomic<long> allocations{0};

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, nothrow);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace fuseplan::test {
namespace {

const char* const kPlans[] = {
    "f32:1x16x4x4:nchw;activation(relu)",
    "f32:2x64x14x14:nhwc;norm(spatial,f32:1x64x1x1);activation(gelu_erf);add(f32:2x64x14x14:nhwc)",
    "f32:1x64x14x14:nchw;conv(f32:64x64x3x3,pad=1x1);bias(f32:1x64x1x1);activation(relu)",
    "f16:1x64x14x14:nhwc;conv(f16:64x64x1x1);norm(spatial,f32:1x64x1x1);activation(silu)",
    "f32:1x32x14x14:nchw;conv(f32:32x1x3x3,pad=1x1,groups=32);activation(clippedrelu)",
    "f32:1x48x35x35:nhwc;conv(f32:64x48x5x5,pad=2x2);bias(f32:1x64x1x1)",
    "f32:1x32x28x28:nhwc;conv(f32:64x32x5x7,pad=2x3);activation(relu)",
    "f32:1x192x17x17:nchw;conv(f32:192x192x1x7,pad=0x3);activation(relu)",
    "f32:1x64x9x9:nhwc;conv(f32:96x64x1x1,stride=2x2);norm(spatial,f32:1x96x1x1)",
    "bf16:1x40x15x15:nhwc;conv(bf16:64x40x3x3,pad=1x1,stride=2x2);activation(tanh)",
    "u8:1x3x33x33:nhwc;conv(i8:64x3x7x7,pad=3x3,stride=2x2);scale_shift(f32:1x64x1x1)",
};

void expect_no_allocations(const char* text, const std::string& level, bool constant) {
  const Handle handle = handle_at(level);
  driver::check(fuseplanSetThreadCount(handle.get(), 1));
  Case c(driver::parse_problem(text));
  if (constant) c.set_constant_weights();
  c.compile(handle.get());
  for (int i = 0; i < 3; ++i) c.execute(handle.get());
  const long before = allocations;
  for (int i = 0; i < 100; ++i) c.execute(handle.get());
  EXPECT_EQ(allocations - before, 0) << text << " at " << level << (constant ? ", constant" : "");
}

TEST(Allocation, CounterCounts) {
  const long before = allocations;
  delete new int(1);
  EXPECT_GT(allocations - before, 0);
}

TEST(Allocation, NoneInExecute) {
  for (const std::string& level : kLevels)
    for (const char* text : kPlans)
      for (bool constant : {false, true}) expect_no_allocations(text, level, constant);
}

}  // namespace
}  // namespace fuseplan::test
