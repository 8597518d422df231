// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuseplan::test {

/// A row of a convolution list in problems/. The last column of a file is `count` (how often the
/// layer stands in its network) or `miopen_speedup`; the other keeps its default.
struct ConvProblem {
  std::string name;
  std::int64_t n, c, h, w, k, r, s;
  std::int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, groups;
  std::int64_t count = 1;
  double published_speedup = 0;
};

/// A row of a normalisation list.
struct NormProblem {
  std::string name;
  std::int64_t n, c, h, w;
  double published_speedup = 0;
};

/// problems/ of the source tree; where that is gone, the one installed beside the program.
std::string problems_directory();
/// `list` itself if there is such a file, otherwise the one of that name in problems/.
std::string problems_path(const std::string& list);

// `list` is a file name such as "resnet50.csv". Throws std::runtime_error naming the file, the line
// and the column for anything that cannot be read; an empty list is an error too.
std::vector<ConvProblem> read_conv_problems(const std::string& list);
std::vector<NormProblem> read_norm_problems(const std::string& list);

}  // namespace fuseplan::test
