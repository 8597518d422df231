// SPDX-License-Identifier: MIT
#include "kernels/gpu/norm.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/integer.hpp"
#include "base/status.hpp"
#include "kernels/gpu/chain_source.hpp"
#include "kernels/gpu/group_layout.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

constexpr unsigned kJoinThreads = 128;
constexpr std::int64_t kRow = 32;  ///< groups of a slab, where they are neighbours in memory
constexpr std::size_t kVectorBytes = 16, kPartBytes = 3 * sizeof(float);
// A large device (H200), for the choice between one launch and three, and the size of clusters.
constexpr double kMultiprocessors = 132, kBytesPerSecond = 4e12, kMoreLaunches = 5e-6;
constexpr double kClusterMeets = 2e-6;
constexpr std::int64_t kMostCluster = 8;  ///< that every device has

enum Entry : std::size_t { kWhole, kPart, kApply, kJoin, kWholeWide, kPartWide, kApplyWide };

constexpr Role kForward[] = {Role::saved_mean, Role::saved_inv_variance, Role::saved_variance,
                             Role::running_mean, Role::running_variance};
constexpr Role kBackward[] = {Role::bias_gradient, Role::scale_gradient};
constexpr std::size_t kResults = std::size(kForward);

/// Threads of a block along groups.
std::int64_t row_of(const GroupLayout& layout, std::int64_t lanes) {
  if (!layout.along) return 1;
  const auto units = static_cast<std::uint64_t>(ceil_div(layout.group_count(), lanes));
  return std::min(kRow / lanes, static_cast<std::int64_t>(std::bit_ceil(units)));
}

// More tensors take more registers: a thread then has fewer loads of each in flight.
std::size_t elements_of(const GroupLayout& layout) {
  return layout.dtypes.size() - GroupLayout::kElements;
}
unsigned threads_of(const GroupLayout& layout) { return elements_of(layout) > 3 ? 256 : 512; }
unsigned items_of(const GroupLayout& layout) { return elements_of(layout) > 2 ? 1 : 2; }

/// One pass over a launch's memory, cut for its blocks: slabs of groups, each in chunks of members.
struct Cut {
  std::int64_t lanes, slabs, chunks, chunk, members, groups;
  std::int64_t cluster = 1;  ///< chunks whose blocks are one
};

