// SPDX-License-Identifier: MIT
// What the library says of the solvers' samples, compared with checked-in text: the expression of
// each after the passes, and who runs it. FUSEPLAN_GOLDEN_UPDATE=1 writes the files anew; the
// difference is then read before it is committed. Machine code has no golden bytes (it would change
// with every improvement): it must be the same each time it is emitted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backend/backend.hpp"
#include "expr/passes.hpp"
#include "solve/solver.hpp"

namespace fuseplan {
namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(FUSEPLAN_GOLDEN_DIR) + "/" + name;
  if (std::getenv("FUSEPLAN_GOLDEN_UPDATE") != nullptr) std::ofstream(path) << actual;
  EXPECT_EQ(actual, read(path)) << "differs from " << path;
}

std::vector<std::string> all_samples() {
  std::vector<std::string> texts;
  for (const Solver* solver : all_solvers())
    if (solver->backend() == "cpu")
      for (const std::string& text : solver->samples()) texts.push_back(text);
  return texts;
}

TEST(Golden, Expressions) {
  std::string text;
  for (const std::string& sample : all_samples()) {
    const Chain chain = lower(parse_problem(sample));
    const SplitChain split = optimize(chain, {});
    text += fmt::format("{}\n  lowered   {}\n  uniforms  {}\n  channels  {}\n  body      {}\n",
                        sample, to_text(chain.expr), to_text(split.uniforms),
                        to_text(split.channels), to_text(split.body));
  }
  expect_golden("expressions.txt", text);
}

constexpr cpu::Extensions kTiles{
    .bf16 = true, .vnni = true, .tiles_bf16 = true, .tiles_int8 = true};

TEST(Golden, SolversAndReasons) {
  std::string text;
  const Traits kTraits[] = {
      {"cpu", cpu::Isa::avx512}, {"cpu", cpu::Isa::avx512, kTiles}, {"cpu", cpu::Isa::portable}};
  for (const Traits& traits : kTraits)
    for (const std::string& sample : all_samples()) {
      const Problem problem = parse_problem(sample);
      // Tiles change nothing for others.
      if (traits.extensions.tiles_bf16 && problem.conv() == nullptr) continue;
      const SplitChain chain = optimize(lower(problem), {});
      const Selection selection = select_solvers({problem, chain, traits}, {});
      text += fmt::format("{} on {}\n", sample, traits.to_text());
      for (const Solver* solver : selection.accepted) text += fmt::format("  {}\n", solver->id());
      for (const Rejection& rejection : selection.rejections)
        text += fmt::format("  not {}\n", rejection.sentence());
    }
  expect_golden("solvers.txt", text);
}

TEST(Golden, CodeIsTheSameEachTime) {
  int kernels = 0;
  const Traits kTraits[] = {{"cpu", cpu::Isa::avx512},
                            {"cpu", cpu::Isa::avx512, {.vnni = true}},
                            {"cpu", cpu::Isa::avx512, kTiles},
                            {"cpu", cpu::Isa::avx2},
                            {"cpu", cpu::Isa::avx2, {.avx_vnni = true}}};
  for (const Traits& traits : kTraits) {
    const Backend& backend = *find_device("cpu").backend;
    for (const std::string& sample : all_samples()) {
      const Problem problem = parse_problem(sample);
      const SplitChain chain = optimize(lower(problem), {});
      const Question question{problem, chain, traits};
      for (const Solver* solver : select_solvers(question, {}).accepted) {
        const std::string config = solver->configs(question).front();
        // Freed and reused memory in between moves every allocation of the second build.
        const Binary first = backend.compile(solver->build(question, config), traits);
        const std::vector<char> moved(100003);
        const Binary second = backend.compile(solver->build(question, config), traits);
        EXPECT_EQ(first, second) << solver->id() << " " << sample;
        ++kernels;
      }
    }
  }
  EXPECT_GT(kernels, 50);
}

/// objdump's listing of an object file, with the bytes of the instructions.
std::string listing_of(const Binary& object) {
  const std::string path = testing::TempDir() + "fuseplan_golden_kernel.o";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()),
             static_cast<std::streamsize>(object.size()));
  std::string text;
  FILE* pipe = popen(("objdump --disassemble --wide " + path).c_str(), "r");
  std::array<char, 4096> part;
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), size);
  EXPECT_EQ(pclose(pipe), 0) << "objdump (package binutils)";
  std::remove(path.c_str());
  return text;
}

// The machines that run the tests mostly have AVX-512, where a stray instruction of it goes
// unnoticed. All of them begin with the byte 62, and no others do; the constants behind the code,
// which objdump takes for instructions as well, happen to hold none.
TEST(Golden, KernelsForAvx2HaveNoInstructionsOfAvx512) {
  const Backend& backend = *find_device("cpu").backend;
  int kernels = 0;
  const Traits kTraits[] = {{"cpu", cpu::Isa::avx2}, {"cpu", cpu::Isa::avx2, {.avx_vnni = true}}};
  for (const Traits& traits : kTraits)
    for (const std::string& sample : all_samples()) {
      const Problem problem = parse_problem(sample);
      const bool is_of_bytes = is_byte(problem.input().dtype);
      if (traits.extensions.avx_vnni && !is_of_bytes) continue;  // changes nothing for others
      const SplitChain chain = optimize(lower(problem), {});
      const Question question{problem, chain, traits};
      for (const Solver* solver : select_solvers(question, {}).accepted) {
        if (solver->id() == "cpu_portable") continue;  // has no code of its own
        const Kernel kernel = solver->build(question, solver->configs(question).front());
        const std::string listing = listing_of(backend.compile(kernel, traits));
        EXPECT_NE(listing.find("ymm"), std::string::npos) << solver->id() << " " << sample;
        EXPECT_EQ(listing.find(":\t62 "), std::string::npos) << solver->id() << " " << sample;
        if (solver->id() == "cpu_int8") {
          const bool has_dots = listing.find("{vex} vpdpbusd") != std::string::npos;
          EXPECT_EQ(has_dots, traits.extensions.avx_vnni) << sample;
        }
        ++kernels;
      }
    }
  EXPECT_GT(kernels, 80);
}

}  // namespace
}  // namespace fuseplan
