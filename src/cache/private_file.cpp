// SPDX-License-Identifier: MIT
#include "cache/private_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cache/fault.hpp"

namespace fuseplan {
namespace {

// A journal left beside a new database would be rolled back into it.
constexpr const char* kCompanions[] = {"", "-journal", "-wal", "-shm"};

[[noreturn]] void refuse(const char* name, const std::string& reason) {
  throw CacheFault(Fault::trouble, fmt::format("cache file {} {}", name, reason));
}

void check_file(const char* name, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) refuse(name, "is not a regular file");
  if (info.st_nlink != 1) refuse(name, fmt::format("has {} links, expected 1", info.st_nlink));
  if (info.st_uid != ::geteuid())
    refuse(name, fmt::format("belongs to user {}, expected {}", info.st_uid, ::geteuid()));
  if ((info.st_mode & 077) != 0)
    refuse(name, fmt::format("is open to group or others (mode {:04o})", info.st_mode & 07777u));
}

std::vector<std::string> entries_starting_with(const Descriptor& directory,
                                               const std::string& prefix) {
  std::vector<std::string> names;
  Descriptor readable(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable) return names;
  DIR* stream = ::fdopendir(readable.get());
  if (stream == nullptr) return names;
  readable.release();
  while (const dirent* entry = ::readdir(stream))
    if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  ::closedir(stream);
  return names;
}

std::string prefix_aside(const char* name) { return fmt::format("{}.bad-", name); }

}  // namespace

bool inspect_file(const Descriptor& directory, const char* name, FileIdentity* identity) {
  struct stat info;
  if (::fstatat(directory.get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    refuse(name, std::strerror(errno));
  }
  check_file(name, info);
  if (identity != nullptr) *identity = {info.st_dev, info.st_ino};
  return true;
}

bool create_file(const Descriptor& directory, const char* name) {
  const Descriptor fd(
      ::openat(directory.get(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) {
    if (errno == EEXIST) return false;
    refuse(name, fmt::format("cannot be created: {}", std::strerror(errno)));
  }
  if (::fchmod(fd.get(), 0600) != 0) refuse(name, std::strerror(errno));
  return true;
}

Descriptor open_or_create(const Descriptor& directory, const char* name) {
  try {
    if (!inspect_file(directory, name)) create_file(directory, name);
    Descriptor fd(::openat(directory.get(), name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat info;
    if (fd && ::fstat(fd.get(), &info) == 0) {
      check_file(name, info);
      return fd;
    }
  } catch (const CacheFault&) {
    // Without the lock file builds may be done twice; one row wins.
  }
  return {};
}

void delete_set_aside(const Descriptor& directory, const char* name) {
  for (const std::string& entry : entries_starting_with(directory, prefix_aside(name)))
    ::unlinkat(directory.get(), entry.c_str(), 0);
}

void set_aside(const Descriptor& directory, const char* name) {
  const std::string prefix = prefix_aside(name);
  unsigned long newest = 0;
  const std::vector<std::string> old = entries_starting_with(directory, prefix);
  for (const std::string& entry : old)
    newest = std::max(newest, std::strtoul(entry.c_str() + prefix.size(), nullptr, 10));
  delete_set_aside(directory, name);
  const std::string target = fmt::format("{}{}", prefix, newest + 1);
  for (const char* companion : kCompanions) {
    const std::string from = std::string(name) + companion;
    if (::renameat(directory.get(), from.c_str(), directory.get(), (target + companion).c_str()) !=
            0 &&
        errno != ENOENT)
      refuse(from.c_str(), fmt::format("cannot be set aside: {}", std::strerror(errno)));
  }
}

}  // namespace fuseplan
