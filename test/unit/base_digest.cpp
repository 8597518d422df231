// SPDX-License-Identifier: MIT
#include "base/digest.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace fuseplan {
namespace {

std::string text_of(const FieldWriter& writer) {
  const auto bytes = writer.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// FIPS 180-2, appendix B, and the empty message.
TEST(Digest, IsSha256) {
  EXPECT_EQ(to_hex(sha256(bytes_of("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(FieldWriter, FormIsPinned) {
  FieldWriter writer;
  writer.field("ab").field(std::uint64_t{258}).field("");
  const std::string two("\2\0\0\0\0\0\0\0", 8), eight("\10\0\0\0\0\0\0\0", 8);
  const std::string number("\2\1\0\0\0\0\0\0", 8), none(8, '\0');
  EXPECT_EQ(text_of(writer), two + "ab" + eight + number + none);
}

// Moving bytes from one field to the next must change the result.
TEST(FieldWriter, BordersBetweenFieldsCount) {
  const std::vector<std::vector<std::string>> lists = {{},
                                                       {""},
                                                       {"", ""},
                                                       {"ab"},
                                                       {"a", "b"},
                                                       {"", "ab"},
                                                       {"ab", ""},
                                                       {"a", "", "b"},
                                                       {std::string(8, '\0')},
                                                       {"a", std::string(8, '\0')}};
  std::set<std::string> seen;
  for (const auto& list : lists) {
    FieldWriter writer;
    for (const std::string& field : list) writer.field(field);
    EXPECT_TRUE(seen.insert(text_of(writer)).second) << list.size() << " fields";
  }
}

/// Reads back what FieldWriter wrote: a left inverse is the proof that no two lists collide.
std::vector<std::string> parse(std::string_view bytes) {
  std::vector<std::string> fields;
  while (!bytes.empty()) {
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
    fields.emplace_back(bytes.substr(8, length));
    bytes.remove_prefix(8 + length);
  }
  return fields;
}

TEST(FieldWriter, ReadsBackToTheSameList) {
  test::Random random;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> fields(static_cast<std::size_t>(random.between(0, 6)));
    FieldWriter writer;
    for (std::string& field : fields) {
      field.resize(static_cast<std::size_t>(random.between(0, 300)));
      for (char& c : field) c = static_cast<char>(random.between(-2, 2));
      writer.field(field);
    }
    EXPECT_EQ(parse(text_of(writer)), fields);
  }
}

TEST(FieldWriter, DigestIsOfTheBytes) {
  FieldWriter writer;
  writer.field("key").field(bytes_of("value"));
  EXPECT_EQ(writer.digest(), sha256(writer.bytes()));
}

TEST(ContentHash, SeesEveryByte) {
  std::vector<unsigned char> data(1000, 7);
  const ContentHash before = hash_content(data.data(), data.size());
  EXPECT_EQ(hash_content(data.data(), data.size()), before);
  for (unsigned char& byte : data) {
    byte ^= 1;
    EXPECT_NE(hash_content(data.data(), data.size()), before);
    byte ^= 1;
  }
  EXPECT_NE(hash_content(data.data(), data.size() - 1), before);
}

}  // namespace
}  // namespace fuseplan
