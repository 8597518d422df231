// SPDX-License-Identifier: MIT
#include "cache/location.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/environment.hpp"
#include "cache/fault.hpp"

namespace fuseplan {
namespace {

// SQLite's Unix layer takes 512 bytes; the longest name we append is "/kernels-v1.db-journal".
constexpr std::size_t kLongestDirectory = 480;

std::string error_text(int error) { return std::strerror(error); }

// The longest part of `path` that exists, with every link resolved, and the rest as it was.
Place canonical(const std::string& path) {
  std::string head = path;
  std::string tail;
  for (;;) {
    char resolved[PATH_MAX];
    if (::realpath(head.c_str(), resolved) != nullptr) {
      std::string directory = resolved;
      if (directory == "/") directory.clear();
      directory += tail;
      return {directory.empty() ? "/" : directory, {}};
    }
    const int error = errno;
    const std::size_t slash = head.find_last_of('/');
    const std::string last = head.substr(slash + 1);
    if (error != ENOENT || slash == std::string::npos || last == "..")
      return {{}, fmt::format("cache directory {}: {}: {}", path, head, error_text(error))};
    if (!last.empty() && last != ".") tail = "/" + last + tail;
    head.resize(slash == 0 ? 1 : slash);
  }
}

Place place_at(const char* source, const std::string& base, const char* below) {
  if (base.front() != '/')
    return {{}, fmt::format("{} is \"{}\", expected an absolute path", source, base)};
  Place place = canonical(base + below);
  if (place.directory.size() > kLongestDirectory)
    return {{},
            fmt::format("{} gives a path of {} bytes, at most {} are supported", source,
                        place.directory.size(), kLongestDirectory)};
  return place;
}

bool is_directory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

struct Step {
  std::string_view path;  // of this component, for the message
  struct stat info;
};

[[noreturn]] void refuse(std::string_view component, const std::string& reason) {
  throw CacheFault(Fault::trouble, fmt::format("cache directory: {} {}", component, reason));
}

bool ours_or_roots(const struct stat& info) {
  return info.st_uid == 0 || info.st_uid == ::geteuid();
}

// `parent` leads to `child`; whoever could replace `child` could feed us a database.
void check_step(const Step& step, bool last) {
  const struct stat& info = step.info;
  if (!S_ISDIR(info.st_mode)) refuse(step.path, "is not a directory (links are not followed)");
  if (!ours_or_roots(info))
    refuse(step.path,
           fmt::format("belongs to user {}, expected root or {}", info.st_uid, ::geteuid()));
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return;
  // In a sticky directory of root's nobody else can replace what is ours; that the next component
  // is ours, or root's, is checked when it is reached.
  if (!last && info.st_uid == 0 && (info.st_mode & S_ISVTX) != 0) return;
  refuse(step.path,
         fmt::format("is writable by group or others (mode {:04o})", info.st_mode & 07777u));
}

struct stat status_of(const Descriptor& fd, std::string_view path) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) refuse(path, error_text(errno));
  return info;
}

Descriptor open_component(const Descriptor& parent, const std::string& name, std::string_view path,
                          bool create) {
  const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  Descriptor child(::openat(parent.get(), name.c_str(), flags));
  if (child || errno != ENOENT || !create) {
    if (!child) refuse(path, fmt::format("cannot be opened: {}", error_text(errno)));
    return child;
  }
  if (::mkdirat(parent.get(), name.c_str(), 0700) == 0) {
    // A umask may have taken our own bits away.
    ::fchmodat(parent.get(), name.c_str(), 0700, 0);
  } else if (errno != EEXIST) {
    refuse(path, fmt::format("cannot be created: {}", error_text(errno)));
  }
  child = Descriptor(::openat(parent.get(), name.c_str(), flags));
  if (!child) refuse(path, fmt::format("cannot be opened: {}", error_text(errno)));
  return child;
}

}  // namespace

CacheEnvironment CacheEnvironment::current() {
  return {environment("FUSEPLAN_CACHE_DIR"), environment("XDG_CACHE_HOME"), environment("HOME"),
          ::getauxval(AT_SECURE) != 0};
}

Place find_place(const std::string& directory, const CacheEnvironment& environment) {
  if (environment.elevated) return {{}, "the process runs with elevated privileges"};
  if (!directory.empty()) return place_at("the cache directory", directory, "");
  const auto set = [](const std::optional<std::string>& value) { return value && !value->empty(); };
  if (set(environment.cache_dir)) return place_at("FUSEPLAN_CACHE_DIR", *environment.cache_dir, "");
  // The XDG specification has a relative path ignored.
  if (set(environment.xdg_cache_home) && environment.xdg_cache_home->front() == '/')
    return place_at("XDG_CACHE_HOME", *environment.xdg_cache_home, "/fuseplan");
  if (!set(environment.home)) return {{}, "HOME is not set"};
  if (environment.home->front() == '/' && !is_directory(*environment.home))
    return {{}, fmt::format("HOME is \"{}\", which is no directory", *environment.home)};
  return place_at("HOME", *environment.home, "/.cache/fuseplan");
}

Descriptor open_directory(const std::string& directory, bool create) {
  Descriptor current(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!current) refuse("/", error_text(errno));
  check_step({"/", status_of(current, "/")}, directory == "/");
  for (std::size_t start = 1; start < directory.size();) {
    const std::size_t end = std::min(directory.find('/', start), directory.size());
    const std::string_view path = std::string_view(directory).substr(0, end);
    current = open_component(current, directory.substr(start, end - start), path, create);
    check_step({path, status_of(current, path)}, end == directory.size());
    start = end + 1;
  }
  return current;
}

const char* network_filesystem(long magic) {
  // linux/magic.h has most of these; the rest are from the file systems' own sources.
  constexpr struct {
    unsigned long magic;
    const char* name;
  } kNetwork[] = {{0x6969, "NFS"},      {0x517b, "SMB"},        {0xff534d42, "CIFS"},
                  {0xfe534d42, "SMB2"}, {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},
                  {0x00c36400, "Ceph"}, {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
                  {0x01021997, "9p"},   {0x65735546, "FUSE"}};
  for (const auto& row : kNetwork)
    if (row.magic == (static_cast<unsigned long>(magic) & 0xffffffffu)) return row.name;
  return nullptr;
}

long filesystem_magic(const Descriptor& directory) {
  struct statfs info;
  return ::fstatfs(directory.get(), &info) == 0 ? static_cast<long>(info.f_type) : 0;
}

}  // namespace fuseplan
