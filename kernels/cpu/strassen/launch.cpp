// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/launch.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/strassen/stage.hpp"
#include "kernels/cpu/strassen/weights.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {
namespace {

using TileKernel = void (*)(const ProductCall*);

/// What all threads of one launch share.
struct Launch {
  const StrassenPlan& plan;
  std::span<const TileKernel> tiles;
  StripChain::RowsKernel rows;
  const Arguments& arguments;
  ChainFrame frame;
  const float* weights;  ///< prepared, unless each piece is prepared in passing
  std::int64_t blocks;   ///< of an image

  bool in_passing() const { return weights == nullptr; }
};

/// One thread's walk through its units, with its own scratch.
class Walk {
 public:
  Walk(const Launch& launch, const Range& units)
      : launch_(launch),
        units_(units),
        plan_(launch.plan),
        shape_(plan_.shape),
        chain_(shape_.tensors(), launch.rows, launch.arguments, launch.frame, scratch_),
        stage_(plan_, block_pieces(), scratch_) {
    if (launch.in_passing())
      piece_weights_ = scratch_.take_array<float>(
          static_cast<std::size_t>(kStrassenProducts * plan_.weight_product(0, 0)));
    if (plan_.sections() > 1)
      kept_ = scratch_.take_array<float>(
          static_cast<std::size_t>(block_pieces() * most_channels() * plan_.kept_sums()));
    if (plan_.finishes) return;
    // Turning reads whole squares.
    sums_ = scratch_.take_array<float>(
        static_cast<std::size_t>(2 * plan_.sums_lanes() * round_up(plan_.sums_rows(), 16)));
    sums_call_.output = sums_;
    if (plan_.config.by_channel)
      chain_.expect_pixels(plan_.sums_rows(), plan_.sums_lanes(), shape_.isa, scratch_);
  }

  /// A unit is a piece of channels of a block.
  void run() {
    const std::int64_t pieces = plan_.channels.pieces();
    for (std::int64_t unit = units_.first; unit < units_.last;) {
      Digits digits(unit);
      const std::int64_t channels = digits.take(pieces);
      const std::int64_t count = std::min(pieces - channels, units_.last - unit);
      pixels_ = split(plan_.pixels.pieces(), static_cast<int>(launch_.blocks),
                      static_cast<int>(digits.take(launch_.blocks)));
      run_block(digits.rest(), {channels, channels + count});
      unit += count;
    }
  }

 private:
  std::int64_t block_pieces() const { return ceil_div(plan_.pixels.pieces(), launch_.blocks); }
  /// Pieces of channels of a block that are the thread's.
  std::int64_t most_channels() const {
    return std::min<std::int64_t>(plan_.channels.pieces(), units_.last - units_.first);
  }
  bool is_last_section() const { return section_ + 1 == plan_.sections(); }

  void run_block(std::int64_t image, const Range& channels) {
    image_ = image;
    channels_ = channels;
    input_ = static_cast<const std::byte*>(launch_.arguments.input) +
             image * shape_.conv.input.stride[0] * static_cast<std::int64_t>(size_of(shape_.input));
    if (kept_ != nullptr)
      std::fill_n(kept_, (channels.last - channels.first) * kept_of_channels(), 0.0F);
    for (section_ = 0; section_ < plan_.sections(); ++section_) {
      stage_.run(input_, pixels_.first, pixels_.last, section_);
      for (std::int64_t piece = channels.first; piece < channels.last; ++piece) run_channels(piece);
    }
  }

  /// Floats that are kept of all of the block's pixels.
  std::int64_t kept_of_channels() const {
    return (pixels_.last - pixels_.first) * plan_.kept_sums();
  }

  void run_channels(std::int64_t channels) {
    if (launch_.in_passing())
      prepare_strassen_piece(plan_, launch_.arguments.weights, section_, channels, piece_weights_);
    const bool in_strips = is_last_section() && !plan_.finishes;
    for (std::int64_t piece = pixels_.first; piece < pixels_.last;) {
      const int kind = plan_.pixels.kind(piece);
      std::int64_t end = std::min(pixels_.last, plan_.pixels.kind_end(kind));
      if (in_strips) end = std::min(end, piece + plan_.strip);
      run_pieces(channels, piece, end, kind);
      piece = end;
    }
  }

