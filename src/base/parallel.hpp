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

/// body(Range) for parts of any number of units of about the same work: a few for each thread, as
/// some may be late.
template <typename F>
void for_each_range(const Parallel& parallel, long units, const F& body) {
  constexpr long kPerThread = 8;
  const long most = kPerThread * parallel.threads();
  const int parts = static_cast<int>(units < most ? units : most);
  parallel(parts, [&](int part) { body(split(units, parts, part)); });
}

/// body(i) for each i < units.
template <typename F>
void for_each_unit(const Parallel& parallel, long units, const F& body) {
  for_each_range(parallel, units, [&](Range range) {
    for (long unit = range.first; unit < range.last; ++unit) body(unit);
  });
}

}  // namespace fuseplan
