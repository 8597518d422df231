// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/launch.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/conv1x1/pack_weights.hpp"
#include "kernels/cpu/conv1x1/schedule.hpp"
#include "kernels/cpu/conv1x1/stage.hpp"
#include "kernels/cpu/drained_output.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kSquare = 16;  ///< pixels that are turned together, at most

using ProductKernel = void (*)(const ProductCall*);

/// What all threads of one launch share.
struct Launch {
  const Conv1x1Plan& plan;
  std::span<const ProductKernel> products;
  StripChain::RowsKernel rows;
  const Arguments& arguments;
  ChainFrame frame;
  const float* weights;  ///< packed, unless each piece is packed in passing

  bool in_passing() const { return weights == nullptr; }
};

/// One thread's walk through its units, with its own scratch.
class Walk {
 public:
  Walk(const Launch& launch, const Conv1x1Schedule& schedule)
      : launch_(launch),
        schedule_(schedule),
        plan_(launch.plan),
        shape_(plan_.shape),
        moves_(moves_for(shape_.input, shape_.isa)),
        chain_(shape_.tensors(), launch.rows, launch.arguments, launch.frame, scratch_),
        drained_(plan_.drains ? plan_.region_bytes(0) : 0, scratch_) {
    const auto take = [&](std::int64_t floats) {
      return scratch_.take_array<float>(static_cast<std::size_t>(floats));
    };
    if (plan_.staged) stage_ = take(plan_.stage_floats(schedule.block()));
    if (launch.in_passing()) piece_weights_ = take(plan_.piece_channels() * shape_.inputs());
    if (plan_.finishes) return;
    // Turning reads whole squares; of several images, from any pixel on.
    const std::int64_t pixels = round_up(plan_.strip_pixels(), kSquare);
    sums_ = take(plan_.piece_channels() * (plan_.config.images > 1 ? pixels + kSquare : pixels));
    sums_call_.output = sums_;
    if (plan_.config.by_channel)
      chain_.expect_pixels(plan_.strip_pixels(), plan_.piece_channels(), shape_.isa, scratch_);
  }

  void run(const Conv1x1Unit& unit) {
    begin(unit);
    const std::int64_t channels = unit.channels;
    if (launch_.in_passing()) {
      pack_piece(plan_, launch_.arguments.weights, channels, piece_weights_, asked_for_);
      asked_for_ = plan_.streams_weights();
    }
    if (plan_.drains) begin_region(channels);
    for (std::int64_t piece = unit.first; piece < unit.last;) {
      const int kind = plan_.pixels.kind(piece);
      std::int64_t end = std::min(unit.last, plan_.pixels.kind_end(kind));
      end = std::min(end, piece + (plan_.finishes ? plan_.block : plan_.strip));
      run_pieces(channels, piece, end, kind);
      piece = end;
    }
  }

  /// Once all units are done.
  void end() { drained_.flush(); }

 private:
  // Windows of several images have one group.
  std::int64_t batch() const { return window_ * plan_.config.images / shape_.conv.groups; }
  std::int64_t group() const { return window_ % shape_.conv.groups; }
  const float* packed(std::int64_t channels) const {
    return launch_.weights + group() * plan_.group_weights() + plan_.weight_offset(channels);
  }

  void begin(const Conv1x1Unit& unit) {
    if (unit.window == window_ && unit.first == first_ && unit.last == last_) return;
    window_ = unit.window;
    first_ = unit.first;
    last_ = unit.last;
    const View& view = shape_.conv.input;
    const std::int64_t at = batch() * view.stride[0] + group() * shape_.inputs() * view.stride[1];
    const std::byte* window = static_cast<const std::byte*>(launch_.arguments.input) +
                              at * static_cast<std::int64_t>(size_of(shape_.input));
    input_ = reinterpret_cast<const float*>(window);
    input_pixel_ = 0;
    if (!plan_.staged) return;
    input_pixel_ = plan_.pixels.first(first_);
    stage_pixels(plan_, moves_, window, input_pixel_, plan_.pixels.end(last_ - 1), stage_);
    input_ = stage_;
  }

  void begin_region(std::int64_t channels) {
    const std::int64_t first = plan_.channels.first(channels);
    const RowsCall& call = chain_.at({batch(), group() * shape_.outputs() + first, 0, 0, 0});
    drained_.begin(call.output, plan_.region_bytes(channels));
  }

  /// Pieces [first, end) of pixels, which are of one kind, with a piece of channels.
  void run_pieces(std::int64_t channels, std::int64_t first, std::int64_t end, int kind) {
    const std::int64_t channel = plan_.channels.first(channels);
    const std::int64_t pixel = plan_.pixels.first(first);
    const float* weights = launch_.in_passing() ? piece_weights_ : packed(channels);
    const float* input = input_ + (pixel - input_pixel_) * plan_.stage_pixel;
    ProductCall call;
    call.vectors = plan_.config.by_channel ? weights : input;
    call.scalars = plan_.config.by_channel ? input : weights;
    call.tiles = end - first;
    call.next_piece = next_piece(channels);
    const int kernel = plan_.kernel[plan_.channels.kind(channels)][kind];
    const ProductKernel product = launch_.products[static_cast<std::size_t>(kernel)];
    if (plan_.finishes) {
      call.chain = &point(0, channel, pixel);
      return product(&call);
    }
    const std::int64_t count = plan_.channels.end(channels) - channel;
    const std::int64_t last = plan_.pixels.end(end - 1);
    if (plan_.turned) expect_stores(channel, count, pixel, last);
    if (plan_.drains) sums_call_.drain = point(0, channel, pixel).drain;
    call.chain = &sums_call_;
    product(&call);
    finish(channel, count, pixel, last);
  }

