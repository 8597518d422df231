// SPDX-License-Identifier: MIT
// What a query says of kernels that could not be made. The system's two ways to executable memory
// are replaced in this program, and refuse while the test says so.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <set>

#include "api_world.hpp"

namespace {

std::atomic<bool> refuse_code{false};

/// Kernels can be loaded again when it ends.
struct NoCode {
  NoCode() { refuse_code = true; }
  ~NoCode() { refuse_code = false; }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int mprotect(void* memory, std::size_t bytes,
                                                               int rights) noexcept {
  if (!refuse_code || (rights & PROT_EXEC) == 0)
    return static_cast<int>(syscall(SYS_mprotect, memory, bytes, rights));
  errno = EACCES;
  return -1;
}

extern "C" __attribute__((visibility("default"))) int memfd_create(const char* name,
                                                                   unsigned flags) noexcept {
  if (!refuse_code) return static_cast<int>(syscall(SYS_memfd_create, name, flags));
  errno = EACCES;
  return -1;
}

namespace fuseplan::test {
namespace {

constexpr const char* kText = "f32:1x8x6x6:nchw;conv(f32:8x8x3x3,pad=1x1);activation(relu)";

std::set<std::string> accepting(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  std::set<std::string> names;
  for (const auto& solver :
       list_of<fuseplanSolverInfo_t>([&](int count, int*returned, fuseplanSolverInfo_t*entries) {
         return fuseplanPlanGetSolvers(handle, plan, count, returned, entries);
       }))
    if (solver.accepted == 1) names.insert(solver.name);
  return names;
}

/// Who could not be compiled; checks what the rejections say.
std::set<std::string> failed(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  std::set<std::string> names;
  for (const auto& rejection :
       list_of<fuseplanRejection_t>([&](int count, int*returned, fuseplanRejection_t*entries) {
         return fuseplanPlanGetRejections(handle, plan, count, returned, entries);
       })) {
    const bool is_compile = rejection.code == fuseplanRejectCompile;
    EXPECT_STREQ(rejection.stage, is_compile ? "compile" : "solver");
    if (!is_compile) continue;
    EXPECT_NE(std::string(rejection.got).find("no generated code"), std::string::npos);
    EXPECT_EQ(rejection.opIndex, -1);
    names.insert(rejection.solver);
  }
  return names;
}

fuseplanFusionSupport_t support_of(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  auto support = sized<fuseplanFusionSupport_t>();
  EXPECT_TRUE(ok(fuseplanQueryFusionSupport(handle, plan, &support)));
  return support;
}

TEST(CompileFailures, AreRejectionsAndTheNextSolverRuns) {
  const HandlePtr handle = make_handle("--cache=off");
  const PlanPtr plan = make_plan(kText);
  const std::set<std::string> all = accepting(handle, plan);
  EXPECT_TRUE(failed(handle, plan).empty());
  {
    const NoCode denied;
    ASSERT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
  }
  // Only the portable kernels need no code of their own.
  const std::set<std::string> left = accepting(handle, plan), without = failed(handle, plan);
  EXPECT_EQ(left, std::set<std::string>{"cpu_portable"});
  EXPECT_EQ(left.size() + without.size(), all.size());
  for (const std::string& solver : without) EXPECT_TRUE(all.contains(solver)) << solver;
  auto info = sized<fuseplanPlanInfo_t>();
  ASSERT_TRUE(ok(fuseplanPlanGetInfo(handle, plan, &info)));
  EXPECT_STREQ(support_of(handle, plan).solver, info.solver);
  const HandlePtr other = make_handle("--cache=off");
  EXPECT_EQ(accepting(other, plan), all) << "what failed on one handle says nothing of another";
  ASSERT_TRUE(ok(fuseplanPlanSetSolver(plan, "")));
  EXPECT_TRUE(failed(handle, plan).empty()) << "the plan was edited";
  EXPECT_EQ(accepting(handle, plan), all);
}

TEST(CompileFailures, OfAllSolversMeanNotFused) {
  const HandlePtr handle = make_handle("--cache=off");
  const PlanPtr plan = make_plan(kText);
  const std::string first = support_of(handle, plan).solver;
  if (first == "cpu_portable") return;  // a CPU for which no code is generated
  ASSERT_TRUE(ok(fuseplanPlanSetSolver(plan, first.c_str())));
  {
    const NoCode denied;
    EXPECT_TRUE(
        refused(fuseplanCompilePlan(handle, plan), fuseplanStatusUnsupportedOp, "no generated"));
  }
  EXPECT_EQ(support_of(handle, plan).fused, 0);
  EXPECT_EQ(failed(handle, plan), std::set<std::string>{first});
  const std::string explained = text_of(
      [&](char* text, std::size_t* size) { return fuseplanPlanExplain(handle, plan, text, size); });
  EXPECT_NE(explained.find(first + ": kernel is this system allows no generated code"),
            std::string::npos)
      << explained;
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle, plan))) << "allowed again, it is tried again";
  EXPECT_TRUE(failed(handle, plan).empty());
  EXPECT_EQ(support_of(handle, plan).fused, 1);
}

}  // namespace
}  // namespace fuseplan::test
