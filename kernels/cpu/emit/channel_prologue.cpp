// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/channel_prologue.hpp"

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/rows_leaves.hpp"

namespace fuseplan::cpu {

namespace {

/// To a rows kernel whose lanes are channels, a channel's parameter is an element.
RowsSpec rows_over_channels(const SplitChain& chain, Isa isa) {
  RowsSpec spec{
      .isa = isa,
      .body = {},
      .input = DType::f32,
      .output = DType::f32,
      .lanes_are_channels = false,
      .elements = std::vector<RowsSpec::Element>(chain.channels_in.size(), {DType::f32, true})};
  for (Ref i = 0; i < chain.channels.graph.size(); ++i) {
    Node node = chain.channels.graph[i];
    if (node.leaf == Leaf::channel) node.leaf = Leaf::element;
    spec.body.graph.push(node);
  }
  spec.body.roots = chain.channels.roots;
  return spec;
}

}  // namespace

std::vector<std::byte> emit_channel_prologue(const SplitChain& chain, Isa isa,
                                             std::int64_t channels) {
  if (chain.channels.roots.empty()) return {};
  const RowsSpec spec = rows_over_channels(chain, isa);
  VectorCode c(isa);
  RowsLeaves leaves(c, spec);
  const Xbyak::Reg64 lane = RowsLeaves::lane(), left = RowsLeaves::count();
  const auto vector = [&](bool partial) {
    leaves.select(0, partial);
    emit_expr(c, spec.body, leaves, [&](std::size_t root, const Vec& value) {
      c.imul(c.rax, c.stack_word(0), static_cast<int>(root));
      c.add(c.rax, leaves.output_pointer());
      const Xbyak::Address to = c.ptr[c.rax + lane * 4];
      partial ? leaves.storage().store_partial(to, value, DType::f32)
              : leaves.storage().store(to, value, DType::f32);
    });
  };

  Xbyak::Label next, rest, done;
  c.enter();
  c.reserve_words(1);
  c.mov(c.rax, c.ptr[RowsLeaves::call() + offsetof(RowsCall, output_step)]);
  c.mov(c.stack_word(0), c.rax);
  c.mov(left, c.ptr[RowsLeaves::call() + offsetof(RowsCall, lanes)]);
  leaves.start(RowsLeaves::Rows::one);
  c.xor_(lane.cvt32(), lane.cvt32());
  const bool any = channels == 0;
  if (any || channels >= c.lanes()) {
    c.sub(left, c.lanes());
    if (any) c.jb(rest);
    c.L(next);
    vector(false);
    c.add(lane, c.lanes());
    c.sub(left, c.lanes());
    c.jae(next);
    c.L(rest);
    c.add(left, c.lanes());
  }
  if (any || channels % c.lanes() != 0) {
    if (any) c.jz(done);
    leaves.storage().begin_partial(left);
    vector(true);
  }
  c.L(done);
  c.leave();
  leaves.storage().emit_tables();
  return c.finish();
}

}  // namespace fuseplan::cpu
