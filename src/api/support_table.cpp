// SPDX-License-Identifier: MIT
#include "api/support_table.hpp"

#include <algorithm>
#include <set>

#include "expr/passes.hpp"

namespace fuseplan::api {
namespace {

bool any_above(const Dims& dims, std::int64_t bound) {
  return std::any_of(dims.begin(), dims.end(), [&](std::int64_t value) { return value > bound; });
}

/// Words for what a problem needs of a solver, in the order they are listed.
struct Feature {
  const char* word;
  bool (*has)(const Problem&);
};
template <typename Body>
bool has_op(const Problem& problem) {
  return std::any_of(problem.ops().begin(), problem.ops().end(),
                     [](const Op& op) { return std::holds_alternative<Body>(op.body); });
}
template <bool (*Holds)(const Problem&, const ConvOp&)>
bool has_conv(const Problem& problem) {
  return problem.conv() != nullptr && Holds(problem, *problem.conv());
}
bool grouped(const Problem&, const ConvOp& op) { return op.conv.groups > 1; }
bool depthwise(const Problem& problem, const ConvOp& op) {
  return op.conv.groups > 1 && op.conv.groups == problem.input().lens[1];
}
bool strided(const Problem&, const ConvOp& op) { return any_above(op.conv.stride, 1); }
bool padded(const Problem&, const ConvOp& op) { return any_above(op.conv.pad_lo, 0); }
bool asymmetric(const Problem&, const ConvOp& op) { return op.conv.pad_lo != op.conv.pad_hi; }
bool dilated(const Problem&, const ConvOp& op) { return any_above(op.conv.dilation, 1); }

constexpr Feature kFeatures[] = {
    {"conv", has_op<ConvOp>},
    {"stride", has_conv<strided>},
    {"padding", has_conv<padded>},
    {"asymmetric_padding", has_conv<asymmetric>},
    {"dilation", has_conv<dilated>},
    {"groups", has_conv<grouped>},
    {"depthwise", has_conv<depthwise>},
    {"bias", has_op<BiasOp>},
    {"norm", has_op<NormOp>},
    {"activation", has_op<ActivationOp>},
    {"add", has_op<AddOp>},
    {"scale_shift", has_op<ScaleShiftOp>},
};

/// The same problem with other storage types and another layout; parameters keep their types.
Problem rewritten(const Problem& problem, DType dtype, Layout layout) {
  const auto rewrite = [&](const Tensor& tensor) { return packed(dtype, tensor.lens, layout); };
  std::vector<Op> ops = problem.ops();
  for (Op& op : ops) {
    if (ConvOp* conv = std::get_if<ConvOp>(&op.body)) conv->weights = rewrite(conv->weights);
    if (AddOp* add = std::get_if<AddOp>(&op.body)) add->other = rewrite(add->other);
  }
  return Problem(rewrite(problem.input()), std::move(ops), rewrite(problem.output()));
}

bool accepts(const Solver& solver, const Problem& problem, const Traits& traits) {
  Verdict verdict(solver.id());
  const SplitChain chain = optimize(lower(problem), {});
  solver.accepts({problem, chain, traits}, verdict);
  return verdict.accepted();
}

std::string joined(const std::set<std::size_t>& features) {
  std::string text;
  for (const std::size_t feature : features) {
    if (!text.empty()) text += ' ';
    text += kFeatures[feature].word;
  }
  return text;
}

}  // namespace

std::vector<SupportRow> support_table(const Traits& traits) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};
  std::vector<SupportRow> rows;
  for (const Solver* solver : all_solvers()) {
    if (solver->backend() != traits.backend) continue;
    std::vector<Problem> samples;
    for (const std::string& text : solver->samples()) samples.push_back(parse_problem(text));
    for (DType dtype : kTypes)
      for (int rank : {4, 5})
        for (Layout layout : {Layout::channels_first, Layout::channels_last}) {
          std::set<std::size_t> features;
          for (const Problem& sample : samples) {
            if (sample.input().rank() != rank) continue;
            const Problem problem = rewritten(sample, dtype, layout);
            if (!accepts(*solver, problem, traits)) continue;
            for (std::size_t i = 0; i < std::size(kFeatures); ++i)
              if (kFeatures[i].has(problem)) features.insert(i);
          }
          if (!features.empty()) rows.push_back({solver, dtype, rank, layout, joined(features)});
        }
  }
  return rows;
}

}  // namespace fuseplan::api
