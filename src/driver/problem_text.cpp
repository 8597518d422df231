// SPDX-License-Identifier: MIT
// The one-line form of a problem, as fuseplanPlanToString writes it.
#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "driver/problem.hpp"

namespace fuseplan::driver {
namespace {

constexpr const char* kKinds[] = {
    "conv",          "bias",        "norm",          "activation",
    "add",           "scale_shift", "norm_training", "activation_backward",
    "norm_backward", "statistics"};

[[noreturn]] void bad(std::string_view piece, std::string_view expected) {
  throw std::invalid_argument("problem text: \"" + std::string(piece) + "\": expected " +
                              std::string(expected));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  std::istringstream stream{std::string(text)};
  for (std::string piece; std::getline(stream, piece, separator);) pieces.push_back(piece);
  return pieces;
}

Dims numbers(std::string_view text, char separator) {
  Dims values;
  for (const std::string& piece : split(text, separator)) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
    if (error != std::errc{} || end != piece.data() + piece.size()) bad(text, "numbers");
    values.push_back(value);
  }
  if (values.empty()) bad(text, "numbers");
  return values;
}

std::string join(const Dims& values, char separator) {
  std::string text;
  for (std::int64_t value : values) {
    if (!text.empty()) text += separator;
    text += std::to_string(value);
  }
  return text;
}

TensorSpec parse_tensor(std::string_view text) {
  const auto pieces = split(text, ':');
  if (pieces.size() < 2) bad(text, "a tensor such as f32:1x64x56x56:nchw");
  TensorSpec tensor{parse_type(pieces[0]), numbers(pieces[1], 'x'), {}};
  const std::string layout = pieces.size() > 2 ? pieces[2] : "nchw";
  if (layout.starts_with('s')) {
    tensor.strides = numbers(layout.substr(1), ',');
    if (tensor.strides.size() != tensor.rank()) bad(text, "a stride for each length");
  } else if (layout == "nhwc" || layout == "ndhwc" || layout == "nchw" || layout == "ncdhw") {
    tensor.strides = packed_strides(tensor.lens, layout.back() == 'c');
  } else {
    bad(text, "layout nchw, nhwc, ncdhw, ndhwc or s<strides>");
  }
  return tensor;
}

std::string tensor_text(const TensorSpec& tensor) {
  std::string text = std::string(name_of(tensor.type)) + ":" + join(tensor.lens, 'x') + ":";
  const bool volume = tensor.rank() == 5;
  if (tensor.strides == packed_strides(tensor.lens, false))
    return text + (volume ? "ncdhw" : "nchw");
  if (tensor.strides == packed_strides(tensor.lens, true))
    return text + (volume ? "ndhwc" : "nhwc");
  return text + "s" + join(tensor.strides, ',');
}

// Arguments, comma separated; the numbers of a strided tensor stay with it.
std::vector<std::string> arguments(std::string_view text) {
  std::vector<std::string> joined;
  for (std::string& piece : split(text, ',')) {
    const bool number = piece.find_first_not_of("0123456789") == std::string::npos;
    if (number && !joined.empty()) {
      joined.back() += "," + piece;
    } else {
      joined.push_back(std::move(piece));
    }
  }
  return joined;
}

void parse_conv_argument(OpSpec& op, const std::string& piece) {
  const std::size_t equals = piece.find('=');
  const std::string key = piece.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : piece.substr(equals + 1);
  if (key == "pad") {
    op.pad_lo = op.pad_hi = numbers(value, 'x');
  } else if (key == "pad_hi") {
    op.pad_hi = numbers(value, 'x');
  } else if (key == "stride") {
    op.stride = numbers(value, 'x');
  } else if (key == "dilation") {
    op.dilation = numbers(value, 'x');
  } else if (key == "groups") {
    op.groups = numbers(value, 'x').front();
  } else if (key == "strict") {
    op.strict = true;
  } else if (key == "deterministic") {
    op.deterministic = true;
  } else {
    bad(piece, "pad, pad_hi, stride, dilation, groups, strict or deterministic");
  }
}

bool takes_activation(OpKind kind) {
  return kind == OpKind::activation || kind == OpKind::activation_backward;
}
bool takes_norm_mode(OpKind kind) {
  return kind == OpKind::norm || kind == OpKind::norm_training || kind == OpKind::norm_backward;
}
bool takes_source(OpKind kind) {
  return kind == OpKind::activation_backward || kind == OpKind::norm_backward;
}

OpSpec parse_op(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == text.npos || !text.ends_with(')')) bad(text, "an op such as activation(relu)");
  const std::string_view kind = text.substr(0, open);
  auto pieces = arguments(text.substr(open + 1, text.size() - open - 2));
  if (pieces.empty()) bad(text, "arguments");
  OpSpec op;
  const auto known = std::find(std::begin(kKinds), std::end(kKinds), kind);
  if (known == std::end(kKinds))
    bad(kind,
        "conv, bias, norm, activation, add, scale_shift, norm_training, activation_backward, "
        "norm_backward or statistics");
  op.kind = static_cast<OpKind>(known - std::begin(kKinds));
  std::size_t next = 0;
  const auto take = [&](std::string_view expected) {
    if (next == pieces.size()) bad(text, expected);
    return pieces[next++];
  };
  if (takes_activation(op.kind)) op.mode = parse_activation(take("an activation"));
  if (takes_norm_mode(op.kind))
    op.norm_mode = take("spatial or per_activation") == "spatial" ? fuseplanBNSpatial
                                                                  : fuseplanBNPerActivation;
  if (!takes_activation(op.kind)) op.tensor = parse_tensor(take("a tensor"));
  if (takes_source(op.kind)) op.source = parse_tensor(take("the tensor that forward read"));
  if (op.kind == OpKind::norm_training && next < pieces.size())
    op.running = take("running") == "running";
  if (op.kind != OpKind::conv) return op;
  if (op.tensor.rank() < 3) bad(text, "weights such as f32:64x64x3x3");
  const std::size_t axes = op.tensor.rank() - 2;
  op.pad_lo = op.pad_hi = Dims(axes, 0);
  op.stride = op.dilation = Dims(axes, 1);
  for (std::size_t i = 1; i < pieces.size(); ++i) parse_conv_argument(op, pieces[i]);
  for (const Dims& dims : {op.pad_lo, op.pad_hi, op.stride, op.dilation})
    if (dims.size() != axes) bad(text, "a number for each of the filter's axes");
  return op;
}

