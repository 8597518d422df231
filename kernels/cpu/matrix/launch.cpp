// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/launch.hpp"

#include <algorithm>
#include <optional>

#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/matrix/pack_weights.hpp"
#include "kernels/cpu/matrix/stage.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {
namespace {

using TilesKernel = void (*)();
using StoreKernel = void (*)(void*);
using TileKernel = void (*)(const MatrixTileCall*);
using StripKernel = void (*)(const StripCall*);

/// What all threads of one launch share.
struct Launch {
  const MatrixPlan& plan;
  TilesKernel begin, end;
  StoreKernel store;
  std::span<const TileKernel> tiles;
  std::span<const StripKernel> strips;
  StripChain::RowsKernel rows;
  const MatrixPacker& packer;
  const Arguments& arguments;
  ChainFrame frame;
};

/// One thread's walk through its units, with its own scratch. While it exists, the thread's tiles
/// have the shapes that the kernels expect.
class Walk {
 public:
  explicit Walk(const Launch& launch)
      : launch_(launch),
        plan_(launch.plan),
        conv_(plan_.shape.conv),
        chain_(plan_.shape.tensors(), launch.rows, launch.arguments, launch.frame, scratch_) {
    if (plan_.config.staged) stager_.emplace(plan_, scratch_);
    if (!plan_.in_strips && !plan_.config.by_plane)
      chain_.expect_pixels(plan_.grid.rows(), plan_.grid.lanes(), Isa::avx512, scratch_);
    // Turning reads whole squares.
    sums_ = scratch_.take_array<float>(static_cast<std::size_t>(
        plan_.config.by_plane ? plan_.grid.lanes() * plan_.sums_bytes() / kLaneBytes
                              : (plan_.grid.rows() + kTileRows) * plan_.grid.lanes()));
    call_.sums = sums_;
    call_.elements = elements_ = scratch_.take_array<const void*>(chain_.element_count());
    call_.chain = &chain_.call();
    weight_bytes_ = plan_.grid.channels * plan_.vector_bytes();
    if (launch.arguments.weights_are_raw)
      tile_weights_ = scratch_.take_array<std::byte>(static_cast<std::size_t>(weight_bytes_));
    call_.steps = plan_.reads.data();
    launch_.begin();
  }
  Walk(const Walk&) = delete;

  ~Walk() {
    finish_strip();
    launch_.end();
    fence_streams();
  }

  void start(const MatrixWindow& window) {
    window_ = window;
    staged_ = plan_.config.staged ? stager_->stage(launch_.arguments.input, window) : in_place();
    calls_ = plan_.image_calls(window.rows, window.columns);
    tiles_ = plan_.tiles(window.rows, window.columns);
    positions_ = plan_.positions(window.rows, window.columns);
    const bool even = plan_.runs_on || (plan_.even_rows && window.columns == conv_.output.len[4]);
    whole_strips_ = plan_.overlaps && even ? positions_ / plan_.grid.rows() : 0;
    if (tile_weights_ == nullptr)
      weights_ = static_cast<const std::byte*>(launch_.arguments.weights) +
                 window.group * plan_.group_vectors() * plan_.vector_bytes();
  }

  void run(std::int64_t channel_tile) {
    const std::int64_t within = channel_tile * plan_.grid.lanes();
    width_ = plan_.vectors_of(channel_tile) * kTileLanes;
    channel_ = window_.group * conv_.group_outputs + within;
    channels_ = std::min(width_, conv_.group_outputs - within);
    find_weights(channel_tile);
    if (plan_.in_strips) strip_ = launch_.strips[plan_.strip_of(channel_tile)];
    for (std::int64_t i = 0; i < window_.images; ++i, next_ += calls_ * plan_.fetched_bytes) {
      image_ = window_.image + i;
      input_ = staged_ + i * plan_.stage.image_bytes;
      run_image(channel_tile);
    }
  }

 private:
  void run_image(std::int64_t channel_tile) {
    if (plan_.config.by_plane) return run_planes(channel_tile);
    const std::int64_t strips = channels_ == plan_.grid.lanes() ? whole_strips_ : 0;
    for (std::int64_t i = 0; i < strips; ++i) run_strip(i, channel_tile);
    const std::int64_t most = plan_.grid.pixels;
    for (std::int64_t i = strips * most; i < tiles_; i += most)
      run_tiles(i, static_cast<int>(std::min(most, tiles_ - i)), channel_tile);
  }

