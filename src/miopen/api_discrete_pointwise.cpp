// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "miopen/activation.hpp"
#include "miopen/loops.hpp"
#include "miopen/settings.hpp"

using namespace fuseplan::miopen;

namespace {

/// Plans read N x C and more: lengths of 1 are put in front.
Shape at_least_2d(Shape shape) {
  while (shape.rank() < 2) {
    shape.lens.insert(shape.lens.begin(), 1);
    shape.strides.insert(shape.strides.begin(), shape.lens.back() * shape.strides.back());
  }
  return shape;
}

bool is_packed(const Shape& shape) {
  return same_memory(shape, {shape.type, shape.lens, packed_strides(shape.lens)});
}

struct Operand {
  Shape shape;
  const void* data;
  float scale;
};

/// The operands of OpTensor, checked: A has C's lengths, B has them or 1.
struct TensorOp {
  Operand a, b;
  Shape c;
  void* data;
  float beta;
};

// A may have other lengths than C, as long as the elements are as many, one after the other.
void check_lengths(TensorOp& op) {
  if (op.a.shape.lens != op.c.lens) {
    require(op.a.shape.elements() == op.c.elements() && is_packed(op.a.shape), miopenStatusBadParm,
            "A has {} elements in other lengths than C's {}, or gaps", op.a.shape.elements(),
            op.c.elements());
    op.a.shape = {op.a.shape.type, op.c.lens, packed_strides(op.c.lens)};
  }
  require(op.b.shape.type == op.c.type, miopenStatusBadParm, "B and C are of different types");
  require(op.b.shape.rank() == op.c.rank(), miopenStatusBadParm, "B has rank {}, C has {}",
          op.b.shape.rank(), op.c.rank());
  for (std::size_t axis = 0; axis < op.c.rank(); ++axis)
    require(op.b.shape.lens[axis] == 1 || op.b.shape.lens[axis] == op.c.lens[axis],
            miopenStatusBadParm, "length {} of B is {}, expected 1 or {}", axis,
            op.b.shape.lens[axis], op.c.lens[axis]);
  op.a.shape = at_least_2d(op.a.shape);
  op.b.shape = at_least_2d(op.b.shape);
  op.c = at_least_2d(op.c);
}

// C = alpha1 A + alpha2 B + beta C as a chain over A. A chain may write over its input, but not
// over what it adds, so B goes first if C is B.
void add(Handle& handle, TensorOp op) {
  if (op.b.data == op.data && op.a.data != op.data) std::swap(op.a, op.b);
  std::vector<std::string> ops;
  std::vector<OpArguments> arguments;
  if (op.b.data == op.data) {
    op.a.scale += op.b.scale;  // both are C
  } else {
    ops.push_back(fmt::format("add({})", text_of(op.b.shape)));
    arguments.push_back({.kind = OpKind::add, .pointers = {op.b.data}, .scalars = {op.b.scale}});
  }
  if (op.a.scale != 1 || ops.empty()) {
    ops.insert(ops.begin(), "activation(pasthru)");
    arguments.insert(arguments.begin(), {.alpha = op.a.scale});
  }
  arguments.back().beta = op.beta;
  handle.run({op.a.shape, ops, op.c}, op.a.data, op.data, arguments);
}

template <typename T>
void combine(Handle& handle, miopenTensorOp_t kind, const TensorOp& op) {
  Shape b = op.b.shape;
  for (std::size_t axis = 0; axis < b.rank(); ++axis)
    if (b.lens[axis] == 1) b.strides[axis] = 0;
  const auto* from_a = static_cast<const T*>(op.a.data);
  const auto* from_b = static_cast<const T*>(op.b.data);
  auto* to = static_cast<T*>(op.data);
  const Blend blend{1, op.beta};
  const auto count = static_cast<std::int64_t>(op.c.elements());
  run_loop(handle, count, count, [&](std::int64_t i) {
    const auto index = static_cast<std::size_t>(i);
    const float x = op.a.scale * from_a[offset_of(index, op.c.lens, op.a.shape.strides)];
    const float y = op.b.scale * from_b[offset_of(index, op.c.lens, b.strides)];
    const float value = kind == miopenTensorOpMul   ? x * y
                        : kind == miopenTensorOpMin ? (x < y ? x : y)
                                                    : (x > y ? x : y);
    blend.store(to[offset_of(index, op.c.lens, op.c.strides)], value);
  });
}

std::size_t element_size(miopenDataType_t type) {
  switch (type) {
    case miopenInt8:
    case miopenFloat8:
    case miopenBFloat8:
      return 1;
    case miopenHalf:
    case miopenBFloat16:
      return 2;
    case miopenFloat:
    case miopenInt32:
      return 4;
    default:
      return 8;
  }
}

}  // namespace

