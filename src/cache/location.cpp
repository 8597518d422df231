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

bool ours_or_roots(const struct stat& info) {
  return info.st_uid == 0 || info.st_uid == ::geteuid();
}

/// A path on the way to having no links: `done` has none and exists, `left` is still to be looked
/// at. Once a component is missing, what is left is taken as it is.
class LinkFollower {
 public:
  explicit LinkFollower(const std::string& path) : path_(path), left_(path) {}

  Place follow() {
    while (!left_.empty() && refusal_.empty()) {
      const std::string name = next();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        go_up();
      } else {
        step_to(name);
      }
    }
    if (!refusal_.empty()) return {{}, fmt::format("cache directory {}: {}", path_, refusal_)};
    return {done_.empty() ? "/" : done_, {}};
  }

 private:
  std::string next() {
    const std::size_t end = std::min(left_.find('/'), left_.size());
    std::string name = left_.substr(0, end);
    left_.erase(0, end + 1);
    return name;
  }

  void go_up() {
    if (is_missing_) refusal_ = fmt::format("{}/..: {}", done_, error_text(ENOENT));
    done_.resize(done_.empty() ? 0 : done_.find_last_of('/'));
  }

  void step_to(const std::string& name) {
    const std::string path = done_ + "/" + name;
    struct stat info = {};
    Descriptor component;
    if (!is_missing_) {
      // Opened, so that what is looked at is what is read.
      component = Descriptor(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      is_missing_ = !component && errno == ENOENT;
      if (!is_missing_ && (!component || ::fstat(component.get(), &info) != 0)) {
        refusal_ = fmt::format("{}: {}", path, error_text(errno));
        return;
      }
    }
    if (is_missing_ || !S_ISLNK(info.st_mode)) {
      done_ = path;
    } else {
      follow_link(path, component, info);
    }
  }

  void follow_link(const std::string& path, const Descriptor& link, const struct stat& info) {
    struct stat target;
    char text[PATH_MAX];
    const ssize_t size = ::readlinkat(link.get(), "", text, sizeof text);
    if (!ours_or_roots(info)) {
      refusal_ = fmt::format("{} is a link of user {}; only those of root and user {} are followed",
                             path, info.st_uid, ::geteuid());
    } else if (size <= 0 || ::stat(path.c_str(), &target) != 0) {  // leads nowhere, or in circles
      refusal_ = fmt::format("{} is a link: {}", path, error_text(errno));
    } else if (++links_ > kMostLinks) {
      refusal_ = fmt::format("{}: {}", path, error_text(ELOOP));
    } else {
      const std::string_view to(text, static_cast<std::size_t>(size));
      if (to.front() == '/') done_.clear();
      left_ = fmt::format("{}/{}", to, left_);
    }
  }

  static constexpr int kMostLinks = 40;  // as the kernel's

  std::string path_, left_, done_, refusal_;
  bool is_missing_ = false;
  int links_ = 0;
};

Place place_at(const char* source, const std::string& base, const char* below) {
  if (base.front() != '/')
    return {{}, fmt::format("{} is \"{}\", expected an absolute path", source, base)};
  Place place = LinkFollower(base + below).follow();
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

enum class Missing { refused, made, noted };

Descriptor open_component(const Descriptor& parent, const std::string& name, std::string_view path,
                          Missing missing) {
  const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  Descriptor child(::openat(parent.get(), name.c_str(), flags));
  if (!child && errno == ENOENT && missing == Missing::noted) return child;
  if (child || errno != ENOENT || missing != Missing::made) {
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

Descriptor walk(const std::string& directory, Missing missing) {
  Descriptor current(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!current) refuse("/", error_text(errno));
  check_step({"/", status_of(current, "/")}, directory == "/");
  for (std::size_t start = 1; start < directory.size();) {
    const std::size_t end = std::min(directory.find('/', start), directory.size());
    const std::string_view path = std::string_view(directory).substr(0, end);
    current = open_component(current, directory.substr(start, end - start), path, missing);
    if (!current) return current;
    check_step({path, status_of(current, path)}, end == directory.size());
    start = end + 1;
  }
  return current;
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
  return walk(directory, create ? Missing::made : Missing::refused);
}

Descriptor find_directory(const std::string& directory) { return walk(directory, Missing::noted); }

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