class NormProgram final : public Program {
 public:
  NormProgram(const Problem& problem, const SplitChain& chain, const NormStages& stages,
              const GroupLayout& layout, NormWay way, bool clusters)
      : output_(problem.output()),
        input_bytes_(problem.input().bytes()),
        bytes_(2.0 * static_cast<double>(input_bytes_) + static_cast<double>(output_.bytes())),
        stages_(stages),
        layout_(layout),
        way_(way),
        clusters_(clusters),
        divides_(layout.divides()),
        blends_(chain.reads_previous()),
        elements_(chain.elements),
        chain_(chain),
        sums_(chain.sums.empty() ? chain : chain.sums.front()) {
    for (const Operand& element : elements_) bytes_ += static_cast<double>(element.tensor.bytes());
    for (std::size_t i = 0; i < chain.results.size(); ++i) {
      const auto roles = stages.backward ? std::span<const Role>(kBackward) : kForward;
      const auto at = std::ranges::find(roles, chain.results[i].role);
      require(at != roles.end(), Status::InternalError, "a result that no kernel writes");
      places_.push_back(static_cast<std::size_t>(at - roles.begin()));
    }
  }

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const Cut cut = in_cluster(cut_of(lanes_of(arguments)));
    return launch(cut.lanes > 1 ? kWholeWide : kWhole, cut, arguments, scratch);
  }

  std::span<const Call> calls(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const Cut cut = in_chunks(cut_of(lanes_of(arguments)));
    if (!wants_chunks(cut) || !holds_parts(arguments)) return Program::calls(arguments, scratch);
    const bool wide = cut.lanes > 1;
    Call* calls = scratch.take_array<Call>(3);
    new (calls) Call(launch(wide ? kPartWide : kPart, cut, arguments, scratch));
    Cut each = cut_of(1);
    each.chunks = cut.chunks;
    new (calls + 1) Call(launch(kJoin, each, arguments, scratch));
    calls[1].grid = static_cast<unsigned>(ceil_div(each.groups, kJoinThreads));
    calls[1].block = kJoinThreads;
    new (calls + 2) Call(calls[0]);
    calls[2].entry = wide ? kApplyWide : kApply;
    return {calls, 3};
  }
  unsigned most_cluster() const override {
    return clusters_ ? static_cast<unsigned>(kMostCluster) : 1;
  }

 private:
  std::int64_t lanes_of(const cpu::Arguments& arguments) const {
    const auto fits = [](const void* pointer) {
      return reinterpret_cast<std::uintptr_t>(pointer) % kVectorBytes == 0;
    };
    bool all = divides_ && fits(arguments.input) && fits(arguments.output);
    for (std::size_t e = 0; e < arguments.elements.size(); ++e)
      all = all && (!layout_.adjacent[GroupLayout::kElements + e] || fits(arguments.elements[e]));
    return all ? layout_.wide : 1;
  }

  Cut cut_of(std::int64_t lanes) const {
    Cut cut{lanes, 0, 1, 0, layout_.member_count(), layout_.group_count()};
    (layout_.along ? cut.groups : cut.members) /= lanes;
    cut.slabs = ceil_div(cut.groups, row_of(layout_, lanes));
    cut.chunk = cut.members;
    return cut;
  }
  /// Of a block that owns all of a slab's members.
  std::int64_t rounds_of(const Cut& cut) const {
    return ceil_div(cut.members * row_of(layout_, cut.lanes),
                    threads_of(layout_) * items_of(layout_));
  }

  /// Twice as many blocks as a large device runs at once, of at least two rounds each.
  Cut in_chunks(Cut cut) const {
    const std::int64_t wanted =
        ceil_div(4 * static_cast<std::int64_t>(kMultiprocessors), cut.slabs);
    const auto room =
        static_cast<std::int64_t>(output_.bytes() / kPartBytes) / layout_.group_count();
    const std::int64_t least = way_ == NormWay::chunks ? 2 : 1;
    cut.chunks = std::min({wanted, std::max(rounds_of(cut) / 2, least), room, cut.members});
    cut.chunks = std::max<std::int64_t>(cut.chunks, 1);
    cut.chunk = ceil_div(cut.members, cut.chunks);
    cut.chunks = ceil_div(cut.members, cut.chunk);
    return cut;
  }

  /// As many blocks for a slab as pay for their meeting; some may find no members left.
  Cut in_cluster(Cut cut) const {
    if (!clusters_) return cut;
    const bool always = way_ == NormWay::cluster;
    for (std::int64_t blocks = 2; blocks <= kMostCluster; blocks *= 2)
      if ((always && cut.cluster == 1) ||
          ((always || blocks <= rounds_of(cut)) &&
           seconds(cut.slabs, blocks) < seconds(cut.slabs, cut.cluster)))
        cut.cluster = blocks;
    cut.chunks = cut.cluster;
    cut.chunk = ceil_div(cut.members, cut.cluster);
    return cut;
  }

  /// Expected of one launch in which a slab has so many blocks.
  double seconds(std::int64_t slabs, std::int64_t cluster) const {
    const double idle = kMultiprocessors / static_cast<double>(slabs * cluster);
    return bytes_ / kBytesPerSecond * std::max(idle, 1.0) + (cluster > 1 ? kClusterMeets : 0);
  }
  /// Launches that keep few multiprocessors busy cost more than two more of them.
  bool wants_chunks(const Cut& cut) const {
    if (way_ != NormWay::automatic || cut.chunks < 2) return way_ == NormWay::chunks;
    const std::int64_t cluster = in_cluster(cut_of(cut.lanes)).cluster;
    return bytes_ / kBytesPerSecond + kMoreLaunches < seconds(cut.slabs, cluster);
  }

  /// Parts lie in the output until it is written, and what comes of them in the caller's results.
  bool holds_parts(const cpu::Arguments& arguments) const {
    const std::size_t bytes = output_.bytes();
    const auto* const out = static_cast<const std::byte*>(arguments.output);
    if (blends_ || reinterpret_cast<std::uintptr_t>(out) % sizeof(float) != 0 ||
        bytes != static_cast<std::size_t>(output_.elements()) * size_of(output_.dtype) ||
        bytes < kPartBytes * static_cast<std::size_t>(layout_.group_count()))
      return false;
    const auto apart = [&](const void* pointer, std::size_t size) {
      const auto* const at = static_cast<const std::byte*>(pointer);
      return at == nullptr || std::less_equal<>{}(at + size, out) ||
             std::less_equal<>{}(out + bytes, at);
    };
    bool all = apart(arguments.input, input_bytes_);
    for (std::size_t e = 0; e < elements_.size(); ++e)
      all = all && apart(arguments.elements[e], elements_[e].tensor.bytes());
    for (const void* values : arguments.channels) all = all && apart(values, 1);
    const auto results = results_of(arguments);
    for (const void* result : results) all = all && apart(result, 1);
    return all && results[0] != nullptr && results[1] != nullptr;
  }

  std::array<void*, kResults> results_of(const cpu::Arguments& arguments) const {
    std::array<void*, kResults> results{};
    for (std::size_t i = 0; i < places_.size(); ++i) results[places_[i]] = arguments.results[i];
    return results;
  }

  Call launch(Entry entry, const Cut& cut, const cpu::Arguments& arguments,
              Scratch& scratch) const {
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    for (void* result : results_of(arguments)) block.put(result);
    const std::size_t data = layout_.dtypes.size();
    layout_.put_strides(layout_.groups, data + 2, cut.lanes, block);
    layout_.put_strides(layout_.members, data, cut.lanes, block);
    for (std::size_t t : {data, data + 1})
      block.put(layout_.along ? layout_.groups.front().stride[t] : std::int64_t{0});
    layout_.put_lengths(layout_.groups, cut.lanes, block);
    layout_.put_lengths(layout_.members, cut.lanes, block);
    block.put(Divisor(cut.slabs));
    for (std::int64_t number :
         {cut.groups, cut.members, cut.chunk, cut.chunks, layout_.group_count()})
      block.put(static_cast<std::uint32_t>(number));
    const auto scalar = [&](int index) {
      return index < 0 ? 0.0f
                       : static_cast<float>(arguments.scalars[static_cast<std::size_t>(index)]);
    };
    const auto count = static_cast<float>(stages_.count);
    for (float number : {count, std::max(static_cast<float>(stages_.count - 1), 1.0f),
                         scalar(stages_.epsilon), scalar(stages_.average_factor)})
      block.put(number);
    if (stages_.backward) sums_.put_uniforms(arguments, block, scratch);
    chain_.put_uniforms(arguments, block, scratch);
    const std::size_t groups = layout_.along ? static_cast<std::size_t>(cut.lanes) : 1;
    const unsigned threads = threads_of(layout_);
    return {.entry = entry,
            .grid = static_cast<unsigned>(cut.slabs * cut.chunks),
            .block = threads,
            .shared_bytes = static_cast<unsigned>(threads / 2 * (2 * groups + 1) * sizeof(float)),
            .arguments = block.finish(),
            .cluster = static_cast<unsigned>(cut.cluster)};
  }

  Tensor output_;
  std::size_t input_bytes_;
  double bytes_;  ///< that two passes move
  NormStages stages_;
  GroupLayout layout_;
  NormWay way_;
  bool clusters_, divides_, blends_;
  std::vector<Operand> elements_;
  std::vector<std::size_t> places_;  ///< of the chain's results among kForward or kBackward
  ChainArguments chain_, sums_;
};

