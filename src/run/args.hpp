// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/digest.hpp"
#include "base/memory.hpp"
#include "expr/chain.hpp"

namespace fuseplan {

/// The arguments of one op: what its setter stored. Pointers belong to the caller and must stay
/// valid during Execute.
struct OpArgs {
  std::string_view kind;  ///< of the op it was set for: "conv", "bias", ...; empty: never set
  float alpha = 1, beta = 0;
  struct Pointer {
    Role role;
    const void* value;
  };
  struct Scalar {
    Role role;
    double value;
  };
  struct Result {
    Role role;
    void* value;
  };
  StaticVector<Pointer, 5> pointers;
  StaticVector<Scalar, 3> scalars;
  StaticVector<Result, 5> results = {};

  const void* pointer(Role role) const;   ///< nullptr if not set
  const double* scalar(Role role) const;  ///< nullptr if not set
  void* result(Role role) const;          ///< nullptr if not set, or not wanted
};

/// Prepared weights while one Execute reads them: they do not change as long as the lease lives.
class WeightsLease {
 public:
  /// A form and how many read it. At 0, under the args object's mutex, one may begin to rewrite it.
  struct Form {
    explicit Form(Buffer memory) : buffer(std::move(memory)) {}
    Buffer buffer;
    std::atomic<int> readers{0};
  };

  WeightsLease() = default;
  explicit WeightsLease(std::shared_ptr<Form> form) : form_(std::move(form)) {
    form_->readers.fetch_add(1, std::memory_order_relaxed);
  }
  ~WeightsLease() {
    if (form_ != nullptr) form_->readers.fetch_sub(1, std::memory_order_release);
  }
  WeightsLease(WeightsLease&& other) noexcept : form_(std::move(other.form_)) {}
  WeightsLease& operator=(WeightsLease&& other) noexcept {
    std::swap(form_, other.form_);
    return *this;
  }

  const void* data() const { return form_ == nullptr ? nullptr : form_->buffer.data(); }

 private:
  std::shared_ptr<Form> form_;
};

/// Arguments by op index, not bound to a plan. One thread at a time may set them; threads that
/// execute with the same object at once are safe as long as nobody sets.
class Args {
 public:
  void set(int op, OpArgs args);
  /// nullptr if nothing was set for that op.
  const OpArgs* find(int op) const;

  /// The caller's promise that weights do not change between Executes without a new setter call.
  void set_constant_weights(bool on) { constant_weights_ = on; }

  /// `raw` in the executable's prepared form, made now or reused if neither the pointer nor the
  /// contents changed. `format` names what is read and what is made of it: equal formats share.
  /// Keeps the last kPrepared forms. Weights that keep changing are prepared without looking first,
  /// or not at all if the executable takes them raw: then the lease holds nothing.
  ///
  /// No lock is held while `parallel` or `allocator` runs. Who comes while another thread prepares
  /// the same waits for it; but not for a caller's loop, which may be waiting for who comes: then
  /// the lease is of a form of its own, or raw.
  WeightsLease prepared_weights(const Executable& executable, const std::string& format,
                                const void* raw, std::size_t raw_bytes, const Parallel& parallel,
                                const Allocator& allocator);

 private:
  using Form = std::shared_ptr<WeightsLease::Form>;
  static constexpr std::size_t kPrepared = 8;
  struct Prepared {
    std::string format;
    const void* raw;
    std::size_t raw_bytes;
    std::uint64_t revision = 0;       ///< of the setter call it was made under; 0: unfinished
    std::optional<ContentHash> hash;  ///< of the weights, when they were last looked at
    bool is_current = false;          ///< the form was made of those
    std::uint32_t changes = 0;        ///< Executes in a row that found others, or did not look
    Form form;
    std::uint64_t job = 0;  ///< the preparation under way; 0: none
    bool is_lent = false;   ///< it runs on a caller's loop

    bool keeps_changing() const;
    bool must_look() const;
  };
  /// The form to make, what of, and for whom.
  struct Job {
    std::uint64_t number;
    Form form;  ///< nullptr: memory is still to be had
    std::optional<ContentHash> hash;
    std::uint64_t revision;
  };
  Prepared& entry(const std::string& format, const void* raw, std::size_t raw_bytes, Form& dropped);
  bool is_settled(Prepared& prepared, std::optional<ContentHash>& hash) const;
  Job begin(Prepared& prepared, const std::optional<ContentHash>& hash, bool is_lent);
  WeightsLease end(const Job& job, bool is_done);

  std::vector<OpArgs> ops_;
  bool constant_weights_ = false;
  std::uint64_t revision_ = 0;
  std::mutex mutex_;  ///< guards what follows only
  std::condition_variable ended_;
  std::vector<Prepared> prepared_;
  std::uint64_t jobs_ = 0;
};

}  // namespace fuseplan
