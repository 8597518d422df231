// SPDX-License-Identifier: MIT
// The one-line text form of a Problem: written by to_text, read by parse_problem.
#include <fmt/format.h>

#include <optional>

#include "base/status.hpp"
#include "plan/problem.hpp"

namespace fuseplan {
namespace {

const char* name_of(NormMode mode) {
  return mode == NormMode::spatial ? "spatial" : "per_activation";
}

struct BodyText {
  std::string operator()(const ConvOp& op) const {
    std::string text = fmt::format("{},pad={},stride={},dilation={},groups={}", to_text(op.weights),
                                   dims_text(op.conv.pad_lo), dims_text(op.conv.stride),
                                   dims_text(op.conv.dilation), op.conv.groups);
    if (op.conv.pad_hi != op.conv.pad_lo) text += ",pad_hi=" + dims_text(op.conv.pad_hi);
    if (op.conv.strict) text += ",strict";
    if (op.conv.deterministic) text += ",deterministic";
    return text;
  }
  std::string operator()(const BiasOp& op) const { return to_text(op.bias); }
  std::string operator()(const NormOp& op) const {
    return fmt::format("{},{}", name_of(op.mode), to_text(op.params));
  }
  std::string operator()(const ActivationOp& op) const { return name_of(op.mode); }
  std::string operator()(const AddOp& op) const { return to_text(op.other); }
  std::string operator()(const ScaleShiftOp& op) const { return to_text(op.params); }
  std::string operator()(const NormTrainingOp& op) const {
    return fmt::format("{},{}{}", name_of(op.mode), to_text(op.params),
                       op.running ? ",running" : "");
  }
  std::string operator()(const ActivationBackwardOp& op) const {
    return fmt::format("{},{}", name_of(op.mode), to_text(op.source));
  }
  std::string operator()(const StatisticsOp& op) const { return to_text(op.params); }
  std::string operator()(const NormBackwardOp& op) const {
    return fmt::format("{},{},{}", name_of(op.mode), to_text(op.params), to_text(op.source));
  }
};

/// The arguments of an op that are still to be read.
struct Pieces {
  std::string_view op;  ///< the whole, for messages
  std::vector<std::string_view> left;
};

// Arguments of one op, split at commas; strided tensors hold commas of their own after ":s".
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t end = text.find(',');
    const std::size_t strides = text.find(":s");
    if (strides < end)
      while (end != text.npos && end + 1 < text.size() && text[end + 1] >= '0' &&
             text[end + 1] <= '9')
        end = text.find(',', end + 1);
    pieces.push_back(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return pieces;
}

bool take_flag(Pieces& pieces, std::string_view flag) { return std::erase(pieces.left, flag) > 0; }

std::optional<std::string_view> take_value(Pieces& pieces, std::string_view key) {
  for (auto it = pieces.left.begin(); it != pieces.left.end(); ++it) {
    if (!it->starts_with(key) || !it->substr(key.size()).starts_with('=')) continue;
    const std::string_view value = it->substr(key.size() + 1);
    pieces.left.erase(it);
    return value;
  }
  return std::nullopt;
}

std::int64_t parse_number(std::string_view text) {
  const Dims dims = parse_dims(text);
  require(dims.size() == 1, Status::InvalidValue, "expected one number, got \"{}\"", text);
  return dims[0];
}

std::string_view take_first(Pieces& pieces, std::string_view expected) {
  require(!pieces.left.empty(), Status::InvalidValue, "\"{}\" is missing {}", pieces.op, expected);
  const std::string_view first = pieces.left.front();
  pieces.left.erase(pieces.left.begin());
  return first;
}

ConvOp parse_conv(Pieces& pieces) {
  ConvOp op{{}, parse_tensor(take_first(pieces, "its weights"))};
  const std::size_t axes = static_cast<std::size_t>(std::max(0, op.weights.spatial()));
  const auto dims = [&](std::string_view key, const Dims& fallback) {
    const auto value = take_value(pieces, key);
    return value ? parse_dims(*value) : fallback;
  };
  op.conv.pad_lo = dims("pad", Dims(axes, 0));
  op.conv.pad_hi = dims("pad_hi", op.conv.pad_lo);
  op.conv.stride = dims("stride", Dims(axes, 1));
  op.conv.dilation = dims("dilation", Dims(axes, 1));
  const auto groups = take_value(pieces, "groups");
  if (groups) op.conv.groups = parse_number(*groups);
  op.conv.strict = take_flag(pieces, "strict");
  op.conv.deterministic = take_flag(pieces, "deterministic");
  return op;
}

constexpr std::string_view kParameters = "the parameters' tensor";

Activation take_activation(Pieces& pieces) {
  const std::string_view name = take_first(pieces, "the activation's name");
  const auto mode = parse_activation(name);
  require(mode.has_value(), Status::InvalidValue, "\"{}\" is no activation", name);
  return *mode;
}

NormMode take_norm_mode(Pieces& pieces) {
  const std::string_view mode = take_first(pieces, "spatial or per_activation");
  require(mode == "spatial" || mode == "per_activation", Status::InvalidValue,
          "\"{}\" is neither spatial nor per_activation", mode);
  return mode == "spatial" ? NormMode::spatial : NormMode::per_activation;
}

OpBody parse_training(std::string_view kind, Pieces& pieces) {
  if (kind == "activation_backward") {
    const Activation mode = take_activation(pieces);
    return ActivationBackwardOp{mode, parse_tensor(take_first(pieces, "the tensor x"))};
  }
  if (kind == "statistics")
    return StatisticsOp{parse_tensor(take_first(pieces, "the statistics' tensor"))};
  require(kind == "norm_training" || kind == "norm_backward", Status::InvalidValue,
          "\"{}\" is no op; expected conv, bias, norm, activation, add, scale_shift, "
          "norm_training, activation_backward, norm_backward or statistics",
          kind);
  const bool running = take_flag(pieces, "running");
  const NormMode mode = take_norm_mode(pieces);
  Tensor params = parse_tensor(take_first(pieces, kParameters));
  if (kind == "norm_training") return NormTrainingOp{mode, std::move(params), running};
  require(!running, Status::InvalidValue, "\"{}\": norm_backward has no running statistics",
          pieces.op);
  return NormBackwardOp{mode, std::move(params), parse_tensor(take_first(pieces, "the tensor x"))};
}

OpBody parse_body(std::string_view kind, Pieces& pieces) {
  if (kind == "conv") return parse_conv(pieces);
  if (kind == "bias") return BiasOp{parse_tensor(take_first(pieces, "the bias tensor"))};
  if (kind == "add") return AddOp{parse_tensor(take_first(pieces, "the added tensor"))};
  if (kind == "scale_shift")
    return ScaleShiftOp{parse_tensor(take_first(pieces, "the scale and shift tensor"))};
  if (kind == "activation") return ActivationOp{take_activation(pieces)};
  if (kind == "norm") {
    const NormMode mode = take_norm_mode(pieces);
    return NormOp{mode, parse_tensor(take_first(pieces, kParameters))};
  }
  return parse_training(kind, pieces);
}

Op parse_op(std::string_view text) {
  const std::size_t open = text.find('(');
  require(open != text.npos && text.ends_with(')'), Status::InvalidValue,
          "expected an op such as activation(relu), got \"{}\"", text);
  Pieces pieces{text, split_arguments(text.substr(open + 1, text.size() - open - 2))};
  Op op;
  op.blend.alpha = take_flag(pieces, "alpha");
  op.blend.beta = take_flag(pieces, "beta");
  op.body = parse_body(text.substr(0, open), pieces);
  require(pieces.left.empty(), Status::InvalidValue, "\"{}\" of \"{}\" is not understood",
          pieces.left.empty() ? std::string_view() : pieces.left.front(), text);
  return op;
}

}  // namespace

std::string to_text(const Problem& problem) {
  std::string text = to_text(problem.input());
  for (const Op& op : problem.ops()) {
    text += fmt::format(";{}({}{}{})", kind_of(op.body), std::visit(BodyText{}, op.body),
                        op.blend.alpha ? ",alpha" : "", op.blend.beta ? ",beta" : "");
  }
  return text + "->" + to_text(problem.output());
}

Problem parse_problem(std::string_view text) {
  Tensor output;
  const std::size_t arrow = text.rfind("->");
  if (arrow != text.npos) {
    output = parse_tensor(text.substr(arrow + 2));
    text = text.substr(0, arrow);
  }
  std::size_t end = text.find(';');
  Tensor input = parse_tensor(text.substr(0, end));
  std::vector<Op> ops;
  while (end != text.npos) {
    text = text.substr(end + 1);
    end = text.find(';');
    ops.push_back(parse_op(text.substr(0, end)));
  }
  require(!ops.empty() || arrow == text.npos, Status::BadParm,
          "the text has an output but no op, expected \";op(...)\" before \"->\"");
  return Problem(std::move(input), std::move(ops), std::move(output));
}

}  // namespace fuseplan
