// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/jit_symbols.hpp"
#include "expr/passes.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan {

/// How compiling chooses between kernels; MIOpen's names.
enum class FindMode { fast, hybrid, normal };

/// The solver that --pin names, and its configuration; empty: any.
struct PinnedChoice {
  std::string solver, config;
  bool operator==(const PinnedChoice&) const = default;
};

enum class OptionKind { choice, number, names, text };
struct OptionInfo {
  const char* key;
  OptionKind kind;
  const char* values;
  const char* sentence;
};
std::span<const OptionInfo> all_options();

/// The settings of one handle after every layer (built-in, environment, fuseplanSetOptions) is
/// applied. A value: handles copy it, compiled plans keep the copy they were compiled with.
class Options {
 public:
  /// Built-in defaults overlaid with FUSEPLAN_FLAGS and FUSEPLAN_<KEY>; the environment is read
  /// here and nowhere else. Throws Error(BadOption) for a value it cannot take.
  static Options from_environment();

  /// Applies "--key=value --key=\"quoted value\"". Throws Error(BadOption), with the nearest valid
  /// name and the list of all, and changes nothing if any piece is wrong.
  void apply(std::string_view flags);
  /// Every option that is not at its default, in the form apply() reads.
  std::string to_text() const;

  cpu::IsaLimit max_isa = cpu::IsaLimit::amx;
  int threads = 0;
  PassOptions passes;
  std::vector<std::string> disabled_solvers;
  FindMode find_mode = FindMode::fast;
  int tune_ms = 400;
  PinnedChoice pin;
  std::string cache = "rw";
  std::string cache_dir;
  int cache_mb = 256;
  bool cache_sync = false;
  bool cache_netfs = false;
  bool verify_code = false;
  bool tf32 = false;
  JitListeners jit_profile;

 private:
  void set(const OptionInfo& option, std::string_view value);
};

}  // namespace fuseplan
