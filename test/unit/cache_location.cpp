// SPDX-License-Identifier: MIT
// Where the cache may live: odd environments and unsafe places. As nobody, for root may do
// anything.
#include "cache/location.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>

#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

constexpr unsigned kStranger = 12345;
namespace fs = std::filesystem;

CacheEnvironment with(std::optional<std::string> dir, std::optional<std::string> xdg,
                      std::optional<std::string> home) {
  return {std::move(dir), std::move(xdg), std::move(home), false};
}

TEST(CacheLocation, TakesTheFirstThatIsSet) {
  TemporaryDirectory d;
  const std::string home = d / "home";
  fs::create_directory(home);
  EXPECT_EQ(find_place("", with(d / "a", d / "b", home)).directory, d / "a");
  EXPECT_EQ(find_place("", with("", d / "b", home)).directory, d / "b/fuseplan");
  EXPECT_EQ(find_place("", with({}, {}, home)).directory, d / "home/.cache/fuseplan");
  EXPECT_EQ(find_place(d / "own", with(d / "a", d / "b", home)).directory, d / "own");
  EXPECT_EQ(find_place("", with({}, "relative", home)).directory, d / "home/.cache/fuseplan");
  EXPECT_EQ(find_place("", with({}, {}, {})).directory, "");
  EXPECT_EQ(find_place("/", {}).directory, "/");
  EXPECT_EQ(find_place(d / "x/./y//z/", {}).directory, d / "x/y/z");
  EXPECT_NE(find_place(d / "x/../y", {}).refusal, "");
}

TEST(CacheLocation, ElevatedProcessesHaveNone) {
  CacheEnvironment environment = with("/tmp/x", {}, "/tmp");
  environment.elevated = true;
  EXPECT_EQ(find_place("", environment).directory, "");
  EXPECT_NE(find_place("", environment).refusal, "");
}

TEST(CacheLocation, ReadsTheEnvironment) {
  EXPECT_TRUE(passes_in_child([] {
    ::setenv("FUSEPLAN_CACHE_DIR", "/one", 1);
    ::setenv("XDG_CACHE_HOME", "/two", 1);
    ::unsetenv("HOME");
    const CacheEnvironment environment = CacheEnvironment::current();
    EXPECT_EQ(environment.cache_dir, "/one");
    EXPECT_EQ(environment.xdg_cache_home, "/two");
    EXPECT_FALSE(environment.home);
    EXPECT_FALSE(environment.elevated);
  }));
}

TEST(CacheLocation, KnowsNetworkFileSystems) {
  EXPECT_STREQ(network_filesystem(0x6969), "NFS");
  EXPECT_STREQ(network_filesystem(static_cast<int>(0xff534d42)), "CIFS");
  EXPECT_STREQ(network_filesystem(0x01021997), "9p");
  EXPECT_EQ(network_filesystem(0xef53), nullptr);      // ext4
  EXPECT_EQ(network_filesystem(0x01021994), nullptr);  // tmpfs
}

// Every call succeeds wherever the store is; it warns once if it is not on disk.
void use_store(const std::string& directory, const CacheEnvironment& environment, bool on_disk) {
  StoreConfig config;
  config.environment = environment;
  WatchedStore store(directory, config);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(store->find(sample_key(i)));
    store->put(sample_key(i), sample_row(i));
    EXPECT_EQ(store->find(sample_key(i)), sample_row(i));
  }
  EXPECT_EQ(store->stats().stored, on_disk ? 3u : 0u);
  EXPECT_EQ(store.warnings.size(), on_disk ? 0u : 1u);
  for (const std::string& warning : store.warnings) EXPECT_GT(warning.size(), 30u) << warning;
}

struct Surroundings {
  const char* name;
  bool on_disk;
  // Makes them, as nobody, below an empty directory.
  std::function<CacheEnvironment(const std::string&)> make;
};

