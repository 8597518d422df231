// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/byte_conv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/portable/byte_dots.hpp"
#include "kernels/cpu/portable/finisher.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kChannels = 8;  // of a block of output channels: two calls of dot4
constexpr int kSegment = 32;  // pixels whose sums wait for the chain together
static_assert(kSegment * kChannels <= static_cast<int>(ChainInterpreter<float>::kBlock));

// Elements of input one cell may copy, so that they stay in a level 2 cache with their weights.
constexpr std::int64_t kCellElements = 96 << 10;

/// Weights as 16-bit integers, [block of output channels][channel][kd][kh][kw][input channel];
/// blocks never reach over a group, missing channels are zero.
struct PackedBytes {
  PackedBytes(const ConvGeometry& g, const Tensor& raw)
      : filter(g.filter),
        raw_stride(view_of(raw).stride),
        inputs(g.group_inputs),
        outputs(g.group_outputs),
        blocks_per_group(ceil_div(g.group_outputs, kChannels)),
        blocks(blocks_per_group * g.groups),
        row(filter[2] * inputs),
        channel(filter[0] * filter[1] * row),
        text(to_text(raw)) {}

  std::int64_t first_channel(std::int64_t block) const {
    return block / blocks_per_group * outputs + block % blocks_per_group * kChannels;
  }
  int channel_count(std::int64_t block) const {
    return static_cast<int>(
        std::min<std::int64_t>(kChannels, outputs - block % blocks_per_group * kChannels));
  }
  std::size_t bytes() const {
    return static_cast<std::size_t>(blocks * kChannels * channel) * sizeof(std::int16_t);
  }

  void pack(const std::int8_t* raw, std::int16_t* packed, const Parallel& parallel) const {
    const auto& s = raw_stride;
    for_each_unit(parallel, blocks, [&](std::int64_t block) {
      std::int16_t* to = packed + block * kChannels * channel;
      std::fill_n(to, kChannels * channel, std::int16_t{0});
      for (int k = 0; k < channel_count(block); ++k)
        for (std::int64_t d = 0; d < filter[0]; ++d)
          for (std::int64_t h = 0; h < filter[1]; ++h)
            for (std::int64_t w = 0; w < filter[2]; ++w) {
              const std::int8_t* from =
                  raw + (first_channel(block) + k) * s[0] + d * s[2] + h * s[3] + w * s[4];
              std::int16_t* tap = to + k * channel + ((d * filter[1] + h) * filter[2] + w) * inputs;
              for (std::int64_t c = 0; c < inputs; ++c) tap[c] = from[c * s[1]];
            }
    });
  }

  std::array<std::int64_t, 3> filter;
  std::array<std::int64_t, 5> raw_stride;
  std::int64_t inputs, outputs;  // of a group
  std::int64_t blocks_per_group, blocks;
  std::int64_t row, channel;  // elements of a row of taps, and of an output channel
  std::string text;
};

/// Output rows and columns of one image, group and depth, whose input is copied together.
struct Cell {
  std::int64_t image, group, depth, row, rows, column, columns;
};

class ByteConvProgram final : public Program {
 public:
  ByteConvProgram(const Problem& problem, const SplitChain& chain)
      : finisher_(problem, chain),
        g_(geometry_of(problem)),
        is_signed_(problem.input().dtype == DType::i8),
        weights_(g_, problem.conv()->weights),
        rows_(g_.output.len[3]),
        columns_(g_.output.len[4]) {
    while (rows_ > 1 && copied(rows_, columns_) > kCellElements) rows_ = ceil_div(rows_, 2);
    while (columns_ > kSegment && copied(rows_, columns_) > kCellElements)
      columns_ = ceil_div(ceil_div(columns_, 2), kSegment) * kSegment;
  }