  void find_weights(std::int64_t channel_tile) {
    if (tile_weights_ != nullptr) {
      launch_.packer.pack_tile(launch_.arguments.weights, window_.group, channel_tile,
                               tile_weights_);
      call_.weights = next_ = tile_weights_;
      return;
    }
    const std::byte* own = weights_ + channel_tile * weight_bytes_;
    call_.weights = own;
    next_ = plan_.fetches_ahead > 0
                ? own + plan_.fetches_ahead
                : weights_ + (channel_tile + 1) % plan_.tiles_of_channels * weight_bytes_;
  }

  const std::byte* in_place() const {
    const auto& stride = conv_.input.stride;
    return static_cast<const std::byte*>(launch_.arguments.input) +
           (window_.image * stride[0] + window_.group * conv_.group_inputs * stride[1] +
            window_.plane * stride[2] + window_.row * stride[3] + window_.column * stride[4]) *
               plan_.element();
  }

  /// A whole strip whose pixels follow one another in output, too, but for those between rows.
  void run_strip(std::int64_t index, std::int64_t channel_tile) {
    const std::int64_t position = index * plan_.grid.rows();
    call_.input = input_ + position * plan_.pixel_bytes;
    call_.last = (plan_.grid.pixels - 1) * kTileRows * plan_.pixel_bytes;
    call_.next = next_ + index * plan_.fetched_bytes;
    expect(position);
    sum(plan_.grid.pixels, channel_tile);
    if (plan_.runs_on) return wait_at(0, position, 0);
    const std::int64_t column = position % plan_.pitch;
    wait_at(position / plan_.pitch, std::min(column, window_.columns), gaps_from(column));
  }

  /// Of a strip that begins in that column, the grains that lie between two rows.
  std::uint64_t gaps_from(std::int64_t column) const {
    const std::int64_t end = plan_.grid.rows() / plan_.grain;
    const std::int64_t gap = (plan_.pitch - window_.columns) / plan_.grain;
    std::uint64_t gaps = 0;
    for (std::int64_t at = (window_.columns - column) / plan_.grain; at < end;
         at += plan_.pitch / plan_.grain)
      for (std::int64_t i = std::max<std::int64_t>(0, at); i < std::min(end, at + gap); ++i)
        gaps |= std::uint64_t{1} << i;
    return gaps;
  }

  void wait_at(std::int64_t row, std::int64_t column, std::uint64_t gaps) {
    waiting_ = place(row, column);
    chain_.at(waiting_);
    call_.gaps = gaps;
    strip_waits_ = true;
  }

  void run_tiles(std::int64_t first, int count, std::int64_t channel_tile) {
    PixelTile tiles[kMostTilePixels];
    for (int i = 0; i < count; ++i)
      tiles[i] = plan_.tile(first + i, window_.rows, window_.columns, window_.column);
    call_.input = input_ + tiles[0].position * plan_.pixel_bytes;
    call_.last = (tiles[count - 1].position - tiles[0].position) * plan_.pixel_bytes;
    call_.next = next_ + first / plan_.grid.pixels * plan_.fetched_bytes;
    expect(tiles[0].position);
    sum(count, channel_tile);
    for (int i = 0; i < count;) {
      // One strip of tiles that continue one another.
      PixelTile strip = tiles[i];
      const float* sums = sums_ + i * kTileRows * width_;
      while (++i < count && strip.count % kTileRows == 0 && tiles[i].skip == 0 &&
             tiles[i].position == strip.position + strip.count)
        strip.count += tiles[i].count;
      finish(strip, sums);
    }
  }

  /// Sums of many pixels wait together, so that planes are written in long rows.
  void run_planes(std::int64_t channel_tile) {
    const std::int64_t most = plan_.strip_positions / kTileRows;
    for (std::int64_t first = 0; first < tiles_; first += most) {
      const std::int64_t last = std::min(tiles_, first + most);
      for (std::int64_t i = first; i < last; i += plan_.grid.pixels) {
        const auto count = static_cast<int>(std::min<std::int64_t>(plan_.grid.pixels, last - i));
        call_.input = input_ + i * kTileRows * plan_.pixel_bytes;
        call_.next = next_ + i / plan_.grid.pixels * plan_.fetched_bytes;
        call_.sums = sums_ + (i - first) * kTileRows;
        if (!plan_.finish.elements.empty()) expect_planes(i * kTileRows, (i + count) * kTileRows);
        launch_.tiles[plan_.kernel_of(count, channel_tile)](&call_);
      }
      finish_planes(first * kTileRows, last * kTileRows);
    }
  }

