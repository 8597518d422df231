// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

constexpr const char* kPlan =
    "f32:1x4x6x6:nchw;conv(f32:8x4x3x3:nchw,pad=1x1);bias(f32:1x8x1x1);activation(relu)";

/// A private cache directory, gone afterwards.
class Cache : public ::testing::Test {
 protected:
  Cache() {
    char name[] = "fuseplan-api-cache-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    directory_ = std::filesystem::absolute(name);
  }
  ~Cache() override { std::filesystem::remove_all(directory_); }

  HandlePtr handle(const std::string& options = "") const {
    return make_handle(("--cache_dir=" + directory_.string() + " " + options).c_str());
  }
  static fuseplanCacheStatistics_t statistics(fuseplanHandle_t handle) {
    auto statistics = sized<fuseplanCacheStatistics_t>();
    EXPECT_TRUE(ok(fuseplanCacheGetStatistics(handle, &statistics)));
    return statistics;
  }
  static std::vector<fuseplanCacheEntry_t> entries(fuseplanHandle_t handle) {
    return list_of<fuseplanCacheEntry_t>([&](int count, int* returned, fuseplanCacheEntry_t* rows) {
      return fuseplanCacheList(handle, count, returned, rows);
    });
  }
  static int hit_of(fuseplanHandle_t handle) {
    const PlanPtr plan = make_plan(kPlan);
    EXPECT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
    auto info = sized<fuseplanPlanInfo_t>();
    EXPECT_TRUE(ok(fuseplanPlanGetInfo(handle, plan, &info)));
    return info.cacheHit;
  }
  static std::string location(fuseplanHandle_t handle) {
    return text_of([&](char* text, std::size_t* size) {
      return fuseplanCacheGetLocation(handle, text, size);
    });
  }

  std::filesystem::path directory_;
};

TEST_F(Cache, KeepsKernelsInItsDirectory) {
  {
    const HandlePtr first = handle();
    EXPECT_EQ(location(first).rfind(directory_.string(), 0), 0u) << location(first);
    EXPECT_EQ(hit_of(first), 0);
    EXPECT_EQ(hit_of(first), 1);
    const auto counts = statistics(first);
    EXPECT_EQ(counts.misses, 1u);
    EXPECT_EQ(counts.builds, 1u);
    EXPECT_EQ(counts.stored, 1u);
    EXPECT_EQ(counts.hits, 1u);
    EXPECT_EQ(counts.hitsOnDisk, 0u);
    EXPECT_EQ(counts.rows, 1u);
    EXPECT_GT(counts.bytes, 0u);
  }
  // The last handle is gone and its memory with it: this one reads the file.
  const HandlePtr second = handle();
  EXPECT_EQ(hit_of(second), 1);
  EXPECT_EQ(statistics(second).hitsOnDisk, 1u);
  EXPECT_EQ(statistics(second).builds, 0u);
}

TEST_F(Cache, ListsVerifiesAndClears) {
  const HandlePtr one = handle();
  EXPECT_EQ(hit_of(one), 0);
  auto rows = entries(one);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(std::strlen(rows[0].key), 64u);
  auto support = sized<fuseplanFusionSupport_t>();
  const PlanPtr plan = make_plan(kPlan);
  ASSERT_TRUE(ok(fuseplanQueryFusionSupport(one, plan, &support)));
  EXPECT_STREQ(rows[0].solver, support.solver);
  EXPECT_GT(rows[0].bytes, 0u);
  EXPECT_GT(rows[0].created, 1700000000);
  auto report = sized<fuseplanCacheReport_t>();
  ASSERT_TRUE(ok(fuseplanCacheVerify(one, &report)));
  EXPECT_EQ(report.checked, 1u);
  EXPECT_EQ(report.bad + report.deleted, 0u);
  ASSERT_TRUE(ok(fuseplanCacheClear(one)));
  EXPECT_TRUE(entries(one).empty());
  EXPECT_EQ(hit_of(one), 0);
}

TEST_F(Cache, SaysWhatIsNotThere) {
  EXPECT_EQ(hit_of(handle()), 0);
  EXPECT_TRUE(
      refused(fuseplanCacheClear(handle("--cache=ro")), fuseplanStatusInternalError, "read-only"));
  EXPECT_EQ(statistics(handle()).rows, 1u);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  const HandlePtr open = handle();
  EXPECT_EQ(location(open), "");
  EXPECT_TRUE(refused(fuseplanCacheClear(open), fuseplanStatusInternalError, "writable"));
  auto report = sized<fuseplanCacheReport_t>();
  ASSERT_TRUE(ok(fuseplanCacheVerify(open, &report)));
  EXPECT_EQ(report.bad, 1u);
}

TEST_F(Cache, CanBeKeptInMemoryOrSwitchedOff) {
  const HandlePtr memory = handle("--cache=mem");
  EXPECT_EQ(location(memory), "");
  ASSERT_TRUE(ok(fuseplanCacheClear(memory)));
  EXPECT_EQ(hit_of(memory), 0);
  EXPECT_EQ(hit_of(memory), 1);
  const HandlePtr off = handle("--cache=off");
  EXPECT_EQ(hit_of(off), 0);
  EXPECT_EQ(hit_of(off), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace fuseplan::test
