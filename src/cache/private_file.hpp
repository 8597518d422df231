// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include "cache/descriptor.hpp"

namespace fuseplan {

/// Which file a name stood for.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Files of the cache directory are regular, have one link, belong to us and are closed to others.
/// Looks without opening: an open and close of the database would drop SQLite's locks, and a FIFO
/// or a device must not be opened at all. False when there is none; CacheFault when it is unsafe.
bool inspect_file(const Descriptor& directory, const char* name, FileIdentity* identity = nullptr);

/// Makes an empty file with mode 0600 whatever the umask. False when the name exists already.
bool create_file(const Descriptor& directory, const char* name);

/// Opens an inspected file, or makes it. For the lock file only. No descriptor on any failure.
Descriptor open_or_create(const Descriptor& directory, const char* name);

/// Moves the database `name` and its journals to `name`.bad-<n>; the one kept before is deleted.
void set_aside(const Descriptor& directory, const char* name);
void delete_set_aside(const Descriptor& directory, const char* name);

}  // namespace fuseplan
