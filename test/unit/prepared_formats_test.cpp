// SPDX-License-Identifier: MIT
// Prepared weights are shared by their format alone: whatever else differs between two plans, and
// whichever solver, level and configuration runs them, equal formats must mean equal bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "backend/code_memory.hpp"
#include "base/half.hpp"
#include "base/memory.hpp"
#include "base/status.hpp"
#include "expr/passes.hpp"
#include "solve/solver.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

/// Weights of a shape, and inputs that they go with.
struct Family {
  const char *type, *weights;
  std::vector<const char*> inputs, attributes;
};

const std::vector<Family> kFamilies = {
    {"f32", "48x32x3x3", {"1x32x20x24", "2x32x8x8"}, {"pad=1x1", "pad=1x1,stride=2x2"}},
    {"f32", "48x32x3x3", {"1x64x20x24", "1x128x9x9"}, {"pad=1x1,groups=2", "groups=4"}},
    {"f32", "48x32x1x1", {"1x64x20x24", "1x128x9x9"}, {"pad=0x0,groups=2", "groups=4"}},
    {"bf16", "48x33x3x3", {"1x33x20x24", "1x33x7x30"}, {"pad=1x1", "pad=2x2,dilation=2x2"}},
    {"f16", "48x32x3x3", {"1x32x20x24"}, {"pad=1x1", "pad=0x2,pad_hi=1x1"}},
    {"f32", "70x300x1x1", {"1x300x7x7", "1x300x40x41", "3x300x12x5"}, {"pad=0x0", "stride=2x2"}},
    {"f32", "70x600x1x1", {"1x600x7x8", "2x600x18x21"}, {"pad=0x0", "stride=2x2"}},
    // Enough of all channels for Strassen's products on every core, of halves that are no whole
    // vectors.
    {"f32", "1064x1024x1x1", {"1x1024x14x14", "1x1024x7x10"}, {"pad=0x0"}},
    {"bf16", "70x300x1x1", {"1x300x7x7", "1x300x40x41"}, {"pad=0x0", "stride=2x2"}},
    {"f32",
     "24x1x3x3",
     {"1x24x12x18", "1x24x40x33"},
     {"pad=1x1,groups=24", "stride=2x2,groups=24"}},
    {"f32", "24x1x3x3", {"1x12x12x18", "1x6x40x33"}, {"pad=1x1,groups=12", "pad=1x1,groups=6"}},
    {"f16", "32x4x3x3", {"1x32x13x19", "1x16x9x9"}, {"pad=1x1,groups=8", "pad=1x1,groups=4"}},
    {"f32", "64x3x7x7", {"1x3x33x33", "1x3x64x20"}, {"pad=3x3,stride=2x2", "pad=3x3"}},
    {"f32",
     "128x128x3x3",
     {"1x128x28x28", "1x128x56x56"},
     {"pad=1x1", "pad=1x1,stride=2x2", "pad=1x1,stride=2x1", "pad=1x1,stride=1x2"}},
    {"f32", "64x3x11x11", {"1x3x120x121"}, {"stride=4x4", "stride=5x5", "stride=5x4"}},
    {"f32", "64x3x9x9", {"1x3x90x91"}, {"stride=3x3", "stride=3x4", "stride=4x3"}},
    {"bf16", "64x3x7x7", {"1x3x33x33", "1x3x64x20"}, {"pad=3x3,stride=2x2", "pad=3x3"}},
    {"i8", "40x48x3x3", {"1x48x20x21", "2x48x7x7"}, {"pad=1x1", "stride=2x2"}},
    {"i8", "96x48x1x1", {"1x48x20x21", "1x48x9x9"}, {"pad=0x0", "stride=2x2"}},
    {"i8", "40x24x1x1", {"1x24x20x21", "1x48x9x9"}, {"pad=0x0", "groups=2"}},
};

