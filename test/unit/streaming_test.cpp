// SPDX-License-Identifier: MIT
// When convolutions store past the caches, with recipes that only say which of them ran. Outputs
// are large enough for any host's caches.
#include "kernels/cpu/streaming.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace fuseplan::cpu {
namespace {

class SaysWhich final : public Program {
 public:
  SaysWhich(bool streaming, std::string& said) : streaming_(streaming), said_(said) {}
  void run(const Arguments&) const override { said_ = streaming_ ? "streaming" : "plain"; }
  std::size_t prepared_bytes() const override { return 12; }
  std::string weight_format() const override { return "format"; }
  bool takes_raw_weights() const override { return true; }
  void prepare(const void*, void*, const Parallel&) const override { said_ = "prepared"; }

 private:
  bool streaming_;
  std::string& said_;
};

/// Two functions, whose entries it wants to see again.
class Stub final : public Recipe {
 public:
  Stub(bool streaming, std::string& said) : streaming_(streaming), said_(said) {}
  std::vector<Function> emit() const override { return {{"one", code(1)}, {"two", code(2)}}; }
  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    EXPECT_EQ(entries.size(), 2u);
    for (std::size_t i = 0; i < entries.size(); ++i)
      EXPECT_EQ(*static_cast<const std::byte*>(entries[i]), code(static_cast<int>(i) + 1)[0]);
    return std::make_unique<SaysWhich>(streaming_, said_);
  }

 private:
  std::vector<std::byte> code(int number) const {
    return {static_cast<std::byte>(number + (streaming_ ? 10 : 0))};
  }
  bool streaming_;
  std::string& said_;
};

View packed(std::array<std::int64_t, 5> len, std::size_t lanes) {
  View view{len, {}};
  std::int64_t step = 1;
  view.stride[lanes] = step;
  step *= len[lanes];
  for (std::size_t axis = 5; axis-- > 0;) {
    if (axis == lanes) continue;
    view.stride[axis] = step;
    step *= len[axis];
  }
  return view;
}

struct Outcome {
  std::size_t functions = 0;
  std::string said;
};

using Make = std::function<std::shared_ptr<const Recipe>(bool)>;

/// What a launch with an output at `address` runs.
template <typename With>
Outcome run_of(const With& with, std::uintptr_t address) {
  Outcome run;
  const std::shared_ptr<const Recipe> recipe =
      with([&](bool s) { return std::make_shared<Stub>(s, run.said); });
  const std::vector<Function> functions = recipe->emit();
  run.functions = functions.size();
  std::vector<const void*> entries;
  for (const Function& function : functions) entries.push_back(function.code.data());
  const auto program = recipe->bind(entries);
  EXPECT_EQ(program->prepared_bytes(), 12u);
  EXPECT_EQ(program->weight_format(), "format");
  EXPECT_TRUE(program->takes_raw_weights());
  const Parallel one(1);
  program->prepare(nullptr, nullptr, one);
  EXPECT_EQ(run.said, "prepared");
  program->run({.output = reinterpret_cast<void*>(address),
                .channels = {},
                .elements = {},
                .scalars = {},
                .results = {},
                .parallel = one});
  return run;
}

Outcome run_at(const View& view, DType dtype, std::size_t lanes, std::uintptr_t address,
               const SplitChain& chain = {}, std::int64_t stored = 16) {
  const ChainTensors tensors{view, dtype, {}, lanes, lanes == 1 ? 4u : 1u};
  return run_of([&](const Make& make) { return with_streaming(tensors, chain, stored, make); },
                address);
}

constexpr std::uintptr_t kAligned = 4096;

TEST(Streaming, StoresLargeOutputOfWholeLinesPastTheCaches) {
  const View nhwc = packed({2, 64, 1, 256, 256}, 1), nchw = packed({2, 64, 1, 1, 65536}, 4);
  for (const auto& [view, lanes] : {std::pair{nhwc, 1u}, std::pair{nchw, 4u}}) {
    const Outcome run = run_at(view, DType::f32, lanes, kAligned);
    EXPECT_EQ(run.functions, 4u);
    EXPECT_EQ(run.said, "streaming");
  }
}

