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

struct Named {
  std::size_t op;
  const char *kind, *tensor;
};

// The same tensor in the layout it has, which only packed strides spell for other lengths.
Tensor with_other_lens(const Tensor& tensor, const Dims& lens, const Named& named) {
  if (lens == tensor.lens) return tensor;
  const Dims packed = with_lens(tensor, tensor.lens).strides;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    require(tensor.lens[axis] == 1 || tensor.strides[axis] == packed[axis], Status::BadParm,
            "op {} ({}): {} of {} has to follow to {}, but its strides {} are not packed", named.op,
            named.kind, named.tensor, Spelled{tensor.lens}, Spelled{lens},
            Spelled{tensor.strides, ','});
  return with_lens(tensor, lens);
}

// What is added follows the input where it is as long; elsewhere its length is 1 and stays so. A
// length of 1 over 1 is either: a tensor that is nowhere repeated follows, of another nobody knows.
Tensor follow(const Tensor& other, const Tensor& before, const Tensor& now, const Named& named) {
  const bool is_whole = other.lens == before.lens;
  Dims lens = other.lens;
  for (int axis = 0; axis < before.rank(); ++axis) {
    if (before.lens[axis] == now.lens[axis] || lens[axis] != before.lens[axis]) continue;
    require(is_whole || lens[axis] != 1, Status::BadParm,
            "op {} ({}): {} is {} over {}, which does not tell whether it has a length of 1 or of "
            "{} in dynamic dimension {}; make the plan with a length above 1 there",
            named.op, named.kind, named.tensor, Spelled{lens}, Spelled{before.lens}, now.lens[axis],
            axis);
    lens[axis] = now.lens[axis];
  }
  return with_other_lens(other, lens, named);
}

// The same ops over an input of other lengths: tensors that follow the input are given its lengths.
OpBody resized(OpBody body, std::size_t index, const Tensor& before, const Tensor& now) {
  const char* kind = kind_of(body);
  if (auto* add = std::get_if<AddOp>(&body))
    add->other = follow(add->other, before, now, {index, kind, "other"});
  if (auto* op = std::get_if<ActivationBackwardOp>(&body))
    op->source = with_other_lens(op->source, now.lens, {index, kind, "x"});
  if (auto* op = std::get_if<NormBackwardOp>(&body))
    op->source = with_other_lens(op->source, now.lens, {index, kind, "x"});
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
    ops.push_back({resized(base.ops()[i].body, i, base.input_of(i), value), blends[i]});
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
  check_overlap(variant, input, output, resolved);
  const void* raw = resolved.weights();
  const FlushDenormals flush;
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
