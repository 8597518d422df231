// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "expr/readers.hpp"

namespace fuseplan {
namespace {

// Nine digits read back to the same float. Negative ones are in brackets so that the spelling of
// neg may put a minus in front.
std::string constant_text(double value) {
  const float narrowed = static_cast<float>(value);
  if (std::isnan(narrowed)) return "FP_NAN";
  std::string digits =
      std::isinf(narrowed) ? "FP_INFINITY" : fmt::format("{:#.9g}f", std::fabs(narrowed));
  return std::signbit(narrowed) ? "(-" + digits + ")" : digits;
}

}  // namespace

std::string gpu_source(const Expr& expr, const std::function<std::string(const Node&)>& leaf,
                       const std::function<std::string(std::size_t, const std::string&)>& assign) {
  const Expr live = compact(expr);
  std::vector<std::string> names;
  const auto name = [&](Ref ref) {
    return ref == kNoRef ? std::string() : names[static_cast<std::size_t>(ref)];
  };
  std::string source;
  int computed = 0;
  for (Ref ref = 0; ref < live.graph.size(); ++ref) {
    const Node& node = live.graph[ref];
    if (node.leaf != Leaf::none) {
      names.push_back(node.leaf == Leaf::constant ? constant_text(node.value) : leaf(node));
      continue;
    }
    const std::string value = fmt::format(fmt::runtime(info_of(node.fn).gpu), name(node.args[0]),
                                          name(node.args[1]), name(node.args[2]));
    names.push_back(fmt::format("t{}", computed++));
    source += fmt::format("const float {} = {};\n", names.back(), value);
  }
  for (std::size_t root = 0; root < live.roots.size(); ++root)
    source += assign(root, name(live.roots[root]));
  return source;
}

}  // namespace fuseplan
