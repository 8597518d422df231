// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "expr/expr.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {
namespace {

std::string leaf_text(const Node& node) {
  switch (node.leaf) {
    case Leaf::constant:
      return fmt::format("{}", node.value);
    case Leaf::input:
      return "x";
    case Leaf::previous:
      return "y";
    case Leaf::scalar:
      return fmt::format("s{}", node.index);
    case Leaf::channel:
      return fmt::format("c{}", node.index);
    case Leaf::element:
      return fmt::format("e{}", node.index);
    case Leaf::none:
      break;
  }
  return {};
}

}  // namespace

std::string to_text(const Expr& expr) {
  const std::vector<int> uses = use_counts(expr);
  std::vector<std::string> texts;
  std::string bindings, results;
  int bound = 0;
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    const Node& node = expr.graph[ref];
    std::string text = leaf_text(node);
    if (node.leaf == Leaf::none) {
      text = info_of(node.fn).text;
      for (std::size_t i = 0; i < 3 && node.args[i] != kNoRef; ++i)
        text += (i == 0 ? "(" : ",") + texts[static_cast<std::size_t>(node.args[i])];
      text += ")";
      if (uses[static_cast<std::size_t>(ref)] > 1) {
        bindings += fmt::format("t{}={}; ", bound, text);
        text = fmt::format("t{}", bound++);
      }
    }
    texts.push_back(std::move(text));
  }
  for (Ref root : expr.roots)
    results += (results.empty() ? "" : "; ") + texts[static_cast<std::size_t>(root)];
  return bindings + results;
}

}  // namespace fuseplan
