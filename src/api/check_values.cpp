// SPDX-License-Identifier: MIT
// The header spells out numbers that the stages below own. This file compiles only if they agree.
#include "base/dtype.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "fuseplan/fuseplan.h"
#include "plan/op.hpp"
#include "solve/solver.hpp"

namespace fuseplan::api {
namespace {

template <typename C, typename Cpp>
constexpr bool same(C c, Cpp cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}

#define FUSEPLAN_STATUS(name, value, sentence) \
  static_assert(same(fuseplanStatus##name, Status::name));
#include "base/statuses.def"
#undef FUSEPLAN_STATUS

#define FUSEPLAN_ACTIVATION(name, value, text) \
  static_assert(same(fuseplanActivation##name, Activation::name));
#include "plan/activations.def"
#undef FUSEPLAN_ACTIVATION

#define FUSEPLAN_REJECTION(name, value, sentence) \
  static_assert(same(fuseplanReject##name, RejectCode::name));
#include "solve/rejections.def"
#undef FUSEPLAN_REJECTION

static_assert(same(fuseplanHalf, DType::f16));
static_assert(same(fuseplanFloat, DType::f32));
static_assert(same(fuseplanInt32, DType::i32));
static_assert(same(fuseplanInt8, DType::i8));
static_assert(same(fuseplanBFloat16, DType::bf16));
static_assert(same(fuseplanDouble, DType::f64));
static_assert(same(fuseplanInt64, DType::i64));
static_assert(same(fuseplanUint8, DType::u8));

static_assert(same(fuseplanBNPerActivation, NormMode::per_activation));
static_assert(same(fuseplanBNSpatial, NormMode::spatial));

static_assert(same(fuseplanLogQuiet, LogLevel::quiet));
static_assert(same(fuseplanLogFatal, LogLevel::fatal));
static_assert(same(fuseplanLogError, LogLevel::error));
static_assert(same(fuseplanLogWarning, LogLevel::warning));
static_assert(same(fuseplanLogInfo, LogLevel::info));
static_assert(same(fuseplanLogInfo2, LogLevel::info2));
static_assert(same(fuseplanLogTrace, LogLevel::trace));

static_assert(FUSEPLAN_VERSION_MAJOR == FUSEPLAN_PROJECT_MAJOR &&
                  FUSEPLAN_VERSION_MINOR == FUSEPLAN_PROJECT_MINOR &&
                  FUSEPLAN_VERSION_PATCH == FUSEPLAN_PROJECT_PATCH,
              "include/fuseplan/types.h and CMakeLists.txt name different versions");

}  // namespace
}  // namespace fuseplan::api