  std::size_t prepared_bytes() const override { return weights_.bytes(); }
  std::string weight_format() const override {
    return fmt::format("portable bytes {} by {}", weights_.text, g_.groups);
  }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    weights_.pack(static_cast<const std::int8_t*>(raw), static_cast<std::int16_t*>(prepared),
                  parallel);
  }
  void run(const Arguments& arguments) const override;

 private:
  class Worker;

  std::int64_t reach(std::size_t axis, std::int64_t outputs) const {
    return (outputs - 1) * g_.stride[axis] + (g_.filter[axis] - 1) * g_.dilation[axis] + 1;
  }
  std::int64_t copied(std::int64_t rows, std::int64_t columns) const {
    return g_.filter[0] * reach(1, rows) * reach(2, columns) * g_.group_inputs;
  }
  Cell cell_of(std::int64_t index) const;

  Finisher finisher_;
  ConvGeometry g_;
  bool is_signed_;
  PackedBytes weights_;
  std::int64_t rows_, columns_;  // output pixels of a cell
};

// One thread's way through cells and blocks of output channels.
class ByteConvProgram::Worker {
 public:
  Worker(const ByteConvProgram& program, const Finisher::Launch& launch, Scratch& scratch)
      : program_(program),
        g_(program.g_),
        finisher_(program.finisher_, launch, scratch),
        input_(launch.arguments.input),
        weights_(static_cast<const std::int16_t*>(launch.arguments.weights)),
        copy_(scratch.take_array<std::int16_t>(
            static_cast<std::size_t>(program.copied(program.rows_, program.columns_)))),
        sums_(scratch.take_array<float>(kSegment * kChannels)) {}

  void run_cell(const Cell& cell, Range blocks) {
    copy_input(cell);
    for (long block = blocks.first; block < blocks.last; ++block)
      for (std::int64_t row = cell.row; row < cell.row + cell.rows; ++row)
        for (std::int64_t column = 0; column < cell.columns; column += kSegment)
          run_segment(cell, cell.group * program_.weights_.blocks_per_group + block, row, column);
  }

 private:
  /// [depth tap][row][column][input channel], with zeros where the image has ended.
  void copy_input(const Cell& cell) {
    columns_ = program_.reach(2, cell.columns);
    const std::int64_t rows = program_.reach(1, cell.rows);
    row_step_ = columns_ * g_.group_inputs;
    plane_step_ = rows * row_step_;
    const std::int64_t row = cell.row * g_.stride[1] - g_.pad_lo[1];
    for (std::int64_t d = 0; d < g_.filter[0]; ++d) {
      const std::int64_t depth = cell.depth * g_.stride[0] - g_.pad_lo[0] + d * g_.dilation[0];
      for (std::int64_t h = 0; h < rows; ++h)
        copy_row(cell, depth, row + h, copy_ + d * plane_step_ + h * row_step_);
    }
  }

  void copy_row(const Cell& cell, std::int64_t depth, std::int64_t row, std::int16_t* to) const {
    const auto& [len, stride] = g_.input;
    std::fill_n(to, row_step_, std::int16_t{0});
    if (depth < 0 || depth >= len[2] || row < 0 || row >= len[3]) return;
    const std::int64_t first = cell.column * g_.stride[2] - g_.pad_lo[2];
    const std::int64_t begin = std::max<std::int64_t>(0, -first);
    const std::int64_t end = std::min(columns_, len[4] - first);
    const std::int64_t offset = cell.image * stride[0] + cell.group * g_.group_inputs * stride[1] +
                                depth * stride[2] + row * stride[3] + (first + begin) * stride[4];
    const ByteBlock block{std::max<std::int64_t>(0, end - begin), g_.group_inputs, stride[4],
                          stride[1]};
    widen_bytes(program_.is_signed_, static_cast<const std::uint8_t*>(input_) + offset, block,
                to + begin * g_.group_inputs);
  }