const Surroundings kSurroundings[] = {
    {"nothing set", false, [](auto&) { return with({}, {}, {}); }},
    {"HOME empty", false, [](auto&) { return with({}, {}, ""); }},
    {"HOME relative", false, [](auto&) { return with({}, {}, "home"); }},
    {"HOME missing", false, [](auto& d) { return with({}, {}, d + "/none"); }},
    {"HOME a file", false,
     [](auto& d) {
       std::ofstream(d + "/file") << "x";
       return with({}, {}, d + "/file");
     }},
    {"HOME read-only", false,
     [](auto& d) {
       ::mkdir((d + "/home").c_str(), 0500);
       return with({}, {}, d + "/home");
     }},
    {"HOME unreadable", false,
     [](auto& d) {
       ::mkdir((d + "/home").c_str(), 0000);
       return with({}, {}, d + "/home");
     }},
    {"HOME/.cache a file", false,
     [](auto& d) {
       std::ofstream(d + "/.cache") << "x";
       return with({}, {}, d);
     }},
    {"HOME/.cache a dangling link", false,
     [](auto& d) {
       fs::create_symlink("nowhere", d + "/.cache");
       return with({}, {}, d);
     }},
    {"HOME/.cache a loop", false,
     [](auto& d) {
       fs::create_symlink(".cache", d + "/.cache");
       return with({}, {}, d);
     }},
    {"path of 4 kB", false, [](auto& d) { return with(d + std::string(4000, 'x'), {}, d); }},
    {"many levels", false,
     [](auto& d) {
       std::string path = d;
       for (int i = 0; i < 300; ++i) path += "/d";
       return with(path, {}, d);
     }},
    {"directory relative", false, [](auto& d) { return with("relative", {}, d); }},
    {"directory a file", false,
     [](auto& d) {
       std::ofstream(d + "/file") << "x";
       return with(d + "/file", {}, d);
     }},
    {"directory below a file", false,
     [](auto& d) {
       std::ofstream(d + "/file") << "x";
       return with(d + "/file/x", {}, d);
     }},
    {"directory read-only", false,
     [](auto& d) {
       ::mkdir((d + "/dir").c_str(), 0500);
       return with(d + "/dir", {}, d);
     }},
    {"XDG a file", false,
     [](auto& d) {
       std::ofstream(d + "/file") << "x";
       return with({}, d + "/file", d);
     }},
    {"in /proc", false, [](auto&) { return with("/proc/fuseplan", {}, {}); }},
    {"in /dev/null", false, [](auto&) { return with("/dev/null", {}, {}); }},
    {"HOME", true, [](auto& d) { return with({}, {}, d); }},
    {"XDG relative", true, [](auto& d) { return with({}, "cache", d); }},
    {"XDG empty", true, [](auto& d) { return with({}, "", d); }},
    {"XDG missing", true, [](auto& d) { return with({}, d + "/xdg/deep", {}); }},
    {"directory missing", true, [](auto& d) { return with(d + "/a/b/c", {}, {}); }},
    {"odd characters", true, [](auto& d) { return with(d + "/a b'\"%s\n?#;x", {}, {}); }},
    {"looks like a URI", true, [](auto& d) { return with(d + "/file:x?mode=memory", {}, {}); }},
    {"HOME/.cache a link", true,
     [](auto& d) {
       ::mkdir((d + "/real").c_str(), 0700);
       fs::create_symlink("real", d + "/.cache");
       return with({}, {}, d);
     }},
    {"deleted working directory", true,
     [](auto& d) {
       ::mkdir((d + "/cwd").c_str(), 0700);
       EXPECT_EQ(::chdir((d + "/cwd").c_str()), 0);
       ::rmdir((d + "/cwd").c_str());
       return with({}, {}, d);
     }},
    {"5000 slashes", true, [](auto& d) { return with(d + std::string(5000, '/') + "x", {}, d); }},
    {"trailing slashes", true, [](auto& d) { return with(d + "/a///", {}, {}); }},
};

TEST(CacheLocation, OddSurroundingsAlwaysWork) {
  int count = 0;
  for (const Surroundings& surroundings : kSurroundings) {
    TemporaryDirectory directory;
    directory.give_away();
    EXPECT_TRUE(passes_in_child([&] {
      drop_privileges();
      ::alarm(20);
      use_store("", surroundings.make(directory.path()), surroundings.on_disk);
    })) << surroundings.name;
    ++count;
  }
  std::printf("%d surroundings\n", count);
  EXPECT_GE(count, 30);
}

struct Layout {
  const char* name;
  bool safe;
  bool needs_root;                               // to make it, not to refuse it
  std::function<void(const std::string&)> make;  // below d; the cache directory is d/p/c
};

void give(const std::string& path, unsigned owner) {
  EXPECT_EQ(::lchown(path.c_str(), owner, owner), 0) << path;
}

void mode(const std::string& path, unsigned bits) {
  EXPECT_EQ(::chmod(path.c_str(), bits), 0) << path;
}

void socket_at(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
}

constexpr char kDb[] = "/p/c/kernels-v1.db";

// Where it leads, everything is safe.
void link_in_sticky_directory(const std::string& d, unsigned owner) {
  fs::rename(d + "/p/c", d + "/real");
  fs::create_directory_symlink(d + "/real", d + "/p/c");
  give(d + "/p/c", owner);
  give(d + "/p", 0), mode(d + "/p", 01777);
}

