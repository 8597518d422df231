// SPDX-License-Identifier: MIT
#include "support/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

namespace fuseplan::test {
namespace {

using Clock = std::chrono::steady_clock;

// What a child sends begins with one of these; one that sends nothing has not come to its end.
constexpr char kReturned = 'r', kThrew = 't', kOutOfMemory = 'm';

void send(int pipe, char kind, const std::string& text) {
  const std::string all = kind + text;
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t wrote = ::write(pipe, all.data() + done, all.size() - done);
    if (wrote < 0 && errno != EINTR) ::_exit(1);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

[[noreturn]] void be_child(const std::function<std::string()>& role, std::size_t memory, int pipe) {
  ::setpgid(0, 0);
  if (memory > 0) {
    const rlimit limit{memory, memory};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  try {
    const std::string said = role();
    std::fflush(nullptr);
    send(pipe, kReturned, said);
  } catch (const std::bad_alloc&) {
    send(pipe, kOutOfMemory, "");
  } catch (const std::exception& error) {
    send(pipe, kThrew, error.what());
  } catch (...) {
    send(pipe, kThrew, "something that is no std::exception");
  }
  ::_exit(0);
}

/// All that comes out of the pipe until its other end is closed; nothing if that takes too long.
std::optional<std::string> read_all(int pipe, Clock::time_point deadline) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{pipe, POLLIN, 0};
    const int count = ::poll(&ready, 1, left < 0 ? 0 : static_cast<int>(left));
    if (count == 0) return std::nullopt;
    if (count < 0) continue;  // EINTR
    const ssize_t got = ::read(pipe, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
}

/// False if the child, which has closed its end of the pipe, goes on beyond the deadline.
bool ends_by(pid_t child, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

std::string megabytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string words(int status, const rusage& used) {
  if (WIFEXITED(status))
    return "ended with exit status " + std::to_string(WEXITSTATUS(status)) + " before its time";
  const int signal = WTERMSIG(status);
  std::string text =
      "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  if (signal == SIGKILL)
    text += ", as the system does when memory runs out; it had " +
            megabytes(static_cast<std::size_t>(used.ru_maxrss) << 10);
  return text;
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& role, const ChildLimits& limits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {"", std::string("has no pipe: ") + std::strerror(errno)};
  std::fflush(nullptr);
  const Clock::time_point deadline = Clock::now() + limits.time;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    be_child(role, limits.memory, ends[1]);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return {"", std::string("could not be started: ") + std::strerror(errno)};
  }
  ::setpgid(child, child);  // whoever comes first; its own children go with it
  const std::optional<std::string> sent = read_all(ends[0], deadline);
  ::close(ends[0]);
  const bool in_time = sent && ends_by(child, deadline);
  if (!in_time) ::kill(-child, SIGKILL);
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  if (!in_time)
    return {"", "did not end within " + std::to_string(limits.time.count()) + " ms and was killed"};
  if (sent->empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return {"", words(status, used)};
  const std::string text = sent->substr(1);
  if (sent->front() == kReturned) return {text, ""};
  if (sent->front() == kThrew) return {"", "threw: " + text};
  return {"", "ran out of memory" +
                  (limits.memory > 0 ? ", of which it may have " + megabytes(limits.memory) : "")};
}

}  // namespace fuseplan::test