  void run_segment(const Cell& cell, std::int64_t block, std::int64_t row, std::int64_t column) {
    const PackedBytes& packed = program_.weights_;
    const int pixels = static_cast<int>(std::min<std::int64_t>(kSegment, cell.columns - column));
    for (int p = 0; p < pixels; ++p)
      sum_pixel(packed, block, (row - cell.row) * g_.stride[1], (column + p) * g_.stride[2],
                sums_ + p * kChannels);
    const BlockShape lanes{pixels, packed.channel_count(block), kChannels};
    finisher_.finish(
        {{cell.image, packed.first_channel(block), cell.depth, row, cell.column + column},
         4,
         1,
         lanes},
        sums_);
  }

  void sum_pixel(const PackedBytes& packed, std::int64_t block, std::int64_t row,
                 std::int64_t column, float* sums) const {
    std::int32_t totals[kChannels] = {};
    const std::int16_t* weights = weights_ + block * kChannels * packed.channel;
    const std::int16_t* x = copy_ + row * row_step_ + column * packed.inputs;
    // A row of taps without gaps is one run.
    const bool dense = g_.dilation[2] == 1;
    const std::int64_t runs = dense ? 1 : g_.filter[2], length = packed.row / runs;
    for (std::int64_t d = 0; d < g_.filter[0]; ++d)
      for (std::int64_t h = 0; h < g_.filter[1]; ++h)
        for (std::int64_t t = 0; t < runs; ++t) {
          const std::int16_t* from = x + d * plane_step_ + h * g_.dilation[1] * row_step_ +
                                     t * g_.dilation[2] * packed.inputs;
          for (int k = 0; k < kChannels; k += 4)
            dot4(from, weights + k * packed.channel, packed.channel, length, totals + k);
          weights += length;
        }
    for (int k = 0; k < kChannels; ++k) sums[k] = static_cast<float>(totals[k]);
  }

  const ByteConvProgram& program_;
  const ConvGeometry& g_;
  Finisher::Worker finisher_;
  const void* input_;
  const std::int16_t* weights_;
  std::int16_t* copy_;
  float* sums_;
  std::int64_t columns_ = 0, row_step_ = 0, plane_step_ = 0;  // of the copy
};

Cell ByteConvProgram::cell_of(std::int64_t index) const {
  const auto take = [&](std::int64_t count) {
    const std::int64_t at = index % count;
    index /= count;
    return at;
  };
  const std::int64_t rows = g_.output.len[3], columns = g_.output.len[4];
  Cell cell;
  cell.column = take(ceil_div(columns, columns_)) * columns_;
  cell.row = take(ceil_div(rows, rows_)) * rows_;
  cell.depth = take(g_.output.len[2]);
  cell.group = take(g_.groups);
  cell.image = index;
  cell.rows = std::min(rows_, rows - cell.row);
  cell.columns = std::min(columns_, columns - cell.column);
  return cell;
}

void ByteConvProgram::run(const Arguments& arguments) const {
  Scratch scratch;
  const Finisher::Launch launch = finisher_.launch(arguments, scratch);
  const std::int64_t cells = g_.output.len[0] * g_.groups * g_.output.len[2] *
                             ceil_div(g_.output.len[3], rows_) *
                             ceil_div(g_.output.len[4], columns_);
  // Few cells: share out the channels of each. Sums do not depend on it.
  const std::int64_t wanted = std::int64_t{3} * arguments.parallel.threads();
  const std::int64_t parts =
      std::clamp(ceil_div(wanted, cells), std::int64_t{1}, weights_.blocks_per_group);
  for_each_range(arguments.parallel, cells * parts, [&](Range units) {
    Scratch local;
    Worker worker(*this, launch, local);
    for (long unit = units.first; unit < units.last; ++unit)
      worker.run_cell(cell_of(unit / parts),
                      split(weights_.blocks_per_group, static_cast<int>(parts),
                            static_cast<int>(unit % parts)));
  });
}

}  // namespace

std::unique_ptr<Program> portable_byte_conv(const Problem& problem, const SplitChain& chain) {
  return std::make_unique<ByteConvProgram>(problem, chain);
}

}  // namespace fuseplan::cpu
