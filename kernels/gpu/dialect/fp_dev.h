// SPDX-License-Identifier: MIT
// What kernels may use besides plain C++, spelled once for each compiler: NVRTC, clang for AMD, and
// the host emulator, which puts test/emulator/fp_emulator.h in front.
#if defined(FP_EMULATOR)

#elif defined(__CUDACC__)

#define FP_FN static __device__ __forceinline__
#define FP_KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) name(const fp_args a)
// With at least so many blocks on a multiprocessor at once.
#define FP_KERNEL_BLOCKS(name, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const fp_args a)
#define FP_SHARED(name)                                     \
  extern __shared__ __align__(16) unsigned char fp_arena[]; \
  float* const name = reinterpret_cast<float*>(fp_arena)

FP_FN unsigned fp_thread() { return threadIdx.x; }
FP_FN unsigned fp_block() { return blockIdx.x; }
FP_FN void fp_barrier() { __syncthreads(); }
FP_FN float fp_shfl_xor(float value, int lanes) { return __shfl_xor_sync(~0u, value, lanes); }
FP_FN unsigned fp_mul_hi(unsigned a, unsigned b) { return __umulhi(a, b); }
FP_FN float fp_as_float(unsigned bits) { return __uint_as_float(bits); }
FP_FN unsigned fp_as_bits(float value) { return __float_as_uint(value); }
FP_FN float fp_half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
FP_FN unsigned short fp_float_to_half(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

#elif defined(__HIP__) || defined(__HIPCC_RTC__) || defined(__HIPCC__)

#if !defined(__HIPCC_RTC__)
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#endif
#define FP_FN static __device__ inline __attribute__((always_inline))
#define FP_KERNEL(name, threads)                                                            \
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, threads))) void name( \
      const fp_args a)
#define FP_KERNEL_BLOCKS(name, threads, blocks) FP_KERNEL(name, threads)
#define FP_SHARED(name)                                                    \
  extern __shared__ __attribute__((aligned(16))) unsigned char fp_arena[]; \
  float* const name = (float*)fp_arena

FP_FN unsigned fp_thread() { return __builtin_amdgcn_workitem_id_x(); }
FP_FN unsigned fp_block() { return __builtin_amdgcn_workgroup_id_x(); }
FP_FN void fp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
FP_FN float fp_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
FP_FN unsigned fp_as_bits(float value) { return __builtin_bit_cast(unsigned, value); }
FP_FN float fp_shfl_xor(float value, int lanes) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) ^ lanes;
  return fp_as_float(__builtin_amdgcn_ds_bpermute(lane << 2, fp_as_bits(value)));
}
FP_FN unsigned fp_mul_hi(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
FP_FN float fp_half_to_float(unsigned short bits) {
  return (float)__builtin_bit_cast(_Float16, bits);
}
FP_FN unsigned short fp_float_to_half(float value) {
  return __builtin_bit_cast(unsigned short, (_Float16)value);
}
#define fmaf __builtin_fmaf
#define sqrtf __builtin_sqrtf
#define fabsf __builtin_fabsf

#else
#error "kernels/gpu/dialect/fp_dev.h knows NVRTC, HIP compilers and the emulator"
#endif

// Hardware rounds to bf16, one value or two at a time. Done in integers, that takes longer than
// many a chain.
#if defined(__CUDA_ARCH__)
#define FP_CONVERTS_BF16 (__CUDA_ARCH__ >= 800)
#else
#define FP_CONVERTS_BF16 0
#endif

#define FP_UNROLL _Pragma("unroll")
#define FP_ONE_BY_ONE _Pragma("unroll 1")
#define FP_FOUR_BY_FOUR _Pragma("unroll 4")
#define FP_INFINITY fp_as_float(0x7f800000u)
#define FP_NAN fp_as_float(0x7fc00000u)

// Global memory. Only through these: the emulator checks every address.
struct alignas(16) fp_vec {
  unsigned w[4];
};
#if !defined(FP_EMULATOR)
template <typename T>
FP_FN T fp_get(const void* base, long long index) {
  return static_cast<const T*>(base)[index];
}
template <typename T>
FP_FN void fp_put(void* base, long long index, const T& value) {
  static_cast<T*>(base)[index] = value;
}
#endif

struct alignas(16) fp_float4 {
  float v[4];
};

// n / divisor for n < 2^31 (T. Granlund, P. Montgomery, "Division by invariant integers using
// multiplication", PLDI 1994).
struct fp_divisor {
  unsigned divisor, magic, shift, unused;
};
FP_FN unsigned fp_divide(unsigned n, const fp_divisor& by) {
  return (fp_mul_hi(n, by.magic) + n) >> by.shift;
}

// An opaque CUtensorMap, which the back end encodes into the kernel's arguments; see fp_hopper.h.
struct alignas(64) fp_tensor_map {
  unsigned long long opaque[16];
};

// Storage types, numbered as DType, and what stands for one value of them.
enum { FP_F16 = 0, FP_F32 = 1, FP_I8 = 3, FP_BF16 = 5, FP_U8 = 64 };

FP_FN unsigned fp_float_to_bf16(float value) {
#if FP_CONVERTS_BF16
  unsigned short narrow;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow) : "f"(value));
  return narrow;