// Replaces d/p/c or a file in it.
std::string without(const std::string& path) {
  fs::remove_all(path);
  return path;
}

const Layout kLayouts[] = {
    {"as created", true, false, [](auto&) {}},
    {"directory 0755", true, false, [](auto& d) { mode(d + "/p/c", 0755); }},
    {"parent 0755", true, false, [](auto& d) { mode(d + "/p", 0755); }},
    {"parent root's", true, true, [](auto& d) { give(d + "/p", 0), mode(d + "/p", 0755); }},
    {"sticky parent of root", true, true,
     [](auto& d) { give(d + "/p", 0), mode(d + "/p", 01777); }},
    {"a link of mine to a safe place", true, false,
     [](auto& d) {
       fs::rename(d + "/p/c", d + "/real");
       fs::create_directory_symlink(d + "/real", d + "/p/c");
     }},
    {"a chain of links of mine", true, false,
     [](auto& d) {
       fs::rename(d + "/p/c", d + "/real");
       fs::create_directory_symlink("../p/../real", d + "/p/next");
       fs::create_directory_symlink("./next", d + "/p/c");
     }},
    {"a link of root's in a sticky directory of root's", true, true,
     [](auto& d) { link_in_sticky_directory(d, 0); }},
    {"a link of mine in a sticky directory of root's", true, true,
     [](auto& d) { link_in_sticky_directory(d, kNobody); }},
    {"a link of a stranger's in a sticky directory of root's", false, true,
     [](auto& d) { link_in_sticky_directory(d, kStranger); }},
    {"a link of mine to one of a stranger's", false, true,
     [](auto& d) {
       link_in_sticky_directory(d, kStranger);
       fs::rename(d + "/p/c", d + "/p/theirs");
       fs::create_directory_symlink("theirs", d + "/p/c");
       give(d + "/p/c", kNobody);
     }},
    {"directory 0777", false, false, [](auto& d) { mode(d + "/p/c", 0777); }},
    {"directory 0770", false, false, [](auto& d) { mode(d + "/p/c", 0770); }},
    {"directory 0702", false, false, [](auto& d) { mode(d + "/p/c", 0702); }},
    {"directory sticky", false, false, [](auto& d) { mode(d + "/p/c", 01777); }},
    {"directory sticky of root", false, true,
     [](auto& d) { give(d + "/p/c", 0), mode(d + "/p/c", 01777); }},
    {"directory a stranger's", false, true,
     [](auto& d) { give(d + "/p/c", kStranger), mode(d + "/p/c", 0755); }},
    {"parent 0777", false, false, [](auto& d) { mode(d + "/p", 0777); }},
    {"parent 0775", false, false, [](auto& d) { mode(d + "/p", 0775); }},
    {"parent sticky, but mine", false, false, [](auto& d) { mode(d + "/p", 01777); }},
    {"parent sticky, a stranger's", false, true,
     [](auto& d) { give(d + "/p", kStranger), mode(d + "/p", 01777); }},
    {"parent a stranger's", false, true,
     [](auto& d) { give(d + "/p", kStranger), mode(d + "/p", 0755); }},
    {"sticky parent of root, directory a stranger's", false, true,
     [](auto& d) {
       give(d + "/p", 0), mode(d + "/p", 01777);
       give(d + "/p/c", kStranger), mode(d + "/p/c", 0755);
     }},
    {"grandparent 0777", false, false, [](auto& d) { mode(d, 0777); }},
    {"a link to an unsafe place", false, false,
     [](auto& d) {
       fs::create_directory(d + "/open");
       fs::rename(d + "/p/c", d + "/open/c");
       mode(d + "/open", 0777);
       fs::create_directory_symlink(d + "/open/c", d + "/p/c");
     }},
    {"directory a dangling link", false, false,
     [](auto& d) { fs::create_symlink(d + "/none/at/all", without(d + "/p/c")); }},
    {"directory a file", false, false, [](auto& d) { std::ofstream(without(d + "/p/c")) << "x"; }},
    {"directory a FIFO", false, false,
     [](auto& d) { ::mkfifo(without(d + "/p/c").c_str(), 0600); }},
    {"directory a socket", false, false, [](auto& d) { socket_at(without(d + "/p/c")); }},
    {"directory a device", false, true,
     [](auto& d) { ::mknod(without(d + "/p/c").c_str(), S_IFCHR | 0666, makedev(1, 3)); }},
    {"file 0644", false, false, [](auto& d) { mode(d + kDb, 0644); }},
    {"file 0660", false, false, [](auto& d) { mode(d + kDb, 0660); }},
    {"file 0602", false, false, [](auto& d) { mode(d + kDb, 0602); }},
    {"file a stranger's", false, true,
     [](auto& d) { give(d + kDb, kStranger), mode(d + kDb, 0666); }},
    {"file root's", false, true, [](auto& d) { give(d + kDb, 0), mode(d + kDb, 0644); }},
    {"file a link to mine", false, false,
     [](auto& d) {
       fs::rename(d + kDb, d + "/mine");
       fs::create_symlink(d + "/mine", d + kDb);
     }},
    {"file a link to a stranger's", false, true,
     [](auto& d) {
       fs::rename(d + kDb, d + "/theirs");
       give(d + "/theirs", kStranger), mode(d + "/theirs", 0666);
       fs::create_symlink(d + "/theirs", d + kDb);
     }},
    {"file a dangling link", false, false,
     [](auto& d) { fs::create_symlink(d + "/victim", without(d + kDb)); }},
    {"file a hard link", false, false,
     [](auto& d) { fs::create_hard_link(d + kDb, d + "/other"); }},
    {"file a hard link of a stranger's", false, true,
     [](auto& d) {
       give(d + kDb, kStranger), mode(d + kDb, 0666);
       fs::create_hard_link(d + kDb, d + "/other");
     }},
    {"file a FIFO", false, false, [](auto& d) { ::mkfifo(without(d + kDb).c_str(), 0600); }},
    {"file a socket", false, false, [](auto& d) { socket_at(without(d + kDb)); }},
    {"file a directory", false, false, [](auto& d) { fs::create_directory(without(d + kDb)); }},
    {"file a device", false, true,
     [](auto& d) {
       ::mknod(without(d + kDb).c_str(), S_IFCHR | 0600, makedev(1, 3));
       give(d + kDb, kNobody);
     }},
    {"journal a link", false, false,
     [](auto& d) { fs::create_symlink(d + "/victim", without(d + kDb + "-journal")); }},
    {"journal a FIFO", false, false,
     [](auto& d) { ::mkfifo(without(d + kDb + "-journal").c_str(), 0600); }},
    {"journal a stranger's", false, true, [](auto& d) { give(d + kDb + "-journal", kStranger); }},
    {"lock a link", false, false,
     [](auto& d) { fs::create_symlink(d + "/victim", without(d + "/p/c/fuseplan.lock")); }},
    {"lock a FIFO", false, false,
     [](auto& d) { ::mkfifo(without(d + "/p/c/fuseplan.lock").c_str(), 0600); }},
};

