// SPDX-License-Identifier: MIT
#include "driver/problem_list.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/shapes.hpp"

namespace fuseplan::driver {
namespace {

/// Batch normalisation for training, spatial. Backward: what forward read is another tensor of the
/// value's form.
OpSpec training_op(OpKind kind, const Dims& lens, fuseplanDataType_t type, bool channels_last) {
  OpSpec op;
  op.kind = kind;
  if (kind != OpKind::norm_training) op.source = packed(type, lens, channels_last);
  if (kind == OpKind::activation_backward) return op;
  Dims channel(lens.size(), 1);
  channel[1] = lens[1];
  op.tensor = packed(fuseplanFloat, channel, false);
  return op;
}

OpSpec chain_op(const std::string& text, const ProblemSpec& problem, bool channels_last) {
  const std::string kind = text.substr(0, text.find('('));
  const Dims lens = problem.output_lens();
  Dims channel(lens.size(), 1);
  channel[1] = lens[1];
  OpSpec op;
  if (kind == "activation") {
    return parse_problem("f32:1x1:nchw;" + text).ops.front();
  } else if (kind == "activation_backward") {
    op = training_op(OpKind::activation_backward, lens, problem.input.type, channels_last);
    op.mode = parse_activation(text.substr(kind.size() + 1, text.size() - kind.size() - 2));
    return op;
  } else if (kind == "norm_training" || kind == "norm_backward") {
    return training_op(kind == "norm_training" ? OpKind::norm_training : OpKind::norm_backward,
                       lens, problem.input.type, channels_last);
  } else if (kind == "norm") {
    op.kind = OpKind::norm;
    if (text == "norm(per_activation)") {
      op.norm_mode = fuseplanBNPerActivation;
      Dims activations = lens;
      activations[0] = 1;
      op.tensor = packed(fuseplanFloat, activations, channels_last);
      return op;
    }
  } else if (kind == "norm_training") {
    op.kind = OpKind::norm_training;
  } else if (kind == "bias") {
    op.kind = OpKind::bias;
  } else if (kind == "scale_shift") {
    op.kind = OpKind::scale_shift;
  } else if (kind == "add") {
    op.kind = OpKind::add;
    op.tensor = packed(problem.input.type, lens, channels_last);
    return op;
  } else {
    throw std::invalid_argument("chain: \"" + text +
                                "\" is none of bias, norm, norm(per_activation), scale_shift, add, "
                                "activation(<mode>), norm_training, norm_backward, "
                                "activation_backward(<mode>)");
  }
  op.tensor = packed(fuseplanFloat, channel, false);
  return op;
}

ProblemSpec conv_problem(const test::ConvProblem& row, const ListOptions& options) {
  ProblemSpec problem;
  problem.name = row.name;
  problem.count = row.count;
  problem.published_speedup = row.published_speedup;
  const std::int64_t batch = options.batch > 0 ? options.batch : row.n;
  problem.input = packed(options.type, {batch, row.c, row.h, row.w}, options.channels_last);
  OpSpec conv;
  conv.kind = OpKind::conv;
  const fuseplanDataType_t weights = is_integer(options.type) ? fuseplanInt8 : options.type;
  conv.tensor = packed(weights, {row.k, row.c / row.groups, row.r, row.s}, options.channels_last);
  conv.pad_lo = conv.pad_hi = {row.pad_h, row.pad_w};
  conv.stride = {row.stride_h, row.stride_w};
  conv.dilation = {row.dil_h, row.dil_w};
  conv.groups = row.groups;
  problem.ops.push_back(std::move(conv));
  return problem;
}

// Sums of integers need a scale; what batchnorm would do folds into it.
const char* usual_chain(const ListOptions& options) {
  return is_integer(options.type) ? "scale_shift;activation(relu)" : "bias;norm;activation(relu)";
}

// Integers go on as integers of the same type.
void requantise(ProblemSpec& problem, const ListOptions& options) {
  if (is_integer(options.type))
    problem.output = packed(options.type, problem.output_lens(), options.channels_last);
}

bool lists_convolutions(const std::string& file) {
  std::ifstream stream(test::problems_path(file));
  std::string header;
  std::getline(stream, header);
  return header.find(",stride_h") != std::string::npos;
}

}  // namespace

void append_chain(ProblemSpec& problem, const std::string& chain, bool channels_last) {
  std::istringstream stream(chain);
  for (std::string text; std::getline(stream, text, ';');)
    problem.ops.push_back(chain_op(text, problem, channels_last));
}

std::vector<ProblemSpec> read_list(const std::string& file, const ListOptions& options) {
  std::vector<ProblemSpec> problems;
  if (lists_convolutions(file)) {
    for (const test::ConvProblem& row : test::read_conv_problems(file)) {
      problems.push_back(conv_problem(row, options));
      append_chain(problems.back(), options.chain.empty() ? usual_chain(options) : options.chain,
                   options.channels_last);
      requantise(problems.back(), options);
    }
    return problems;
  }
  for (const test::NormProblem& row : test::read_norm_problems(file)) {
    ProblemSpec problem;
    problem.name = row.name;
    problem.published_speedup = row.published_speedup;
    const std::int64_t batch = options.batch > 0 ? options.batch : row.n;
    problem.input = packed(options.type, {batch, row.c, row.h, row.w}, options.channels_last);
    append_chain(problem, options.chain.empty() ? "norm;activation(relu)" : options.chain,
                 options.channels_last);
    requantise(problem, options);
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace fuseplan::driver