std::string op_text(const OpSpec& op) {
  std::string text = std::string(name_of(op.kind)) + "(";
  if (takes_activation(op.kind)) text += name_of(op.mode);
  if (takes_norm_mode(op.kind))
    text += op.norm_mode == fuseplanBNSpatial ? "spatial," : "per_activation,";
  if (!takes_activation(op.kind)) text += tensor_text(op.tensor);
  if (takes_source(op.kind)) text += "," + tensor_text(op.source);
  if (op.running) text += ",running";
  if (op.kind == OpKind::conv) {
    text += ",pad=" + join(op.pad_lo, 'x') + ",stride=" + join(op.stride, 'x') +
            ",dilation=" + join(op.dilation, 'x') + ",groups=" + std::to_string(op.groups);
    if (op.pad_hi != op.pad_lo) text += ",pad_hi=" + join(op.pad_hi, 'x');
    if (op.strict) text += ",strict";
    if (op.deterministic) text += ",deterministic";
  }
  return text + ")";
}

}  // namespace

const char* name_of(OpKind kind) { return kKinds[static_cast<int>(kind)]; }

ProblemSpec parse_problem(std::string_view text) {
  ProblemSpec problem;
  problem.name = text;
  const std::size_t arrow = text.rfind("->");
  if (arrow != text.npos) {
    problem.output = parse_tensor(text.substr(arrow + 2));
    text = text.substr(0, arrow);
  }
  const auto pieces = split(text, ';');
  if (pieces.size() < 2) bad(text, "a tensor and ops, joined by ';'");
  problem.input = parse_tensor(pieces[0]);
  for (std::size_t i = 1; i < pieces.size(); ++i) problem.ops.push_back(parse_op(pieces[i]));
  return problem;
}

std::string to_text(const ProblemSpec& problem) {
  std::string text = tensor_text(problem.input);
  for (const OpSpec& op : problem.ops) text.append(1, ';').append(op_text(op));
  if (problem.output.rank() > 0) text += "->" + tensor_text(problem.output);
  return text;
}

}  // namespace fuseplan::driver