  void expect_planes(std::int64_t begin, std::int64_t end) {
    each_run(begin, std::min(end, positions_),
             [&](std::int64_t, std::int64_t row, std::int64_t column, std::int64_t pixels) {
               chain_.at(place(row, column));
               chain_.expect_elements(channels_, pixels);
             });
  }

  void finish_planes(std::int64_t begin, std::int64_t end) {
    each_run(begin, std::min(end, positions_),
             [&](std::int64_t at, std::int64_t row, std::int64_t column, std::int64_t pixels) {
               chain_.at(place(row, column));
               chain_.finish_rows(sums_ + at - begin, plan_.sums_bytes() / kLaneBytes, channels_,
                                  pixels);
             });
  }

  /// Calls f(position, row, column, pixels) for what positions [begin, end) have of each row of the
  /// window, or at once for rows that follow one another.
  template <typename F>
  void each_run(std::int64_t begin, std::int64_t end, const F& f) {
    if (plan_.runs_on) return f(begin, 0, begin, end - begin);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t row = at / plan_.pitch, column = at % plan_.pitch;
      const std::int64_t pixels = std::min(end - at, window_.columns - column);
      if (pixels > 0) f(at, row, column, pixels);
      at += plan_.pitch - column;
    }
  }

  ChainWalk::Index place(std::int64_t row, std::int64_t column) const {
    return {image_, channel_, window_.plane, window_.row + row, window_.column + column};
  }

  /// What the chain will read from there on.
  void expect(std::int64_t position) {
    if (!plan_.asks_elements) return;
    const std::int64_t row = plan_.runs_on ? 0 : position / plan_.pitch;
    chain_.elements_at(place(row, position - row * plan_.pitch), elements_);
  }

  // Finishes the strip that waits, meanwhile where the kernel does so.
  void sum(int count, std::int64_t channel_tile) {
    const bool overlaps = plan_.overlaps && plan_.is_full(count, channel_tile);
    if (!overlaps) finish_strip();
    call_.finishes = strip_waits_;
    launch_.tiles[plan_.kernel_of(count, channel_tile)](&call_);
    strip_waits_ = false;
    in_tiles_ = overlaps;
  }

  void finish_strip() {
    if (!strip_waits_) return;
    store();
    const std::int64_t grains = plan_.grid.rows() / plan_.grain;
    const auto is_gap = [&](std::int64_t i) { return (call_.gaps >> i & 1) != 0; };
    for (std::int64_t i = 0; i < grains;) {
      const std::int64_t first = i;
      while (i < grains && is_gap(i) == is_gap(first)) ++i;
      if (is_gap(first)) continue;
      const std::int64_t pixels = (i - first) * plan_.grain;
      const StripCall call{sums_ + first * plan_.grain * plan_.grid.lanes(), &chain_.at(waiting_),
                           pixels};
      launch_.strips.front()(&call);
      waiting_[4] += pixels;
    }
    strip_waits_ = false;
  }

  void store() {
    if (in_tiles_) launch_.store(sums_);
    in_tiles_ = false;
  }

  // Applies the chain to the tile's own pixels, row of the output by row, and stores.
  void finish(const PixelTile& tile, const float* sums) {
    const std::int64_t begin = tile.position + tile.skip;
    each_run(begin, begin + tile.count,
             [&](std::int64_t at, std::int64_t row, std::int64_t column, std::int64_t pixels) {
               finish(row, column, pixels, sums + (at - tile.position) * width_);
             });
  }

  void finish(std::int64_t row, std::int64_t column, std::int64_t pixels, const float* sums) {
    if (plan_.overlaps && pixels == plan_.grid.rows() && channels_ == plan_.grid.lanes())
      return wait_at(row, column, 0);
    const RowsCall& chain = chain_.at(place(row, column));
    store();
    if (strip_ == nullptr) return chain_.finish_pixels(sums, width_, pixels, channels_);
    const StripCall call{sums, &chain, pixels};
    strip_(&call);
  }