TEST(Streaming, StoresAsEverWhereTheOutputStartsWithinALine) {
  const View view = packed({2, 64, 1, 256, 256}, 1);
  for (const std::uintptr_t off : {4, 16, 32, 60})
    EXPECT_EQ(run_at(view, DType::f32, 1, kAligned + off).said, "plain") << off;
}

bool is_plain(const View& view, DType dtype, std::size_t lanes, const SplitChain& chain = {},
              std::int64_t stored = 16) {
  const Outcome run = run_at(view, dtype, lanes, kAligned, chain, stored);
  return run.functions == 2 && run.said == "plain";
}

TEST(Streaming, MakesNoCodeForWhatCannotOrNeedNot) {
  SplitChain reread;
  reread.output_is_reread = true;
  EXPECT_TRUE(is_plain(packed({2, 64, 1, 256, 256}, 1), DType::f32, 1, reread)) << "read again";
  EXPECT_TRUE(is_plain(packed({1, 64, 1, 56, 56}, 1), DType::f32, 1)) << "small";
  EXPECT_TRUE(is_plain(packed({2, 72, 1, 256, 256}, 1), DType::f32, 1)) << "pixels within lines";
  EXPECT_TRUE(is_plain(packed({2, 64, 1, 1, 65537}, 4), DType::f32, 4)) << "planes within lines";
  EXPECT_TRUE(is_plain(packed({4, 64, 1, 256, 256}, 1), DType::bf16, 1)) << "parts of lines";
  EXPECT_TRUE(is_plain(packed({8, 64, 1, 256, 256}, 1), DType::u8, 1)) << "bytes";
  View gaps = packed({2, 64, 1, 256, 256}, 1);
  gaps.stride[3] += 8;
  EXPECT_TRUE(is_plain(gaps, DType::f32, 1)) << "rows within lines";
  const View nhwc = packed({2, 64, 1, 256, 256}, 1);
  EXPECT_TRUE(is_plain(nhwc, DType::f32, 1, {}, 8)) << "half lines";
  EXPECT_TRUE(is_plain(nhwc, DType::f32, 1, {}, 24)) << "one and a half";
  EXPECT_FALSE(is_plain(nhwc, DType::f32, 1, {}, 32)) << "two";
  SplitChain blends;
  blends.body.roots = {blends.body.graph.leaf(Leaf::previous)};
  EXPECT_TRUE(is_plain(packed({2, 64, 1, 256, 256}, 1), DType::f32, 1, blends)) << "output read";
}

TEST(Streaming, StoresRegionsWhereverTheyStart) {
  const auto run = [](const View& view, std::int64_t touched, std::uintptr_t address,
                      const SplitChain& chain = {}) {
    const ChainTensors tensors{view, DType::f32, {}, 4, 1};
    return run_of(
        [&](const Make& make) { return with_streamed_regions(tensors, chain, touched, make); },
        address);
  };
  const View planes = packed({34, 64, 1, 57, 57}, 4);
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  for (const std::uintptr_t off : {0, 4, 60})
    EXPECT_EQ(run(planes, 0, kAligned + off).said, "streaming") << off;
  EXPECT_EQ(run(planes, kMany, kAligned).said, "streaming");
  EXPECT_EQ(run(planes, 1 << 20, kAligned).said, "plain") << "a cache keeps all";
  EXPECT_EQ(run(planes, 1 << 20, kAligned).functions, 4u) << "of this host";
  EXPECT_EQ(run(packed({1, 64, 1, 57, 57}, 4), kMany, kAligned).functions, 2u) << "small";
  SplitChain blends;
  blends.body.roots = {blends.body.graph.leaf(Leaf::previous)};
  EXPECT_EQ(run(planes, kMany, kAligned, blends).functions, 2u) << "output read";
}

}  // namespace
}  // namespace fuseplan::cpu
