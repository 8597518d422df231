// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/conv.hpp"

#include <algorithm>
#include <vector>

#include "base/integer.hpp"
#include "kernels/cpu/portable/conv_input.hpp"
#include "kernels/cpu/portable/conv_tile.hpp"
#include "kernels/cpu/portable/conv_weights.hpp"
#include "kernels/cpu/portable/finisher.hpp"

namespace fuseplan::cpu {
namespace {

// Pixels whose sums wait for the chain together: whole tiles, and one block of the interpreter.
constexpr int kSegment = 5 * kTilePixels;
static_assert(kSegment * kTileChannels <= static_cast<int>(ChainInterpreter<float>::kBlock));

// Floats of input one cell may touch, so that it stays in a level 2 cache with its weights.
constexpr std::int64_t kCellFloats = 48 << 10;

bool reads_each_pixel_once(const ConvGeometry& g) {
  constexpr std::array<std::int64_t, 3> ones{1, 1, 1}, zeros{0, 0, 0};
  // Asymmetric padding at the high end would show in the output's lengths.
  const bool same =
      std::equal(g.input.len.begin() + 2, g.input.len.end(), g.output.len.begin() + 2);
  return g.filter == ones && g.stride == ones && g.pad_lo == zeros && same;
}

class ConvProgram final : public Program {
 public:
  ConvProgram(const Problem& problem, const SplitChain& chain)
      : finisher_(problem, chain),
        g_(geometry_of(problem)),
        input_dtype_(problem.input().dtype),
        weights_(g_, problem.conv()->weights) {
    if (reads_each_pixel_once(g_)) {
      finisher_.join_axes({&g_.input});
      g_.output = finisher_.output();
    }
    for (std::int64_t column = 0; column < g_.output.len[4]; ++column)
      column_taps_.push_back(taps_inside(g_, 2, column));
    choose_cell();
  }

  std::size_t prepared_bytes() const override { return weights_.bytes(); }
  std::string weight_format() const override { return weights_.format(); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    weights_.pack(raw, static_cast<float*>(prepared), parallel);
  }
  void run(const Arguments& arguments) const override;

 private:
  class Worker;

  void choose_cell() {
    const std::int64_t rows = g_.output.len[3], columns = g_.output.len[4];
    cell_rows_ = rows;
    cell_columns_ = columns;
    while (cell_rows_ > 1 && ConvInput::copy_floats_of(g_, cell_rows_, columns) > kCellFloats)
      cell_rows_ = ceil_div(cell_rows_, 2);
    while (cell_columns_ > kSegment &&
           ConvInput::copy_floats_of(g_, cell_rows_, cell_columns_) > kCellFloats)
      cell_columns_ = ceil_div(ceil_div(cell_columns_, 2), kSegment) * kSegment;
  }

  Finisher finisher_;
  ConvGeometry g_;
  DType input_dtype_;
  PackedWeights weights_;
  std::vector<TapSpan> column_taps_;               // of every output column
  std::int64_t cell_rows_ = 1, cell_columns_ = 1;  // output pixels of a cell
};

// One thread's way through cells and blocks of output channels.
class ConvProgram::Worker {
 public:
  Worker(const ConvProgram& program, const Finisher::Launch& launch, Scratch& scratch)
      : program_(program),
        g_(program.g_),
        input_(g_, program.input_dtype_, launch.arguments.input,
               ConvInput::copy_floats_of(g_, program.cell_rows_, program.cell_columns_), scratch),
        finisher_(program.finisher_, launch, scratch),
        weights_(static_cast<const float*>(launch.arguments.weights)),
        tap_rows_(
            scratch.take_array<TapRow>(static_cast<std::size_t>(g_.filter[0] * g_.filter[1]))),
        sums_(scratch.take_array<float>(kSegment * kTileChannels)) {}

  void run_block(const OutputCell& cell, std::int64_t block) {
    input_.select(cell, program_.weights_.first_channel(block));
    for (std::int64_t row = cell.first_row; row < cell.end_row; ++row) {
      const TileShape shape = shape_of(cell.depth, row, block);
      for (std::int64_t column = cell.first_column; column < cell.end_column; column += kSegment) {
        const std::int64_t end = std::min(column + kSegment, cell.end_column);
        sum_segment(shape, column, end);
        const BlockShape lanes{static_cast<int>(end - column),
                               program_.weights_.channel_count(block), kTileChannels};
        finisher_.finish(
            {{cell.image, program_.weights_.first_channel(block), cell.depth, row, column},
             4,
             1,
             lanes},
            sums_);
      }
    }
  }

