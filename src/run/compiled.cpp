// SPDX-License-Identifier: MIT
#include "run/compiled.hpp"

#include <chrono>

#include "base/denormals.hpp"
#include "base/status.hpp"
#include "plan/spelled.hpp"
#include "run/arguments.hpp"

namespace fuseplan {
namespace {

bool same_blends(const std::vector<Op>& ops, const BlendList& blends) {
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (!(ops[i].blend == blends[i])) return false;
  return true;
}

bool matches(const Variant& variant, const Tensor& input, const Tensor& output,
             const BlendList& blends) {
  return variant.problem.input() == input && variant.problem.output() == output &&
         same_blends(variant.problem.ops(), blends);
}

// A length of 1 is a broadcast and stays one.
void resize(Tensor& tensor, const Tensor& before, const Tensor& now) {
  Dims lens = tensor.lens;
  for (int axis = 0; axis < before.rank(); ++axis)
    if (lens[axis] == before.lens[axis] && lens[axis] != 1) lens[axis] = now.lens[axis];
  if (lens != tensor.lens) tensor = with_lens(tensor, lens);
}

// The same ops over an input of other lengths: tensors that follow the input are given its lengths.
OpBody resized(OpBody body, const Tensor& before, const Tensor& now) {
  if (auto* add = std::get_if<AddOp>(&body)) resize(add->other, before, now);
  if (auto* op = std::get_if<ActivationBackwardOp>(&body)) resize(op->source, before, now);
  if (auto* op = std::get_if<NormBackwardOp>(&body)) resize(op->source, before, now);
  return body;
}

}  // namespace

Compiled::Compiled(CompileContext context, Problem problem, Dynamic dynamic, const Parallel& timing,
                   std::vector<Rejection>& failures)
    : context_(std::move(context)), dynamic_(dynamic) {
  owned_.push_back(make_variant(context_, std::move(problem), &timing, &failures));
  variants_[0].store(owned_.front().get(), std::memory_order_release);
}

std::size_t Compiled::variant_count() const {
  const std::lock_guard lock(mutex_);
  return owned_.size();
}

void Compiled::check_descriptor(const Tensor& given, const Tensor& compiled,
                                std::string_view what) const {
  require(given.dtype == compiled.dtype, Status::BadParm, "{} is {}, the plan was compiled for {}",
          what, name_of(given.dtype), name_of(compiled.dtype));
  require(given.rank() == compiled.rank(), Status::BadParm,
          "{} has rank {}, the plan was compiled for rank {}", what, given.rank(), compiled.rank());
  bool resized = false;
  for (int axis = 0; axis < given.rank(); ++axis) {
    if (given.lens[axis] == compiled.lens[axis]) continue;
    resized = true;
    require(dynamic_.axes[static_cast<std::size_t>(axis)], Status::BadParm,
            "{} is {}, the plan was compiled for {} and dimension {} was not declared dynamic",
            what, Spelled{given.lens}, Spelled{compiled.lens}, axis);
  }
  const Tensor expected = resized ? with_lens(compiled, given.lens) : compiled;
  require(given.strides == expected.strides, Status::BadParm,
          "{} has strides {}, the plan was compiled for {}", what, Spelled{given.strides, ','},
          Spelled{expected.strides, ','});
}

Problem Compiled::problem_for(const Tensor& input, const Tensor& output,
                              const BlendList& blends) const {
  const Problem& base = main().problem;
  check_descriptor(input, base.input(), "input descriptor");
  Tensor value = input;
  std::vector<Op> ops;
  for (std::size_t i = 0; i < base.ops().size(); ++i) {
    ops.push_back({resized(base.ops()[i].body, base.input_of(i), value), blends[i]});
    value = op_output(ops.back().body, value);
  }
  const Tensor expected = with_lens(base.output(), value.lens);
  require(output.lens == value.lens, Status::BadParm, "output descriptor is {}, expected {}",
          Spelled{output.lens}, Spelled{value.lens});
  if (value.lens == base.output().lens) {
    require(output == base.output(), Status::BadParm,
            "output descriptor is {}, the plan was compiled for {}", to_text(output),
            to_text(base.output()));
  } else {
    require(output == expected, Status::BadParm, "output descriptor is {}, expected {}",
            to_text(output), to_text(expected));
  }
  return Problem(input, std::move(ops), output);
}

const Variant& Compiled::variant_for(const Tensor& input, const Tensor& output,
                                     const BlendList& blends) const {
  for (const auto& slot : variants_) {
    const Variant* variant = slot.load(std::memory_order_acquire);
    if (variant == nullptr) break;
    if (matches(*variant, input, output, blends)) return *variant;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& variant : owned_)
    if (matches(*variant, input, output, blends)) return *variant;
  owned_.push_back(make_variant(context_, problem_for(input, output, blends), nullptr));
  const Variant& variant = *owned_.back();
  if (owned_.size() <= kSlots)
    variants_[owned_.size() - 1].store(&variant, std::memory_order_release);
  return variant;
}

void Compiled::execute(Handle& handle, const Tensor& input_desc, const void* input,
                       const Tensor& output_desc, void* output, Args& args) const {
  handle.check_process();
  const BlendList blends = blends_of(main().problem, args);
  const Variant& variant = variant_for(input_desc, output_desc, blends);
  const ResolvedArguments resolved(variant, args);
  check_overlap(variant.problem, input, output);
  const void* raw = resolved.weights();
  WeightsLease weights;
  if (raw != nullptr)
    weights = args.prepared_weights(*variant.executable, variant.weight_format, raw,
                                    variant.problem.conv()->weights.bytes(), handle.parallel(),
                                    handle.allocator());
  const bool as_they_are = raw != nullptr && weights.data() == nullptr;
  const Launch launch{input,
                      output,
                      as_they_are ? raw : weights.data(),
                      resolved.channels(),
                      resolved.elements(),
                      resolved.scalars(),
                      resolved.results(),
                      handle.parallel(),
                      handle.stream(),
                      as_they_are};
  const FlushDenormals flush;
  if (!handle.profiling()) return variant.executable->launch(launch);
  // A GPU's queue is drained before and after, so that the time is the kernel's and a launch's.
  handle.backend().synchronize(handle.device(), handle.stream());
  const auto start = std::chrono::steady_clock::now();
  variant.executable->launch(launch);
  handle.backend().synchronize(handle.device(), handle.stream());
  const std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - start;
  handle.record_kernel_ms(taken.count());
}

}  // namespace fuseplan
