// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/transforms.hpp"

#include "kernels/cpu/emit/storage.hpp"
#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/winograd/separable.hpp"

namespace fuseplan::cpu {
namespace {

// System V: the first argument of each kernel.
const Xbyak::Reg64 kCall = Xbyak::util::rdi;

int disp(std::int64_t bytes) { return static_cast<int>(bytes); }

}  // namespace

std::vector<std::byte> emit_input_transform(Isa isa, DType dtype, const Axis& rows,
                                            const Axis& columns, std::int64_t position,
                                            bool whole_vectors, std::int64_t next_tile) {
  VectorCode c(isa);
  Storage storage(c, {c.r9, c.r10, c.r11});
  const Xbyak::Reg64 points = c.rsi, offset = c.rcx, output = c.rdx, channels = c.r8;
  const Xbyak::Reg64 column_points = c.r14, row_output = c.r15;
  const auto field = [&](std::size_t at) { return c.ptr[kCall + static_cast<int>(at)]; };
  const auto tile = [&](bool partial) {
    const auto load = [&](int row, const Vec& v) {
      c.mov(c.rax, c.ptr[column_points + row * columns.inputs() * 8]);
      if (partial) {
        storage.load_partial(v, c.ptr[c.rax + offset], dtype);
      } else {
        storage.load(v, c.ptr[c.rax + offset], dtype);
      }
      if (next_tile != 0) c.prefetcht0(c.ptr[c.rax + offset + disp(next_tile)]);
    };
    const auto store = [&](int column, const Vec& v) {
      c.vmovups(c.ptr[row_output + disp(column * position)], v);
    };
    c.mov(column_points, points);
    c.mov(row_output, output);
    emit_separable(c, rows.input, columns.input, {load, [&] { c.add(column_points, 8); }},
                   {store, [&] { c.add(row_output, disp(columns.inputs() * position)); }});
  };
  Xbyak::Label whole, rest, done;
  c.enter();
  keep_factors(c, rows.input, columns.input);
  c.mov(points, field(offsetof(InputCall, points)));
  c.mov(offset, field(offsetof(InputCall, offset)));
  c.mov(output, field(offsetof(InputCall, output)));
  c.mov(channels, field(offsetof(InputCall, channels)));
  c.sub(channels, c.lanes());
  c.jl(rest);
  c.L(whole);
  tile(false);
  c.add(offset, c.lanes() * static_cast<int>(size_of(dtype)));
  c.add(output, c.bytes());
  c.sub(channels, c.lanes());
  c.jge(whole);
  c.L(rest);
  if (!whole_vectors) {
    c.add(channels, c.lanes());
    c.jz(done);
    storage.begin_partial(channels);
    tile(true);
    c.L(done);
  }
  c.leave();
  storage.emit_tables();
  return c.finish();
}

std::vector<std::byte> emit_filter_transform(Isa isa, const Axis& rows, const Axis& columns,
                                             bool streaming) {
  VectorCode c(isa);
  const Xbyak::Reg64 filters = c.rsi, output = c.rdx, channels = c.r8, row_start = c.r10;
  const Xbyak::Reg64 once = c.rax, thrice = c.r9, five_times = c.r11, row_step = c.rbx;
  const Xbyak::Reg64 column_filters = c.r14;
  const auto field = [&](std::size_t at) { return c.ptr[kCall + static_cast<int>(at)]; };
  const auto load = [&](int row, const Vec& v) {
    c.vmovups(v, c.ptr[column_filters + row * columns.taps * c.bytes()]);
  };
  // Positions are stored in their order. So many are in reach, then their start goes on.
  constexpr int kReach = 6;
  // Asked for in time to be written; in tiles of two vectors, as most are.
  constexpr int kNextChannel = 2 * 64;
  const Xbyak::RegExp at[kReach] = {
      row_start,          row_start + once,     row_start + once * 2,
      row_start + thrice, row_start + once * 4, row_start + five_times};
  const auto store = [&](int column, const Vec& v) {
    if (column > 0 && column % kReach == 0) c.lea(row_start, c.ptr[row_start + thrice * 2]);
    if (streaming) {
      c.vmovntps(c.ptr[at[column % kReach]], v);
    } else {
      c.vmovups(c.ptr[at[column % kReach]], v);
      if (c.is_avx512()) c.prefetchw(c.ptr[at[column % kReach] + kNextChannel]);
    }
  };
  Xbyak::Label channel;
  c.enter();
  keep_factors(c, rows.filter, columns.filter);
  c.mov(filters, field(offsetof(FilterCall, filters)));
  c.mov(output, field(offsetof(FilterCall, output)));
  c.mov(channels, field(offsetof(FilterCall, channels)));
  c.mov(once, field(offsetof(FilterCall, position)));
  c.lea(thrice, c.ptr[once + once * 2]);
  c.lea(five_times, c.ptr[once + once * 4]);
  c.imul(row_step, once, (columns.inputs() - 1) % kReach + 1);
  c.L(channel);
  c.mov(column_filters, filters);
  c.mov(row_start, output);
  emit_separable(c, rows.filter, columns.filter, {load, [&] { c.add(column_filters, c.bytes()); }},
                 {store, [&] { c.add(row_start, row_step); }});
  c.add(filters, rows.taps * columns.taps * c.bytes());
  c.add(output, field(offsetof(FilterCall, step)));
  c.dec(channels);
  c.jnz(channel);
  if (streaming) c.sfence();
  c.leave();
  return c.finish();
}

std::vector<std::byte> emit_output_transform(Isa isa, const Axis& rows, const Axis& columns,
                                             const OutputStrides& strides) {
  VectorCode c(isa);
  const Xbyak::Reg64 sums = c.rsi, pixels = c.rdx, tiles = c.r8, vectors = c.rcx, next = c.r9;
  const Xbyak::Reg64 column_sums = c.r14, row_pixels = c.r15;
  const auto field = [&](std::size_t at) { return c.ptr[kCall + static_cast<int>(at)]; };
  const auto load = [&](int row, const Vec& v) {
    c.vmovups(v, c.ptr[column_sums + disp(row * columns.inputs() * strides.position)]);
  };
  const auto store = [&](int column, const Vec& v) {
    c.vmovups(c.ptr[row_pixels + disp(column * strides.column)], v);
  };
  Xbyak::Label tile, vector;
  c.enter();
  keep_factors(c, rows.output, columns.output);
  c.mov(sums, field(offsetof(OutputCall, sums)));
  c.mov(pixels, field(offsetof(OutputCall, pixels)));
  c.mov(tiles, field(offsetof(OutputCall, tiles)));
  c.imul(next, field(offsetof(OutputCall, vectors)), -c.bytes());
  c.add(next, disp(columns.outputs * strides.column));
  c.L(tile);
  c.mov(vectors, field(offsetof(OutputCall, vectors)));
  c.L(vector);
  c.mov(column_sums, sums);
  c.mov(row_pixels, pixels);
  emit_separable(c, rows.output, columns.output,
                 {load, [&] { c.add(column_sums, disp(strides.position)); }},
                 {store, [&] { c.add(row_pixels, disp(strides.row)); }});
  c.add(sums, c.bytes());
  c.add(pixels, c.bytes());
  c.dec(vectors);
  c.jnz(vector);
  c.add(pixels, next);
  c.dec(tiles);
  c.jnz(tile);
  c.leave();
  return c.finish();
}

}  // namespace fuseplan::cpu
