// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/recipe.hpp"

#include <fmt/format.h>

#include "base/status.hpp"

#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/pointwise/pointwise_program.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {

namespace {

/// Traffic from which on streaming may be worth it.
constexpr std::int64_t kStreamingBytesNear = kFarBytes;

/// Where the third-level cache is hardly nearer than memory, streaming leaves the second level to
/// an input that fits there beside nothing else (na1 of miopen-docs-na.csv, 1.6 MB to 1.6 MB, 95 to
/// 77 us on a core with 2 MB), and memory's bandwidth to reading where neither level keeps both
/// (na6 at batch 16, 26 MB to 26 MB, 2.9 to 1.9 ms). What the third level keeps it writes 5 %
/// faster itself.
bool streaming_pays(std::int64_t bytes, const CoreRates& rates) {
  if (rates.third_level_is_near()) return bytes >= kStreamingBytes;
  return bytes < 2 * kStreamingBytesNear || static_cast<double>(bytes) >= rates.third_level_bytes;
}

/// Streaming stores want whole cache lines: rows that touch, or so long that their ends are rare.
bool may_stream(const Walk& walk) {
  constexpr std::int64_t kLongRow = 2048;
  if (walk.is_strided()) return false;  // pieces of rows
  const bool lines = walk.touching || walk.rows.len == 1 || walk.lanes.len >= kLongRow;
  return lines && walk.bytes() >= kStreamingBytesNear;
}

class PointwiseRecipe final : public Recipe {
 public:
  PointwiseRecipe(Walk walk, const SplitChain& chain, Isa isa)
      : walk_(std::move(walk)),
        chain_(chain),
        isa_(isa),
        may_stream_(may_stream(walk_) && !chain.reads_previous()) {}

  std::vector<Function> emit() const override {
    RowsSpec spec{.isa = isa_,
                  .body = chain_.body,
                  .input = walk_.dtypes[Walk::kInput],
                  .output = walk_.dtypes[Walk::kOutput],
                  .input_lane_stride = walk_.lane_stride(Walk::kInput),
                  .lanes_are_channels = walk_.lanes_are_channels,
                  .elements = walk_.elements(chain_.elements.size()),
                  .touching = walk_.touching};
    std::vector<Function> functions{{"pointwise_rows", emit_rows(spec)}};
    if (has_prologue())
      functions.push_back(
          {"pointwise_channels", emit_channel_prologue(chain_, isa_, walk_.channels)});
    if (may_stream_) {
      spec.streaming = true;
      functions.push_back({"pointwise_rows_streaming", emit_rows(spec)});
    }
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    const auto rows = [&](std::size_t entry) {
      return kernel_at<PointwiseProgram::Rows>(entries[entry]);
    };
    // Code is the same for all cores of an instruction set; which of it runs is not.
    const bool streams = may_stream_ && streaming_pays(walk_.bytes(), core_rates(host_family()));
    return std::make_unique<PointwiseProgram>(walk_, chain_, rows(0),
                                              streams ? rows(entries.size() - 1) : nullptr,
                                              has_prologue() ? entries[1] : nullptr);
  }

 private:
  bool has_prologue() const { return !chain_.channels.roots.empty(); }

  Walk walk_;
  SplitChain chain_;
  Isa isa_;
  bool may_stream_;
};

}  // namespace

std::optional<std::string> pointwise_refusal(const Problem& problem, const SplitChain& chain,
                                             Isa isa) {
  if (isa == Isa::portable) return "pointwise vector code needs avx2 or avx512";
  if (problem.conv() != nullptr) return "the plan has a convolution";
  for (const DType dtype : {problem.input().dtype, problem.output().dtype})
    if (!is_storage(dtype)) return fmt::format("{} is nothing that vectors hold", name_of(dtype));
  std::string reason;
  if (!plan_walk(problem, chain, &reason)) return reason;
  return std::nullopt;
}

std::shared_ptr<const Recipe> pointwise_recipe(const Problem& problem, const SplitChain& chain,
                                               Isa isa) {
  std::string reason;
  auto walk = plan_walk(problem, chain, &reason);
  require(walk.has_value(), Status::InternalError, "no pointwise kernel: {}", reason);
  return std::make_shared<PointwiseRecipe>(std::move(*walk), chain, isa);
}

}  // namespace fuseplan::cpu
