// SPDX-License-Identifier: MIT
// What the threads of a warp do together, and copies that land later, for the host. Fragments are
// those of the PTX manual, "Matrix fragments for mma.m16n8k16" and "for mma.m16n8k8".
#pragma once

// A shared address is a number of bytes from the block's first one.
FP_FN unsigned fp_shared_at(const void* pointer) {
  return static_cast<unsigned>(static_cast<const char*>(pointer) -
                               reinterpret_cast<const char*>(fp_now->shared));
}
FP_FN char* fp_shared_memory(unsigned address, unsigned bytes) {
  if (address % bytes != 0) fp_now->fault(fp_now, "a misaligned shared address", address, bytes);
  if (address > fp_now->shared_bytes || fp_now->shared_bytes - address < bytes)
    fp_now->fault(fp_now, "an address outside shared memory", address, bytes);
  return reinterpret_cast<char*>(fp_now->shared) + address;
}

// The call's line tells threads that meet in different places apart.
#define FP_HERE int line = __builtin_LINE()

struct fp_shuffle_part {
  float value;
  unsigned from;
  float result;
};
FP_FN float fp_shuffle(float value, unsigned from, int line) {
  fp_shuffle_part mine = {value, from, 0.0f};
  const auto act = [](fp_machine* m, void* const* given, unsigned count) {
    const auto part = [&](unsigned lane) { return static_cast<fp_shuffle_part*>(given[lane]); };
    for (unsigned i = 0; i < count; ++i) {
      if (part(i)->from >= count) m->fault(m, "a shuffle from a lane that is not there", i, 4);
      part(i)->result = part(part(i)->from)->value;
    }
  };
  fp_now->meet(fp_now, line, 32, act, &mine);
  return mine.result;
}
FP_FN float fp_shfl_xor(float value, int lanes, FP_HERE) {
  return fp_shuffle(value, fp_thread() % 32 ^ static_cast<unsigned>(lanes), line);
}
FP_FN void fp_warp_barrier(FP_HERE) {
  fp_now->meet(
      fp_now, line, 32, [](fp_machine*, void* const*, unsigned) {}, nullptr);
}

struct fp_vec;
FP_FN void fp_st16(unsigned to, const fp_vec& words) {
  memcpy(fp_shared_memory(to, 16), static_cast<const void*>(&words), 16);
}
FP_FN void fp_cp16(unsigned to, const void* from, bool there) {
  fp_shared_memory(to, 16);
  if (there) fp_check(from, 16, 16, "a copy from outside all memory", "a misaligned copy");
  fp_now->copy(fp_now, to, from, there ? 16 : 0);
}
FP_FN void fp_cp_commit() { fp_now->copy_commit(fp_now); }
template <int groups>
FP_FN void fp_cp_wait() {
  fp_now->copy_wait(fp_now, groups);
}

struct fp_matrices {
  const char* row;
  unsigned (*to)[4];
};
template <bool trans>
FP_FN void fp_load_matrices(fp_machine*, void* const* given, unsigned) {
  const auto lane = [&](unsigned l) { return static_cast<const fp_matrices*>(given[l]); };
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    for (unsigned l = 0; l < 32; ++l) {
      unsigned short pair[2];
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = trans ? l % 4 * 2 + i : l / 4, column = trans ? l / 4 : l % 4 * 2 + i;
        memcpy(&pair[i], lane(matrix * 8 + row)->row + 2 * column, 2);
      }
      (*lane(l)->to)[matrix] = pair[0] | static_cast<unsigned>(pair[1]) << 16;
    }
}
FP_FN void fp_ldsm4(unsigned (&to)[4], unsigned address, FP_HERE) {
  fp_matrices mine = {fp_shared_memory(address, 16), &to};
  fp_now->meet(fp_now, line, 32, fp_load_matrices<false>, &mine);
}
FP_FN void fp_ldsm4_trans(unsigned (&to)[4], unsigned address, FP_HERE) {
  fp_matrices mine = {fp_shared_memory(address, 16), &to};
  fp_now->meet(fp_now, line, 32, fp_load_matrices<true>, &mine);
}

// As FP_F16 and so on: the dialect's header comes later.
enum { fp_f16 = 0, fp_tf32 = 1 };
FP_FN unsigned fp_to_tf32(unsigned bits) {
  return (bits >> 23 & 255) == 255 ? bits : (bits + 0x1000u) & ~0x1fffu;
}

struct fp_product {
  const unsigned* a;
  const unsigned* b;
  float* sums;
};
// One value of a fragment: `index` counts values, of which a register holds one or two.
template <int type>
FP_FN float fp_fragment_value(const unsigned* fragment, int index) {
  if constexpr (type == fp_tf32) return fp_as_float(fragment[index] & ~0x1fffu);
  const unsigned bits = fragment[index / 2] >> (index % 2 * 16) & 0xffffu;
  return type == fp_f16 ? fp_half_to_float(static_cast<unsigned short>(bits))
                        : fp_as_float(bits << 16);
}
// Depth is 16 in steps of pairs for 16-bit types and 8 in single steps for tf32.
template <int type>
FP_FN void fp_multiply_fragments(fp_machine*, void* const* given, unsigned) {
  constexpr int each = type == fp_tf32 ? 1 : 2;
  float a[16][8 * each], b[8 * each][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& part = *static_cast<const fp_product*>(given[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4 * each; ++i)
      a[g + 8 * (i / each % 2)][each * t + i % each + 4 * each * (i / each / 2)] =
          fp_fragment_value<type>(part.a, i);
    for (int i = 0; i < 2 * each; ++i)
      b[each * t + i % each + 4 * each * (i / each)][g] = fp_fragment_value<type>(part.b, i);
  }
  for (int lane = 0; lane < 32; ++lane) {
    float* sums = static_cast<const fp_product*>(given[lane])->sums;
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 8 * each; ++k)
        sums[i] = fmaf(a[lane / 4 + 8 * (i / 2)][k], b[k][lane % 4 * 2 + i % 2], sums[i]);
  }
}
template <int type>
FP_FN void fp_mma(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, FP_HERE) {
  const unsigned b[2] = {b0, b1};
  fp_product mine = {a, b, sums};
  fp_now->meet(fp_now, line, 32, fp_multiply_fragments<type>, &mine);
}
