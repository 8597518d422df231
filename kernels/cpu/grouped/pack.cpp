// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/portable/block_io.hpp"

namespace fuseplan::cpu {
namespace {

struct Header {
  std::int64_t input_offset;
  std::uint64_t wanted;  ///< channels in lanes: input lanes that the block's groups have
};

class Packer {
 public:
  Packer(const GroupedShape& shape, const void* raw) : shape_(shape), g_(shape.g), raw_(raw) {}

  void pack(std::int64_t block, std::byte* to) const {
    const std::int64_t first = block * shape_.step;
    const auto outputs =
        static_cast<int>(std::min<std::int64_t>(shape_.step, g_.output.len[1] - first));
    const Header header{shape_.first_input(block) * shape_.input_bytes(1),
                        shape_.lanes_are_channels ? wanted(first, outputs) : 0};
    std::memcpy(to, &header, sizeof header);
    to += GroupedShape::kHeaderBytes;
    for (std::int64_t depth = 0; depth < g_.filter[0]; ++depth)
      for (std::int64_t input = 0; input < g_.group_inputs; ++input, to += shape_.plane_bytes()) {
        if (shape_.permuted) permutation(first, outputs, input, to);
        taps(first, outputs, depth, input, to + shape_.permutation_bytes());
      }
  }

 private:
  std::uint64_t wanted(std::int64_t first, int outputs) const {
    const std::int64_t groups =
        (first + outputs - 1) / g_.group_outputs - first / g_.group_outputs + 1;
    return (std::uint64_t{1} << groups * g_.group_inputs) - 1;
  }

  /// Where in the loaded vector each lane finds input channel `input` of its group.
  void permutation(std::int64_t first, int outputs, std::int64_t input, std::byte* to) const {
    auto* lane_of = reinterpret_cast<std::int32_t*>(to);
    const std::int64_t first_group = first / g_.group_outputs;
    for (int lane = 0; lane < outputs; ++lane) {
      const std::int64_t group = (first + lane) / g_.group_outputs - first_group;
      lane_of[lane] = static_cast<std::int32_t>(group * g_.group_inputs + input);
    }
  }

  void taps(std::int64_t first, int outputs, std::int64_t depth, std::int64_t input,
            std::byte* to) const {
    const auto& s = g_.weight_stride;
    const auto columns = static_cast<int>(g_.filter[2]), pitch = shape_.tap_bytes() / 4;
    for (std::int64_t row = 0; row < g_.filter[1]; ++row) {
      const std::int64_t offset = first * s[0] + input * s[1] + depth * s[2] + row * s[3];
      const auto* from = static_cast<const std::byte*>(raw_) +
                         offset * static_cast<std::int64_t>(size_of(shape_.weights.dtype));
      load_block(shape_.weights.dtype, from, {s[4], s[0]}, {columns, outputs, pitch},
                 reinterpret_cast<float*>(to) + row * columns * pitch);
    }
  }

  const GroupedShape& shape_;
  const ConvGeometry& g_;
  const void* raw_;
};

}  // namespace

std::size_t packed_group_weight_bytes(const GroupedShape& shape) {
  return static_cast<std::size_t>(shape.blocks() * shape.block_bytes());
}

std::string packed_group_weight_format(const GroupedShape& shape) {
  const ConvGeometry& g = shape.g;
  return fmt::format("grouped {} {}x{} {} {}", to_text(shape.weights), shape.step,
                     shape.lanes_are_channels ? shape.lanes() : 1, g.groups, shape.input_bytes(1));
}

void pack_group_weights(const GroupedShape& shape, const void* raw, void* packed) {
  std::memset(packed, 0, packed_group_weight_bytes(shape));
  const Packer packer(shape, raw);
  for (std::int64_t block = 0; block < shape.blocks(); ++block)
    packer.pack(block, static_cast<std::byte*>(packed) + block * shape.block_bytes());
}

}  // namespace fuseplan::cpu
