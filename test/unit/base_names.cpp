// SPDX-License-Identifier: MIT
// Statuses, data types, and the small text functions behind messages.
#include <gtest/gtest.h>

#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "base/dtype.hpp"
#include "base/failure.hpp"
#include "base/status.hpp"
#include "base/text.hpp"

namespace fuseplan {
namespace {

TEST(Status, NumbersAndNamesAreTheAbi) {
  const char* const miopen[] = {
      "Success",       "NotInitialized",       "InvalidValue",   "BadParm",
      "AllocFailed",   "InternalError",        "NotImplemented", "UnknownError",
      "UnsupportedOp", "GpuOperationsSkipped", "VersionMismatch"};
  int value = 0;
  for (const char* name : miopen)
    EXPECT_EQ(status_name(static_cast<Status>(value++)), std::string("fuseplanStatus") + name);
}

TEST(Status, EveryRowIsNamedOnceAndStrangersAreToo) {
  std::set<int> values;
  std::set<std::string> names, sentences;
  int rows = 0;
#define FUSEPLAN_STATUS(name, value, sentence) \
  ++rows;                                      \
  values.insert(value);                        \
  sentences.insert(sentence);                  \
  names.insert(status_name(Status::name));     \
  EXPECT_STREQ(status_name(Status::name), "fuseplanStatus" #name);
#include "base/statuses.def"
#undef FUSEPLAN_STATUS
  EXPECT_EQ(values.size(), static_cast<std::size_t>(rows));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(rows));
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(rows));
  for (const int stranger : {-1, 11, 31, 1000})
    EXPECT_STREQ(status_name(static_cast<Status>(stranger)), "Unknown error status");
}

template <typename T>
void expect_failure(const T& thrown, Status status, const std::string& sentence) {
  try {
    throw thrown;
  } catch (...) {
    const Failure failure = current_failure();
    EXPECT_EQ(failure.status, status);
    EXPECT_EQ(failure.sentence, sentence);
  }
}

TEST(Failure, EveryExceptionHasAStatusAndASentence) {
  expect_failure(Error(Status::BadOption, "no such option"), Status::BadOption, "no such option");
  expect_failure(std::bad_alloc(), Status::AllocFailed, "out of memory");
  expect_failure(std::runtime_error("a defect"), Status::InternalError, "a defect");
  expect_failure(42, Status::UnknownError, "an exception of an unknown type");
}

TEST(Failure, LongMessagesAreCut) {
  LastMessage message;
  EXPECT_STREQ(message.text(), "");
  message.write("f", std::string(5000, 'x'));
  EXPECT_EQ(message.text(), "f: " + std::string(4092, 'x'));
  message.write("g", "short");
  EXPECT_STREQ(message.text(), "g: short");
}

TEST(Error, CarriesStatusAndSentence) {
  EXPECT_NO_THROW(require(true, Status::BadParm, "never"));
  try {
    require(1 > 2, Status::UnsupportedOp, "{} is not {}", 1, "two");
    FAIL() << "require let a false condition pass";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::UnsupportedOp);
    EXPECT_STREQ(error.what(), "1 is not two");
  }
}

TEST(DType, NamesReadBackAndSizesAreRight) {
  const std::pair<DType, std::size_t> sizes[] = {{DType::f16, 2}, {DType::f32, 4},  {DType::i32, 4},
                                                 {DType::i8, 1},  {DType::bf16, 2}, {DType::f64, 8},
                                                 {DType::i64, 8}, {DType::u8, 1}};
  for (const auto& [dtype, bytes] : sizes) {
    EXPECT_EQ(size_of(dtype), bytes) << name_of(dtype);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  }
}

TEST(DType, StrangersAreRefused) {
  for (const int number : {-1, 4, 7, 8, 10}) {
    EXPECT_EQ(find_dtype(static_cast<DType>(number)), nullptr);
    EXPECT_THROW(size_of(static_cast<DType>(number)), Error);
  }
  for (const char* name : {"", "f", "F32", "f32 ", "float"})
    EXPECT_EQ(parse_dtype(name), std::nullopt);
}

TEST(Text, SplitsIntoAllPieces) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(split_list("a,b,c", ','), (Pieces{"a", "b", "c"}));
  EXPECT_EQ(split_list("", ','), (Pieces{""}));
  EXPECT_EQ(split_list(",a,,", ','), (Pieces{"", "a", "", ""}));
}

TEST(Text, SuggestsTheNearestName) {
  EXPECT_EQ(suggest("fold_batchnrm", {"cse", "fold_batchnorm"}),
            "did you mean fold_batchnorm? (one of cse, fold_batchnorm)");
  EXPECT_EQ(suggest("x", {}), "none is known");
}

TEST(Text, QuotesWhereAValueWouldNotEndAtItsEnd) {
  EXPECT_EQ(option_value("/tmp/a\\b\"c"), "/tmp/a\\b\"c");
  EXPECT_EQ(option_value(""), "");
  EXPECT_EQ(option_value("/my files"), "\"/my files\"");
  EXPECT_EQ(option_value("\"a\\"), "\"\\\"a\\\\\"");
}

}  // namespace
}  // namespace fuseplan