  const Launch& launch_;
  const MatrixPlan& plan_;
  const ConvGeometry& conv_;
  Scratch scratch_;
  StripChain chain_;
  std::optional<MatrixStager> stager_;
  float* sums_ = nullptr;     ///< those of bytes are i32, moved as floats
  bool in_tiles_ = false;     ///< the sums have not been stored yet
  bool strip_waits_ = false;  ///< to be finished, in the tiles; the chain points there
  ChainWalk::Index waiting_{};
  const std::byte *staged_ = nullptr, *input_ = nullptr;  ///< the window's input, and the image's
  const std::byte* next_ = nullptr;                       ///< weights that will be wanted next
  MatrixWindow window_;
  std::int64_t image_ = 0;
  std::int64_t positions_ = 0, tiles_ = 0, whole_strips_ = 0, calls_ = 0;  ///< of an image's part
  const std::byte* weights_ = nullptr;                                     ///< of its group
  std::byte* tile_weights_ = nullptr;  ///< packed in passing, if the weights are raw
  std::int64_t weight_bytes_ = 0;      ///< of a tile of channels
  MatrixTileCall call_;
  const void** elements_ = nullptr;  ///< call_'s
  StripKernel strip_ = nullptr;
  std::int64_t channel_ = 0, channels_ = 0;
  std::int64_t width_ = 0;  ///< lanes of the present tile of channels
};

/// Where each tile of channels is used in one window only, and the pieces are many: packed in
/// passing, it stays in the caches.
bool packs_in_passing(const MatrixPlan& plan) {
  return traits_of(plan.product).is_split() &&
         MatrixSchedule(plan, 1).windows() == plan.shape.conv.groups;
}

class MatrixProgram final : public Program {
 public:
  MatrixProgram(const MatrixPlan& plan, const SplitChain& chain,
                std::span<const void* const> entries)
      : plan_(plan),
        packer_(plan_),
        begin_(kernel_at<TilesKernel>(entries[0])),
        end_(kernel_at<TilesKernel>(entries[1])),
        store_(kernel_at<StoreKernel>(entries[2])),
        runner_(chain, plan.shape.conv.output.len[1], prologue(plan, entries)) {
    const std::size_t tiles = plan.specs().size();
    for (std::size_t i = 0; i < tiles; ++i)
      tiles_.push_back(kernel_at<TileKernel>(entries[kTiles + i]));
    const std::size_t strips = plan.strips().size();
    for (std::size_t i = 0; plan.in_strips && i < strips; ++i)
      strips_.push_back(kernel_at<StripKernel>(entries[kTiles + tiles + i]));
    if (!plan.in_strips) rows_ = kernel_at<StripChain::RowsKernel>(entries[kTiles + tiles]);
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launch{plan_,   begin_, end_,    store_,    tiles_,
                        strips_, rows_,  packer_, arguments, runner_.prepare(arguments, scratch)};
    const MatrixSchedule schedule(plan_, arguments.parallel.threads(), arguments.weights_are_raw);
    arguments.parallel(schedule.parts(), [&](int part) {
      Walk walk(launch);
      const std::int64_t last = schedule.first(part + 1);
      for (std::int64_t unit = schedule.first(part); unit < last;) {
        walk.start(schedule.window(unit));
        std::int64_t channel_tile = schedule.channel_tile(unit);
        for (; unit < last && channel_tile < plan_.tiles_of_channels; ++unit)
          walk.run(channel_tile++);
      }
    });
  }

  std::size_t prepared_bytes() const override { return packer_.size(); }
  bool takes_raw_weights() const override { return packs_in_passing(plan_); }
  std::string weight_format() const override { return packed_matrix_weights_format(plan_); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    packer_.pack(raw, prepared, parallel);
  }

 private:
  static constexpr std::size_t kTiles = 3;  ///< entries before those of tile kernels

  static const void* prologue(const MatrixPlan& plan, std::span<const void* const> entries) {
    const std::size_t before =
        kTiles + plan.specs().size() + (plan.in_strips ? plan.strips().size() : 1);
    return entries.size() > before ? entries[before] : nullptr;
  }

  MatrixPlan plan_;
  MatrixPacker packer_;
  TilesKernel begin_, end_;
  StoreKernel store_;
  std::vector<TileKernel> tiles_;
  std::vector<StripKernel> strips_;
  StripChain::RowsKernel rows_ = nullptr;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> matrix_program(const MatrixPlan& plan, const SplitChain& chain,
                                        std::span<const void* const> entries) {
  return std::make_unique<MatrixProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