constexpr int kCanary = 77;

// As nobody: the layout with a canary kernel in it, which is valid, and must run only if safe.
void plant(const std::string& d) {
  drop_privileges();
  WatchedStore store(d + "/p/c");
  store->put(sample_key(kCanary), sample_row(kCanary));
  ASSERT_EQ(store->stats().stored, 1u);
}

void visit(const std::string& d, bool safe) {
  drop_privileges();
  ::alarm(20);
  WatchedStore store(d + "/p/c");
  EXPECT_EQ(store->find(sample_key(kCanary)).has_value(), safe);
  store->put(sample_key(1), sample_row(1));
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  EXPECT_EQ(store->stats().stored, safe ? 1u : 0u);
  EXPECT_EQ(store.warnings.size(), safe ? 0u : 1u);
  EXPECT_FALSE(fs::exists(d + "/victim"));
}

TEST(CacheLocation, UnsafePlacesAreRefused) {
  int layouts = 0, refused = 0;
  for (const Layout& layout : kLayouts) {
    if (layout.needs_root && ::geteuid() != 0) continue;
    TemporaryDirectory directory;
    directory.give_away();
    ASSERT_TRUE(passes_in_child([&] { plant(directory.path()); }));
    // Root makes what only root can; everything it makes without chown has to be nobody's.
    const auto make = [&] { layout.make(directory.path()); };
    if (layout.needs_root) {
      make();
    } else {
      ASSERT_TRUE(passes_in_child([&] { drop_privileges(), make(); })) << layout.name;
    }
    EXPECT_TRUE(passes_in_child([&] { visit(directory.path(), layout.safe); })) << layout.name;
    ++layouts;
    refused += !layout.safe;
  }
  std::printf("%d layouts, %d of them unsafe\n", layouts, refused);
  EXPECT_GE(layouts, ::geteuid() == 0 ? 40 : 28);
}

}  // namespace
}  // namespace fuseplan::test
