// SPDX-License-Identifier: MIT
#include "kernels/cpu/statistics/moments.hpp"

#include <algorithm>

#include "kernels/cpu/norm/gathered.hpp"
#include "kernels/cpu/portable/batch_moments.hpp"

namespace fuseplan::cpu {
namespace {

class PortableMoments final : public OutputMoments {
 public:
  PortableMoments(const Tensor& data, const Tensor& statistics)
      : moments_(view_of(data), data.dtype, view_of(statistics)) {}
  void join(const void* data, const Parallel& parallel, std::int64_t count, double* means,
            double* squares) const override {
    moments_.join(data, parallel, static_cast<double>(count), means, squares);
  }

 private:
  BatchMoments moments_;
};

class VectorMoments final : public OutputMoments {
 public:
  VectorMoments(CellWalk cells, const SumsKernel& kernel)
      : cells_(std::move(cells)),
        kernel_(kernel),
        chunks_(cells_.per_lane ? parts(cells_.units, kChunkRows) : 1),
        strips_(parts(cells_.cells, cells_.per_lane ? kStripCells : kPlanes)) {}

  void join(const void* data, const Parallel& parallel, std::int64_t count, double* means,
            double* squares) const override {
    Scratch scratch;
    Gathered all = nothing_gathered(cells_.cells, 2, scratch);
    const auto chunks = static_cast<std::size_t>(chunks_);
    Gathered* more = scratch.take_array<Gathered>(chunks);
    for (std::size_t k = 0; k < chunks; ++k) more[k] = nothing_gathered(cells_.cells, 2, scratch);
    parallel(chunks_ * strips_, [&](int task) {
      Gathered& part = more[task / strips_];
      const Range strip = split(cells_.cells, strips_, task % strips_);
      Gathered own = part.empty_slice(strip.first, strip.last - strip.first);
      gather_moments(cells_, {.input = data}, kernel_, strip,
                     split(cells_.units, chunks_, task / strips_), own);
      if (strip.first == 0) part.count = own.count;
    });
    if (count > 0) {
      std::copy_n(means, cells_.cells, all.of(0));
      std::copy_n(squares, cells_.cells, all.of(1));
      all.count = count;
    }
    for (std::size_t k = 0; k < chunks; ++k) add_moments(all, more[k]);
    std::copy_n(all.of(0), cells_.cells, means);
    std::copy_n(all.of(1), cells_.cells, squares);
  }

 private:
  // What is taken lies in a second-level cache, half a megabyte: tasks of a few microseconds.
  static constexpr std::int64_t kChunkRows = 384, kStripCells = 512, kPlanes = 8;
  static int parts(std::int64_t total, std::int64_t of_part) {
    return static_cast<int>(std::clamp<std::int64_t>(total / of_part, 1, 64));
  }

  CellWalk cells_;
  SumsKernel kernel_;
  int chunks_, strips_;
};

std::optional<CellWalk> cells_of(const Tensor& data, const Tensor& statistics, Isa isa) {
  if (isa == Isa::portable || !is_storage(data.dtype)) return std::nullopt;
  const View view = view_of(data);
  WalkTensors tensors{view, view, {}, {}, {data.dtype, data.dtype, DType::f32}};
  std::string reason;
  return plan_cell_walk(tensors, broadcast_view(statistics, data), true, &reason);
}

}  // namespace

MomentsRecipe::MomentsRecipe(const Tensor& data, const Tensor& statistics, Isa isa)
    : data_(data), statistics_(statistics), isa_(isa), cells_(cells_of(data, statistics, isa)) {}

std::vector<Function> MomentsRecipe::emit() const {
  if (!cells_) return {};
  return {{"statistics_sums", emit_sums(moments_spec(*cells_, isa_))}};
}

std::unique_ptr<OutputMoments> MomentsRecipe::bind(std::span<const void* const> entries) const {
  if (!cells_) return std::make_unique<PortableMoments>(data_, statistics_);
  const auto kernel = kernel_at<void (*)(const RowsCall*)>(entries[0]);
  return std::make_unique<VectorMoments>(*cells_, SumsKernel{kernel, 2});
}

}  // namespace fuseplan::cpu