  /// Pieces [first, end) of pixels, which are of one kind, with a piece of channels.
  void run_pieces(std::int64_t channels, std::int64_t first, std::int64_t end, int kind) {
    const std::int64_t pixel = plan_.pixels.first(first);
    const float* weights = launch_.in_passing()
                               ? piece_weights_
                               : launch_.weights + plan_.weight_offset(section_, channels);
    const float* in_place = reinterpret_cast<const float*>(input_) +
                            pixel * shape_.conv.input.stride[4] +
                            section_ * plan_.section * shape_.conv.input.stride[1];
    const float* input = plan_.staged_products() > 0 ? stage_.at(first) : in_place;
    const RowsCall& chain = chain_.at({image_, plan_.channels.first(channels), 0, 0, pixel});
    ProductCall call;
    call.vectors = plan_.config.by_channel ? weights : input;
    call.scalars = plan_.config.by_channel ? input : weights;
    call.input = in_place;
    call.chain = plan_.finishes ? &chain : &sums_call_;
    call.tiles = end - first;
    call.keeps = is_last_section() ? 0 : 1;
    if (kept_ != nullptr)
      call.kept = kept_ + (channels - channels_.first) * kept_of_channels() +
                  (first - pixels_.first) * plan_.kept_sums();
    ask_ahead(channels, call);
    const auto& kernels = is_last_section() ? plan_.last_kernel : plan_.kernel;
    launch_.tiles[static_cast<std::size_t>(kernels[plan_.channels.kind(channels)][kind])](&call);
    if (plan_.finishes || !is_last_section()) return;
    if (plan_.config.by_channel)
      finish_rows_of_pixels(channels, first, end);
    else
      finish_rows_of_channels(channels, first, end);
  }

  /// For the next piece of weights, of this section or the next or of the next block; and the next
  /// block's input.
  void ask_ahead(std::int64_t channels, ProductCall& call) const {
    if (launch_.in_passing()) return ask_ahead_for_raw(channels, call);
    const std::int64_t pieces = plan_.channels.pieces();
    const bool ends = channels + 1 == channels_.last;
    const std::int64_t next = !ends ? channels + 1 : is_last_section() ? 0 : channels_.first;
    const std::int64_t section = !ends ? section_ : is_last_section() ? 0 : section_ + 1;
    const float* weights = launch_.weights + plan_.weight_offset(section, next);
    call.next_piece = weights;
    call.next_input =
        plan_.asks_for_halves
            ? static_cast<const void*>(weights +
                                       kStrassenProducts * plan_.weight_product(section, next) / 2)
            : next_block() +
                  plan_.block_bytes / (pieces * plan_.sections()) * (section_ * pieces + channels);
  }

  /// Raw weights of a section are parts of many rows, which preparing them asks for: kernels then
  /// ask for what is near.
  void ask_ahead_for_raw(std::int64_t channels, ProductCall& call) const {
    call.next_piece = call.next_input = piece_weights_;
    if (plan_.sections() > 1) return;
    const std::int64_t next = std::min(channels + 1, plan_.channels.pieces() - 1);
    call.next_piece = raw_strassen_weights(plan_, launch_.arguments.weights, next, 0);
    call.next_input = raw_strassen_weights(plan_, launch_.arguments.weights, next, 1);
  }

  const std::byte* next_block() const {
    const std::int64_t pixel = plan_.channels_inner ? plan_.pixels.first(pixels_.first) : 0;
    return input_ + plan_.block_bytes +
           pixel * shape_.conv.input.stride[4] * static_cast<std::int64_t>(size_of(shape_.input));
  }

  // Sums that the kernel has left in scratch. Halves of rows follow one another.
  void finish_rows_of_pixels(std::int64_t channels, std::int64_t first, std::int64_t end) {
    const std::int64_t pixel = plan_.pixels.first(first);
    const std::int64_t last =
        plan_.pixels.first(end - 1) + plan_.pixels.width(end - 1) + plan_.pixels.count(end - 1, 1);
    for (int half = 0; half < 2; ++half) {
      chain_.at({image_, plan_.channels.first(channels) + half * plan_.channels.distance(channels),
                 0, 0, pixel});
      chain_.finish_pixels(sums_ + half * plan_.sums_lanes(), 2 * plan_.sums_lanes(), last - pixel,
                           plan_.channels.count(channels, half));
    }
  }
  void finish_rows_of_channels(std::int64_t channels, std::int64_t first, std::int64_t end) {
    const std::int64_t rows = plan_.channels.width(channels) + plan_.channels.count(channels, 1);
    const std::int64_t lanes =
        plan_.pixels.first(end - 1) + plan_.pixels.count(end - 1, 0) - plan_.pixels.first(first);
    for (int half = 0; half < 2; ++half) {
      chain_.at({image_, plan_.channels.first(channels), 0, 0,
                 plan_.pixels.first(first) + half * plan_.pixels.distance(first)});
      chain_.finish_rows(sums_ + half * plan_.sums_lanes(), 2 * plan_.sums_lanes(), rows, lanes);
    }
  }

