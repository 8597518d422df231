// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <vector>

#include "api/results.hpp"

namespace fuseplan::api {
namespace {

/// A struct that has grown by one member since programs were first built with it.
struct Grown {
  std::size_t structSize;
  double known, later;
};
struct First {
  std::size_t structSize;
  double known;
};

}  // namespace

template <>
inline constexpr std::size_t kFirstSize<Grown> = sizeof(First);

namespace {

Grown* grown(First* first) { return reinterpret_cast<Grown*>(first); }

TEST(GrowingStructs, AreFilledAsFarAsAnOlderProgramKnows) {
  First told[2] = {{sizeof(First), -1}, {77, -1}};
  write_struct(grown(told), {0, 1.5, 2.5}, "told");
  EXPECT_EQ(told[0].structSize, sizeof(First));
  EXPECT_EQ(told[0].known, 1.5);
  EXPECT_EQ(told[1].structSize, 77) << "what lies behind is not the library's";

  Grown whole = {sizeof(Grown), -1, -1};
  write_struct(&whole, {0, 1.5, 2.5}, "whole");
  EXPECT_EQ(whole.later, 2.5);
}

TEST(GrowingStructs, OfListsLieAsFarApartAsAnOlderProgramHasThem) {
  First told[3] = {{sizeof(First), -1}, {0, -1}, {77, -1}};
  int returned = 0;
  write_structs(2, &returned, grown(told), {{0, 1.5, 2.5}, {0, 3.5, 4.5}, {0, 5.5, 6.5}}, "told");
  EXPECT_EQ(returned, 2);
  EXPECT_EQ(told[0].known, 1.5);
  EXPECT_EQ(told[1].structSize, sizeof(First));
  EXPECT_EQ(told[1].known, 3.5);
  EXPECT_EQ(told[2].structSize, 77);
}

TEST(GrowingStructs, SmallerThanTheFirstAreRefused) {
  for (const std::size_t size : {sizeof(First) - 1, std::size_t{0}, std::size_t{1} << 20}) {
    First told = {size, -1};
    try {
      write_struct(grown(&told), {0, 1.5, 2.5}, "told");
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::BadParm);
      EXPECT_NE(std::string_view(error.what()).find("(16 or more)"), std::string_view::npos);
    }
    EXPECT_EQ(told.known, -1);
  }
}

// Programs were built with these, in the order of the rows.
TEST(GrowingStructs, OfTheApiStartAtTheirFirstSizes) {
  if (sizeof(void*) != 8) return;
  const std::vector<std::size_t> sizes = {
#define FUSEPLAN_GROWING_STRUCT(type, last) kFirstSize<type>,
#include "api/growing_structs.def"
#undef FUSEPLAN_GROWING_STRUCT
  };
  EXPECT_EQ(sizes, (std::vector<std::size_t>{32, 40, 40, 72, 48, 32, 32, 48, 96, 120, 32, 160}));
}

}  // namespace
}  // namespace fuseplan::api
