// SPDX-License-Identifier: MIT
#include "support/processes.hpp"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace fuseplan::test {

TemporaryDirectory::TemporaryDirectory() {
  // In memory where there is such a place: what these tests do to a disk takes minutes there.
  const char* chosen = std::getenv("TMPDIR");
  const std::string base = chosen != nullptr                        ? chosen
                           : ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm"
                                                                    : "/tmp";
  std::string name = base + "/fuseplan-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
  path_ = std::filesystem::canonical(name).string();
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::give_away() const {
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path_.c_str(), kNobody, kNobody), 0);
}

void drop_privileges() {
  if (::geteuid() == 0) {
    ASSERT_EQ(::setgroups(0, nullptr), 0);
    ASSERT_EQ(::setresgid(kNobody, kNobody, kNobody), 0);
    ASSERT_EQ(::setresuid(kNobody, kNobody, kNobody), 0);
  }
  ASSERT_NE(::geteuid(), 0u) << "a test of permissions is void as root";
}

namespace {

// The child inherits what failed before it was forked.
int failures() {
  const auto* result = ::testing::UnitTest::GetInstance()->current_test_info()->result();
  int count = 0;
  for (int i = 0; i < result->total_part_count(); ++i)
    count += result->GetTestPartResult(i).failed();
  return count;
}

}  // namespace

pid_t start_child(const std::function<void()>& role) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int inherited = failures();
  try {
    role();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "child threw: " << error.what();
  }
  std::fflush(nullptr);
  ::_exit(failures() > inherited ? 1 : 0);
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool succeeded(pid_t child) {
  const int status = wait_for_child(child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool passes_in_child(const std::function<void()>& role) { return succeeded(start_child(role)); }

}  // namespace fuseplan::test
