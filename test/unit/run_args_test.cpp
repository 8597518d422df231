// SPDX-License-Identifier: MIT
// When prepared weights are made anew, and when not.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "run/args.hpp"

namespace fuseplan::test {
namespace {

/// Its prepared weights are the raw ones, negated.
class Negating final : public Executable {
 public:
  explicit Negating(std::size_t count, bool takes_raw = false)
      : count_(count), takes_raw_(takes_raw) {}
  void launch(const Launch&) const override {}
  std::size_t prepared_bytes() const override { return count_ * sizeof(float); }
  std::string weight_format() const override { return "negated"; }
  void prepare(const void* raw, void* prepared, const Parallel&) const override {
    ++prepared_;
    for (std::size_t i = 0; i < count_; ++i)
      static_cast<float*>(prepared)[i] = -static_cast<const float*>(raw)[i];
  }
  bool takes_raw_weights() const override { return takes_raw_; }
  int prepared() const { return prepared_; }

 private:
  std::size_t count_;
  bool takes_raw_;
  mutable int prepared_ = 0;
};

class PreparedWeights : public ::testing::Test {
 protected:
  WeightsLease lease() {
    return args_.prepared_weights(executable_, "f", weights_.data(),
                                  weights_.size() * sizeof(float), parallel_, {});
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

/// The same for an executable that takes them raw.
class RawWeights : public PreparedWeights {
 protected:
  RawWeights() { executable_ = Negating(100, true); }
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
