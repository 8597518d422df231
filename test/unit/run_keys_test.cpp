// SPDX-License-Identifier: MIT
// What kernels and tuning results are found by: everything that can change them, written out.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "backend/backend.hpp"
#include "base/status.hpp"
#include "cache/sqlite.hpp"
#include "run/build_id.hpp"
#include "run/chooser.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

constexpr const char* kProblem =
    "f32:1x64x28x28:nhwc;conv(f32:72x64x3x3:nhwc,pad=1x1,stride=2x2,dilation=1x1,groups=1);"
    "bias(f32:1x72x1x1:nchw);activation(relu)->f32:1x72x14x14:nhwc";

const Backend& cpu_backend() {
  for (const Backend* backend : all_backends())
    if (backend->name() == "cpu") return *backend;
  throw std::logic_error("no CPU backend");
}

class RunKeys : public ::testing::Test {
 protected:
  RunKeys() {
    StoreConfig config;
    config.directory = directory_.path();
    context_ = {.backend = &cpu_backend(),
                .device = 0,
                .traits = {.backend = "cpu", .isa = cpu::Isa::avx512},
                .options = {},
                .filter = {},
                .threads = 3,
                .store = open_store(config)};
  }

  std::unique_ptr<const Variant> make(const CompileContext& context,
                                      const std::string& text = kProblem) const {
    return make_variant(context, parse_problem(text), nullptr);
  }
  std::size_t rows() const { return context_.store->list().size(); }

  TemporaryDirectory directory_;
  CompileContext context_;
};

TEST_F(RunKeys, OfAKernelSaysAllThatItIsMadeFrom) {
  context_.options.passes.disabled = 4;
  const auto variant = make(context_);
  ASSERT_EQ(rows(), 1u);
  const Candidate& candidate = variant->choice.candidate;
  ASSERT_FALSE(candidate.config.empty());
  const std::string expected =
      "library=" + build_id() + "\nbackend=cpu\ntoolchain=" + cpu_backend().toolchain_id() +
      "\ntarget=" + context_.traits.to_text() + "\nsolver=" + std::string(candidate.solver->id()) +
      "\nconfig=" + candidate.config + "\npasses_off=4\nproblem=" + kProblem + "\n";
  EXPECT_EQ(context_.store->list()[0].key_text, expected);
}

TEST_F(RunKeys, AnotherKernelHasAnother) {
  const auto first = make(context_);
  EXPECT_FALSE(first->from_cache);
  EXPECT_TRUE(make(context_)->from_cache);
  const auto& [solver, config] = first->choice.candidate;
  const Question question{first->problem, first->chain, context_.traits};
  const std::vector<std::string> configs = solver->configs(question);
  ASSERT_GT(configs.size(), 1u);
  const std::string other = configs[0] == config ? configs[1] : configs[0];
  const std::string id(solver->id());
  const std::function<void(CompileContext&)> changes[] = {
      [](auto& context) { context.traits.isa = cpu::Isa::avx2; },
      [](auto& context) {
        auto& has = context.traits.extensions;
        has.vnni = has.avx_vnni = true;
      },
      [](auto& context) { context.options.passes.disabled = 2; },
      [&](auto& context) {
        context.options.pin = {id, other};
      },
      [](auto& context) { context.filter.pinned = "cpu_portable"; },
  };
  std::size_t kernels = 1;
  for (const auto& change : changes) {
    CompileContext context = context_;
    change(context);
    if (context.filter.pinned.empty()) context.filter.pinned = solver->id();
    EXPECT_FALSE(make(context)->from_cache) << kernels;
    EXPECT_EQ(rows(), ++kernels);
    EXPECT_TRUE(make(context)->from_cache) << kernels;
  }
  std::string longer = kProblem;
  longer.replace(longer.find("f32:1x64"), 5, "f32:2");
  longer.replace(longer.find("->f32:1x72"), 7, "->f32:2");
  EXPECT_FALSE(make(context_, longer)->from_cache);
  EXPECT_EQ(rows(), kernels + 1);
}

TEST(BuildId, IsThatOfAFile) {
  static const int loaded = 0;
  const auto on_heap = std::make_unique<int>();
  EXPECT_EQ(build_id_at(&loaded), build_id());
  EXPECT_GE(build_id().size(), 16u);
  EXPECT_TRUE(is_build_id_shared());
  EXPECT_EQ(build_id_at(on_heap.get()), "");
}

// What compiling a plan refuses, an execution that needs another kernel goes without.
TEST_F(RunKeys, APinBindsWhatIsCompiledAndNotWhatIsMadeLater) {
  context_.filter.pinned = "cpu_direct";
  context_.options.pin = {"cpu_direct", "77x7"};
  const auto later = make(context_);
  EXPECT_EQ(later->choice.candidate.solver->id(), "cpu_direct");
  EXPECT_EQ(later->choice.source, ChoiceSource::model);
  const Parallel timing(1);
  EXPECT_THROW((void)make_variant(context_, parse_problem(kProblem), &timing), Error);
}

TEST_F(RunKeys, OfATuningResultSaysWhatTheSearchDependsOn) {
  context_.options.passes.disabled = 4;
  context_.filter.disabled = {"cpu_winograd", "gpu_conv", "cpu_direct", "cpu_winograd"};
  const Problem problem = parse_problem(kProblem);
  const SplitChain chain = optimize(lower(problem), context_.options.passes);
  const Question question{problem, chain, context_.traits};
  const auto accepted = select_solvers(question, {}).accepted;
  ASSERT_GT(accepted.size(), 1u);
  std::string names;
  for (const Solver* solver : accepted) names += std::string(solver->id()) + " ";
  store_winner(context_, question, accepted,
               {accepted.front(), accepted.front()->first_config(question)});
  const std::string expected =
      "library=" + build_id() + "\ntoolchain=" + cpu_backend().toolchain_id() +
      "\ntarget=" + context_.traits.to_text() + "\ndevice=" + cpu_backend().device_name(0) +
      "\nthreads=3\nsolvers=" + names +
      "\nsolvers_off=cpu_direct cpu_winograd\npasses_off=4\nproblem=" + kProblem + "\n";
  sqlite::Connection database(context_.store->location(), sqlite::Access::read_only);
  auto query = database.query("SELECT key_text FROM tuning");
  ASSERT_TRUE(query.step());
  EXPECT_EQ(query.text(0), expected);
  EXPECT_FALSE(query.step());
}

}  // namespace
}  // namespace fuseplan::test
