// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/compiler_note.hpp"

namespace fuseplan::cuda {

/// What NVRTC made of a source.
struct Compilation {
  std::vector<std::byte> image;  ///< cubin, or PTX with its final NUL
  std::string log;
};

/// Names to look for, best first: releases that compile for all devices, newest first, and then
/// those for newer ones only. Code of a newer major than the driver's (13020 is 13.2) does not
/// load, so it is not among them. `oldest_arch`: 75 is sm_75.
std::vector<std::string> nvrtc_sonames(int driver_version, int oldest_arch);

/// Why nothing can be compiled; empty if NVRTC is there. Loads it.
std::string nvrtc_problem();
/// Architectures it compiles for: 75 is sm_75. Throws as compile_source().
std::vector<int> nvrtc_archs();
/// "12.9": throws as compile_source().
std::string nvrtc_version();

/// The compiler, if this process has loaded it and it works; nothing else loads it.
std::optional<CompilerId> loaded_compiler();

/// Options that every kernel is compiled with, apart from the architecture.
std::span<const char* const> compile_options();

/// Compiles for `arch` ("sm_90", "sm_90a"): to its machine code, or, where NVRTC does not know it
/// yet, to PTX of the newest older one. Throws Error(NotInitialized) where there is no NVRTC,
/// Error(UnsupportedOp) for an architecture older than all it knows, Error(InternalError) with the
/// log if the source does not compile.
Compilation compile_source(const std::string& source, const std::string& arch,
                           std::span<const char* const> more_options = {});

}  // namespace fuseplan::cuda
