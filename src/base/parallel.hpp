// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

namespace fuseplan {

/// Runs task(0) ... task(count - 1), on up to `threads` threads, and returns when all are done.
/// Which thread runs which task never changes a result: tasks write disjoint outputs. Other threads
/// than the caller's compute as FlushDenormals says.
class Parallel {
 public:
  using Task = void (*)(void* argument, int index);
  /// The caller's own loop: must call task(argument, i) once for each i in [0, count).
  using Loop = void (*)(void* context, int count, Task task, void* argument);

  /// `threads` 0: as many as the OpenMP runtime offers.
  explicit Parallel(int threads = 0, Loop loop = nullptr, void* context = nullptr);

  int threads() const { return threads_; }
  /// The loop is the caller's, which may use this thread for other work of the caller's meanwhile,
  /// such as another call of the library.
  bool is_callers() const { return loop_ != nullptr; }

  template <typename F>
  void operator()(int count, const F& task) const {
    if (count <= 1 || threads_ == 1) {
      for (int i = 0; i < count; ++i) task(i);
      return;
    }
    run(
        count, [](void* argument, int i) { (*static_cast<const F*>(argument))(i); },
        const_cast<std::remove_const_t<F>*>(&task));
  }

 private:
  void run(int count, Task task, void* argument) const;

  int threads_;
  Loop loop_;
  void* context_;
};

/// [first, last) of part `index` when `total` items are split into `parts` nearly equal parts.
struct Range {
  long first, last;
};
constexpr Range split(long total, int parts, int index) {
  return {total * index / parts, total * (index + 1) / parts};
}

/// Into how many parts to split that many units of about the same work: a few for each thread, as
/// some may be late.
inline int tasks_for(long units, const Parallel& parallel) {
  constexpr long kPerThread = 8;
  const long most = kPerThread * parallel.threads();
  return static_cast<int>(units < most ? units : most);
}

/// body(i) for each i < units.
template <typename F>
void for_each_unit(const Parallel& parallel, long units, const F& body) {
  const int tasks = tasks_for(units, parallel);
  parallel(tasks, [&](int task) {
    const Range range = split(units, tasks, task);
    for (long unit = range.first; unit < range.last; ++unit) body(unit);
  });
}

}  // namespace fuseplan
