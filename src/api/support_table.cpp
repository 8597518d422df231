// SPDX-License-Identifier: MIT
#include "api/support_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "expr/passes.hpp"

namespace fuseplan::api {
namespace {

/// A plan that asks for one thing: a convolution or none, with one feature added.
struct Probe {
  Conv conv;
  std::vector<OpBody> tail;
};

/// One value per channel of a tensor.
Tensor parameters(const Tensor& value) {
  Dims lens(value.lens.size(), 1);
  lens[1] = value.lens[1];
  return packed(DType::f32, lens, Layout::channels_first);
}

// Large enough that no solver refuses for want of work.
struct Base {
  const char* word;
  bool has_conv;
  std::int64_t inputs, outputs, length, groups, taps;
};
constexpr Base kBases[] = {
    {"conv", true, 128, 128, 56, 1, 3},     {"conv1x1", true, 2048, 2048, 60, 1, 1},
    {"few_inputs", true, 8, 64, 30, 1, 3},  {"few_inputs", true, 8, 64, 30, 1, 7},
    {"groups", true, 64, 64, 30, 2, 3},     {"groups", true, 64, 64, 30, 16, 3},
    {"depthwise", true, 64, 64, 30, 64, 3}, {nullptr, false, 64, 64, 30, 1, 3}};

enum class Place { conv, any, alone };  ///< of a convolution, behind anything, or first of all

struct Feature {
  const char* word;
  Place place;
  void (*add)(Probe& probe, const Tensor& value);
};
constexpr Feature kFeatures[] = {
    {nullptr, Place::conv, [](Probe&, const Tensor&) {}},
    {"stride", Place::conv, [](Probe& p, const Tensor&) { std::ranges::fill(p.conv.stride, 2); }},
    {"padding", Place::conv,
     [](Probe& p, const Tensor&) {
       std::ranges::fill(p.conv.pad_lo, 1);
       std::ranges::fill(p.conv.pad_hi, 1);
     }},
    {"asymmetric_padding", Place::conv,
     [](Probe& p, const Tensor&) { std::ranges::fill(p.conv.pad_hi, 1); }},
    {"dilation", Place::conv,
     [](Probe& p, const Tensor&) { std::ranges::fill(p.conv.dilation, 2); }},
    {"bias", Place::any,
     [](Probe& p, const Tensor& value) { p.tail = {BiasOp{parameters(value)}}; }},
    {"norm", Place::any,
     [](Probe& p, const Tensor& value) {
       p.tail = {NormOp{NormMode::spatial, parameters(value)}};
     }},
    {"activation", Place::any,
     [](Probe& p, const Tensor&) { p.tail = {ActivationOp{Activation::GELU_ERF}}; }},
    {"add", Place::any, [](Probe& p, const Tensor& value) { p.tail = {AddOp{value}}; }},
    {"scale_shift", Place::any,
     [](Probe& p, const Tensor& value) { p.tail = {ScaleShiftOp{parameters(value)}}; }},
    {"norm_training", Place::alone,
     [](Probe& p, const Tensor& value) {
       p.tail = {NormTrainingOp{NormMode::spatial, parameters(value)}};
     }},
    {"activation_backward", Place::alone,
     [](Probe& p, const Tensor& value) {
       p.tail = {ActivationBackwardOp{Activation::GELU_ERF, value}};
     }},
    {"norm_backward", Place::alone,
     [](Probe& p, const Tensor& value) {
       p.tail = {NormBackwardOp{NormMode::spatial, parameters(value), value}};
     }},
    {"statistics", Place::any,
     [](Probe& p, const Tensor& value) { p.tail = {StatisticsOp{parameters(value)}}; }},
};

Problem problem_of(const Base& base, const Feature& feature, DType dtype, int rank, Layout layout,
                   bool with_statistics) {
  const auto axes = static_cast<std::size_t>(rank - 2);
  Dims lens(static_cast<std::size_t>(rank), base.length), filter(lens.size(), base.taps);
  lens[0] = 2;
  lens[1] = base.inputs;
  filter[0] = base.outputs;
  filter[1] = base.inputs / base.groups;
  const Tensor input = packed(dtype, lens, layout);
  Probe probe{Conv{.pad_lo = Dims(axes, 0),
                   .pad_hi = Dims(axes, 0),
                   .stride = Dims(axes, 1),
                   .dilation = Dims(axes, 1),
                   .groups = base.groups},
              {}};
  const DType weights = is_byte(dtype) ? DType::i8 : dtype;
  const ConvOp plain{probe.conv, packed(weights, filter, layout)};
  feature.add(probe, base.has_conv ? op_output(plain, input) : input);
  std::vector<Op> ops;
  if (base.has_conv) ops.push_back({ConvOp{probe.conv, plain.weights}, {}});
  for (OpBody& body : probe.tail) ops.push_back({std::move(body), {}});
  if (with_statistics) {
    const Tensor value = base.has_conv ? op_output(plain, input) : input;
    ops.push_back({StatisticsOp{parameters(value)}, {}});
  }
  return Problem(input, std::move(ops));
}

// Lines of processors, as some solvers are expected to be slower than others on some of them.
constexpr const char* kFamilies[] = {"generic", "zen4", "zen5", "sapphire", "sapphire_amx"};

/// On a machine of any line that has what `traits` say.
bool accepts(const Solver& solver, const Problem& problem, Traits traits) {
  const SplitChain chain = optimize(lower(problem), {});
  return std::ranges::any_of(kFamilies, [&](const char* family) {
    traits.family = family;
    Verdict verdict(solver.id());
    solver.accepts({problem, chain, traits}, verdict);
    return verdict.accepted();
  });
}

/// Ops of training are over real data.
bool is_possible(const Base& base, const Feature& feature, DType dtype) {
  if (feature.place == Place::any) return true;
  return feature.place == Place::conv ? base.has_conv : !base.has_conv && !is_byte(dtype);
}

/// With or without statistics at the end: a solver that takes nothing without shows what it takes
/// in front of them.
bool accepts(const Solver& solver, const Base& base, const Feature& feature, DType dtype, int rank,
             Layout layout, const Traits& traits) {
  const auto asked = [&](bool with_statistics) {
    return accepts(solver, problem_of(base, feature, dtype, rank, layout, with_statistics), traits);
  };
  const bool may_follow =
      feature.place != Place::alone &&
      (feature.word == nullptr || std::string_view(feature.word) != "statistics");
  return asked(false) || (may_follow && asked(true));
}

/// Words of all bases and features that the solver takes in some combination.
std::string operations(const Solver& solver, const Traits& traits, DType dtype, int rank,
                       Layout layout) {
  std::vector<const char*> words;
  const auto add = [&](const char* word) {
    if (word != nullptr && std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(word);
  };
  for (const Base& base : kBases)
    if (base.has_conv && accepts(solver, base, kFeatures[0], dtype, rank, layout, traits))
      add(base.word);
  for (const Feature& feature : kFeatures)
    for (const Base& base : kBases)
      if (is_possible(base, feature, dtype) &&
          accepts(solver, base, feature, dtype, rank, layout, traits))
        add(feature.word);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::vector<SupportRow> support_table(const Traits& machine) {
  // What a solver can do, not where another is expected to be faster on this machine.
  Traits traits = machine;
  traits.extensions.fast_bf16 = false;
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8};
  std::vector<SupportRow> rows;
  for (const Solver* solver : all_solvers()) {
    if (solver->backend() != traits.backend) continue;
    for (DType dtype : kTypes)
      for (int rank : {4, 5})
        for (Layout layout : {Layout::channels_first, Layout::channels_last}) {
          std::string words = operations(*solver, traits, dtype, rank, layout);
          if (!words.empty()) rows.push_back({solver, dtype, rank, layout, std::move(words)});
        }
  }
  return rows;
}

}  // namespace fuseplan::api
