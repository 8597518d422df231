// SPDX-License-Identifier: MIT
// How long compiled forms of a plan are kept.
#include "run/plan.hpp"

#include <gtest/gtest.h>

namespace fuseplan::test {
namespace {

std::unique_ptr<Handle> make_handle() {
  auto handle = std::make_unique<Handle>("cpu");
  handle->set_options("--cache=mem");
  return handle;
}

class CompiledForms : public ::testing::Test {
 protected:
  CompiledForms() : plan_(Tensor{DType::f32, {2, 4}, {4, 1}}) {
    plan_.append(ActivationOp{Activation::RELU});
    plan_.compile(*handle_);
    form_ = plan_.compiled(*handle_);
  }

  std::unique_ptr<Handle> handle_ = make_handle();
  Plan plan_;
  std::weak_ptr<const Compiled> form_;
};

TEST_F(CompiledForms, OfAHandleThatIsGoneGoWithTheNextCompilation) {
  const auto other = make_handle();
  plan_.compile(*other);
  EXPECT_FALSE(form_.expired());
  handle_.reset();
  plan_.compile(*make_handle());
  EXPECT_TRUE(form_.expired());
  EXPECT_NE(plan_.find_compiled(*other), nullptr);
}

TEST_F(CompiledForms, ThatAnEditReplacedGoWithTheNextCompilation) {
  plan_.set_dynamic({});
  EXPECT_EQ(plan_.find_compiled(*handle_), nullptr);
  plan_.compile(*handle_);
  EXPECT_TRUE(form_.expired());
  EXPECT_NE(plan_.find_compiled(*handle_), nullptr);
}

TEST_F(CompiledForms, StayWithThoseWhoHaveThem) {
  const auto held = plan_.compiled(*handle_);
  plan_.set_dynamic({});
  plan_.compile(*handle_);
  EXPECT_NE(plan_.compiled(*handle_), held);
  EXPECT_EQ(form_.lock(), held);
  EXPECT_EQ(held->variant_count(), 1u);
}

}  // namespace
}  // namespace fuseplan::test
