// SPDX-License-Identifier: MIT
#include "run/arguments.hpp"

#include <cstdint>

#include "base/status.hpp"
#include "plan/overlap.hpp"

namespace fuseplan {
namespace {

// What a launch computes for itself has no pointer.
bool is_computed(Role role) {
  return role == Role::batch_mean || role == Role::batch_inv_deviation ||
         role == Role::gradient_mean || role == Role::gradient_projection;
}

const void* pointer_of(const Args& args, const Problem& problem, int op, Role role) {
  if (is_computed(role)) return nullptr;
  const void* pointer = args.find(op)->pointer(role);
  require(pointer != nullptr, Status::BadParm, "op {} ({}): argument {} is NULL", op,
          kind_of(problem.ops()[static_cast<std::size_t>(op)].body), name_of(role));
  return pointer;
}

void* result_of(const Args& args, const Problem& problem, const Operand& operand) {
  void* result = args.find(operand.op)->result(operand.role);
  const OpBody& body = problem.ops()[static_cast<std::size_t>(operand.op)].body;
  const auto* norm = std::get_if<NormTrainingOp>(&body);
  const bool running = operand.role == Role::running_mean || operand.role == Role::running_variance;
  require(result != nullptr || !running || norm == nullptr || !norm->running, Status::BadParm,
          "op {} ({}) was created with running statistics, but {} is NULL", operand.op,
          kind_of(body), name_of(operand.role));
  return result;
}

double scalar_of(const Args& args, const Operand& operand) {
  const OpArgs& op = *args.find(operand.op);
  if (operand.role == Role::alpha) return op.alpha;
  if (operand.role == Role::beta) return op.beta;
  const double* value = op.scalar(operand.role);
  require(value != nullptr, Status::BadParm, "op {} ({}): scalar {} was never set", operand.op,
          op.kind, name_of(operand.role));
  return *value;
}

}  // namespace

BlendList blends_of(const Problem& problem, const Args& args) {
  BlendList blends;
  const int count = static_cast<int>(problem.ops().size());
  for (int i = 0; i < count; ++i) {
    const char* kind = kind_of(problem.ops()[static_cast<std::size_t>(i)].body);
    const OpArgs* op = args.find(i);
    require(op != nullptr, Status::BadParm, "op {} ({}): its arguments were never set", i, kind);
    require(op->kind == kind, Status::BadParm,
            "op {} is {}, but the arguments set for op {} are those of {}", i, kind, i, op->kind);
    require(op->beta == 0 || i + 1 == count, Status::BadParm,
            "op {} ({}) has beta {}; only the last op ({}) may blend with the output", i, kind,
            op->beta, count - 1);
    blends.push_back({op->alpha != 1, op->beta != 0});
  }
  return blends;
}

ResolvedArguments::ResolvedArguments(const Variant& variant, const Args& args) {
  const Problem& problem = variant.problem;
  if (problem.conv() != nullptr) weights_ = pointer_of(args, problem, 0, Role::weights);
  for (const Operand& operand : variant.chain.channels_in)
    channels_.push_back(pointer_of(args, problem, operand.op, operand.role));
  for (const Operand& operand : variant.chain.elements)
    elements_.push_back(pointer_of(args, problem, operand.op, operand.role));
  for (const Operand& operand : variant.chain.scalars) scalars_.push_back(scalar_of(args, operand));
  for (const Operand& operand : variant.chain.results)
    results_.push_back(result_of(args, problem, operand));
}

Footprint footprint_of(const Problem& problem, const SplitChain& chain) {
  Footprint footprint;
  const auto add = [&](const Tensor& tensor) {
    footprint.operands.push_back(static_cast<std::int64_t>(tensor.bytes()));
  };
  footprint.output = static_cast<std::int64_t>(problem.output().bytes());
  add(problem.input());
  if (problem.conv() != nullptr) add(problem.conv()->weights);
  for (const auto* operands : {&chain.channels_in, &chain.elements, &chain.results})
    for (const Operand& operand : *operands) add(operand.tensor);
  return footprint;
}

namespace {

// Nearly every output lies apart from all, which is seen without a look at any tensor.
bool lies_apart(const Footprint& footprint, const void* input, const void* output,
                const ResolvedArguments& arguments) {
  const std::int64_t* bytes = footprint.operands.data();
  bool apart = true;
  const auto compare = [&](const void* memory) {
    const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(output) -
                                                    reinterpret_cast<std::uintptr_t>(memory));
    apart &= distance >= *bytes++ || distance <= -footprint.output;
  };
  compare(input);
  if (arguments.weights() != nullptr) compare(arguments.weights());
  for (const void* memory : arguments.channels()) compare(memory);
  for (const void* memory : arguments.elements()) compare(memory);
  for (const void* memory : arguments.results()) compare(memory);
  return apart;
}

}  // namespace

void check_overlap(const Variant& variant, const void* input, const void* output,
                   const ResolvedArguments& arguments) {
  if (lies_apart(variant.footprint, input, output, arguments)) return;
  const Problem& problem = variant.asked;
  const auto overlaps = [&](const Tensor& tensor, const void* memory) {
    const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(output) -
                                                    reinterpret_cast<std::uintptr_t>(memory));
    return memory != nullptr && may_overlap(tensor, problem.output(), distance);
  };
  // What is read for an element of the output alone is read before that is written.
  const auto in_place = [&](const Tensor& tensor, const void* memory) {
    return memory == output && tensor == problem.output();
  };
  require((problem.conv() == nullptr && in_place(problem.input(), input)) ||
              !overlaps(problem.input(), input),
          Status::BadParm,
          "output memory overlaps input memory; only a plan without convolution may run in place, "
          "with equal type and strides");
  const auto check = [&](const Tensor& tensor, const void* memory, int op, Role role) {
    require(!overlaps(tensor, memory), Status::BadParm,
            "output memory overlaps that of an argument, {} of op {} ({})", name_of(role), op,
            kind_of(problem.ops()[static_cast<std::size_t>(op)].body));
  };
  const auto check_all = [&](const std::vector<Operand>& operands, const auto& pointers) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto& [op, role, tensor] = operands[i];
      const bool by_element = role == Role::other || role == Role::source;
      if (!by_element || !in_place(tensor, pointers[i])) check(tensor, pointers[i], op, role);
    }
  };
  if (problem.conv() != nullptr)
    check(problem.conv()->weights, arguments.weights(), 0, Role::weights);
  check_all(variant.chain.channels_in, arguments.channels());
  check_all(variant.chain.elements, arguments.elements());
  check_all(variant.chain.results, arguments.results());
}

}  // namespace fuseplan
