// SPDX-License-Identifier: MIT
#include "fake_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

#include "support/element.hpp"

namespace fuseplan::fake_cudnn {
namespace {

using Dims = std::vector<std::int64_t>;
using test::Element;

std::vector<const Object*> operations_of(const Object& graph) {
  return graph.all<const Object*>(801);
}

Dims lens_of(const Object& tensor) { return tensor.all<std::int64_t>(902); }
std::int64_t id_of(const Object& tensor) { return tensor.one<std::int64_t>(906); }
bool is_virtual(const Object& tensor) { return tensor.has(907) && tensor.one<char>(907) != 0; }

Element type_of(const Object& tensor) {
  switch (tensor.one<int>(901)) {
    case 0:
      return Element::f32;
    case 2:
      return Element::f16;
    default:
      return Element::bf16;
  }
}

struct Operands {
  const Object* x;
  const Object* b;  // or the weights; nullptr
  const Object* y;
};
Operands operands_of(const Object& operation) {
  if (operation.kind == kForward)
    return {&operation.object(704), &operation.object(703), &operation.object(705)};
  return {&operation.object(751), operation.has(752) ? &operation.object(752) : nullptr,
          &operation.object(753)};
}

std::string convolution_fault(const Object& operation) {
  const Object& conv = operation.object(702);
  const auto [x, w, y] = operands_of(operation);
  const Dims in = lens_of(*x), weights = lens_of(*w), out = lens_of(*y);
  const Dims low = conv.all<std::int64_t>(105), high = conv.all<std::int64_t>(104),
             stride = conv.all<std::int64_t>(103), dilation = conv.all<std::int64_t>(102);
  if (in.size() != weights.size() || in.size() != out.size() || low.size() + 2 != in.size())
    return "a convolution of tensors of different ranks";
  if (conv.one<std::int64_t>(106) != static_cast<std::int64_t>(low.size()))
    return "a convolution of another number of axes";
  if (conv.one<int>(101) != 1) return "a convolution that turns its weights round";
  if (in[1] % weights[1] != 0 || weights[0] % (in[1] / weights[1]) != 0 || out[1] != weights[0] ||
      out[0] != in[0])
    return "a convolution whose channels do not fit";
  for (std::size_t i = 0; i < low.size(); ++i)
    if (out[i + 2] !=
        (in[i + 2] + low[i] + high[i] - dilation[i] * (weights[i + 2] - 1) - 1) / stride[i] + 1)
      return "a convolution whose output does not fit";
  return "";
}

std::string pointwise_fault(const Object& operation) {
  const auto [x, b, y] = operands_of(operation);
  if (lens_of(*x) != lens_of(*y)) return "a pointwise operation between different lengths";
  const bool two = operation.object(750).one<int>(0) < 10;
  if (two != (b != nullptr)) return "a pointwise operation of another number of operands";
  if (b == nullptr) return "";
  const Dims from = lens_of(*b), to = lens_of(*y);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (from.size() != to.size() || (from[i] != 1 && from[i] != to[i]))
      return "an operand that cannot be spread over the other";
  return "";
}

/// A tensor's values while a graph runs.
struct Values {
  Dims lens;
  std::vector<double> data;  // in order of index
};

/// Calls f with every index.
void each(const Dims& lens, const std::function<void(const Dims&)>& f) {
  Dims index(lens.size(), 0);
  for (std::size_t axis = lens.size(); axis != 0;) {
    f(index);
    for (axis = lens.size(); axis > 0 && ++index[axis - 1] == lens[axis - 1]; --axis)
      index[axis - 1] = 0;
  }
}

std::int64_t dot(const Dims& a, const Dims& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), std::int64_t{0});
}

double at(const Values& values, const Dims& index) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index.size(); ++i)
    place = place * values.lens[i] + (values.lens[i] == 1 ? 0 : index[i]);
  return values.data[static_cast<std::size_t>(place)];
}

Values convolve(const Object& operation, const Values& x, const Values& w, bool tf32) {
  const Object& conv = operation.object(702);
  const Dims low = conv.all<std::int64_t>(105), stride = conv.all<std::int64_t>(103),
             dilation = conv.all<std::int64_t>(102);
  Values y{lens_of(operation.object(705)), {}};
  const std::int64_t group = y.lens[1] / (x.lens[1] / w.lens[1]);
  Dims taps = w.lens;
  taps[0] = 1;
  each(y.lens, [&](const Dims& out) {
    float sum = 0;
    each(taps, [&](const Dims& tap) {
      Dims from = out, weight = tap;
      from[1] = out[1] / group * w.lens[1] + tap[1];
      weight[0] = out[1];
      for (std::size_t i = 2; i < out.size(); ++i) {
        from[i] = out[i] * stride[i - 2] - low[i - 2] + tap[i] * dilation[i - 2];
        if (from[i] < 0 || from[i] >= x.lens[i]) return;
      }
      auto a = static_cast<float>(at(x, from)), b = static_cast<float>(at(w, weight));
      if (tf32) a = rounded_to_tf32(a), b = rounded_to_tf32(b);
      sum += a * b;
    });
    y.data.push_back(operation.one<double>(700) * sum);
  });
  return y;
}

