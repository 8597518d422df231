// SPDX-License-Identifier: MIT
#include <cstring>
#include <set>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

std::vector<fuseplanRejection_t> rejections(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  return list_of<fuseplanRejection_t>([&](int count, int* returned, fuseplanRejection_t* entries) {
    return fuseplanPlanGetRejections(handle, plan, count, returned, entries);
  });
}

std::vector<fuseplanSolverInfo_t> solvers(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  return list_of<fuseplanSolverInfo_t>(
      [&](int count, int* returned, fuseplanSolverInfo_t* entries) {
        return fuseplanPlanGetSolvers(handle, plan, count, returned, entries);
      });
}

std::string explain(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  return text_of(
      [&](char* text, std::size_t* size) { return fuseplanPlanExplain(handle, plan, text, size); });
}

TEST(Queries, SayWhoRunsAPlan) {
  const World o;
  auto support = sized<fuseplanFusionSupport_t>();
  ASSERT_TRUE(ok(fuseplanQueryFusionSupport(o.handle, o.plan, &support)));
  EXPECT_EQ(support.fused, 1);
  EXPECT_EQ(support.kernelCount, 1);
  const auto list = solvers(o.handle, o.plan);
  ASSERT_FALSE(list.empty());
  EXPECT_STREQ(list[0].name, support.solver);
  EXPECT_EQ(list[0].accepted, 1);
  auto info = sized<fuseplanPlanInfo_t>();
  ASSERT_TRUE(ok(fuseplanPlanGetInfo(o.handle, o.plan, &info)));
  EXPECT_STREQ(info.solver, support.solver) << "the answer must be what compiling gave";
  EXPECT_GT(info.binaryBytes + 1, 0u);
  EXPECT_GT(info.compileMicroseconds, 0);
}

TEST(Queries, SayWhyNot) {
  World o;
  // Every solver that accepts is switched off, so that nobody is left.
  std::string options = "--disable_solver=";
  for (const auto& solver : solvers(o.handle, o.plan)) options += std::string(solver.name) + ",";
  ASSERT_TRUE(ok(fuseplanSetOptions(o.handle, options.c_str())));
  auto support = sized<fuseplanFusionSupport_t>();
  ASSERT_TRUE(ok(fuseplanQueryFusionSupport(o.handle, o.plan, &support)));
  EXPECT_EQ(support.fused, 0);
  EXPECT_EQ(support.kernelCount, 0);
  EXPECT_EQ(support.solver, nullptr);
  std::set<std::string> declined;
  for (const auto& rejection : rejections(o.handle, o.plan)) {
    declined.insert(rejection.solver);
    EXPECT_STREQ(rejection.stage, "solver");
    for (const char* text : {rejection.field, rejection.got, rejection.need, rejection.hint})
      EXPECT_NE(text, nullptr);
  }
  const auto all = solvers(o.handle, o.plan);
  for (const auto& solver : all) {
    EXPECT_EQ(solver.accepted, 0);
    EXPECT_EQ(declined.count(solver.name), 1u) << solver.name << " declined without a reason";
    EXPECT_NE(explain(o.handle, o.plan).find(solver.name), std::string::npos);
  }
  const HandlePtr other = make_handle(("--cache=mem " + options).c_str());
  EXPECT_TRUE(
      refused(fuseplanCompilePlan(other, o.plan), fuseplanStatusUnsupportedOp, all.front().name));
}

// Of the same process, on one machine: the limit is the handle's, and so is the choice.
TEST(Queries, SayWhatALimitExcludes) {
  const PlanPtr plan =
      make_plan("u8:1x64x14x14:nhwc;conv(i8:64x64x3x3:nhwc,pad=1x1)->f32:1x64x14x14:nhwc");
  const auto matrix_accepts = [&](const char* options) {
    const HandlePtr handle = make_handle(options);
    EXPECT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
    auto info = sized<fuseplanPlanInfo_t>();
    EXPECT_TRUE(ok(fuseplanPlanGetInfo(handle, plan, &info)));
    for (const auto& solver : solvers(handle, plan))
      if (solver.name == std::string_view("cpu_matrix")) {
        EXPECT_EQ(solver.accepted, info.solver == std::string_view("cpu_matrix"));
        return solver.accepted == 1;
      }
    ADD_FAILURE() << "cpu_matrix is not listed";
    return false;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(matrix_accepts("--cache=mem --max_isa=amx"), matrix_accepts("--cache=mem"));
    EXPECT_FALSE(matrix_accepts("--cache=mem --max_isa=avx512"));
  }
  const HandlePtr limited = make_handle("--cache=mem --max_isa=avx512");
  EXPECT_NE(explain(limited, plan).find("raise the max_isa option"), std::string::npos);
}