miopenStatus_t miopenActivationForward(miopenHandle_t handle,
                                       miopenActivationDescriptor_t activDesc, const void* alpha,
                                       miopenTensorDescriptor_t xDesc, const void* x,
                                       const void* beta, miopenTensorDescriptor_t yDesc, void* y) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Activation activation = activation_of(activDesc);
    const Chain chain{at_least_2d(shape_of(xDesc, "xDesc")),
                      {fmt::format("activation({})", activation_text(activation.mode))},
                      at_least_2d(shape_of(yDesc, "yDesc"))};
    const OpArguments arguments[] = {{.kind = OpKind::activation,
                                      .alpha = scalar(alpha, 1),
                                      .beta = scalar(beta, 0),
                                      .scalars = activation.parameters}};
    object->run(chain, required(x, "x"), required(y, "y"), arguments);
  });
}

miopenStatus_t miopenActivationBackward(miopenHandle_t handle,
                                        miopenActivationDescriptor_t activDesc, const void* alpha,
                                        miopenTensorDescriptor_t, const void*,
                                        miopenTensorDescriptor_t dyDesc, const void* dy,
                                        miopenTensorDescriptor_t xDesc, const void* x,
                                        const void* beta, miopenTensorDescriptor_t dxDesc,
                                        void* dx) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Activation activation = activation_of(activDesc);
    required(x, "x");
    required(dy, "dy");
    required(dx, "dx");
    OpArguments values{.alpha = scalar(alpha, 1), .beta = scalar(beta, 0)};
    const Shape output = at_least_2d(shape_of(dxDesc, "dxDesc")),
                source = at_least_2d(shape_of(xDesc, "xDesc"));
    if (activation.mode == miopenActivationPOWER && settings().quirks) {
      // b g v^(g - 1) without dy, 0 up to 1e-6: a forward power of x.
      const auto [a, b, g] = activation.parameters;
      values.alpha *= static_cast<float>(b * g);
      values.scalars = {a, b, g - 1};
      const OpArguments arguments[] = {values};
      return object->run({source, {"activation(truncated_power)"}, output}, x, dx, arguments);
    }
    const BackwardMode mode = backward_mode(activation.mode);
    values.kind = OpKind::activation_backward;
    values.pointers[1] = x;
    values.scalars = mode.scalars.value_or(activation.parameters);
    const OpArguments arguments[] = {values};
    object->run({at_least_2d(shape_of(dyDesc, "dyDesc")),
                 {fmt::format("activation_backward({},{})", mode.text, text_of(source))},
                 output},
                dy, dx, arguments);
  });
}

miopenStatus_t miopenOpTensor(miopenHandle_t handle, miopenTensorOp_t tensorOp, const void* alpha1,
                              miopenTensorDescriptor_t aDesc, const void* A, const void* alpha2,
                              miopenTensorDescriptor_t bDesc, const void* B, const void* beta,
                              miopenTensorDescriptor_t cDesc, void* C) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    TensorOp op{{shape_of(aDesc, "aDesc"), required(A, "A"), scalar(alpha1, 1)},
                {shape_of(bDesc, "bDesc"), required(B, "B"), scalar(alpha2, 1)},
                shape_of(cDesc, "cDesc"),
                required(C, "C"),
                scalar(beta, 0)};
    check_lengths(op);
    require(tensorOp >= miopenTensorOpAdd && tensorOp <= miopenTensorOpMax, miopenStatusBadParm,
            "{} is no tensor operation", static_cast<int>(tensorOp));
    if (tensorOp == miopenTensorOpAdd) return add(*object, std::move(op));
    require(op.a.shape.type == op.c.type, miopenStatusBadParm, "A and C are of different types");
    with_storage(op.c.type, [&]<typename T>(T*) { combine<T>(*object, tensorOp, op); });
  });
}

miopenStatus_t miopenSetTensor(miopenHandle_t handle, miopenTensorDescriptor_t yDesc, void* y,
                               const void* alpha) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Shape shape = shape_of(yDesc, "yDesc");
    const std::size_t size = element_size(shape.type);
    required(alpha, "alpha");
    auto* bytes = static_cast<char*>(required(y, "y"));
    const auto count = static_cast<std::int64_t>(shape.elements());
    run_loop(*object, count, count, [&](std::int64_t i) {
      std::memcpy(bytes + size * offset_of(static_cast<std::size_t>(i), shape.lens, shape.strides),
                  alpha, size);
    });
  });
}

miopenStatus_t miopenScaleTensor(miopenHandle_t handle, miopenTensorDescriptor_t yDesc, void* y,
                                 const void* alpha) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Shape shape = at_least_2d(shape_of(yDesc, "yDesc"));
    required(alpha, "alpha");
    const OpArguments arguments[] = {{.alpha = scalar_of(shape.type, alpha)}};
    object->run({shape, {"activation(pasthru)"}, shape}, required(y, "y"), y, arguments);
  });
}