  const Launch& launch_;
  const Range units_;
  const StrassenPlan& plan_;
  const Conv1x1Shape& shape_;
  Scratch scratch_;
  StripChain chain_;
  StrassenStage stage_;
  float* piece_weights_ = nullptr;
  float* kept_ = nullptr;  ///< [piece of channels][piece of pixels], from section to section
  float* sums_ = nullptr;  ///< [row][half of lanes][lane]
  RowsCall sums_call_;     ///< instead of the chain's: to scratch
  // The pixels under way.
  std::int64_t image_ = 0;
  Range pixels_, channels_;  ///< pieces
  std::int64_t section_ = 0;
  const std::byte* input_ = nullptr;  ///< of the image
};

class StrassenProgram final : public Program {
 public:
  StrassenProgram(StrassenPlan plan, const SplitChain& chain, std::span<const void* const> entries)
      : plan_(std::move(plan)), runner_(chain, plan_.shape.outputs(), prologue(entries)) {
    for (std::size_t i = 0; i < plan_.specs.size(); ++i)
      tiles_.push_back(kernel_at<TileKernel>(entries[i]));
    if (!plan_.finishes) rows_ = kernel_at<StripChain::RowsKernel>(entries[plan_.specs.size()]);
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const int parts = parts_worth(plan_.shape.conv, 2e6, arguments.parallel.threads());
    Launch launch{plan_,
                  tiles_,
                  rows_,
                  arguments,
                  runner_.prepare(arguments, scratch),
                  static_cast<const float*>(arguments.weights),
                  blocks_for(parts)};
    if (arguments.weights_are_raw) {
      const bool dealt = parts == 1 || plan_.channels.pieces() >= kUnitsPerPart * parts;
      launch.weights = dealt ? nullptr : prepared(arguments, scratch);
      if (dealt) launch.blocks = 1;
    }
    const std::int64_t units = plan_.shape.images() * launch.blocks * plan_.channels.pieces();
    arguments.parallel(parts, [&](int part) {
      Walk(launch, split(units, parts, part)).run();
      fence_streams();
    });
  }

  std::size_t prepared_bytes() const override { return strassen_weight_bytes(plan_); }
  std::string weight_format() const override { return strassen_weight_format(plan_); }
  bool takes_raw_weights() const override { return plan_.takes_raw_weights(); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    prepare_strassen_weights(plan_, raw, static_cast<float*>(prepared), parallel);
  }

 private:
  /// All of the raw weights.
  const float* prepared(const Arguments& arguments, Scratch& scratch) const {
    auto* weights = static_cast<float*>(scratch.take(prepared_bytes()));
    prepare_strassen_weights(plan_, arguments.weights, weights, arguments.parallel);
    return weights;
  }

  std::int64_t blocks_for(int parts) const {
    std::int64_t block = plan_.block;
    const auto blocks = [&] { return ceil_div(plan_.pixels.pieces(), block); };
    while (parts > 1 && block > 1 &&
           plan_.shape.images() * blocks() * plan_.channels.pieces() < kUnitsPerPart * parts)
      block = ceil_div(block, 2);
    return blocks();
  }

  const void* prologue(std::span<const void* const> entries) const {
    const std::size_t before = plan_.specs.size() + (plan_.finishes ? 0 : 1);
    return entries.size() > before ? entries[before] : nullptr;
  }

  StrassenPlan plan_;
  std::vector<TileKernel> tiles_;
  StripChain::RowsKernel rows_ = nullptr;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> strassen_program(StrassenPlan plan, const SplitChain& chain,
                                          std::span<const void* const> entries) {
  return std::make_unique<StrassenProgram>(std::move(plan), chain, entries);
}

}  // namespace fuseplan::cpu