TEST(Queries, LeadToTheSolverThatIsAskedFor) {
  World o;
  for (const auto& solver : solvers(o.handle, o.plan)) {
    ASSERT_TRUE(ok(fuseplanPlanSetSolver(o.plan, solver.name)));
    const fuseplanStatus_t status = fuseplanCompilePlan(o.handle, o.plan);
    EXPECT_EQ(status, solver.accepted ? fuseplanStatusSuccess : fuseplanStatusUnsupportedOp);
    if (!solver.accepted) continue;
    auto info = sized<fuseplanPlanInfo_t>();
    ASSERT_TRUE(ok(fuseplanPlanGetInfo(o.handle, o.plan, &info)));
    EXPECT_STREQ(info.solver, solver.name);
  }
}

TEST(Queries, ListAlgorithmsThatWork) {
  World o;
  int count = 0;
  ASSERT_TRUE(ok(fuseplanPlanConvolutionGetAlgo(o.plan, 0, &count, nullptr)));
  ASSERT_GE(count, 1);
  std::vector<fuseplanConvFwdAlgorithm_t> algorithms(static_cast<std::size_t>(count));
  ASSERT_TRUE(ok(fuseplanPlanConvolutionGetAlgo(o.plan, count, &count, algorithms.data())));
  for (const auto algorithm : algorithms) {
    ASSERT_TRUE(ok(fuseplanPlanConvolutionSetAlgo(o.plan, algorithm)));
    EXPECT_TRUE(ok(fuseplanCompilePlan(o.handle, o.plan)));
  }
  ASSERT_TRUE(ok(fuseplanPlanConvolutionSetAlgo(o.plan, fuseplanConvolutionFwdAlgoFFT)));
  EXPECT_TRUE(refused(fuseplanCompilePlan(o.handle, o.plan), fuseplanStatusUnsupportedOp,
                      "cpu_direct: algorithm is direct, expected fft"));
}

TEST(Queries, TakeTheirTextFromThePlanUntilItEnds) {
  World o;
  const auto before = solvers(o.handle, o.plan);
  const auto again = solvers(o.handle, o.plan);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].name, again[i].name);
}

TEST(Queries, EnumerateWhatIsSupported) {
  const HandlePtr handle = make_handle("--cache=mem");
  const auto table = list_of<fuseplanSupportEntry_t>(
      [&](int count, int* returned, fuseplanSupportEntry_t* entries) {
        return fuseplanGetSupportTable(handle, count, returned, entries);
      });
  std::set<std::string> words;
  std::set<std::pair<int, int>> combinations;
  for (const auto& row : table) {
    combinations.insert({row.dataType, row.layout});
    for (const char* word : {"conv", "groups", "bias", "norm", "activation", "add"})
      if (std::strstr(row.operations, word) != nullptr) words.insert(word);
  }
  EXPECT_EQ(combinations.size(), 20u) << "5 types x 4 layouts";
  EXPECT_EQ(words.size(), 6u);
}

TEST(Queries, EnumeratePassesAndOptions) {
  const auto passes = list_of<fuseplanPassInfo_t>(fuseplanGetPasses);
  const auto options = list_of<fuseplanOptionInfo_t>(fuseplanGetOptionTable);
  ASSERT_GE(passes.size(), 5u);
  ASSERT_GE(options.size(), 5u);
  const HandlePtr handle = make_handle();
  for (const auto& pass : passes) {
    const std::string option = std::string("--disable_pass=") + pass.name;
    EXPECT_EQ(fuseplanSetOptions(handle, option.c_str()),
              pass.switchable ? fuseplanStatusSuccess : fuseplanStatusBadOption)
        << pass.name;
    EXPECT_STRNE(pass.description, "");
  }
}

