// SPDX-License-Identifier: MIT
#include "cache/row.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "support/cache_rows.hpp"

namespace fuseplan::test {
namespace {

TEST(CacheRow, ReadsBackWhatWasPacked) {
  for (const std::size_t bytes : {0u, 1u, 7u, 100u, 4096u, 300001u})
    for (const bool noise : {false, true}) {
      const Row row = sample_row(bytes, bytes, noise);
      const CacheKey key = sample_key(bytes);
      EXPECT_EQ(unpack_row(key, pack_row(key, row)), row) << bytes << " bytes, noise " << noise;
    }
}

TEST(CacheRow, CompressesWhatCompresses) {
  const StoredRow text = pack_row(sample_key(1), sample_row(1, 100000, false));
  const StoredRow noise = pack_row(sample_key(2), sample_row(2, 100000, true));
  EXPECT_EQ(text.coding, StoredRow::kZstd);
  EXPECT_LT(text.blob.size(), 60000u);
  EXPECT_EQ(noise.coding, StoredRow::kPlain);
  EXPECT_EQ(noise.blob.size(), 100000u);
}

TEST(CacheRow, RejectsEveryFlippedBit) {
  const CacheKey key = sample_key(3);
  int flips = 0;
  for (const bool noise : {false, true}) {
    const StoredRow good = pack_row(key, sample_row(3, 300, noise));
    const auto rejects = [&](auto&& field_of) {
      StoredRow bad = good;
      auto& bytes = field_of(bad);
      for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto& byte = reinterpret_cast<unsigned char&>(bytes[bit / 8]);
        byte ^= static_cast<unsigned char>(1u << bit % 8);
        EXPECT_FALSE(unpack_row(key, bad)) << "bit " << bit;
        byte ^= static_cast<unsigned char>(1u << bit % 8);
        ++flips;
      }
    };
    rejects([](StoredRow & row) -> auto& { return row.blob; });
    rejects([](StoredRow & row) -> auto& { return row.meta; });
    rejects([](StoredRow & row) -> auto& { return row.key_text; });
    rejects([](StoredRow & row) -> auto& { return row.digest; });
  }
  std::printf("%d flipped bits rejected\n", flips);
  EXPECT_GE(flips, 4000);
}

TEST(CacheRow, RejectsARowOfAnotherKey) {
  StoredRow row = pack_row(sample_key(4), sample_row(4));
  EXPECT_FALSE(unpack_row(sample_key(5), row));
  CacheKey same_text = sample_key(4);
  same_text.digest = sample_key(5).digest;
  EXPECT_FALSE(unpack_row(same_text, row));
  row.key_text = sample_key(5).text;
  EXPECT_FALSE(unpack_row(sample_key(5), row));
}

TEST(CacheRow, RejectsLengthsAndCodingsOutOfRange) {
  const CacheKey key = sample_key(6);
  for (const std::int64_t size :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1999}, std::int64_t{2001},
        kMaxBlobBytes + 1, std::numeric_limits<std::int64_t>::max()}) {
    StoredRow row = pack_row(key, sample_row(6));
    row.size = size;
    EXPECT_FALSE(unpack_row(key, row)) << size;
  }
  for (const std::int64_t coding : {-1, 1, 2, 77}) {
    StoredRow row = pack_row(key, sample_row(6));
    row.coding = coding;
    EXPECT_FALSE(unpack_row(key, row)) << coding;
  }
  for (const std::size_t length : {0u, 31u, 33u}) {
    StoredRow row = pack_row(key, sample_row(6));
    row.digest.resize(length);
    EXPECT_FALSE(unpack_row(key, row)) << length;
  }
}

TEST(CacheRow, BindsTuningResultsToTheirKey) {
  EXPECT_NE(tuning_digest(sample_key(1), "tile=6"), tuning_digest(sample_key(2), "tile=6"));
  EXPECT_NE(tuning_digest(sample_key(1), "tile=6"), tuning_digest(sample_key(1), "tile=8"));
}

}  // namespace
}  // namespace fuseplan::test
