// SPDX-License-Identifier: MIT
#include "expr/passes.hpp"

#include "base/denormals.hpp"
#include "base/status.hpp"
#include "expr/split.hpp"

namespace fuseplan {
namespace {

constexpr PassInfo kPasses[] = {
#define FUSEPLAN_PASS(name, switchable, sentence) {#name, switchable, sentence, pass_##name},
#include "expr/passes.def"
#undef FUSEPLAN_PASS
};
static_assert(std::size(kPasses) <= 32, "PassOptions holds a bit per pass");

int nodes_of(const Chain& chain) { return chain.expr.graph.size() + chain.sums.graph.size(); }

std::string text_of(const Chain& chain) {
  if (chain.sums.roots.empty()) return to_text(chain.expr);
  return to_text(chain.expr) + "; sums " + to_text(chain.sums);
}

PassReport run(const PassInfo& pass, bool enabled, bool with_text, Chain& chain) {
  PassReport report{pass.name, enabled, 0, nodes_of(chain), 0, {}, {}};
  if (with_text) report.before = text_of(chain);
  if (enabled) {
    report.applied = pass.run(chain.expr);
    if (!chain.sums.roots.empty()) report.applied += pass.run(chain.sums);
  }
  report.nodes_after = nodes_of(chain);
  if (with_text) report.after = text_of(chain);
  return report;
}

}  // namespace

std::span<const PassInfo> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : kPasses)
    if (pass.name == name) return &pass;
  return nullptr;
}

bool PassOptions::is_enabled(const PassInfo& pass) const {
  for (std::size_t row = 0; row < std::size(kPasses); ++row)
    if (kPasses[row].run == pass.run) return !pass.switchable || (disabled >> row & 1) == 0;
  return false;
}

SplitChain optimize(const Chain& chain, const PassOptions& options, std::vector<PassReport>* report,
                    bool with_text) {
  const StandardFloats floats;  // constants are folded
  Chain optimized = chain;
  for (const PassInfo& pass : kPasses) {
    PassReport entry = run(pass, options.is_enabled(pass), report && with_text, optimized);
    if (report) report->push_back(std::move(entry));
  }
  return split(optimized);
}

}  // namespace fuseplan
