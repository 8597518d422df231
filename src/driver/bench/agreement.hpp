// SPDX-License-Identifier: MIT
#pragma once

#include "driver/case.hpp"

namespace fuseplan::driver {

/// How far two results of one problem lie apart.
struct Agreement {
  double max_relative_difference = 0;  ///< largest difference over the largest value
  double bound = 0;
  bool ok() const { return max_relative_difference <= bound; }  // false for NaN
};

/// Compares tensors of one type and layout: f32 in full, 16-bit types at evenly spaced elements.
/// Both are results of f32 accumulation: what they may differ by is the rounding of sums of a few
/// thousand terms (1e-4 of the largest value), and for 16 bits a few units of the storage type, as
/// a peer without fusion rounds between its ops. 8-bit integers may differ by one. Where one of
/// them rounded f32 to tf32, whose fraction is as long as that of f16, they may differ as f16 does.
Agreement agree(const test::HostTensor& ours, const test::HostTensor& theirs, bool tf32 = false);

/// The oracle on the case's last result. Large batches are checked in their first and last image:
/// images do not see each other, and the peers check the others. In training they do: there all is
/// checked, and what the plan writes besides.
test::Comparison compare_with_oracle(Case& problem);

}  // namespace fuseplan::driver
