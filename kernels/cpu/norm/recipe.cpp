// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/norm/norm_program.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {

namespace {

std::optional<CellWalk> walk_of(const Problem& problem, const SplitChain& chain,
                                std::string* reason) {
  const auto stages = norm_stages(problem, chain);
  require(stages.has_value(), Status::InternalError, "a plan without sums over the batch");
  return plan_cell_walk(walk_tensors(problem, chain),
                        broadcast_view(stages->statistics, problem.output()), stages->per_channel,
                        reason);
}

/// Bytes that a pass reads for each element.
std::int64_t read_bytes(const Walk& walk, std::size_t elements) {
  std::size_t bytes = size_of(walk.dtypes[Walk::kInput]);
  for (std::size_t t = Walk::kElements; t < Walk::kElements + elements; ++t)
    if (walk.rows.stride[t] != 0 || walk.lanes.stride[t] != 0) bytes += size_of(walk.dtypes[t]);
  return static_cast<std::int64_t>(bytes);
}

/// Traffic of the second pass from which on it writes around the caches: as soon as a second-level
/// cache of 2 MB cannot hold what it reads and writes, as the first pass has left its input there.
constexpr std::int64_t kStreamingBytes = kFarBytes;

bool may_store_past(const CellWalk& cells, const SplitChain& chain) {
  return cells.walk.bytes() >= kStreamingBytes && !chain.keeps_output();
}

CellWalk required_walk(const Problem& problem, const SplitChain& chain) {
  std::string reason;
  auto cells = walk_of(problem, chain, &reason);
  require(cells.has_value(), Status::InternalError, "no kernel: {}", reason);
  return *std::move(cells);
}

NormSchedule schedule_of(const CellWalk& cells, const SplitChain& chain, const NormConfig& config) {
  return norm_schedule(cells, read_bytes(cells.walk, chain.elements.size()), config.kept << 10);
}

class NormRecipe final : public Recipe {
 public:
  NormRecipe(CellWalk cells, const NormStages& stages, const SplitChain& chain, Isa isa,
             const NormConfig& config)
      : cells_(std::move(cells)),
        stages_(stages),
        chain_(chain),
        isa_(isa),
        schedule_(schedule_of(cells_, chain, config)),
        streams_(config.past_caches) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions{{"norm_sums", emit_sums(sums_spec())}};
    RowsSpec rows = rows_spec(chain_.body);
    functions.push_back({"norm_rows", emit_rows(rows)});
    if (streams_) {
      rows.streaming = true;
      functions.push_back({"norm_rows_streaming", emit_rows(rows)});
    }
    if (has_channels(chain_))
      functions.push_back({"norm_channels", emit_channel_prologue(chain_, isa_, 0)});
    if (stages_.backward && has_channels(chain_.sums.front()))
      functions.push_back(
          {"norm_sums_channels", emit_channel_prologue(chain_.sums.front(), isa_, 0)});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    std::size_t next = 0;
    const auto kernel = [&] { return kernel_at<NormProgram::Rows>(entries[next++]); };
    NormProgram::Code code;
    code.sums = {kernel(), 2};
    code.rows = kernel();
    if (streams_) code.streaming = kernel();
    if (has_channels(chain_)) code.prologue = entries[next++];
    if (stages_.backward && has_channels(chain_.sums.front())) code.sums_prologue = entries[next++];
    return std::make_unique<NormProgram>(cells_, schedule_, chain_, stages_, code);
  }

 private:
  static bool has_channels(const SplitChain& chain) { return !chain.channels.roots.empty(); }

  RowsSpec rows_spec(const Expr& body) const {
    const Walk& walk = cells_.walk;
    return {.isa = isa_,
            .body = body,
            .input = walk.dtypes[Walk::kInput],
            .output = walk.dtypes[Walk::kOutput],
            .input_lane_stride = walk.lane_stride(Walk::kInput),
            .lanes_are_channels = walk.lanes_are_channels,
            .elements = walk.elements(chain_.elements.size()),
            .touching = walk.touching && !cells_.per_lane && cells_.pieces == 1};
  }
  SumsSpec sums_spec() const {
    if (!stages_.backward) return moments_spec(cells_, isa_);
    return {rows_spec(chain_.sums.front().body), cells_.per_lane};
  }

  CellWalk cells_;
  NormStages stages_;
  SplitChain chain_;
  Isa isa_;
  NormSchedule schedule_;
  bool streams_;
};

}  // namespace

std::optional<std::string> norm_refusal(const Problem& problem, const SplitChain& chain, Isa isa) {
  if (isa == Isa::portable) return "vector code needs avx2 or avx512";
  if (problem.batch_op() < 0) return "the plan has no sums over the batch";
  if (problem.conv() != nullptr) return "the plan has a convolution";
  for (const DType dtype : {problem.input().dtype, problem.output().dtype})
    if (!is_storage(dtype)) return fmt::format("{} is nothing that vectors hold", name_of(dtype));
  std::string reason;
  if (!walk_of(problem, chain, &reason)) return reason;
  return std::nullopt;
}

std::vector<NormConfig> norm_configs(const Problem& problem, const SplitChain& chain) {
  const CellWalk cells = required_walk(problem, chain);
  const bool may_choose = may_store_past(cells, chain);
  std::vector<NormConfig> configs;
  std::vector<NormSchedule> schedules;
  // A core has 0.5 to 2 MB of second-level cache.
  for (const std::int64_t kept : {384, 192, 768}) {
    const NormConfig config{kept, may_choose};
    const NormSchedule schedule = schedule_of(cells, chain, config);
    if (std::ranges::find(schedules, schedule) != schedules.end()) continue;
    schedules.push_back(schedule);
    configs.push_back(config);
  }
  const std::size_t ways = configs.size();
  for (std::size_t i = 0; may_choose && i < ways; ++i) configs.push_back({configs[i].kept, false});
  return configs;
}

std::shared_ptr<const Recipe> norm_recipe(const Problem& problem, const SplitChain& chain, Isa isa,
                                          const NormConfig& config) {
  return std::make_shared<NormRecipe>(required_walk(problem, chain), *norm_stages(problem, chain),
                                      chain, isa, config);
}

}  // namespace fuseplan::cpu
