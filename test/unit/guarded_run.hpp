// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <vector>

#include "backend/code_memory.hpp"
#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::test {

enum class End { front, back };

/// Memory that touches a page without access at its front or at its back.
class Guarded {
 public:
  Guarded(std::size_t bytes, End end) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    const std::size_t inner = (bytes + page_ - 1) / page_ * page_;
    bytes_ = inner + 2 * page_;
    void* all = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(all);
    if (mprotect(base_ + page_, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = base_ + page_ + (end == End::front ? 0 : inner - bytes);
  }
  ~Guarded() { munmap(base_, bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t page_, bytes_;
  std::byte *base_, *data_;
};

/// Runs over tensors that end, or begin, where the accessible memory does. A
/// kernel that reads or writes one element too far does not survive it.
inline void run_guarded(const Problem& problem, const SplitChain& chain, const cpu::Recipe& recipe,
                        End end) {
  std::vector<std::unique_ptr<CodeMemory>> code;
  std::vector<const void*> entries;
  for (const cpu::Function& function : recipe.emit()) {
    code.push_back(std::make_unique<CodeMemory>(function.code));
    entries.push_back(code.back()->data());
  }
  const auto program = recipe.bind(entries);
  const Guarded input(problem.input().bytes(), end), output(problem.output().bytes(), end),
      weights(problem.conv()->weights.bytes(), end), packed(program->prepared_bytes(), end);
  std::vector<std::unique_ptr<Guarded>> operands;
  std::vector<const void*> channels, elements;
  const auto operand = [&](const Operand& o) {
    operands.push_back(std::make_unique<Guarded>(o.tensor.bytes(), end));
    return operands.back()->data();
  };
  for (const Operand& o : chain.channels_in) channels.push_back(operand(o));
  for (const Operand& o : chain.elements) elements.push_back(operand(o));
  const std::vector<double> scalars(chain.scalars.size(), 1.0);
  const Parallel parallel(1);
  program->prepare(weights.data(), packed.data(), parallel);
  const auto run = [&](const void* from, bool raw) {
    program->run(
        {input.data(), output.data(), from, channels, elements, scalars, {}, parallel, raw});
  };
  run(packed.data(), false);
  if (program->takes_raw_weights()) run(weights.data(), true);
}

}  // namespace fuseplan::test
