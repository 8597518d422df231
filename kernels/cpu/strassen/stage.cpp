// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/stage.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {

StrassenStage::StrassenStage(const StrassenPlan& plan, std::int64_t block, Scratch& scratch)
    : plan_(plan),
      shape_(plan.shape),
      bytes_(static_cast<std::int64_t>(size_of(shape_.input))),
      moves_(moves_for(shape_.input, shape_.isa)),
      scheme_(shape_.isa),
      piece_step_(plan.staged_products() * plan.most_stage_product()) {
  if (plan.staged_products() == 0) return;
  const auto take = [&](std::int64_t floats) {
    return scratch.take_array<float>(static_cast<std::size_t>(floats));
  };
  factors_ = take(block * piece_step_);
  const std::int64_t pixels = std::min(shape_.pixels(), 2 * block * plan.pixels.most_width());
  const std::int64_t line = plan.channels_inner ? plan.section : pixels;
  for (float*& taken : lines_) taken = take(line);
  zeros_ = take(line);
  std::fill_n(zeros_, line, 0.0F);
}

void StrassenStage::run(const std::byte* image, std::int64_t first, std::int64_t last,
                        std::int64_t section) {
  image_ = image;
  first_ = first;
  channel_ = section * plan_.section;
  depth_ = plan_.depth(section);
  if (plan_.staged_products() == 0) return;
  if (!plan_.channels_inner) return stage_lines(last);
  for (std::int64_t piece = first; piece < last; ++piece) stage_rows(piece);
}

void StrassenStage::combine(const Quarters& x, const LinePieces& pieces, float* to) const {
  if (plan_.input == PairTileSpec::Input::scalars)
    scheme_.combine_input_sums(x, pieces, to);
  else
    scheme_.combine_inputs(x, pieces, to);
}

/// Of channel 0, for an output pixel.
std::int64_t StrassenStage::element_of(std::int64_t pixel) const {
  const ConvGeometry& conv = shape_.conv;
  if (shape_.flat) return pixel * conv.input.stride[4];
  Digits digits(pixel);
  std::int64_t offset = 0;
  for (std::size_t axis = 3; axis-- > 0;)
    offset +=
        digits.take(shape_.output_lens[axis]) * conv.stride[axis] * conv.input.stride[axis + 2];
  return offset;
}

/// Those of the section, of the first half or the second.
Operand StrassenStage::channels_of(std::int64_t pixel, int half, float* widened) const {
  if (pixel >= shape_.pixels()) return {zeros_, depth_};
  const std::int64_t channel = channel_ + half * plan_.half;
  const std::int64_t count = std::min(depth_, shape_.inputs() - channel);
  const std::byte* from = image_ + (element_of(pixel) + channel) * bytes_;
  if (shape_.input == DType::f32) return {reinterpret_cast<const float*>(from), count};
  moves_.widen(from, 1, widened, count);
  return {widened, count};
}

void StrassenStage::stage_rows(std::int64_t piece) {
  const std::int64_t first = plan_.pixels.first(piece), count = plan_.pixels.width(piece);
  float* to = at(piece);
  for (std::int64_t i = 0; i < count; ++i, to += plan_.stage_row) {
    const std::int64_t pixel = first + i, other = pixel + count;
    combine({channels_of(pixel, 0, lines_[0]), channels_of(pixel, 1, lines_[1]),
             channels_of(other, 0, lines_[2]), channels_of(other, 1, lines_[3])},
            {.width = depth_, .step = plan_.stage_product(piece)}, to);
  }
}

std::int64_t StrassenStage::column_step() const {
  return shape_.conv.stride[2] * shape_.conv.input.stride[4];
}

/// body(first, count) for those of the pixels [first, end) that are in one row.
template <typename F>
void StrassenStage::for_each_row(std::int64_t first, std::int64_t end, const F& body) const {
  const std::int64_t row = shape_.flat ? end : shape_.output_lens[2];
  for (std::int64_t pixel = first; pixel < end;) {
    const std::int64_t count = std::min(row - pixel % row, end - pixel);
    body(pixel, count);
    pixel += count;
  }
}

/// Pixels [first, end) of a channel, where they lie or gathered; none of one that does not exist.
Operand StrassenStage::line_of(std::int64_t channel, std::int64_t first, std::int64_t end,
                               float* line) const {
  if (channel >= shape_.inputs()) return {zeros_, 0};
  const std::byte* plane = image_ + channel * shape_.conv.input.stride[1] * bytes_;
  if (shape_.reads_in_place() && column_step() == 1)
    return {reinterpret_cast<const float*>(plane) + first, end - first};
  for_each_row(first, end, [&](std::int64_t pixel, std::int64_t count) {
    moves_.widen(plane + element_of(pixel) * bytes_, column_step(), line + pixel - first, count);
  });
  return {line, end - first};
}

void StrassenStage::ask_for_line(std::int64_t channel, std::int64_t first, std::int64_t end) const {
  if (channel >= shape_.inputs()) return;
  const std::int64_t plane_step = shape_.conv.input.stride[1];
  const std::byte* plane = image_ + channel * plane_step * bytes_;
  const RowsAhead ahead(column_step(), plane_step, bytes_);
  for_each_row(first, end, [&](std::int64_t pixel, std::int64_t count) {
    ahead.ask(plane + element_of(pixel) * bytes_, count);
  });
}

void StrassenStage::stage_lines(std::int64_t last) {
  const Halves& pixels = plan_.pixels;
  const std::int64_t begin = pixels.first(first_);
  // Lines of all pixels of both halves, or of either.
  const bool apart = !plan_.config.by_channel;
  const std::int64_t end = pixels.first(last - 1) + (apart ? 0 : pixels.width(last - 1)) +
                           pixels.count(last - 1, apart ? 0 : 1);
  const std::int64_t second = pixels.distance(first_);
  for (std::int64_t channel = channel_; channel < channel_ + depth_; ++channel) {
    Operand x[4];
    for (int i = 0; i < 2; ++i) {
      const std::int64_t at = channel + i * plan_.half;
      ask_for_line(at + kPlanesAhead, begin, end);
      if (apart) ask_for_line(at + kPlanesAhead, begin + second, end + second);
      x[i] = line_of(at, begin, end, lines_[i]);
      x[i + 2] = apart ? line_of(at, begin + second, end + second, lines_[i + 2]) : x[i];
    }
    for (std::int64_t piece = first_; piece < last;) {
      const std::int64_t alike = std::min(last, pixels.kind_end(pixels.kind(piece)));
      const std::int64_t from = pixels.first(piece) - begin, width = pixels.width(piece);
      const std::int64_t behind = from + (apart ? 0 : width);
      const LinePieces pieces{.pieces = alike - piece,
                              .width = width,
                              .pitch = apart ? width : 2 * width,
                              .piece_step = piece_step_,
                              .step = plan_.stage_product(piece)};
      combine({x[0].from(from), x[1].from(from), x[2].from(behind), x[3].from(behind)}, pieces,
              at(piece) + (channel - channel_) * round_up(width, shape_.lanes()));
      piece = alike;
    }
  }
}

}  // namespace fuseplan::cpu