  const void* next_piece(std::int64_t channels) const {
    const std::int64_t last = schedule_.has_one_block() ? channels : 0;
    const std::int64_t next = channels + 1 < plan_.channels.pieces() ? channels + 1 : last;
    // Raw weights of 16 bits are half as long: the piece behind is asked for as well.
    if (launch_.in_passing()) return raw_piece(plan_, launch_.arguments.weights, next);
    return packed(next);
  }

  /// The chain's tensors at a pixel of an image of the window. Of a plan that drains, the output's
  /// region.
  RowsCall& point(std::int64_t image, std::int64_t channel, std::int64_t pixel) {
    RowsCall& chain =
        chain_.at({batch() + image, group() * shape_.outputs() + channel, 0, 0, pixel});
    if (plan_.drains) drained_.redirect(chain);
    return chain;
  }

  void expect_stores(std::int64_t channel, std::int64_t channels, std::int64_t first,
                     std::int64_t end) {
    plan_.for_each_image(first, end,
                         [&](std::int64_t image, std::int64_t from, std::int64_t to, std::int64_t) {
                           point(image, channel, from);
                           chain_.expect_stores(channels, 0, to - from);
                         });
  }

  // Applies the chain to sums of the pixels [first, end) that the kernel has left in scratch.
  void finish(std::int64_t channel, std::int64_t channels, std::int64_t first, std::int64_t end) {
    const std::int64_t row = plan_.sums_row();
    plan_.for_each_image(
        first, end,
        [&](std::int64_t image, std::int64_t from, std::int64_t to, std::int64_t before) {
          point(image, channel, from);
          if (plan_.config.by_channel)
            chain_.finish_pixels(sums_ + before * row, row, to - from, channels);
          else
            chain_.finish_rows(sums_ + before, row, channels, to - from);
        });
  }

  const Launch& launch_;
  const Conv1x1Schedule& schedule_;
  const Conv1x1Plan& plan_;
  const Conv1x1Shape& shape_;
  Moves moves_;
  Scratch scratch_;
  StripChain chain_;
  DrainedOutput drained_;
  float *stage_ = nullptr, *sums_ = nullptr, *piece_weights_ = nullptr;
  bool asked_for_ = false;  ///< the next piece's raw weights, by the kernels
  RowsCall sums_call_;      ///< instead of the chain's: to scratch
  // The pixels under way.
  std::int64_t window_ = -1, first_ = 0, last_ = 0;
  const float* input_ = nullptr;
  std::int64_t input_pixel_ = 0;  ///< that input_ points to
};

class Conv1x1Program final : public Program {
 public:
  Conv1x1Program(Conv1x1Plan plan, const SplitChain& chain, std::span<const void* const> entries)
      : plan_(std::move(plan)), runner_(chain, plan_.shape.conv.output.len[1], prologue(entries)) {
    for (std::size_t i = 0; i < plan_.specs.size(); ++i)
      products_.push_back(kernel_at<ProductKernel>(entries[i]));
    if (!plan_.finishes) rows_ = kernel_at<StripChain::RowsKernel>(entries[plan_.specs.size()]);
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    Launch launch{plan_,
                  products_,
                  rows_,
                  arguments,
                  runner_.prepare(arguments, scratch),
                  static_cast<const float*>(arguments.weights)};
    const int threads = arguments.parallel.threads();
    if (arguments.weights_are_raw)
      launch.weights = deals_pieces(plan_, threads) ? nullptr : packed(arguments, scratch);
    const Conv1x1Schedule schedule(plan_, threads, launch.in_passing());
    arguments.parallel(schedule.parts(), [&](int part) {
      Walk walk(launch, schedule);
      schedule.for_each_unit(part, [&](const Conv1x1Unit& unit) { walk.run(unit); });
      walk.end();
      fence_streams();
    });
  }

  std::size_t prepared_bytes() const override { return packed_weight_bytes(plan_); }
  std::string weight_format() const override { return packed_weight_format(plan_); }
  bool takes_raw_weights() const override { return packs_in_passing(plan_); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    pack_weights(plan_, raw, static_cast<float*>(prepared), parallel);
  }

 private:
  const void* prologue(std::span<const void* const> entries) const {
    const std::size_t before = plan_.specs.size() + (plan_.finishes ? 0 : 1);
    return entries.size() > before ? entries[before] : nullptr;
  }

  /// All of the raw weights.
  const float* packed(const Arguments& arguments, Scratch& scratch) const {
    auto* weights = static_cast<float*>(scratch.take(prepared_bytes()));
    pack_weights(plan_, arguments.weights, weights, arguments.parallel);
    return weights;
  }

  Conv1x1Plan plan_;
  std::vector<ProductKernel> products_;
  StripChain::RowsKernel rows_ = nullptr;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> conv1x1_program(Conv1x1Plan plan, const SplitChain& chain,
                                         std::span<const void* const> entries) {
  return std::make_unique<Conv1x1Program>(std::move(plan), chain, entries);
}

}  // namespace fuseplan::cpu