class NormRecipe final : public Recipe {
 public:
  NormRecipe(const Problem& problem, const SplitChain& chain, NormWay way, bool clusters)
      : problem_(problem),
        chain_(chain),
        stages_(*norm_stages(problem, chain)),
        layout_(problem, chain, stages_),
        way_(way),
        clusters_(clusters && way != NormWay::whole && way != NormWay::chunks) {}

  std::string source() const override {
    constexpr const char* kFields =
        "void* results[5];\nlong long group_stride[FP_GROUP_AXES][FP_DATA + 2],\n"
        "member_stride[FP_MEMBER_AXES][FP_DATA], statistics_step, channel_step;\n"
        "fp_divisor group_len[FP_GROUP_AXES], member_len[FP_MEMBER_AXES], slabs;\n"
        "unsigned groups, members, chunk, chunks, all_groups;\n"
        "float count, freedom, epsilon, factor;\n";
    std::vector<std::string_view> headers{"fp_lanes.h", "fp_groups.h"};
    if (clusters_) headers.push_back("fp_cluster.h");
    return assemble_source(chain_macros(problem_, chain_) + macros(),
                           training_declarations(chain_, kFields), "norm.cu", headers);
  }
  std::vector<std::string> entries() const override {
    std::vector<std::string> names{"fp_norm", "fp_norm_part", "fp_norm_apply", "fp_norm_join"};
    if (layout_.wide > 1)
      for (const char* name : {"fp_norm_wide", "fp_norm_part_wide", "fp_norm_apply_wide"})
        names.push_back(name);
    return names;
  }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<NormProgram>(problem_, chain_, stages_, layout_, way_, clusters_);
  }

 private:
  std::string macros() const {
    const auto element = [&](int computed) { return stages_.per_channel ? -1 : computed; };
    std::string text = define("DATA", static_cast<std::int64_t>(layout_.dtypes.size())) +
                       define("THREADS", threads_of(layout_)) + define("ITEMS", items_of(layout_)) +
                       define("JOIN_THREADS", kJoinThreads) + define("CLUSTERS", clusters_) +
                       define("BACKWARD", stages_.backward) + define("ALONG", layout_.along) +
                       define("ROW", row_of(layout_, 1)) + define("WIDE", layout_.wide) +
                       define("WIDE_ROW", row_of(layout_, layout_.wide)) +
                       define_lanes(layout_.adjacent) +
                       define("GROUP_AXES", static_cast<std::int64_t>(layout_.groups.size())) +
                       define("MEMBER_AXES", static_cast<std::int64_t>(layout_.members.size())) +
                       define("FIRST_ELEMENT", element(stages_.computed[0])) +
                       define("SECOND_ELEMENT", element(stages_.computed[1]));
    if (stages_.backward)
      text += define("SUMS_CHANNELS",
                     static_cast<std::int64_t>(chain_.sums.front().channels.roots.size()));
    return text;
  }

  Problem problem_;
  SplitChain chain_;
  NormStages stages_;
  GroupLayout layout_;
  NormWay way_;
  bool clusters_;  ///< the source's single launch may have them
};

constexpr std::string_view kWays[] = {"default", "whole", "chunks", "cluster"};

}  // namespace

std::string_view to_text(NormWay way) { return kWays[static_cast<std::size_t>(way)]; }

std::optional<NormWay> parse_norm_way(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kWays); ++i)
    if (kWays[i] == text) return static_cast<NormWay>(i);
  return std::nullopt;
}

std::shared_ptr<const Recipe> norm_recipe(const Problem& problem, const SplitChain& chain,
                                          NormWay way, bool clusters) {
  return std::make_shared<NormRecipe>(problem, chain, way, clusters);
}

}  // namespace fuseplan::gpu
