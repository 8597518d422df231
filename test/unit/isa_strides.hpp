// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "emit_kernel.hpp"
#include "kernel_case.hpp"

namespace fuseplan::test {

/// What tests of a kernel family run for: each instruction set of this machine that it is written
/// for, and ways that tensors lie in memory.
struct IsaStrides {
  cpu::Isa isa;
  Strides strides;
};

inline std::vector<IsaStrides> on_vector_isas(std::initializer_list<Strides> ways) {
  std::vector<IsaStrides> all;
  for (const cpu::Isa isa : vector_isas())
    for (const Strides strides : ways) all.push_back({isa, strides});
  return all;
}

inline std::string name_of_param(const ::testing::TestParamInfo<IsaStrides>& info) {
  return std::string(cpu::name_of(info.param.isa)) + "_" + name_of(info.param.strides);
}

}  // namespace fuseplan::test
