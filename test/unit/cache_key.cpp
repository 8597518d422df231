// SPDX-License-Identifier: MIT
#include "cache/key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// One of each kind of thing that can change a kernel's bytes.
const Fields kFields = {{"schema", "1"},
                        {"library", "5f3c9a"},
                        {"codegen", "7"},
                        {"solver", "cpu_direct"},
                        {"config", "tile=6x16"},
                        {"plan", "conv3x3+bias+relu"},
                        {"dtype", "f32"},
                        {"layout", "nhwc"},
                        {"strides", "1,2,3,4"},
                        {"options", "strict"},
                        {"passes_off", "fold_batchnorm"},
                        {"backend", "cpu"},
                        {"compiler", "xbyak-6.60"},
                        {"target", "avx512f,avx512vl"},
                        {"os", "linux-x86_64"},
                        {"page", "4096"}};

CacheKey key_of(const Fields& fields) {
  KeyBuilder builder;
  for (const auto& [name, value] : fields) builder.field(name, value);
  return builder.build();
}

// Every way to change one field, and each pair of neighbours exchanged.
std::vector<Fields> mutations() {
  std::vector<Fields> all;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    for (const char* change : {"append", "drop", "empty", "rename", "remove", "swap"}) {
      Fields mutated = kFields;
      const std::string_view kind = change;
      if (kind == "append") mutated[i].second += " ";
      if (kind == "drop") mutated[i].second.pop_back();
      if (kind == "empty") mutated[i].second = "-";
      if (kind == "rename") mutated[i].first += "_";
      if (kind == "remove") mutated.erase(mutated.begin() + static_cast<long>(i));
      if (kind == "swap") std::swap(mutated[i], mutated[(i + 1) % kFields.size()]);
      all.push_back(std::move(mutated));
    }
  }
  return all;
}

TEST(CacheKey, IsTheSameForTheSameFields) {
  EXPECT_EQ(key_of(kFields).digest, key_of(kFields).digest);
  EXPECT_EQ(key_of(kFields).text, key_of(kFields).text);
}

// Pinned: a change of the encoding would silently orphan every stored kernel.
TEST(CacheKey, HasAStableEncoding) {
  EXPECT_EQ(to_hex(KeyBuilder().field("a", "b").field("n", 7).build().digest),
            "65c02bd65712b3201cdf87d347d14a632559ea1f6c997e3b7e081da03bbbb3d7");
}

TEST(CacheKey, EachFieldCounts) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  store->put(key_of(kFields), sample_row(1));
  std::set<Digest> seen = {key_of(kFields).digest};
  int misses = 0;
  for (const Fields& fields : mutations()) {
    const CacheKey key = key_of(fields);
    EXPECT_TRUE(seen.insert(key.digest).second) << key.text;
    EXPECT_FALSE(store->find(key)) << key.text;
    ++misses;
  }
  std::printf("%zu fields, %d mutated keys missed\n", kFields.size(), misses);
  EXPECT_GE(kFields.size(), 14u);
  EXPECT_GE(misses, 80);
  EXPECT_EQ(store->find(key_of(kFields)), sample_row(1));
}

TEST(CacheKey, FieldBoundariesCount) {
  const auto digest = [](std::string_view a, std::string_view b) {
    return KeyBuilder().field(a, b).build().digest;
  };
  EXPECT_NE(digest("ab", "c"), digest("a", "bc"));
  EXPECT_NE(digest("a", ""), digest("", "a"));
  EXPECT_NE(KeyBuilder().field("a", "b\nc=d").build().digest,
            KeyBuilder().field("a", "b").field("c", "d").build().digest);
}

TEST(CacheKey, TextKeepsAFieldOnOneLine) {
  const CacheKey key = KeyBuilder().field("plan", "a\nb\\c\x01").field("n", -3).build();
  EXPECT_EQ(key.text, "plan=a\\x0ab\\\\c\\x01\nn=-3\n");
  // What is written out is printable, and no two values are written alike.
  std::set<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string value(1, static_cast<char>(byte));
    const std::string text = KeyBuilder().field(value, value + value).build().text;
    EXPECT_TRUE(texts.insert(text).second) << byte;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << byte;
    EXPECT_EQ(std::count_if(text.begin(), text.end(), [](char c) { return c > 0 && c < ' '; }), 1);
    EXPECT_EQ(text.find('\x7f'), text.npos) << byte;
  }
  EXPECT_NE(KeyBuilder().field("a", "\n").build().text,
            KeyBuilder().field("a", "\\x0a").build().text);
}

}  // namespace
}  // namespace fuseplan::test
