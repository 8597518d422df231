// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/measure.hpp"

namespace fuseplan::driver {

nlohmann::ordered_json to_json(const Measurement& measurement);

/// One row a problem, with a header and, for more than one, the geometric means.
std::string to_table(const std::vector<Measurement>& measurements);

/// "[=====>    ] 3/13 cba03" on standard error, rewritten in place, if that is a terminal;
/// otherwise a line each.
class Progress {
 public:
  explicit Progress(std::size_t total) : total_(total) {}
  ~Progress();
  void step(const std::string& name);

 private:
  std::size_t total_, done_ = 0;
};

}  // namespace fuseplan::driver
