// SPDX-License-Identifier: MIT
// When prepared weights are made anew, and when not.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <new>
#include <utility>
#include <vector>

#include "run/args.hpp"

namespace fuseplan::test {
namespace {

/// Its prepared weights are the raw ones, negated.
class Negating final : public Executable {
 public:
  explicit Negating(std::size_t count) : count_(count) {}
  void launch(const Launch&) const override {}
  std::size_t prepared_bytes() const override { return count_ * sizeof(float); }
  std::string weight_format() const override { return "negated"; }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    ++prepared_;
    parallel(static_cast<int>(count_),
             [&](int i) { static_cast<float*>(prepared)[i] = -static_cast<const float*>(raw)[i]; });
  }
  bool takes_raw_weights() const override { return takes_raw_; }
  void take_raw_weights() { takes_raw_ = true; }
  int prepared() const { return prepared_; }

 private:
  std::size_t count_;
  bool takes_raw_ = false;
  mutable std::atomic<int> prepared_ = 0;
};

class PreparedWeights : public ::testing::Test {
 protected:
  WeightsLease lease() {
    return args_.prepared_weights(executable_, "f", weights_.data(),
                                  weights_.size() * sizeof(float), parallel_, allocator_);
  }
  bool fresh(const WeightsLease& lease) const {
    const float* values = static_cast<const float*>(lease.data());
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (values[i] != -weights_[i]) return false;
    return true;
  }

