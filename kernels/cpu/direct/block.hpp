// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/direct/plan.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {

/// The output pixels of one image, group and plane that are computed while their input is near.
struct Block {
  std::int64_t image = 0, group = 0, plane = 0;
  std::int64_t row = 0, rows = 0;
  std::size_t strip = 0, strips = 0;
  std::int64_t column = 0, columns = 0;
  bool operator==(const Block&) const = default;
};

/// Where a kernel finds the input of output (plane, row, column) under tap (plane, row, column), as
/// an address: tiles at the border start on padding, outside of any array.
class InputMap {
 public:
  InputMap() = default;
  /// Reads the plan's input tensor where it lies.
  static InputMap of_tensor(const DirectPlan& plan, const void* input, const Block& block);
  /// Copies what `block` needs to `scratch` (plan.stage.bytes()) and reads it there.
  static InputMap of_stage(const DirectPlan& plan, const Moves& moves, const void* input,
                           const Block& block, std::byte* scratch);

  /// `channel`: in the plan's steps. In pairs it is not floats that lie there.
  const float* at(const std::array<std::int64_t, 3>& output, const std::array<std::int64_t, 3>& tap,
                  std::int64_t channel) const {
    std::int64_t address = origin_ + channel * steps_->channel;
    for (std::size_t axis = 0; axis < 3; ++axis)
      address += output[axis] * steps_->output[axis] + tap[axis] * steps_->tap[axis];
    return reinterpret_cast<const float*>(address);
  }

 private:
  InputMap(const InputSteps& steps, std::int64_t origin) : steps_(&steps), origin_(origin) {}

  const InputSteps* steps_ = nullptr;
  std::int64_t origin_ = 0;  ///< address of output (0, 0, 0) under tap (0, 0, 0)
};

}  // namespace fuseplan::cpu
