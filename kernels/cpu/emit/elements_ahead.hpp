// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/emit/finish_spec.hpp"
#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {

/// Code that asks the second-level cache for what the chain will read element by element, some
/// pixels after others: a loop calls it at each turn, so that its own loads do not wait behind many
/// lines at once. For outputs whose channels are contiguous.
class ElementsAhead {
 public:
  /// At each turn for so many pixels of so many vectors of channels. Reserves words of the stack.
  ElementsAhead(VectorCode& code, const FinishSpec& finish, int vectors, int pixels);

  /// Begins where the `elements` lie, an array of pointers.
  void begin(const Xbyak::Reg64& elements, const Xbyak::Reg64& scratch);
  void ask(const Xbyak::Reg64& scratch);

  /// Vectors, and others at each pixel: what all of a row share is near anyway.
  static bool is_asked_for(const FinishTensor& element) {
    return element.is_contiguous() && element.column != 0;
  }

 private:
  struct Asked {
    const FinishTensor& tensor;
    int index, word;  ///< of the elements; of the stack, which points to what is next
  };

  VectorCode& code_;
  int pixels_;
  std::vector<TilePlace> turn_;  ///< vectors of a turn
  std::vector<Asked> asked_;
};

}  // namespace fuseplan::cpu