  Args args_;
  std::vector<float> weights_ = std::vector<float>(100, 1.0F);
  Negating executable_{100};
  Parallel parallel_{1};
  Allocator allocator_;
  bool failed_ = false;
};

TEST_F(PreparedWeights, AreMadeOnceWhileNothingChanges) {
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(fresh(lease()));
  EXPECT_EQ(executable_.prepared(), 1);
}

TEST_F(PreparedWeights, AreRightAfterEveryChange) {
  for (int i = 0; i < 100; ++i) {
    weights_[static_cast<std::size_t>(i)] += 1;
    EXPECT_TRUE(fresh(lease())) << i;
  }
  EXPECT_EQ(executable_.prepared(), 100);
}

// However long they changed, they are soon made no more when they have settled, and a later change
// is seen at once.
TEST_F(PreparedWeights, SettleAgain) {
  for (int changes = 1; changes < 60; ++changes) {
    for (int i = 0; i < changes; ++i) {
      weights_[7] += 1;
      EXPECT_TRUE(fresh(lease()));
    }
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(fresh(lease()));
    const int before = executable_.prepared();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(fresh(lease()));
    EXPECT_EQ(executable_.prepared(), before) << changes;
  }
}

TEST_F(PreparedWeights, AreNotRewrittenWhileTheyAreRead) {
  for (int i = 0; i < 30; ++i) {
    const WeightsLease before = lease();
    const float old = weights_[3];
    weights_[3] += 1;
    EXPECT_TRUE(fresh(lease()));
    EXPECT_EQ(static_cast<const float*>(before.data())[3], -old) << i;
  }
}

TEST_F(PreparedWeights, StayInTheirMemory) {
  const void* memory = lease().data();
  for (int i = 0; i < 30; ++i) {
    weights_[3] += 1;
    EXPECT_EQ(lease().data(), memory);
  }
}

TEST_F(PreparedWeights, ArePromisedConstantUntilASetterIsCalled) {
  args_.set_constant_weights(true);
  args_.set(0, {});
  EXPECT_TRUE(fresh(lease()));
  weights_[0] = 5;
  EXPECT_FALSE(fresh(lease()));
  args_.set(0, {});
  EXPECT_TRUE(fresh(lease()));
  EXPECT_EQ(executable_.prepared(), 2);
}

/// A caller's loop that does other work of the caller's before each loop but that work's own, as
/// pools do that steal work.
struct Lending {
  static void loop(void* context, int count, Parallel::Task task, void* argument) {
    auto& self = *static_cast<Lending*>(context);
    if (!std::exchange(self.lent, true)) self.other();
    for (int i = 0; i < count; ++i) task(argument, i);
  }
  std::function<void()> other;
  bool lent = false;
};

TEST_F(PreparedWeights, ArePreparedOnceMoreByAThreadThatWasLentToAnotherCall) {
  Lending lending;
  WeightsLease inner;
  lending.other = [&] { inner = lease(); };
  parallel_ = Parallel(2, Lending::loop, &lending);
  const WeightsLease outer = lease();
  EXPECT_TRUE(fresh(inner));
  EXPECT_TRUE(fresh(outer));
  EXPECT_NE(inner.data(), outer.data());
  EXPECT_EQ(lease().data(), outer.data());
  EXPECT_EQ(executable_.prepared(), 2);
}

TEST_F(PreparedWeights, AreNotWaitedForWhereTheCallersLoopMayWaitForUs) {
  Lending lending;
  lending.other = [&] {
    auto other = std::async(std::launch::async, [&] { return fresh(lease()); });
    EXPECT_TRUE(other.get());
  };
  parallel_ = Parallel(2, Lending::loop, &lending);
  EXPECT_TRUE(fresh(lease()));
}

/// Whose memory is there only when another thread has come for the same weights.
struct Slow {
  static void* allocate(void* context, std::size_t bytes) {
    static_cast<Slow*>(context)->before();
    return std::malloc(bytes);
  }
  static void deallocate(void*, void* memory) { std::free(memory); }
  std::function<void()> before;
};

TEST_F(PreparedWeights, AreMadeOnceForThreadsThatComeAtOnce) {
  std::future<bool> other;
  Slow slow{[&] {
    other = std::async(std::launch::async, [&] { return fresh(lease()); });
    EXPECT_EQ(other.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  }};
  allocator_ = {Slow::allocate, Slow::deallocate, &slow};
  EXPECT_TRUE(fresh(lease()));
  EXPECT_TRUE(other.get());
  EXPECT_EQ(executable_.prepared(), 1);
}

TEST_F(PreparedWeights, AreMadeByTheNextIfThereWasNoMemory) {
  Slow slow{[&] {
    if (!std::exchange(failed_, true)) throw std::bad_alloc();
  }};
  allocator_ = {Slow::allocate, Slow::deallocate, &slow};
  EXPECT_THROW((void)lease(), std::bad_alloc);
  EXPECT_TRUE(fresh(lease()));
}

/// The same for an executable that takes them raw.
class RawWeights : public PreparedWeights {
 protected:
  RawWeights() { executable_.take_raw_weights(); }
};

TEST_F(RawWeights, AreLeftAloneWhileTheyKeepChanging) {
  constexpr int kBefore = 4;  // the first, and what still might be single changes
  for (int i = 0; i < 100; ++i) {
    weights_[static_cast<std::size_t>(i)] += 1;
    const WeightsLease now = lease();
    if (i < kBefore) {
      ASSERT_NE(now.data(), nullptr) << i;
    }
    EXPECT_TRUE(now.data() == nullptr || fresh(now)) << i;
  }
  EXPECT_LE(executable_.prepared(), kBefore);
}

TEST_F(RawWeights, SettleAgain) {
  for (int changes = 1; changes < 60; ++changes) {
    for (int i = 0; i < changes; ++i) {
      weights_[7] += 1;
      const WeightsLease now = lease();
      EXPECT_TRUE(now.data() == nullptr || fresh(now));
    }
    for (int i = 0; i < 20; ++i) {
      const WeightsLease now = lease();
      EXPECT_TRUE(now.data() == nullptr || fresh(now));
    }
    const int before = executable_.prepared();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(fresh(lease()));
    EXPECT_EQ(executable_.prepared(), before) << changes;
  }
}

TEST_F(RawWeights, ThatChangeAfterARawLaunchAreNotTakenForTheOldForm) {
  for (int i = 0; i < 40; ++i) {
    weights_[0] = static_cast<float>(i % 2);  // what a form was made of comes again
    const WeightsLease now = lease();
    EXPECT_TRUE(now.data() == nullptr || fresh(now)) << i;
  }
}

TEST_F(RawWeights, AreLeftAloneByAThreadThatWasLentToAnotherCall) {
  Lending lending;
  WeightsLease inner = lease();
  weights_[0] += 1;
  lending.other = [&] { inner = lease(); };
  parallel_ = Parallel(2, Lending::loop, &lending);
  EXPECT_TRUE(fresh(lease()));
  EXPECT_EQ(inner.data(), nullptr);
}

TEST_F(RawWeights, ArePreparedUnderThePromiseOfConstancy) {
  for (int i = 0; i < 20; ++i) {
    weights_[0] += 1;
    (void)lease();
  }
  args_.set_constant_weights(true);
  args_.set(0, {});
  for (int i = 0; i < 20; ++i) {
    const WeightsLease now = lease();
    EXPECT_TRUE(now.data() == nullptr || fresh(now)) << i;
  }
  EXPECT_NE(lease().data(), nullptr);
}

}  // namespace
}  // namespace fuseplan::test
