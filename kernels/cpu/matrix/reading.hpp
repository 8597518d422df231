// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

// How tiles come by a convolution's input, as far as that follows from shape and product alone.

/// Channels of a step, at most; steps of so many channels; and the channels of a step where all
/// have as many, rounded up to whole lanes: 48 in pairs are two steps of 24.
std::int64_t most_channels(Product product);
std::int64_t steps_of(std::int64_t channels, Product product);
int equal_depth(std::int64_t channels, Product product);

/// Bytes of packed weights that a second-level cache of 2 MB keeps from window to window.
inline constexpr std::int64_t kKeptWeights = 1280 << 10;

/// Weights of a tile of channels that the first-level cache can keep from strip to strip.
inline constexpr std::int64_t kNearWeights = 32 << 10;

/// Bytes of a group's weights, in pieces if the product has any, without what fills up steps.
std::int64_t weight_bytes(const DirectShape& shape, Product product);
/// Whether all weights stay near from window to window.
inline bool weights_stay(const DirectShape& shape, Product product) {
  return shape.conv.groups * weight_bytes(shape, product) <= kKeptWeights;
}

/// Pixels of an image that keep kernels busy by themselves.
inline constexpr std::int64_t kLargeImage = 196;

/// Terms of a sum: taps, or those that are not joined, in steps of channels.
std::int64_t terms_of(const DirectShape& shape, Product product);
/// Whether tiles can read the input where it lies.
bool reads_in_place(const DirectShape& shape, Product product);
/// Whether sums can be of channels x pixels: those of real numbers whose rows are contiguous.
bool lies_by_plane(const DirectShape& shape, Product product);
/// Whether taking the taps along the width for channels saves products.
bool joining_saves(const DirectShape& shape, Product product);
/// If it does: whether tiles can read them from a row of staged pixels without gaps, where they lie
/// next to one another. Otherwise they are copied for each output.
bool taps_are_neighbours(const DirectShape& shape, Product product);

/// Staged positions between two rows of a window that is as wide as the output.
std::int64_t gap_columns(const DirectShape& shape, Product product);
/// Small images share a window of so many pixels where weights come from afar: they come for
/// several at once. What a filter puts between rows takes room, too. Otherwise 1.
std::int64_t images_of_window(const DirectShape& shape, Product product, std::int64_t block);

/// Joined taps of so many channels a row: whether those of the rows that a stride takes at a time
/// fit one step. Where rows do not come out even, the last taps read a row that is not theirs:
/// times zero, so this is for numbers that have no NaN.
bool joins_rows(const ConvGeometry& conv, std::int64_t row_channels, Product product);

/// Entries of a phase that `outputs` outputs read.
std::int64_t phase_length(const ConvGeometry& conv, std::size_t axis, std::int64_t outputs);
/// How many of the zero columns behind a whole row are also zero columns before the next.
std::int64_t shared_columns(const ConvGeometry& conv);
/// Positions of a row of so many outputs, in staged pixels that a stride takes at a time; zeros
/// behind it are those before the next.
std::int64_t overlapping_columns(const ConvGeometry& source, std::int64_t outputs);

}  // namespace fuseplan::cpu
