// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/separable.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/containers.hpp"
#include "base/status.hpp"

namespace fuseplan::cpu {
namespace {

using VectorAccess = std::function<void(int index, const Vec& v)>;

using TakeInput = std::function<int(int index)>;

/// Emits one LinearMap. Values are taken when they are first needed and give their register back
/// after their last use.
class MapCode {
 public:
  MapCode(VectorCode& code, const LinearMap& map, TakeInput take, VectorAccess store)
      : code_(code), map_(map), take_(std::move(take)), store_(std::move(store)) {
    const std::size_t values = static_cast<std::size_t>(map.inputs) + map.steps.size();
    registers_.assign(values, kNone);
    last_use_.assign(values, 0);
    for (std::size_t s = 0; s < map.steps.size(); ++s)
      for (const LinearMap::Term& term : map.steps[s].terms)
        last_use_[static_cast<std::size_t>(term.value)] = s;
  }

  void emit() {
    for (std::size_t s = 0; s < map_.steps.size(); ++s) emit_step(s);
  }

 private:
  static constexpr int kNone = -1;

  Vec value(int number) {
    int& index = registers_[static_cast<std::size_t>(number)];
    if (index == kNone) index = take_(number);
    return code_.vec(index);
  }

  void release(int number) {
    int& index = registers_[static_cast<std::size_t>(number)];
    if (index != kNone) code_.vectors().give(index);
    index = kNone;
  }

  void add(const Vec& d, const Vec& a, const Vec& b, float factor) {
    if (factor == 1) {
      code_.vaddps(d, a, b);
    } else {
      code_.vsubps(d, a, b);
    }
  }

  /// The step's sum, in a register of its own.
  int sum(std::size_t s) {
    const auto& terms = map_.steps[s].terms;
    const Vec first = value(terms[0].value);
    const int index = code_.vectors().take();
    const Vec d = code_.vec(index);
    std::size_t next = 1;
    if (terms[0].factor != 1) {
      code_.vmulps(d, first, code_.constant(terms[0].factor));
    } else if (terms.size() > 1 && std::fabs(terms[1].factor) == 1) {
      add(d, first, value(terms[1].value), terms[1].factor);
      next = 2;
    } else {
      code_.vmovaps(d, first);
    }
    for (; next < terms.size(); ++next) {
      const auto [number, factor] = terms[next];
      if (std::fabs(factor) == 1) {
        add(d, d, value(number), factor);
      } else {
        code_.vfmadd231ps(d, value(number), code_.constant(factor));
      }
    }
    return index;
  }

  void emit_step(std::size_t s) {
    const LinearMap::Step& step = map_.steps[s];
    if (step.terms.size() == 1 && step.terms[0].factor == 1) {
      store_(step.output, value(step.terms[0].value));
    } else {
      const int index = sum(s);
      registers_[static_cast<std::size_t>(map_.inputs) + s] = index;
      if (step.output >= 0) {
        store_(step.output, code_.vec(index));
        release(map_.inputs + static_cast<int>(s));
      }
    }
    for (const LinearMap::Term& term : step.terms)
      if (last_use_[static_cast<std::size_t>(term.value)] == s) release(term.value);
  }

  VectorCode& code_;
  const LinearMap& map_;
  TakeInput take_;
  VectorAccess store_;
  std::vector<int> registers_;
  std::vector<std::size_t> last_use_;
};

/// Inputs that a walk loads, each into a register of its own.
TakeInput loaded(VectorCode& code, const VectorAccess& load) {
  return [&code, load](int index) {
    const int taken = code.vectors().take();
    load(index, code.vec(taken));
    return taken;
  };
}

/// Emits `body` for `count` turns of a loop.
void emit_turns(VectorCode& code, int count, const std::function<void()>& body) {
  Xbyak::Label turn;
  code.mov(code.r13d, count);
  code.L(turn);
  body();
  code.dec(code.r13d);
  code.jnz(turn);
}

}  // namespace

void keep_factors(VectorCode& code, const LinearMap& vertical, const LinearMap& horizontal) {
  // A map has up to 12 values at once, and 16 registers leave little.
  constexpr std::size_t kMost = 18;
  if (!code.is_avx512()) return;
  SmallVector<std::uint32_t, 48> factors;
  for (const LinearMap* map : {&vertical, &horizontal})
    for (const LinearMap::Step& step : map->steps)
      for (const LinearMap::Term& term : step.terms)
        if (std::fabs(term.factor) != 1)
          factors.push_back(std::bit_cast<std::uint32_t>(term.factor));
  std::ranges::sort(factors);
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  factors.resize(std::min(factors.size(), kMost));
  for (const std::uint32_t factor : factors) code.hoist(factor);
}

void emit_map(VectorCode& code, const LinearMap& map, const TakeInput& take,
              const VectorAccess& store) {
  MapCode(code, map, take, store).emit();
}

void emit_separable(VectorCode& code, const LinearMap& vertical, const LinearMap& horizontal,
                    const MatrixWalk& load_columns, const MatrixWalk& store_rows) {
  const Xbyak::Reg64 at = code.r12;
  const int columns = horizontal.inputs, row_bytes = columns * code.bytes();
  std::vector<int> slots;
  for (int i = 0; i < vertical.outputs * columns; ++i) slots.push_back(code.take_slot());
  require(slots.back() - slots.front() + 1 == std::ssize(slots), Status::InternalError,
          "a matrix needs neighbouring slots");
  code.lea(at, code.slot(slots.front()));
  emit_turns(code, columns, [&] {
    MapCode(code, vertical, loaded(code, load_columns.move), [&](int row, const Vec& v) {
      code.vmovaps(code.ptr[at + row * row_bytes], v);
    }).emit();
    load_columns.next();
    code.add(at, code.bytes());
  });
  code.lea(at, code.slot(slots.front()));
  emit_turns(code, vertical.outputs, [&] {
    const auto load = [&](int column, const Vec& v) {
      code.vmovaps(v, code.ptr[at + column * code.bytes()]);
    };
    MapCode(code, horizontal, loaded(code, load), store_rows.move).emit();
    store_rows.next();
    code.add(at, row_bytes);
  });
  // Backwards, so that the next to take them gets them in order again.
  for (auto index = slots.rbegin(); index != slots.rend(); ++index) code.give_slot(*index);
}

}  // namespace fuseplan::cpu
