// SPDX-License-Identifier: MIT
// Convolutions whose output no cache of any known core keeps, so that their kernels store past the
// caches: everything that can be.
#include <algorithm>

#include "kernel_case.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

struct Layer {
  const char *solver, *text;
  const char* config = nullptr;  ///< the solver's first
};

// 27.5 MB: 16 channels, or 32 where these are two halves of lines.
constexpr Layer kLayers[] = {
    {"cpu_direct", "f32:1x3x640x672:nchw;conv(f32:16x3x3x3,pad=1x1);bias(f32:1x16x1x1)"},
    {"cpu_direct", "f32:1x3x640x672:nhwc;conv(f32:16x3x3x3,pad=1x1);bias(f32:1x16x1x1)"},
    {"cpu_grouped", "f32:1x16x640x672:nchw;conv(f32:16x2x3x3,pad=1x1,groups=8);activation(relu)"},
    {"cpu_grouped", "f32:1x16x640x672:nhwc;conv(f32:16x2x3x3,pad=1x1,groups=8);activation(relu)"},
    {"cpu_depthwise", "f32:1x16x640x672:nchw;conv(f32:16x1x3x3,pad=1x1,groups=16)"},
    {"cpu_depthwise", "f32:1x16x640x672:nhwc;conv(f32:16x1x3x3,pad=1x1,groups=16)"},
    {"cpu_stem", "f32:1x3x640x672:nchw;conv(f32:16x3x3x3,pad=1x1);bias(f32:1x16x1x1)"},
    {"cpu_stem", "f32:1x3x640x672:nhwc;conv(f32:16x3x3x3,pad=1x1);bias(f32:1x16x1x1)"},
    {"cpu_strassen", "f32:1x12x640x672:nchw;conv(f32:16x12x1x1);activation(relu)"},
    {"cpu_strassen", "f32:1x12x320x672:nhwc;conv(f32:32x12x1x1);activation(relu)"},
    {"cpu_conv1x1", "f32:1x12x640x672:nchw;conv(f32:16x12x1x1);activation(relu)"},
    {"cpu_conv1x1", "f32:1x12x640x672:nhwc;conv(f32:16x12x1x1);activation(relu)"},
};

// Vectors of AVX2 are half lines: only kernels stream that store the other half soon.
constexpr Layer kNarrowLayers[] = {
    {"cpu_direct", "f32:1x3x320x672:nhwc;conv(f32:32x3x3x3,pad=1x1);bias(f32:1x32x1x1)"},
    {"cpu_direct", "f32:1x9x320x672:nhwc;conv(f32:32x9x1x1);activation(relu)"},
    {"cpu_direct", "f32:1x9x224x672:nhwc;conv(f32:48x9x1x1);activation(relu)"},
    {"cpu_direct", "f16:1x3x640x672:nhwc;conv(f16:32x3x3x3,pad=1x1);bias(f16:1x32x1x1)"},
    {"cpu_conv1x1", "f32:1x12x320x672:nhwc;conv(f32:32x12x1x1);activation(relu)"},
    {"cpu_conv1x1", "f32:1x12x640x672:nchw;conv(f32:16x12x1x1);activation(relu)",
     "pixels:6x2,block=1024,staged=0"},
    {"cpu_strassen", "f32:1x12x320x672:nhwc;conv(f32:32x12x1x1);activation(relu)"},
    {"cpu_depthwise", "f32:1x16x640x672:nchw;conv(f32:16x1x3x3,pad=1x1,groups=16)", "2x2"},
    {"cpu_grouped", "f32:1x16x640x672:nchw;conv(f32:16x2x3x3,pad=1x1,groups=8)", "2x2"},
    {"cpu_depthwise", "f32:1x16x1280x1344:nchw;conv(f32:16x1x3x3,pad=1x1,stride=2x2,groups=16)",
     "1x4"},
};
// Groups, and tiles of one or three vectors, that begin within lines.
constexpr Layer kBrokenLayers[] = {
    {"cpu_direct", "f32:1x16x112x672:nhwc;conv(f32:112x8x3x3,pad=1x1,groups=2);activation(relu)"},
    {"cpu_conv1x1", "f32:1x12x224x672:nhwc;conv(f32:48x12x1x1);activation(relu)",
     "channels:4x3,block=256,staged=0"},
    {"cpu_strassen", "f32:1x12x640x672:nchw;conv(f32:16x12x1x1);activation(relu)",
     "pixels:4x3,block=4096,staged=0"},
    {"cpu_depthwise", "f32:1x16x640x672:nchw;conv(f32:16x1x3x3,pad=1x1,groups=16)", "2x3"},
    {"cpu_grouped", "f32:1x16x640x672:nchw;conv(f32:16x2x3x3,pad=1x1,groups=8)", "4x1"},
};