double option(const Object& mode, int attribute, double otherwise) {
  return mode.has(attribute) ? mode.one<double>(attribute) : otherwise;
}

double relu(const Object& mode, double x) {
  const double low = option(mode, 3, 0), high = option(mode, 4, INFINITY);
  return x <= low ? low + option(mode, 5, 0) * (x - low) : std::min(x, high);
}

double softplus(double beta, double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(beta * x))) / beta;
}

/// By the modes of cudnnPointwiseMode_t.
double compute(const Object& mode, double x, double b) {
  constexpr double kRootOfTwoOverPi = 0.7978845608028654;
  switch (mode.one<int>(0)) {
    case 0:
      return x + b;
    case 1:
      return x * b;
    case 10:
      return std::abs(x);
    case 21:
      return x;
    case 100:
      return relu(mode, x);
    case 101:
      return std::tanh(x);
    case 102:
      return 1 / (1 + std::exp(-x));
    case 103:
      return x > 0 ? x : option(mode, 6, 1) * std::expm1(x);
    case 104:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case 105:
      return softplus(option(mode, 7, 1), x);
    case 106:
      return x / (1 + std::exp(-option(mode, 8, 1) * x));
    case 107:
      return x / 2 * (1 + std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x)));
    default:
      return NAN;
  }
}

Values pointwise(const Object& operation, const Values& x, const Values* b) {
  Values y{x.lens, {}};
  each(x.lens, [&](const Dims& index) {
    y.data.push_back(
        compute(operation.object(750), at(x, index), b == nullptr ? 0 : at(*b, index)));
  });
  return y;
}

Values load(const Object& tensor, const void* memory) {
  Values values{lens_of(tensor), {}};
  const Dims strides = tensor.all<std::int64_t>(903);
  each(values.lens, [&](const Dims& index) {
    values.data.push_back(test::load_element(type_of(tensor), memory, dot(index, strides)));
  });
  return values;
}

void store(const Object& tensor, const Values& values, void* memory) {
  const Dims strides = tensor.all<std::int64_t>(903);
  each(values.lens, [&](const Dims& index) {
    test::store_element(type_of(tensor), memory, dot(index, strides), at(values, index));
  });
}

}  // namespace

float rounded_to_tf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000u) & ~std::uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

std::string fault_of(const Object& graph) {
  std::set<std::int64_t> written;
  std::map<std::int64_t, const Object*> known;
  for (const Object* operation : operations_of(graph)) {
    const auto [x, b, y] = operands_of(*operation);
    for (const Object* tensor : {x, b, y})
      if (tensor != nullptr && known.emplace(id_of(*tensor), tensor).first->second != tensor)
        return "two tensors of one number";
    for (const Object* tensor : {x, b})
      if (tensor != nullptr && is_virtual(*tensor) && !written.count(id_of(*tensor)))
        return "a virtual tensor that nothing has written";
    if (!written.insert(id_of(*y)).second) return "a tensor that is written twice";
    const std::string fault =
        operation->kind == kForward ? convolution_fault(*operation) : pointwise_fault(*operation);
    if (!fault.empty()) return fault;
  }
  if (is_virtual(*operands_of(*operations_of(graph).back()).y)) return "a result that is virtual";
  return "";
}

bool has_engines(const Object& graph) {
  const std::vector<const Object*> operations = operations_of(graph);
  const Object& x = *operands_of(*operations[0]).x;
  if (x.all<std::int64_t>(903)[1] == 1) return true;
  if (operations[0]->kind != kForward || operations.size() > 3) return false;
  const auto is_mode = [&](std::size_t i, int mode) {
    return operations.size() <= i || operations[i]->object(750).one<int>(0) == mode;
  };
  if (!is_mode(1, 0) || !is_mode(2, 100)) return false;
  return operations.size() == 1 || type_of(*operands_of(*operations[1]).b) == type_of(x);
}

void run_graph(const Object& graph, const std::map<std::int64_t, void*>& pointers, bool tf32) {
  std::map<std::int64_t, Values> values;
  const auto value_of = [&](const Object& tensor) -> const Values& {
    const auto found = values.find(id_of(tensor));
    if (found != values.end()) return found->second;
    return values[id_of(tensor)] = load(tensor, pointers.at(id_of(tensor)));
  };
  for (const Object* operation : operations_of(graph)) {
    const auto [x, b, y] = operands_of(*operation);
    const Values* other = b == nullptr ? nullptr : &value_of(*b);
    Values result = operation->kind == kForward ? convolve(*operation, value_of(*x), *other, tf32)
                                                : pointwise(*operation, value_of(*x), other);
    for (double& value : result.data) value = static_cast<float>(value);
    if (!is_virtual(*y)) store(*y, result, pointers.at(id_of(*y)));
    values[id_of(*y)] = std::move(result);
  }
}

}  // namespace fuseplan::fake_cudnn
