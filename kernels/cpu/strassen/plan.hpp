// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "base/integer.hpp"
#include "expr/chain.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/strassen/config.hpp"
#include "kernels/cpu/strassen/halves.hpp"
#include "kernels/cpu/strassen/pair_tile.hpp"
#include "kernels/cpu/strassen/scheme.hpp"

namespace fuseplan::cpu {

/// Everything about one convolution by Strassen's products that follows from problem, chain and
/// configuration.
struct StrassenPlan {
  StrassenConfig config;
  Conv1x1Shape shape;
  Halves channels, pixels;  ///< of the output
  std::int64_t block = 0;   ///< pieces of pixels in a block
  std::int64_t half = 0;    ///< input channels of a half; the second has one less if they are odd
  /// Input channels of a section of either half. Sums of a block are kept from one section to the
  /// next, so that what is staged of a block and the weights beside it stay in a second-level
  /// cache.
  std::int64_t section = 0;

  PairTileSpec::Input input{};
  /// Staged rows are of channels, a row a pixel; otherwise lines are of pixels, one a depth.
  bool channels_inner = false;
  std::int64_t stage_row = 0;  ///< floats from one such row to the next

  /// The chain is applied in the kernels; otherwise they leave sums in scratch, for a rows kernel.
  bool finishes = false;
  std::int64_t strip = 0;  ///< pieces of pixels whose sums are in scratch at once

  /// What kernels ask the caches for besides the next piece of weights: the next block's input,
  /// which is so many bytes behind this one's and contiguous; or the second half of the weights.
  std::int64_t block_bytes = 0;
  bool asks_for_halves = false;

  std::vector<PairTileSpec> specs;
  /// Index of specs by kind of channels and of pixels; the last section may have one of its own.
  int kernel[Halves::kKinds][Halves::kKinds] = {};
  int last_kernel[Halves::kKinds][Halves::kKinds] = {};

  std::int64_t sections() const { return ceil_div(half, section); }
  std::int64_t depth(std::int64_t of_section) const {
    return std::min(section, half - of_section * section);
  }
  /// Floats that are kept of a piece of pixels with a piece of channels.
  std::int64_t kept_sums() const { return 4 * channels.most_width() * pixels.most_width(); }
  /// Sums are of channels in vectors, but the output's vectors are of pixels.
  bool turned() const { return config.by_channel && !shape.lanes_are_channels; }
  /// Products whose left factors are staged.
  int staged_products() const;
  /// Floats of one such factor of a section, for a piece of pixels and for the longest.
  std::int64_t stage_product(std::int64_t piece) const;
  std::int64_t most_stage_product() const;

  /// Whether pieces of weights can as well be prepared one by one, each of a section just before
  /// all pixels are computed of it: all of them are one block then.
  bool takes_raw_weights() const;
  /// Floats of the right factors in front of a section's piece of channels, of one of the piece,
  /// and of all.
  std::int64_t weight_offset(std::int64_t of_section, std::int64_t piece) const;
  std::int64_t weight_product(std::int64_t of_section, std::int64_t piece) const {
    return depth(of_section) * channels.width(piece) + kSpread;
  }
  std::int64_t weight_floats() const { return weight_offset(sections() - 1, channels.pieces()); }
  /// Between the factors of products: where these are a multiple of 4 KB long, those of all
  /// products would compete for one set of the first-level cache.
  static constexpr std::int64_t kSpread = 16;

  // Sums in scratch: rows of the first half, and those of the second behind each of its pieces; in
  // a row, the lanes of the first half and then of the second.
  std::int64_t sums_lanes() const {
    return config.by_channel ? channels.most_width() : strip * pixels.most_width();
  }
  std::int64_t sums_rows() const {
    return 2 * (config.by_channel ? strip * pixels.most_width() : channels.most_width());
  }
};

/// Input channels of a section, of so many of a half: all of few, otherwise about 128.
std::int64_t strassen_section(std::int64_t half);

/// Lanes have two halves that are as long; pixels in lanes are those of planes.
bool strassen_has_halves(const Conv1x1Shape& shape, bool by_channel);

/// Factors that are the input itself are read where it lies: all pixels exist, both halves of the
/// channels are as long, and displacements reach from one to the other.
bool strassen_reads_in_place(const Conv1x1Shape& shape, bool by_channel);

StrassenPlan strassen_plan(const Conv1x1Shape& shape, const SplitChain& chain,
                           const StrassenConfig& config);

/// Has kernels that finish sums store them past the caches.
void stream_output(StrassenPlan& plan);

}  // namespace fuseplan::cpu
