// SPDX-License-Identifier: MIT
// Find modes as a user sees them: who chose, how often something was timed, and who may say what.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <string_view>
#include <thread>

#include "api_world.hpp"
#include "base/sanitizers.hpp"

namespace fuseplan::test {
namespace {

constexpr const char* kPlan =
    "f32:1x16x12x12:nhwc;conv(f32:48x16x3x3,pad=1x1);bias(f32:1x48x1x1);activation(relu)";

/// A private cache directory, gone afterwards. A handle that follows the last one's end is what
/// another process would be: nothing but the file connects the two.
class Tuning : public ::testing::Test {
 protected:
  Tuning() {
    char name[] = "fuseplan-api-tuning-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    directory_ = std::filesystem::absolute(name);
  }
  ~Tuning() override { std::filesystem::remove_all(directory_); }

  HandlePtr handle(const std::string& options = "") const {
    return make_handle(
        ("--cache_dir=" + directory_.string() + " --threads=1 --tune_ms=1000 " + options).c_str());
  }
  static fuseplanCacheStatistics_t statistics(fuseplanHandle_t handle) {
    auto statistics = sized<fuseplanCacheStatistics_t>();
    EXPECT_TRUE(ok(fuseplanCacheGetStatistics(handle, &statistics)));
    return statistics;
  }
  static std::vector<fuseplanCandidate_t> candidates(fuseplanHandle_t handle, fuseplanPlan_t plan) {
    return list_of<fuseplanCandidate_t>([&](int count, int* returned, fuseplanCandidate_t* rows) {
      return fuseplanPlanGetCandidates(handle, plan, count, returned, rows);
    });
  }
  static std::string name_of(const fuseplanCandidate_t& row) {
    return std::string(row.solver) + ":" + row.config;
  }

  /// What compiling gave; the texts belong to the plan.
  struct Compiled {
    PlanPtr plan;
    fuseplanPlanInfo_t info;
    std::string candidate() const { return std::string(info.solver) + ":" + info.config; }
    std::string source() const { return info.configSource; }
  };
  static Compiled compile(fuseplanHandle_t handle, const char* text = kPlan) {
    Compiled compiled{make_plan(text), sized<fuseplanPlanInfo_t>()};
    EXPECT_TRUE(ok(fuseplanCompilePlan(handle, compiled.plan)));
    EXPECT_TRUE(ok(fuseplanPlanGetInfo(handle, compiled.plan, &compiled.info)));
    return compiled;
  }