TEST(Queries, ReportPassesAndExpressions) {
  World o;
  const auto report = [&] {
    return list_of<fuseplanPassReport_t>(
        [&](int count, int* returned, fuseplanPassReport_t* entries) {
          return fuseplanPlanGetPassReport(o.handle, o.plan, count, returned, entries);
        });
  };
  const auto expression = [&](fuseplanExpressionStage_t stage) {
    return text_of([&](char* text, std::size_t* size) {
      return fuseplanPlanGetExpression(o.handle, o.plan, stage, text, size);
    });
  };
  int applied = 0;
  for (const auto& pass : report()) applied += pass.applied;
  EXPECT_GT(applied, 0);
  EXPECT_NE(expression(fuseplanExpressionLowered), expression(fuseplanExpressionOptimized));
  const std::string with = expression(fuseplanExpressionOptimized);
  ASSERT_TRUE(ok(fuseplanSetOptions(o.handle, "--disable_pass=fold_batchnorm")));
  EXPECT_NE(expression(fuseplanExpressionOptimized), with);
  for (const auto& pass : report()) {
    const bool off = std::strcmp(pass.name, "fold_batchnorm") == 0;
    EXPECT_EQ(pass.enabled, off ? 0 : 1) << pass.name;
    if (off) {
      EXPECT_EQ(pass.applied, 0);
    }
  }
  std::size_t size = 0;
  EXPECT_TRUE(
      refused(fuseplanPlanGetExpression(o.handle, o.plan, static_cast<fuseplanExpressionStage_t>(2),
                                        nullptr, &size),
              fuseplanStatusInvalidValue, "stage is 2"));
}

TEST(Queries, GiveTheKernelAsAnElfObject) {
  World o;
  std::size_t size = 0;
  ASSERT_TRUE(ok(fuseplanPlanGetBinary(o.handle, o.plan, nullptr, &size)));
  std::vector<char> binary(size);
  ASSERT_TRUE(ok(fuseplanPlanGetBinary(o.handle, o.plan, binary.data(), &size)));
  ASSERT_GE(size, 4u);
  EXPECT_EQ(std::memcmp(binary.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
}

TEST(Texts, AreWrittenOnlyWhereThereIsRoom) {
  const HandlePtr handle = make_handle();
  std::size_t size = 0;
  ASSERT_TRUE(ok(fuseplanGetDevice(handle, nullptr, &size)));
  const std::size_t needed = size;
  std::string text(needed, '?');
  size = needed - 1;
  EXPECT_TRUE(refused(fuseplanGetDevice(handle, text.data(), &size), fuseplanStatusInvalidValue,
                      std::to_string(needed)));
  EXPECT_EQ(size, needed);
  EXPECT_EQ(text, std::string(needed, '?'));
  EXPECT_TRUE(ok(fuseplanGetDevice(handle, text.data(), &size)));
  EXPECT_STREQ(text.c_str(), "cpu:0");
}

TEST(Lists, AreWrittenAsFarAsAsked) {
  const auto all = list_of<fuseplanPassInfo_t>(fuseplanGetPasses);
  std::vector<fuseplanPassInfo_t> some(all.size());
  some[0].structSize = sizeof some[0];
  int returned = 0;
  ASSERT_TRUE(ok(fuseplanGetPasses(2, &returned, some.data())));
  EXPECT_EQ(returned, 2);
  EXPECT_STREQ(some[1].name, all[1].name);
  EXPECT_EQ(some[2].name, nullptr);
  EXPECT_TRUE(refused(fuseplanGetPasses(-1, &returned, some.data()), fuseplanStatusInvalidValue,
                      "requestCount is -1"));
}

TEST(Structs, GrowAtTheirEnd) {
  // As compiled by a program whose header has one more member than the library knows.
  struct Grown {
    fuseplanPassInfo_t known;
    void* later;
  };
  const auto all = list_of<fuseplanPassInfo_t>(fuseplanGetPasses);
  std::vector<Grown> grown(all.size());
  for (Grown& entry : grown) entry.later = &grown;
  grown[0].known.structSize = sizeof(Grown);
  int returned = 0;
  ASSERT_TRUE(ok(fuseplanGetPasses(static_cast<int>(grown.size()), &returned, &grown[0].known)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_STREQ(grown[i].known.name, all[i].name);
    EXPECT_EQ(grown[i].known.structSize, sizeof(Grown));
    EXPECT_EQ(grown[i].later, nullptr);
  }
  for (const std::size_t wrong :
       {std::size_t{0}, sizeof(fuseplanPassInfo_t) - 1, ~std::size_t{0}}) {
    grown[0].known.structSize = wrong;
    EXPECT_TRUE(refused(fuseplanGetPasses(1, &returned, &grown[0].known), fuseplanStatusBadParm,
                        "structSize"));
  }
}

}  // namespace
}  // namespace fuseplan::test