#endif
  const unsigned bits = fp_as_bits(value);
  if (value != value) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
template <int type>
FP_FN float fp_widen(unsigned bits) {
  if constexpr (type == FP_F16) return fp_half_to_float((unsigned short)bits);
  return fp_as_float(type == FP_BF16 ? bits << 16 : bits);
}
template <int type>
FP_FN unsigned fp_narrow(float value) {
  if constexpr (type == FP_F16) return fp_float_to_half(value);
  return type == FP_BF16 ? fp_float_to_bf16(value) : fp_as_bits(value);
}

// Two values of a 16-bit type, the first one in the lower half.
template <int type>
FP_FN unsigned fp_narrow_two(float first, float second) {
#if FP_CONVERTS_BF16
  unsigned two;
  if constexpr (type == FP_BF16) {
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(two) : "f"(first), "f"(second));
    return two;
  } else if constexpr (type == FP_F16) {
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(two) : "f"(first), "f"(second));
    return two;
  }
#endif
  return fp_narrow<type>(first) | fp_narrow<type>(second) << 16;
}

template <int type>
FP_FN float fp_load(const void* base, long long index) {
  if constexpr (type == FP_F32) return fp_get<float>(base, index);
  if constexpr (type == FP_I8) return (float)fp_get<signed char>(base, index);
  if constexpr (type == FP_U8) return (float)fp_get<unsigned char>(base, index);
  return fp_widen<type>(fp_get<unsigned short>(base, index));
}
template <int type>
FP_FN void fp_store(void* base, long long index, float value) {
  if constexpr (type == FP_F32) {
    fp_put<float>(base, index, value);
  } else {
    fp_put<unsigned short>(base, index, (unsigned short)fp_narrow<type>(value));
  }
}

// The nearest place along an axis.
FP_FN unsigned fp_clamp(int at, unsigned length) {
  return at < 0 ? 0u : (unsigned)at < length ? (unsigned)at : length - 1;
}

// V neighbours, from an address that is a multiple of 16 bytes. V is 4, or 8, as for 16-bit types.
#define FP_EACH_OF(type) ((type) == FP_F32 ? 4 : 8)
template <int type, int V>
FP_FN void fp_get_wide(const void* base, long long index, fp_vec* words) {
  FP_UNROLL
  for (int part = 0; part < V / FP_EACH_OF(type); ++part)
    words[part] = fp_get<fp_vec>(base, index / FP_EACH_OF(type) + part);
}
template <int type, int V>
FP_FN void fp_widen_wide(const fp_vec* words, float* values) {
  constexpr int each = FP_EACH_OF(type);
  FP_UNROLL
  for (int i = 0; i < V; ++i) {
    const fp_vec& from = words[i / each];
    values[i] = type == FP_F32
                    ? fp_as_float(from.w[i % 4])
                    : fp_widen<type>((from.w[i % each / 2 % 4] >> (16 * (i % 2))) & 0xffffu);
  }
}
template <int type, int V>
FP_FN void fp_load_wide(const void* base, long long index, float* values) {
  fp_vec words[V / FP_EACH_OF(type)];
  fp_get_wide<type, V>(base, index, words);
  fp_widen_wide<type, V>(words, values);
}
template <int type, int V>
FP_FN void fp_store_wide(void* base, long long index, const float* values) {
  constexpr int each = FP_EACH_OF(type);
  FP_UNROLL
  for (int part = 0; part < V / each; ++part) {
    const float* from = values + part * each;
    fp_vec words;
    FP_UNROLL
    for (int w = 0; w < 4; ++w)
      words.w[w] = type == FP_F32
                       ? fp_as_bits(from[w])
                       : fp_narrow_two<type>(from[2 * w % each], from[(2 * w + 1) % each]);
    fp_put<fp_vec>(base, index / each + part, words);
  }
}