  std::filesystem::path directory_;
};

TEST_F(Tuning, NothingIsTimedUnlessAskedFor) {
  const HandlePtr fast = handle();
  const Compiled compiled = compile(fast);
  EXPECT_EQ(compiled.source(), "model");
  EXPECT_EQ(compiled.info.candidatesTimed, 0);
  EXPECT_EQ(statistics(fast).searches, 0u);
}

TEST_F(Tuning, AnotherProcessUsesTheWinnerWithoutTiming) {
  std::string winner;
  {
    const HandlePtr first = handle("--find_mode=hybrid");
    const Compiled compiled = compile(first);
    winner = compiled.candidate();
    EXPECT_EQ(compiled.source(), "tuned");
    EXPECT_GT(compiled.info.candidatesTimed, 1);
    EXPECT_GT(compiled.info.tunedMicroseconds, 0);
    EXPECT_GE(compiled.info.untunedMicroseconds, compiled.info.tunedMicroseconds);
    EXPECT_EQ(statistics(first).searches, 1u);
    EXPECT_EQ(statistics(first).rows, 1u) << "losers' kernels are not kept";
    compile(first);
    EXPECT_EQ(statistics(first).searches, 1u);
  }
  for (const char* mode : {"--find_mode=fast", "--find_mode=hybrid"}) {
    const HandlePtr later = handle(mode);
    const Compiled compiled = compile(later);
    EXPECT_EQ(compiled.candidate(), winner);
    EXPECT_EQ(compiled.source(), "tuned");
    EXPECT_GT(compiled.info.candidatesTimed, 1) << "by the search of then";
    EXPECT_EQ(compiled.info.cacheHit, 1);
    EXPECT_EQ(statistics(later).searches, 0u);
    EXPECT_EQ(statistics(later).tuningHits, 1u);
  }
  const HandlePtr again = handle("--find_mode=normal");
  compile(again);
  EXPECT_EQ(statistics(again).searches, 1u);
}

TEST_F(Tuning, AResultCountsForWhatItWasTimedFor) {
  const HandlePtr one = handle("--find_mode=hybrid");
  compile(one);
  EXPECT_EQ(compile(handle("--threads=2")).source(), "model");
  EXPECT_EQ(compile(handle("--max_isa=portable")).source(), "model");
  EXPECT_EQ(compile(handle("--disable_pass=cse")).source(), "model");
  EXPECT_EQ(compile(handle("--pin=cpu_portable")).source(), "model");
  EXPECT_EQ(compile(handle()).source(), "tuned");
  EXPECT_EQ(compile(handle(), "f32:1x16x12x12:nhwc;conv(f32:48x16x3x3,pad=1x1)").source(), "model");
}

TEST_F(Tuning, ThreadsThatWantOneResultTimeOnce) {
  const HandlePtr shared = handle("--find_mode=hybrid");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      fuseplanPlan_t plan = nullptr;
      if (fuseplanCreatePlanFromString(&plan, kPlan) || fuseplanCompilePlan(shared, plan) ||
          fuseplanDestroyPlan(plan))
        ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(statistics(shared).searches, 1u);
  EXPECT_EQ(statistics(shared).tuningHits, 5u);
}

// A caller's loop that compiles for itself when it is first asked to run tasks.
struct BusyLoop {
  fuseplanHandle_t handle = nullptr;
  fuseplanPlan_t plans[2] = {};
  int calls = 0, failed = 0;
  static void run(void* context, int count, fuseplanParallelTask_t task, void* argument) {
    auto& loop = *static_cast<BusyLoop*>(context);
    if (loop.calls++ == 0)
      for (const fuseplanPlan_t plan : loop.plans)
        if (fuseplanCompilePlan(loop.handle, plan) != fuseplanStatusSuccess) ++loop.failed;
    for (int i = 0; i < count; ++i) task(argument, i);
  }
};

// The same key, the same plan and the one search at a time are all in use while the loop runs.
TEST_F(Tuning, ACallersLoopMayCompileWhileCandidatesAreTimed) {
  const HandlePtr lent = handle("--find_mode=normal --threads=2 --tune_ms=20");
  const HandlePtr other = handle("--find_mode=normal --threads=2 --tune_ms=20");
  const char* text = "f32:1x64x28x28:nhwc;conv(f32:64x64x3x3,pad=1x1);activation(relu)";
  const PlanPtr plan = make_plan(text), same_text = make_plan(text);
  BusyLoop loop{other, {plan, same_text}};
  ASSERT_TRUE(ok(fuseplanSetParallelFor(lent, BusyLoop::run, &loop)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(lent, plan)));
  EXPECT_GT(loop.calls, 0);
  EXPECT_EQ(loop.failed, 0);
  for (const HandlePtr* compiled_on : {&lent, &other}) {
    auto info = sized<fuseplanPlanInfo_t>();
    ASSERT_TRUE(ok(fuseplanPlanGetInfo(*compiled_on, plan, &info)));
    EXPECT_STREQ(info.configSource, "tuned");
  }
}

TEST_F(Tuning, WithoutAFileItIsRememberedByTheProcessOrNotAtAll) {
  const HandlePtr memory = handle("--cache=mem --find_mode=hybrid");
  ASSERT_TRUE(ok(fuseplanCacheClear(memory)));
  const auto before = statistics(memory).searches;
  EXPECT_EQ(compile(memory).source(), "tuned");
  EXPECT_EQ(compile(memory).source(), "tuned");
  EXPECT_EQ(statistics(memory).searches, before + 1);
  const HandlePtr off = handle("--cache=off --find_mode=hybrid");
  const auto first = statistics(off).searches;
  EXPECT_EQ(compile(off).source(), "tuned");
  EXPECT_EQ(compile(off).source(), "tuned");
  EXPECT_EQ(statistics(off).searches, first + 2);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(Tuning, AReadOnlyDatabaseIsReadAndLeftAlone) {
  compile(handle("--find_mode=hybrid"));
  const HandlePtr reader = handle("--cache=ro --find_mode=hybrid");
  EXPECT_EQ(compile(reader).source(), "tuned");
  EXPECT_EQ(statistics(reader).searches, 0u);
  compile(reader, "f32:1x16x12x12:nhwc;conv(f32:48x16x3x3,pad=1x1)");
  EXPECT_EQ(statistics(reader).searches, 1u);
  const HandlePtr writer = handle();
  EXPECT_EQ(compile(writer, "f32:1x16x12x12:nhwc;conv(f32:48x16x3x3,pad=1x1)").source(), "model");
}

TEST_F(Tuning, StrictArithmeticKeepsItsSolvers) {
  constexpr const char* kStrict =
      "f32:1x64x28x28:nhwc;conv(f32:64x64x3x3,pad=1x1,strict);activation(relu)";
  const HandlePtr find = handle("--find_mode=normal");
  const PlanPtr plan = make_plan(kStrict);
  for (const fuseplanCandidate_t& row : candidates(find, plan))
    EXPECT_STRNE(row.solver, "cpu_winograd");
  EXPECT_STRNE(compile(find, kStrict).info.solver, "cpu_winograd");
}

TEST_F(Tuning, APinIsObeyedOrRefused) {
  const PlanPtr plan = make_plan(kPlan);
  const HandlePtr free = handle();
  const auto rows = candidates(free, plan);
  ASSERT_GT(rows.size(), 1u);
  for (const std::size_t i : {std::size_t{0}, rows.size() - 1}) {
    const HandlePtr pinned = handle("--find_mode=normal --pin=" + name_of(rows[i]));
    const Compiled compiled = compile(pinned);
    EXPECT_EQ(compiled.candidate(), name_of(rows[i]));
    EXPECT_EQ(compiled.source(), "pinned");
    EXPECT_EQ(statistics(pinned).searches, 0u);
  }
  EXPECT_TRUE(refused(fuseplanCompilePlan(handle("--pin=cpu_direct:77x7"), plan),
                      fuseplanStatusUnsupportedOp, "77x7"));
  EXPECT_TRUE(refused(fuseplanCompilePlan(handle("--pin=cpu_pointwise"), plan),
                      fuseplanStatusUnsupportedOp, "cpu_pointwise"));
}

TEST_F(Tuning, AWinnerThatIsNotStoredIsAnError) {
  const PlanPtr plan = make_plan(kPlan);
  const std::string last = name_of(candidates(handle(), plan).back());
  const auto store = [&](const char* options) {
    return fuseplanPlanStoreWinner(handle(options), plan, last.c_str());
  };
  EXPECT_TRUE(refused(store("--cache=ro"), fuseplanStatusInternalError, "read-only"));
  EXPECT_TRUE(refused(store("--cache=off"), fuseplanStatusInternalError, "off"));
  EXPECT_TRUE(ok(store("--cache=mem")));
}

TEST_F(Tuning, APinThatIsNoConfigurationIsSeenByQueries) {
  const PlanPtr plan = make_plan(kPlan);
  const HandlePtr pinned = handle("--pin=cpu_direct:77x7");
  auto support = sized<fuseplanFusionSupport_t>();
  ASSERT_TRUE(ok(fuseplanQueryFusionSupport(pinned, plan, &support)));
  EXPECT_EQ(support.fused, 0);
  EXPECT_EQ(support.solver, nullptr);
  const auto rejections =
      list_of<fuseplanRejection_t>([&](int count, int* returned, fuseplanRejection_t* rows) {
        return fuseplanPlanGetRejections(pinned, plan, count, returned, rows);
      });
  EXPECT_TRUE(std::any_of(rejections.begin(), rejections.end(), [](const auto& row) {
    return std::string(row.solver) == "cpu_direct" && row.code == fuseplanRejectSwitchedOff &&
           std::string(row.got) == "77x7";
  }));
  const std::string explained = text_of(
      [&](char* text, std::size_t* size) { return fuseplanPlanExplain(pinned, plan, text, size); });
  EXPECT_NE(explained.find("config is 77x7"), std::string::npos) << explained;
}

// What was compiled runs with all arguments, also where blending takes a kernel that cannot have
// the pinned configuration.
TEST_F(Tuning, APinDoesNotRefuseToBlend) {
  const std::vector<float> x(32 * 144, 0.5f), w(32 * 32 * 9, 0.25f);
  std::vector<float> y(x.size());
  const TensorPtr desc = make_tensor({1, 32, 12, 12}, fuseplanFloat, fuseplanTensorNHWC);
  int ran = 0;
  for (const char* filters : {"32x1x3x3,pad=1x1,groups=32", "32x4x3x3,pad=1x1,groups=8"}) {
    const PlanPtr plan = make_plan(std::string("f32:1x32x12x12:nhwc;conv(f32:") + filters + ")");
    for (const auto& row : candidates(handle("--max_isa=avx2"), plan)) {
      const HandlePtr pinned = handle("--max_isa=avx2 --pin=" + name_of(row));
      ASSERT_TRUE(ok(fuseplanCompilePlan(pinned, plan)));
      fuseplanOp_t op;
      ASSERT_TRUE(ok(fuseplanPlanGetOp(plan, 0, &op)));
      ArgsPtr args;
      ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
      const float beta = 0.5f;
      ASSERT_TRUE(ok(fuseplanSetOpArgsConvForward(args, op, nullptr, &beta, w.data())));
      EXPECT_TRUE(ok(fuseplanExecutePlan(pinned, plan, desc, x.data(), desc, y.data(), args)))
          << filters << " " << name_of(row);
      ++ran;
    }
  }
  EXPECT_GT(ran, 1);
}

TEST_F(Tuning, AWinnerCanBeBroughtAlong) {
  const PlanPtr plan = make_plan(kPlan);
  const HandlePtr target = handle();
  const auto rows = candidates(target, plan);
  ASSERT_GT(rows.size(), 1u);
  EXPECT_EQ(rows.front().chosen, 1);
  EXPECT_STREQ(rows.front().configSource, "model");
  const std::string last = name_of(rows.back());
  ASSERT_TRUE(ok(fuseplanPlanStoreWinner(target, plan, last.c_str())));
  EXPECT_EQ(compile(handle()).candidate(), last);
  EXPECT_EQ(candidates(target, plan).back().chosen, 1);
  EXPECT_STREQ(candidates(target, plan).back().configSource, "tuned");
  for (const char* wrong : {"", "cpu_direct", "cpu_direct:1", "cpu_depthwise:default"})
    EXPECT_TRUE(refused(fuseplanPlanStoreWinner(target, plan, wrong), fuseplanStatusInvalidValue,
                        "solver:config"))
        << wrong;
  const std::string explained = text_of(
      [&](char* text, std::size_t* size) { return fuseplanPlanExplain(target, plan, text, size); });
  EXPECT_NE(explained.find(rows.back().config), std::string::npos) << explained;
  EXPECT_NE(explained.find("(tuned"), std::string::npos) << explained;
}

#ifndef FUSEPLAN_THREAD_SANITIZER
/// Where a search says what it does: in a log callback, which waits there.
struct Held {
  std::latch reached{1}, go_on{1};
  static void wait(void* self, fuseplanLogLevel_t, const char* line) {
    if (!std::string_view(line).starts_with("fuseplan_tune,candidate")) return;
    if (static_cast<Held*>(self)->waits.exchange(false)) static_cast<Held*>(self)->stop();
  }
  void stop() {
    reached.count_down();
    go_on.wait();
  }
  std::atomic<bool> waits{true};
};

// A thread that searches, and logs, is not there in the child to let others do so.
TEST_F(Tuning, AChildForkedDuringASearchMaySearch) {
  Held held;
  ASSERT_TRUE(ok(fuseplanSetLogCallback(Held::wait, &held)));
  ASSERT_TRUE(ok(fuseplanSetLogLevel(fuseplanLogTrace)));
  std::thread searching([&] { compile(handle("--cache=off --find_mode=normal")); });
  held.reached.wait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(compile(handle("--cache=off --find_mode=normal")).source() == "tuned" ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
  held.go_on.count_down();
  searching.join();
  ASSERT_TRUE(ok(fuseplanSetLogLevel(fuseplanLogWarning)));
  ASSERT_TRUE(ok(fuseplanSetLogCallback(nullptr, nullptr)));
}
#endif

}  // namespace
}  // namespace fuseplan::test