std::vector<Problem> problems_of(const Family& family) {
  std::vector<std::string> types{family.type};
  if (types.front() == "i8") types.emplace_back("u8");
  std::vector<Problem> problems;
  for (const std::string& type : types)
    for (const char* input : family.inputs)
      for (const char* layout : {"nchw", "nhwc"})
        for (const char* attributes : family.attributes) {
          // Not every input has the channels that the groups ask for.
          try {
            problems.push_back(parse_problem(type + ":" + input + ":" + layout + ";conv(" +
                                             family.type + ":" + family.weights + "," + attributes +
                                             ")"));
          } catch (const Error&) {
          }
        }
  return problems;
}

/// Small values in every type, so that Winograd's transforms stay finite; the same bytes for all.
std::vector<std::byte> raw_weights(const Tensor& weights) {
  Random random(91);
  std::vector<std::byte> raw(static_cast<std::size_t>(weights.bytes()));
  for (std::size_t i = 0; i < raw.size() / size_of(weights.dtype); ++i) {
    const auto value = static_cast<float>(random.uniform(-1, 1));
    std::byte* to = raw.data() + i * size_of(weights.dtype);
    const auto put = [&](auto bits) { std::memcpy(to, &bits, sizeof bits); };
    if (weights.dtype == DType::f32) put(value);
    if (weights.dtype == DType::f16) put(float_to_f16(value));
    if (weights.dtype == DType::bf16) put(float_to_bf16(value));
    if (weights.dtype == DType::i8) put(static_cast<std::int8_t>(value * 127));
  }
  return raw;
}

struct Form {
  Buffer memory;
  std::string origin;
};

/// By what Args knows a prepared form by, besides the raw pointer.
class Forms {
 public:
  void add(const Solver& solver, const Question& question, const std::string& config) {
    std::vector<std::unique_ptr<CodeMemory>> code;
    std::vector<const void*> entries;
    const Kernel kernel = solver.build(question, config);
    for (const cpu::Function& function : kernel.cpu->emit()) {
      code.push_back(std::make_unique<CodeMemory>(function.code));
      entries.push_back(code.back()->data());
    }
    const auto program = kernel.cpu->bind(entries);
    const Tensor& weights = question.problem.conv()->weights;
    Form form{Buffer(program->prepared_bytes()),
              fmt::format("{} {} on {}: {}", solver.id(), config, name_of(question.traits.isa),
                          to_text(question.problem))};
    std::memset(form.memory.data(), 0, form.memory.bytes());
    program->prepare(raw_weights(weights).data(), form.memory.data(), Parallel(1));
    const std::string key = to_text(weights) + " " + program->weight_format();
    const auto known = forms_.find(key);
    if (known == forms_.end()) {
      forms_.emplace(key, std::move(form));
      return;
    }
    ++shared_;
    const Form& first = known->second;
    EXPECT_TRUE(first.memory.bytes() == form.memory.bytes() &&
                std::memcmp(first.memory.data(), form.memory.data(), form.memory.bytes()) == 0)
        << key << "\n  " << first.origin << "\n  " << form.origin;
  }
  int shared() const { return shared_; }

 private:
  std::map<std::string, Form> forms_;
  int shared_ = 0;
};

void add_all(const Problem& problem, Forms& forms) {
  const SplitChain chain = optimize(lower(problem), {});
  for (const cpu::Isa isa : {cpu::Isa::portable, cpu::Isa::avx2, cpu::Isa::avx512}) {
    if (isa > cpu::host_isa()) continue;
    Traits traits;
    traits.isa = isa;
    const cpu::Extensions has = cpu::host_extensions();
    if (isa == cpu::Isa::avx512) traits.extensions = has;
    if (isa == cpu::Isa::avx2) traits.extensions.avx_vnni = has.avx_vnni;
    const Question question{problem, chain, traits};
    for (const Solver* solver : select_solvers(question, {}).accepted) {
      const auto configs = solver->configs(question);
      // The space is a grid; a few steps of 3 meet every value on its axes.
      for (std::size_t i = 0; i < configs.size(); i += 3) forms.add(*solver, question, configs[i]);
    }
  }
}

TEST(PreparedFormats, EqualOnesAreEqualBytes) {
  Forms forms;
  for (const Family& family : kFamilies)
    for (const Problem& problem : problems_of(family)) add_all(problem, forms);
  EXPECT_GT(forms.shared(), 200);  // else nothing was compared
}

}  // namespace
}  // namespace fuseplan::test
