// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/elements_ahead.hpp"

#include <cstdint>

namespace fuseplan::cpu {

using Xbyak::util::ptr;

ElementsAhead::ElementsAhead(VectorCode& code, const FinishSpec& finish, int vectors, int pixels)
    : code_(code), pixels_(pixels) {
  if (pixels == 0) return;
  for (int pixel = 0; pixel < pixels; ++pixel)
    for (int v = 0; v < vectors; ++v) turn_.push_back({v * code.lanes(), 0, pixel});
  for (int i = 0; i < std::ssize(finish.elements); ++i) {
    const FinishTensor& element = finish.elements[static_cast<std::size_t>(i)];
    if (is_asked_for(element)) asked_.push_back({element, i, code.reserve_words(1)});
  }
}

void ElementsAhead::begin(const Xbyak::Reg64& elements, const Xbyak::Reg64& scratch) {
  for (const Asked& asked : asked_) {
    code_.mov(scratch, ptr[elements + 8 * asked.index]);
    code_.mov(code_.stack_word(asked.word), scratch);
  }
}

void ElementsAhead::ask(const Xbyak::Reg64& scratch) {
  for (const auto& [tensor, index, word] : asked_) {
    code_.mov(scratch, code_.stack_word(word));
    for (const std::int64_t offset : tensor.line_offsets(turn_))
      code_.prefetcht1(ptr[scratch + static_cast<int>(offset)]);
    code_.add(code_.stack_word(word), static_cast<int>(tensor.offset({0, 0, pixels_})));
  }
}

}  // namespace fuseplan::cpu
