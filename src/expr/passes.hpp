// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/chain.hpp"

namespace fuseplan {

#define FUSEPLAN_PASS(name, switchable, sentence) int pass_##name(Expr& expr);
#include "expr/passes.def"
#undef FUSEPLAN_PASS

struct PassInfo {
  const char* name;
  bool switchable;
  const char* sentence;
  int (*run)(Expr& expr);
};
std::span<const PassInfo> all_passes();
const PassInfo* find_pass(std::string_view name);

/// Passes that are switched off, as a bit per row of passes.def. Part of every cache key.
struct PassOptions {
  std::uint32_t disabled = 0;
  bool is_enabled(const PassInfo& pass) const;
  bool operator==(const PassOptions&) const = default;
};

struct PassReport {
  const char* name;
  bool enabled;
  int applied = 0;  ///< rewrites made
  int nodes_before = 0, nodes_after = 0;
  std::string before, after;  ///< text form, only if asked for
};

/// Runs the enabled passes in order over the chain's expression, then cuts it by rate.
/// `report`, if given, receives one entry per pass; `with_text` fills before and after.
SplitChain optimize(const Chain& chain, const PassOptions& options,
                    std::vector<PassReport>* report = nullptr, bool with_text = false);

}  // namespace fuseplan
