// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/conv1x1/config.hpp"
#include "kernels/cpu/conv1x1/cut.hpp"
#include "kernels/cpu/conv1x1/product_tile.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"

namespace fuseplan::cpu {

/// Everything about one 1x1 convolution that follows from problem, chain and configuration: what to
/// emit and how to walk it.
struct Conv1x1Plan {
  Conv1x1Config config;
  Conv1x1Shape shape;
  Cut channels, pixels;  ///< of a window's output, one along lanes and one along rows

  bool staged = false;
  bool stages_channels_inner = false;
  /// Staged planes: each piece of pixels has its channels one after another.
  bool panels = false;
  std::int64_t stage_pixel = 0, stage_channel = 0;  ///< strides in scratch, in floats
  std::int64_t block = 0;                           ///< pieces of pixels in a block

  /// A DrainedOutput takes what is stored, region by region: units are whole images.
  bool drains = false;
  /// Of the output, a piece of channels in all pixels of an image; no piece has more than the
  /// first.
  std::int64_t region_bytes(std::int64_t piece) const;
  /// The chain is applied in the kernels; otherwise they leave sums in scratch, for a rows kernel.
  bool finishes = false;
  /// Sums are of channels in vectors, but the output's vectors are of pixels.
  bool turned = false;
  std::int64_t strip = 0;  ///< pieces of pixels whose sums are in scratch at once

  std::vector<ProductSpec> specs;
  int kernel[Cut::kKinds][Cut::kKinds] = {};  ///< index of specs by kind of channels, of pixels

  /// Pixels of several images are one row of them here: of a window.
  std::int64_t windows() const { return shape.images() / config.images; }
  /// body(image of the window, its pixels' first and end, how many of the range lie before) for the
  /// window's pixels [first, end).
  template <typename F>
  void for_each_image(std::int64_t first, std::int64_t end, const F& body) const {
    for (std::int64_t at = first; at < end;) {
      const std::int64_t image = at / shape.pixels(), from = at % shape.pixels();
      const std::int64_t to = std::min(shape.pixels(), from + end - at);
      body(image, from, to, at - first);
      at += to - from;
    }
  }

  int pixel_unit() const { return config.by_channel ? 1 : shape.lanes(); }
  int channel_unit() const { return config.by_channel ? shape.lanes() : 1; }
  /// Lengths of a piece and of groups of pieces, at most.
  std::int64_t piece_channels() const { return channels.size() * channel_unit(); }
  std::int64_t block_pixels() const { return block * pixels.size() * pixel_unit(); }
  std::int64_t strip_pixels() const { return strip * pixels.size() * pixel_unit(); }
  /// Floats of scratch to stage `pieces` of pixels in; more than a block only if channels are
  /// inner.
  std::int64_t stage_floats(std::int64_t pieces) const;
  /// Floats of a group's packed weights in front of a piece of channels, and of all its pieces.
  std::int64_t weight_offset(std::int64_t piece) const {
    return channels.first(piece) * shape.inputs();
  }
  std::int64_t group_weights() const { return weight_offset(channels.pieces()); }
  /// The second-level cache does not keep all weights from block to block.
  bool streams_weights() const;
  /// From row to row of the sums in scratch, in floats.
  std::int64_t sums_row() const { return config.by_channel ? piece_channels() : strip_pixels(); }
};

Conv1x1Plan conv1x1_plan(const Conv1x1Shape& shape, const SplitChain& chain,
                         const Conv1x1Config& config);

/// Has kernels that finish sums store them past the caches.
void stream_output(Conv1x1Plan& plan);

/// Vectors of pixels: whether large output goes through scratch (DrainedOutput), all pixels of an
/// image with a piece of channels at a time, as planes begin anywhere in a line.
bool drains_planes(const Conv1x1Plan& plan);
/// Has kernels do that.
void drain_output(Conv1x1Plan& plan);

}  // namespace fuseplan::cpu
