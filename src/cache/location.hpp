// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "cache/descriptor.hpp"

namespace fuseplan {

/// The part of the environment that decides where the cache lives.
struct CacheEnvironment {
  std::optional<std::string> cache_dir;       ///< FUSEPLAN_CACHE_DIR
  std::optional<std::string> xdg_cache_home;  ///< XDG_CACHE_HOME
  std::optional<std::string> home;            ///< HOME
  bool elevated = false;  ///< AT_SECURE: setuid and the like; nothing of the caller's is believed

  static CacheEnvironment current();
};

/// Where the cache lives: an absolute path without symbolic links (those of root and our own have
/// been followed), or the reason why there is none.
struct Place {
  std::string directory;
  std::string refusal;
};

/// First of `directory`, FUSEPLAN_CACHE_DIR, $XDG_CACHE_HOME/fuseplan and $HOME/.cache/fuseplan
/// that is set. Never a shared temporary directory. A set but unusable one is refused, not skipped.
Place find_place(const std::string& directory, const CacheEnvironment& environment);

/// Opens a directory of find_place(), one component at a time, and refuses (CacheFault) a path in
/// which any component could be changed by another user: each must be a real directory, owned by
/// root or us, writable by its owner only; a sticky directory of root's may lead to ours.
/// Missing components are made with mode 0700 when `create` is set.
Descriptor open_directory(const std::string& directory, bool create);
/// The same for what is there of it: no descriptor where a component is missing.
Descriptor find_directory(const std::string& directory);

/// Name of the network file system with this statfs magic, or nullptr for a local one. SQLite's
/// locks cannot be relied on there.
const char* network_filesystem(long magic);
long filesystem_magic(const Descriptor& directory);

}  // namespace fuseplan
