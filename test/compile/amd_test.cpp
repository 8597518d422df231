// SPDX-License-Identifier: MIT
// The GPU kernels that need nothing of NVIDIA's, through the dialect's other compiler: clang for
// AMD, without anything of ROCm. No registers go to memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "asked.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

/// Bytes of stack of each kernel in an assembly.
std::vector<int> scratch_sizes(const std::string& assembly) {
  static const std::regex kPattern("; ScratchSize: ([0-9]+)");
  std::vector<int> sizes;
  for (std::sregex_iterator at(assembly.begin(), assembly.end(), kPattern), end; at != end; ++at)
    sizes.push_back(std::stoi((*at)[1]));
  return sizes;
}

TEST(ByClangForAmd, FirstSamples) {
  const TemporaryDirectory directory;
  for (const char* arch : {"gfx90a", "gfx1030"}) {
    std::vector<std::string_view> compiled;
    for (const Solver* solver : gpu_solvers()) {
      const Asked asked(solver->samples().front(), arch);
      if (!asked.accepted_by(*solver)) continue;
      compiled.push_back(solver->id());
      const Kernel kernel = solver->build(asked.get(), solver->configs(asked.get()).front());
      std::ofstream(directory / "k.hip") << kernel.gpu->source();
      const std::string command =
          "clang -x hip -std=c++17 -O3 --offload-arch=" + std::string(arch) +
          " --cuda-device-only -nogpulib -nogpuinc -S -o " + (directory / "k.s") + " " +
          (directory / "k.hip");
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
      std::ostringstream assembly;
      assembly << std::ifstream(directory / "k.s").rdbuf();
      EXPECT_EQ(scratch_sizes(assembly.str()), std::vector<int>(kernel.gpu->entries().size(), 0))
          << solver->id() << " for " << arch;
    }
    for (const char* id : {"gpu_pointwise", "gpu_conv", "gpu_depthwise", "gpu_norm"})
      EXPECT_NE(std::ranges::find(compiled, id), compiled.end()) << id << " for " << arch;
  }
}

}  // namespace
}  // namespace fuseplan::test

// Without clang the program says so and ends with ctest's number for a test that was skipped.
int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (std::system("clang --version > /dev/null 2>&1") == 0) return RUN_ALL_TESTS();
  std::printf("SKIPPED: nothing is compiled for AMD: there is no clang\n");
  constexpr int kSkipped = 77;
  return kSkipped;
}