 private:
  // The taps that an output row reads, and how its tiles step through them.
  TileShape shape_of(std::int64_t depth, std::int64_t row, std::int64_t block) {
    const PackedWeights& packed = program_.weights_;
    const TapSpan depths = taps_inside(g_, 0, depth), heights = taps_inside(g_, 1, row);
    const std::int64_t origin = row * g_.stride[1] - g_.pad_lo[1];
    int count = 0;
    for (int d = depths.first; d < depths.end; ++d)
      for (int h = heights.first; h < heights.end; ++h)
        tap_rows_[count++] = {input_.row(d, origin + h * g_.dilation[1]),
                              weights_ + block * packed.block_floats +
                                  (d * g_.filter[1] + h) * g_.filter[2] * packed.tap_floats};
    return {tap_rows_,
            count,
            packed.channels,
            input_.channel_step(),
            g_.stride[2] * input_.column_step(),
            g_.dilation[2] * input_.column_step(),
            packed.tap_floats};
  }

  // Whole tiles where all taps are inside; pixel by pixel at the borders.
  void sum_segment(const TileShape& shape, std::int64_t column, std::int64_t end) {
    const Tile* tiles = is_lanewise(g_) ? kDepthwiseTiles : kDenseTiles;
    float* sums = sums_;
    while (column < end) {
      const TapSpan taps = program_.column_taps_[static_cast<std::size_t>(column)];
      const std::int64_t most = std::min<std::int64_t>(end - column, kTilePixels);
      int pixels = 1;
      while (pixels < most &&
             program_.column_taps_[static_cast<std::size_t>(column + pixels)] == taps)
        ++pixels;
      const std::int64_t x = column * g_.stride[2] - g_.pad_lo[2] - input_.first_column();
      tiles[pixels - 1](shape, x * input_.column_step(), taps.first, taps.end, sums);
      column += pixels;
      sums += pixels * kTileChannels;
    }
  }

  const ConvProgram& program_;
  const ConvGeometry& g_;
  ConvInput input_;
  Finisher::Worker finisher_;
  const float* weights_;
  TapRow* tap_rows_;
  float* sums_;
};

void ConvProgram::run(const Arguments& arguments) const {
  Scratch scratch;
  const Finisher::Launch launch = finisher_.launch(arguments, scratch);
  const std::int64_t rows = g_.output.len[3], columns = g_.output.len[4];
  const std::int64_t row_cells = ceil_div(rows, cell_rows_);
  const std::int64_t column_cells = ceil_div(columns, cell_columns_);
  const std::int64_t cells = g_.output.len[0] * g_.output.len[2] * row_cells * column_cells;
  // Few cells: share out the channels of each. Sums do not depend on it.
  const std::int64_t wanted = std::int64_t{3} * arguments.parallel.threads();
  const std::int64_t parts = std::clamp(ceil_div(wanted, cells), std::int64_t{1}, weights_.blocks);
  const auto run_unit = [&](Worker& worker, long unit) {
    std::int64_t at = unit / parts;
    const std::int64_t column = at % column_cells * cell_columns_;
    at /= column_cells;
    const std::int64_t row = at % row_cells * cell_rows_;
    at /= row_cells;
    const OutputCell cell{at / g_.output.len[2],
                          at % g_.output.len[2],
                          row,
                          std::min(row + cell_rows_, rows),
                          column,
                          std::min(column + cell_columns_, columns)};
    const Range blocks =
        split(weights_.blocks, static_cast<int>(parts), static_cast<int>(unit % parts));
    for (long block = blocks.first; block < blocks.last; ++block) worker.run_block(cell, block);
  };
  for_each_range(arguments.parallel, cells * parts, [&](Range units) {
    Scratch local;
    Worker worker(*this, launch, local);
    for (long unit = units.first; unit < units.last; ++unit) run_unit(worker, unit);
  });
}

}  // namespace

std::unique_ptr<Program> portable_conv(const Problem& problem, const SplitChain& chain) {
  return std::make_unique<ConvProgram>(problem, chain);
}

}  // namespace fuseplan::cpu