// Rows, or planes, that begin anywhere in a line: 26.6 MB and more, through scratch.
constexpr Layer kDrainedLayers[] = {
    {"cpu_depthwise",
     "f32:34x64x57x57:nchw;conv(f32:64x1x3x3,pad=1x1,groups=64);"
     "bias(f32:1x64x1x1);add(f32:34x64x57x57);activation(relu)"},
    {"cpu_depthwise", "f16:35x129x55x54:nchw;conv(f16:129x1x3x3,pad=1x1,groups=129)"},
    {"cpu_depthwise", "f32:35x65x109x108:nchw;conv(f32:65x1x3x3,pad=1x1,stride=2x2,groups=65)"},
    {"cpu_grouped", "f32:257x3x57x57:nchw;conv(f32:8x3x3x3,pad=1x1);bias(f32:1x8x1x1)"},
    {"cpu_conv1x1", "f32:17x20x14x14:nchw;conv(f32:2051x20x1x1);add(f32:17x2051x14x14)",
     "pixels:4x3,block=3276,staged=0"},
    {"cpu_conv1x1", "f32:17x12x14x14:nchw;conv(f32:2050x6x1x1,groups=2);activation(gelu_erf)",
     "pixels:5x2,block=10922,staged=1"},
    {"cpu_conv1x1", "f16:35x12x14x14:nchw;conv(f16:2051x12x1x1);bias(f32:1x2051x1x1)",
     "pixels:6x2,block=5461,staged=1"},
    {"cpu_conv1x1", "f32:19x12x27x29:nchw;conv(f32:1858x12x1x1,stride=2x2);activation(relu)",
     "pixels:3x3,block=1365,staged=1"},
};

void check(const Layer& layer, cpu::Isa isa, Random& random, bool streams = true) {
  SCOPED_TRACE(std::string(layer.solver) + " " + layer.text);
  const KernelCase test(parse_problem(layer.text), random);
  Traits traits{.backend = "cpu", .isa = isa};
  const Question question{test.problem(), test.chain(), traits};
  const Solver& chosen = *find_solver(layer.solver);
  const Kernel kernel = chosen.build(
      question, layer.config != nullptr ? layer.config : chosen.first_config(question));
  int streaming = 0;
  for (const cpu::Function& function : kernel.cpu->emit())
    streaming += function.name.ends_with("_streaming") ? 1 : 0;
  EXPECT_EQ(streaming > 0, streams);
  EXPECT_TRUE(test.check(test.run(*kernel.cpu, 2)));
}

TEST(StreamingKernels, StoreWhatIsRight) {
  Random random(57);
  const cpu::Isa host = cpu::host_isa();
  if (host == cpu::Isa::avx512)
    for (const Layer& layer : kLayers) check(layer, cpu::Isa::avx512, random);
  if (host == cpu::Isa::portable) return;
  for (const Layer& layer : kNarrowLayers) check(layer, cpu::Isa::avx2, random);
  for (const Layer& layer : kBrokenLayers) check(layer, cpu::Isa::avx2, random, false);
}

TEST(StreamingKernels, DrainWhatIsRight) {
  Random random(58);
  const cpu::Isa host = cpu::host_isa();
  for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512})
    for (const Layer& layer : kDrainedLayers)
      if (isa <= host) check(layer, isa, random);
}

// Planes that AMX sums as a whole, and rows store in one run.
TEST(StreamingKernels, StorePlanesOfTilesRight) {
  if (!cpu::host_extensions().tiles_bf16) return;
  Random random(59);
  const Traits traits{.backend = "cpu",
                      .isa = cpu::Isa::avx512,
                      .extensions = cpu::host_extensions(),
                      .family = "sapphire_amx"};
  for (const char* text :
       {"f32:17x12x14x14:nchw;conv(f32:2051x12x1x1);add(f32:17x2051x14x14);activation(relu)",
        "f32:19x40x14x14:nchw;conv(f32:1800x40x1x1);bias(f32:1x1800x1x1)"}) {
    const KernelCase test(parse_problem(text), random);
    const Question question{test.problem(), test.chain(), traits};
    const Solver& matrix = *find_solver("cpu_matrix");
    const std::vector<std::string> configs = matrix.configs(question);
    const auto found = std::ranges::find_if(
        configs, [](const std::string& config) { return config.ends_with("by_plane=1"); });
    ASSERT_NE(found, configs.end()) << text;
    const Kernel kernel = matrix.build(question, *found);
    EXPECT_TRUE(kernel.cpu->emit().back().name.ends_with("_streaming")) << text << *found;
    EXPECT_TRUE(test.check(test.run(*kernel.cpu, 2))) << *found;
  }
}

}  // namespace
}  // namespace fuseplan::test
