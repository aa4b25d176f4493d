// Small kernels that bring out many opcodes in many forms: what the tables of compiler/sass were
// placed by. `observe.py` compiles them for each target and writes instructions.txt from the words
// and nvdisasm's text. Nothing here is ever run.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>

__constant__ int constants[1024];

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define KERNEL(name) extern "C" __global__ void PASTE(name, __LINE__)

// One PTX statement over three inputs of type T (constraint C): from registers, from the constant
// bank (parameters), from uniform registers, with immediates.
#define OP(T, C, PTX)                                                                     \
  KERNEL(registers_)(T * p) {                                                             \
    T x = p[threadIdx.x], y = p[threadIdx.x + 32], z = p[threadIdx.x + 64], r;            \
    asm volatile("{" PTX ";}" : "=" C(r) : C(x), C(y), C(z));                             \
    p[threadIdx.x] = r;                                                                   \
  }                                                                                       \
  KERNEL(parameters_)(T * p, T x, T y, T z) {                                             \
    T r, s, t, v = p[threadIdx.x], w = p[threadIdx.x + 32];                               \
    asm volatile("{" PTX ";}" : "=" C(r) : C(v), C(y), C(w));                             \
    asm volatile("{" PTX ";}" : "=" C(s) : C(x), C(v), C(w));                             \
    asm volatile("{" PTX ";}" : "=" C(t) : C(v), C(w), C(z));                             \
    p[threadIdx.x] = r;                                                                   \
    p[threadIdx.x + 64] = s;                                                              \
    p[threadIdx.x + 96] = t;                                                              \
  }                                                                                       \
  KERNEL(uniform_)(T * p) {                                                               \
    const T* c = reinterpret_cast<const T*>(constants);                                   \
    T x = c[blockIdx.x], y = c[blockIdx.x + 9], z = c[5], r, s, t, u;                     \
    T v = p[threadIdx.x], w = p[threadIdx.x + 32];                                        \
    asm volatile("{" PTX ";}" : "=" C(r) : C(x), C(y), C(z));                             \
    asm volatile("{" PTX ";}" : "=" C(s) : C(v), C(x), C(w));                             \
    asm volatile("{" PTX ";}" : "=" C(t) : C(v), C(w), C(x));                             \
    asm volatile("{" PTX ";}" : "=" C(u) : C(x), C(v), C(w));                             \
    p[blockIdx.x] = r;                                                                    \
    p[threadIdx.x] = s;                                                                   \
    p[threadIdx.x + 64] = t;                                                              \
    p[threadIdx.x + 96] = u;                                                              \
  }                                                                                       \
  KERNEL(block_)(T * p) {                                                                 \
    const T* c = reinterpret_cast<const T*>(constants);                                   \
    T x = c[0] + (T)blockIdx.x, y = c[blockIdx.x], z = c[2], r;                           \
    asm volatile("{" PTX ";}" : "=" C(r) : C(x), C(y), C(z));                             \
    p[blockIdx.x] = r;                                                                    \
  }

// The same with immediates for inputs 1, 2 and 3 in turn.
#define OPI(T, C, PTX, A, B)                                                              \
  OP(T, C, PTX)                                                                           \
  KERNEL(immediates_)(T * p) {                                                            \
    T v = p[threadIdx.x], w = p[threadIdx.x + 32], r, s, t;                               \
    asm volatile("{" PTX ";}" : "=" C(r) : C((T)(A)), C(v), C(w));                        \
    asm volatile("{" PTX ";}" : "=" C(s) : C(v), C((T)(B)), C(w));                        \
    asm volatile("{" PTX ";}" : "=" C(t) : C(v), C(w), C((T)(B)));                        \
    p[threadIdx.x] = r;                                                                   \
    p[threadIdx.x + 64] = s;                                                              \
    p[threadIdx.x + 96] = t;                                                              \
  }

// Integers.
OPI(int, "r", "add.s32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "sub.s32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "mul.lo.s32 %0,%1,%2", 77, 1234567)
OP(int, "r", "mul.lo.s32 %0,%1,1057")
OP(int, "r", "mad.lo.s32 %0,%1,1057,%3")
OPI(int, "r", "mul.hi.s32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "mul.hi.u32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "mad.lo.s32 %0,%1,%2,%3", 77, 1234567)
OPI(int, "r", "mad.hi.s32 %0,%1,%2,%3", 77, 1234567)
OPI(int, "r", "min.s32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "max.u32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "and.b32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "xor.b32 %0,%1,%2", 77, 1234567)
OPI(int, "r", "not.b32 %0,%1", 77, 1234567)
OPI(int, "r", "lop3.b32 %0,%1,%2,%3,0x3f", 77, 1234567)
OPI(int, "r", "shl.b32 %0,%1,%2", 77, 5)
OPI(int, "r", "shr.u32 %0,%1,%2", 77, 5)
OPI(int, "r", "shr.s32 %0,%1,%2", 77, 5)
OPI(int, "r", "shf.l.wrap.b32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", "shf.r.clamp.b32 %0,%1,%2,%3", 77, 5)
OP(int, "r", "popc.b32 %0,%1")
OP(int, "r", "clz.b32 %0,%1")
OP(int, "r", "brev.b32 %0,%1")
OP(int, "r", "bfind.u32 %0,%1")
OPI(int, "r", "bfe.u32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", "bfe.s32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", "bfi.b32 %0,%1,%2,%3,%3", 77, 5)
OPI(int, "r", "prmt.b32 %0,%1,%2,%3", 77, 0x5410)
OP(int, "r", "abs.s32 %0,%1")
OP(int, "r", "neg.s32 %0,%1")
OPI(int, "r", "sad.u32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", "sad.s32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", "dp4a.s32.s32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", "dp2a.lo.s32.s32 %0,%1,%2,%3", 77, 5)
OP(int, "r", "vabsdiff4.u32.u32.u32.add %0,%1,%2,%3")
OP(int, "r", "vset4.u32.u32.eq %0,%1,%2,%3")
OP(int, "r", "vadd2.u32.u32.u32 %0,%1,%2,%3")
OPI(int, "r", "slct.s32.s32 %0,%1,%2,%3", 77, 5)
OPI(int, "r", ".reg .pred a; setp.lt.s32 a,%1,%2; selp.b32 %0,%2,%3,a", 77, 5)
OP(int, "r", "cnot.b32 %0,%1")
OPI(int, "r", "rem.u32 %0,%1,%2", 77, 5)
OPI(int, "r", "div.s32 %0,%1,%2", 77, 5)
OPI(int, "r", "szext.clamp.s32 %0,%1,%2", 77, 5)
OPI(int, "r", "bmsk.clamp.b32 %0,%1,%2", 77, 5)
OP(int, "r", "fns.b32 %0,%1,%2,%3")
OP(int, "r", ".reg .b32 t; add.cc.u32 t,%1,%2; addc.u32 %0,t,%3")
OP(int, "r", ".reg .b32 t; sub.cc.u32 t,%1,%2; subc.u32 %0,t,%3")
OP(int, "r", ".reg .b32 t; mad.lo.cc.u32 t,%1,%2,%3; madc.hi.u32 %0,%1,%2,t")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
OP(int, "r", "min.s16x2 %0,%1,%2")
OP(int, "r", "add.s16x2 %0,%1,%2")
OP(int, "r", "max.u16x2 %0,%1,%2")
#endif
OPI(long long, "l", "add.s64 %0,%1,%2", 77, 1234567890123)
OPI(long long, "l", "mul.lo.s64 %0,%1,%2", 77, 1234567890123)
OP(long long, "l", "mul.hi.s64 %0,%1,%2")
OP(long long, "l", "mad.lo.s64 %0,%1,%2,%3")
OP(long long, "l", "shl.b64 %0,%1,3")
OP(long long, "l", "shr.s64 %0,%1,5")
OPI(long long, "l", "min.s64 %0,%1,%2", 77, 1234567890123)
OP(long long, "l", "and.b64 %0,%1,%2")
OP(long long, "l", "rem.u64 %0,%1,%2")

// Floating point.
OPI(float, "f", "add.f32 %0,%1,%2", 1.25, 3.3)
OP(float, "f", "sub.rz.f32 %0,%1,%2")
OPI(float, "f", "mul.f32 %0,%1,%2", 1.25, 3.3)
OPI(float, "f", "fma.rn.f32 %0,%1,%2,%3", 1.25, 3.3)
OP(float, "f", "fma.rn.sat.f32 %0,%1,%2,%3")
OP(float, "f", "fma.rn.ftz.f32 %0,%1,%2,%3")
OPI(float, "f", "min.f32 %0,%1,%2", 1.25, 3.3)
OP(float, "f", "max.NaN.f32 %0,%1,%2")
OP(float, "f", "abs.f32 %0,%1")
OP(float, "f", "neg.f32 %0,%1")
OP(float, "f", "rcp.approx.f32 %0,%1")
OP(float, "f", "rcp.rn.f32 %0,%1")
OP(float, "f", "sqrt.approx.f32 %0,%1")
OP(float, "f", "sqrt.rn.f32 %0,%1")
OP(float, "f", "rsqrt.approx.f32 %0,%1")
OP(float, "f", "ex2.approx.f32 %0,%1")
OP(float, "f", "lg2.approx.f32 %0,%1")
OP(float, "f", "sin.approx.f32 %0,%1")
OP(float, "f", "tanh.approx.f32 %0,%1")
OP(float, "f", "div.rn.f32 %0,%1,%2")
OP(float, "f", "div.full.f32 %0,%1,%2")
OP(float, "f", "cvt.rni.f32.f32 %0,%1")
OP(float, "f", "copysign.f32 %0,%1,%2")
OPI(float, "f", "slct.f32.f32 %0,%1,%2,%3", 1.25, 3.3)
OPI(float, "f", "set.gt.f32.f32 %0,%1,%2", 1.25, 3.3)
OPI(float, "f", ".reg .pred a; setp.lt.f32 a,%1,%2; selp.f32 %0,%2,%3,a", 1.25, 3.3)
OPI(double, "d", "add.f64 %0,%1,%2", 1.25, 3.3)
OPI(double, "d", "mul.f64 %0,%1,%2", 1.25, 3.3)
OPI(double, "d", "fma.rn.f64 %0,%1,%2,%3", 1.25, 3.3)
OPI(double, "d", ".reg .pred a; setp.lt.f64 a,%1,%2; selp.f64 %0,%2,%3,a", 1.25, 3.3)
OP(double, "d", "min.f64 %0,%1,%2")
OP(double, "d", "rcp.rn.f64 %0,%1")
OP(double, "d", "sqrt.rn.f64 %0,%1")
OP(double, "d", "div.rn.f64 %0,%1,%2")
OP(double, "d", "cvt.rni.f64.f64 %0,%1")
OP(int, "r", "add.f16x2 %0,%1,%2")
OP(int, "r", "mul.f16x2 %0,%1,%2")
OPI(int, "r", "fma.rn.f16x2 %0,%1,%2,%3", 0x3c003c00, 0x42003c00)
OP(int, "r", "fma.rn.relu.f16x2 %0,%1,%2,%3")
OP(int, "r", "fma.rn.bf16x2 %0,%1,%2,%3")
OP(int, "r", "min.f16x2 %0,%1,%2")
OP(int, "r", "max.bf16x2 %0,%1,%2")
OP(int, "r", "ex2.approx.f16x2 %0,%1")
OP(int, "r", "neg.f16x2 %0,%1")
OP(int, "r", "set.gt.f16x2.f16x2 %0,%1,%2")
OP(int, "r", ".reg .pred a, b; setp.lt.f16x2 a|b,%1,%2; selp.b32 %0,%2,%3,b")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 1000
OP(long long, "l", "fma.rn.f32x2 %0,%1,%2,%3")
OP(long long, "l", "add.rn.f32x2 %0,%1,%2")
OP(long long, "l", "mul.rn.f32x2 %0,%1,%2")
OP(float, "f", "max.f32 %0,%1,%2,%3")
#endif

// Conversions, from a parameter, a register and a uniform register.
#define CONVERT(TO, CTO, FROM, CFROM, PTX)                                                \
  KERNEL(convert_)(TO * p, const FROM* q, FROM x) {                                       \
    TO r, s, t;                                                                           \
    asm volatile(PTX " %0,%1;" : "=" CTO(r) : CFROM(q[threadIdx.x]));                     \
    asm volatile(PTX " %0,%1;" : "=" CTO(s) : CFROM(x));                                  \
    asm volatile(PTX " %0,%1;"                                                            \
                 : "=" CTO(t)                                                             \
                 : CFROM(reinterpret_cast<const FROM*>(constants)[blockIdx.x]));          \
    p[threadIdx.x] = r;                                                                   \
    p[threadIdx.x + 32] = s;                                                              \
    p[threadIdx.x + 64] = t;                                                              \
  }
CONVERT(int, "r", float, "f", "cvt.rzi.s32.f32")
CONVERT(int, "r", float, "f", "cvt.rzi.u32.f32")
CONVERT(long long, "l", float, "f", "cvt.rzi.s64.f32")
CONVERT(int, "r", double, "d", "cvt.rzi.s32.f64")
CONVERT(long long, "l", double, "d", "cvt.rzi.s64.f64")
CONVERT(float, "f", int, "r", "cvt.rn.f32.s32")
CONVERT(float, "f", int, "r", "cvt.rn.f32.u32")
CONVERT(double, "d", int, "r", "cvt.rn.f64.s32")
CONVERT(double, "d", long long, "l", "cvt.rn.f64.u64")
CONVERT(float, "f", long long, "l", "cvt.rn.f32.s64")
CONVERT(float, "f", double, "d", "cvt.rn.f32.f64")
CONVERT(double, "d", float, "f", "cvt.f64.f32")
CONVERT(short, "h", float, "f", "cvt.rn.f16.f32")
CONVERT(float, "f", short, "h", "cvt.f32.f16")
CONVERT(short, "h", float, "f", "cvt.rzi.s16.f32")
CONVERT(int, "r", float, "f", "cvt.rzi.u8.f32")
CONVERT(float, "f", int, "r", "cvt.rn.f32.u8")
CONVERT(float, "f", short, "h", "cvt.rn.f32.u16")
CONVERT(int, "r", short, "h", "cvt.rzi.s32.f16")
CONVERT(int, "r", float, "f", "cvt.rna.tf32.f32")
KERNEL(pack_)(int* p, const float* q) {
  asm volatile("cvt.rn.f16x2.f32 %0,%1,%2;" : "=r"(p[0]) : "f"(q[0]), "f"(q[1]));
  asm volatile("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(p[1]) : "f"(q[0]), "f"(q[1]));
}

// Memory: every width, in every space.
#define ACCESS(T)                                                                         \
  KERNEL(global_)(T * p) { p[threadIdx.x] = p[threadIdx.x + 999]; }                       \
  KERNEL(shared_)(T * p) {                                                                \
    __shared__ T s[1024];                                                                 \
    s[threadIdx.x] = p[threadIdx.x];                                                      \
    __syncthreads();                                                                      \
    p[threadIdx.x] = s[threadIdx.x ^ 7];                                                  \
    p[blockIdx.x] = s[blockIdx.x];                                                        \
    s[blockIdx.x + 3] = p[threadIdx.x + 9];                                               \
    __syncthreads();                                                                      \
    p[threadIdx.x + 64] = s[threadIdx.x ^ 9];                                             \
  }                                                                                       \
  KERNEL(local_)(T * p, int at) {                                                         \
    T s[64];                                                                              \
    for (int i = 0; i < 64; i++) s[i] = p[i];                                             \
    p[threadIdx.x] = s[at & 63];                                                          \
  }                                                                                       \
  KERNEL(read_only_)(T * p, const T* __restrict__ q) { p[threadIdx.x] = q[threadIdx.x]; } \
  KERNEL(constant_)(T * p) {                                                              \
    p[threadIdx.x] = reinterpret_cast<const T*>(constants)[threadIdx.x];                  \
  }                                                                                       \
  KERNEL(generic_)(T * p, int either) {                                                   \
    __shared__ T s[1024];                                                                 \
    T* to = either ? s : p;                                                               \
    to[threadIdx.x] = to[threadIdx.x + 7];                                                \
    __syncthreads();                                                                      \
    p[0] = s[3];                                                                          \
  }
ACCESS(unsigned char)
ACCESS(signed char)
ACCESS(unsigned short)
ACCESS(short)
ACCESS(int)
ACCESS(int2)
ACCESS(int4)

KERNEL(async_)(int* p) {
  __shared__ int4 s[99];
  const auto at = static_cast<int>(__cvta_generic_to_shared(s + threadIdx.x));
  asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"(at), "l"(p));
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(at + 16), "l"(p + 88));
  asm volatile("cp.async.ca.shared.global [%0],[%1],8,%2;" ::"r"(at), "l"(p + 88), "r"(p[3]));
  asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(at), "l"(p), "r"(p[3]));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;");
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  p[threadIdx.x] = s[p[0]].x;
}

KERNEL(matrix_)(int* p) {
  __shared__ int4 s[99];
  int a, b, c, d;
  s[threadIdx.x] = reinterpret_cast<int4*>(p)[threadIdx.x];
  __syncthreads();
  const auto at = static_cast<int>(__cvta_generic_to_shared(s + threadIdx.x));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(at));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%0,%1,%2,%3},{%0,%1},"
      "{%0,%1,%2,%3};"
      : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%0,%1,%2,%3},{%0,%1},"
      "{%0,%1,%2,%3};"
      : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%0,%1,%2,%3},{%0,%1},"
      "{%0,%1,%2,%3};"
      : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  p[threadIdx.x] = a + b + c + d;
  double x = a, y = b;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
               : "+d"(x), "+d"(y)
               : "d"(x), "d"(y));
  p[threadIdx.x + 32] = x + y;
}

// Barriers, fences, votes, shuffles, atomics.
KERNEL(barriers_)(int* p) {
  asm volatile("bar.sync 0;");
  asm volatile("bar.arrive 1,64;");
  asm volatile("bar.sync %0,64;" ::"r"(p[3]));
  asm volatile("{.reg .pred a; setp.ne.s32 a,%1,0; bar.red.popc.u32 %0,1,a;}"
               : "=r"(p[0])
               : "r"(p[3]));
  asm volatile("membar.gl; membar.sys; membar.cta; fence.sc.cta;");
  asm volatile("nanosleep.u32 100;");
  asm volatile("nanosleep.u32 %0;" ::"r"(p[0]));
  asm volatile("pmevent 3;");
  p[0] = clock();
  *reinterpret_cast<long long*>(p + 2) = clock64();
}
KERNEL(votes_)(int* p, int mask) {
  const int x = p[threadIdx.x];
  int all;
  p[0] = __shfl_sync(~0, x, 3);
  p[1] = __shfl_xor_sync(~0, x, p[7]);
  p[2] = __shfl_down_sync(mask, x, p[7], 16);
  asm volatile("shfl.sync.bfly.b32 %0,%1,%2,%3,0xffffffff;"
               : "=r"(p[3])
               : "r"(x), "r"(p[8]), "r"(p[9]));
  asm volatile("shfl.sync.bfly.b32 %0,%1,1,%2,0xffffffff;" : "=r"(p[4]) : "r"(x), "r"(p[9]));
  p[5] = __ballot_sync(~0, x > 3) + __any_sync(~0, x > 4) + __all_sync(mask, x > 5);
  p[6] = __match_any_sync(~0, x) + __match_all_sync(~0, x, &all) + all;
  p[7] = __reduce_add_sync(~0, x) + __reduce_max_sync(~0, x) + __popc(__activemask());
  __syncwarp(mask);
  p[8] = 1;
}
KERNEL(atomics_)(int* p) {
  __shared__ int s[99];
  s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(p, p[3]);
  p[threadIdx.x] = atomicAdd(p, p[3]) + atomicCAS(p, p[3], p[4]) + atomicExch(p, p[3]);
  atomicAdd(reinterpret_cast<float*>(p), 1.f);
  p[5] = atomicMax(p + 4, p[3]) + atomicAdd(s, p[3]) + atomicCAS(s + 1, p[3], p[4]);
  __syncthreads();
  p[6] = s[p[4]];
}

// Control flow, calls, libraries.
__device__ __noinline__ int callee(int a, int b) { return a * b / (a + 3) + b; }
KERNEL(call_)(int* p) { p[threadIdx.x] = callee(p[3], p[4]); }
KERNEL(loops_)(int* p, float* q) {
  for (int i = 0; i < p[threadIdx.x]; i++) {
    if (p[i] & 1) {
      p[i * 3 + threadIdx.x] = 4;
      if (p[i + 3] > 9) break;
    } else {
      q[i] *= 3;
    }
  }
}
KERNEL(strides_)(int* p, float* q, int n, int d, int e) {
  for (int i = blockIdx.x; i < n; i += gridDim.x) {
    p[i] = i / d;
    if (i % e) p[i + 1] = constants[i];
    q[i] = i * d;
  }
}
KERNEL(switch_)(int* p, float* q) {
  switch (p[threadIdx.x]) {
    case 0: p[1] = 3; break;
    case 1: p[2] = q[0]; break;
    case 2: p[3] /= 7; break;
    case 3: p[4] = p[0] * p[1]; break;
    case 4: atomicAdd(p, 3); break;
    case 5: p[9] = p[8] % p[7]; break;
    case 6: q[3] = sinf(q[4]); break;
    case 7: p[1] = 8; break;
    case 8: q[9] = sqrtf(q[3]);
  }
}
KERNEL(functions_)(float* q) {
  q[threadIdx.x] = sinf(q[threadIdx.x]) + expf(q[1]) * powf(q[0], q[3]) + tanf(q[1]) + erff(q[6]);
}
KERNEL(double_functions_)(double* d) {
  d[threadIdx.x] = sin(d[threadIdx.x]) + exp(d[1]) * pow(d[0], d[3]);
}
KERNEL(stack_)(int* p) {
  void* x = alloca(p[0]);
  memset(x, 0, p[0]);
  p[1] = static_cast<int*>(x)[p[2]];
}
KERNEL(print_)(int* p) { printf("%d", p[0]); }
KERNEL(trap_)(int* p) {
  if (p[0]) asm volatile("trap;");
  if (p[1]) asm volatile("brkpt;");
  if (p[2]) asm volatile("exit;");
  p[3] = 1;
}

KERNEL(extend_)(int* p) {
  asm volatile("szext.clamp.s32 %0,%1,%2;"
               : "=r"(p[threadIdx.x])
               : "r"(p[threadIdx.x + 3]), "r"(constants[blockIdx.x]));
}
KERNEL(mask_)(int* p) {
  asm volatile("bmsk.clamp.b32 %0,%1,%2;"
               : "=r"(p[threadIdx.x])
               : "r"(p[threadIdx.x + 3]), "r"(constants[blockIdx.x]));
}
KERNEL(vector_functions_)(int* p) {
  p[threadIdx.x] = __byte_perm(p[3], p[4], p[5]) + __vadd4(p[6], p[7]) + __vmaxs2(p[8], p[9]) +
                   __vabsdiffs4(p[10], p[11]) + __viaddmax_s32(p[3], p[4], p[5]) +
                   __vimax3_s32(p[6], p[7], p[8]) + __viaddmin_s32(p[3], constants[blockIdx.x], p[7]);
}
KERNEL(shared_atomics_)(int* p) {
  __shared__ int s[99];
  s[threadIdx.x] = 0;
  __syncthreads();
  p[0] = atomicAdd(s, p[3]);
  atomicAdd(reinterpret_cast<float*>(s) + 3, 2.f);
  p[2] = atomicOr(s + p[9], 3);
  __syncthreads();
  p[5] = s[p[4]];
}
KERNEL(ring_)(float* q, int k) {
  __shared__ float s[3 * 1056];
  s[threadIdx.x] = q[threadIdx.x];
  __syncthreads();
  int stage = 0;
  float a = 0;
  for (int i = 0; i < k; ++i) {
    const float* at = s + stage * 1056;
    a += at[threadIdx.x] * at[threadIdx.x + 32];
    __syncthreads();
    s[stage * 1056 + threadIdx.x] = q[threadIdx.x + i];
    stage = stage == 2 ? 0 : stage + 1;
  }
  q[threadIdx.x] = a;
}

// Caches, textures, state spaces.
KERNEL(caches_)(int* p, float* q) {
  int x;
  asm volatile("prefetch.global.L2 [%0]; prefetch.global.L1 [%0];" ::"l"(p));
  asm volatile("discard.global.L2 [%0],128;" ::"l"(p));
  asm volatile("ld.acquire.gpu.global.s32 %0,[%1];" : "=r"(x) : "l"(p));
  asm volatile("st.release.gpu.global.s32 [%0],%1;" ::"l"(p), "r"(x));
  p[2] = __isShared(p + p[3]) + 2 * __isLocal(p + p[4]) + 4 * __isGlobal(p);
  p[0] = atomicAdd(p + 4, 3);
  q[0] = atomicAdd(q + 4, 3.f);
}
KERNEL(textures_)(float* q, cudaTextureObject_t t, int* p) {
  const float4 f = tex2D<float4>(t, p[0], p[1]);
  q[0] = f.x + tex1Dfetch<float>(t, p[2]) + tex3D<float>(t, p[2], p[3], p[4]);
  surf2Dwrite<float>(q[1], t, p[2], p[3]);
  q[1] = surf2Dread<float>(t, p[4], p[6]);
}
KERNEL(generic_atomics_)(int* p, int either) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  int* to = either ? s : p;
  atomicAdd(to, 3);
  p[9] = atomicExch(to + 9, 4);
  p[8] = atomicCAS(to, 3, p[2]);
  p[7] = s[p[6]];
}
KERNEL(barrier_objects_)(int* p) {
  __shared__ long long s[9];
  const auto at = static_cast<int>(__cvta_generic_to_shared(s));
  long long state;
  int done;
  asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(at), "r"(p[3]));
  asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(state) : "r"(at));
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(at));
  asm volatile(
      "{.reg .pred a; mbarrier.test_wait.shared.b64 a,[%1],%2; selp.s32 %0,1,0,a;}"
      : "=r"(done)
      : "r"(at), "l"(state));
  p[0] = done;
}
__device__ __noinline__ int recursive(int a) {
  return a < 2 ? 1 : recursive(a - 1) * a + recursive(a - 2);
}
KERNEL(recursion_)(int* p) { p[threadIdx.x] = recursive(p[3]); }
typedef int (*Function)(int);
__device__ int triple(int a) { return a * 3; }
__device__ int third(int a) { return a / 3; }
__device__ Function table[2] = {triple, third};
KERNEL(pointers_)(int* p) { p[0] = table[p[1]](3); }
KERNEL(uniform_products_)(float* q, int stage) {
  __shared__ float s[4224];
  s[threadIdx.x] = q[threadIdx.x];
  __syncthreads();
  for (int i = stage; i < 99; i = i == 3 ? 0 : i + 1) {
    q[threadIdx.x] += s[threadIdx.x + i * 0x108];
    if (q[threadIdx.x] > 7) break;
  }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
KERNEL(clusters_)(int* p) {
  int far, x;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
  asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(p[2]), "r"(p[3]));
  asm volatile("st.shared::cluster.u32 [%0],%1;" ::"r"(far), "r"(p[1]));
  asm volatile("ld.shared::cluster.u32 %0,[%1];" : "=r"(x) : "r"(far));
  p[0] = x;
  asm volatile("{.reg .pred a; elect.sync _|a,0xffffffff; selp.b32 %0,1,0,a;}" : "=r"(x));
  p[threadIdx.x] = x;
  asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;");
  asm volatile("fence.proxy.async;");
}
KERNEL(bulk_)(int* p) {
  __shared__ __align__(128) long long s[99];
  const auto at = static_cast<int>(__cvta_generic_to_shared(s));
  int done;
  asm volatile(
      "{.reg .pred a; mbarrier.try_wait.parity.shared.b64 a,[%1],%2; selp.s32 %0,1,0,a;}"
      : "=r"(done)
      : "r"(at), "r"(p[3]));
  p[0] = done;
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(at), "r"(p[7]));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%0];" ::"r"(
          at),
      "l"(p), "r"(p[8]));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" ::"l"(p), "r"(at),
               "r"(p[8]));
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0],[%1,{%2,%3}],[%0];" ::"r"(at),
      "l"(p), "r"(p[8]), "r"(p[9]));
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0,{%1,%2}];" ::"l"(p), "r"(p[8]),
               "r"(p[9]));
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0,{%1,%2}],[%3];" ::"l"(p),
               "r"(p[8]), "r"(p[9]), "r"(at));
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0,{%1,%2}],[%3];" ::"l"(
          p),
      "r"(p[8]), "r"(p[9]), "r"(at));
  asm volatile("prefetch.tensormap [%0];" ::"l"(p));
}
KERNEL(store_matrix_)(int* p) {
  __shared__ int4 s[99];
  const auto at = static_cast<int>(__cvta_generic_to_shared(s + threadIdx.x));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0],{%1,%2};" ::"r"(at), "r"(p[0]),
               "r"(p[1]));
  __syncthreads();
  p[0] = s[p[1]].x;
}
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 900
KERNEL(warp_groups_)(float* q, const long long* p) {
  float a = 0, b = 0, c = 0, d = 0;
  int e = 0, f = 0, g = 0, h = 0;
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3},%4,%5,1,1,1,0,0;"
               : "+f"(a), "+f"(b), "+f"(c), "+f"(d)
               : "l"(p[0]), "l"(p[1]));
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3},%4,%5,1;"
               : "+r"(e), "+r"(f), "+r"(g), "+r"(h)
               : "l"(p[0]), "l"(p[1]));
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3},%4,%5,1,1,1;"
               : "+f"(a), "+f"(b), "+f"(c), "+f"(d)
               : "l"(p[0]), "l"(p[1]));
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
  q[threadIdx.x] = a + b + c + d + e + f + g + h;
}
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
KERNEL(eight_bit_floats_)(int* p, const float* q) {
  int a = p[0], b = p[1], c = p[2], d = p[3];
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3},{%0,%1,%2,%3},{%0,%1},"
      "{%0,%1,%2,%3};"
      : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  p[threadIdx.x] = a + b + c + d;
  asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0,%1,%2;"
               : "=h"(*reinterpret_cast<short*>(p + 9))
               : "f"(q[0]), "f"(q[1]));
  asm volatile("cvt.rn.f16x2.e4m3x2 %0,%1;" : "=r"(p[8]) : "h"(*reinterpret_cast<short*>(p + 4)));
}
#endif
KERNEL(bit_matrix_)(int* p) {
  int a = p[0], b = p[1], c = p[2], d = p[3];
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%0,%1,%2,%3},"
      "{%0,%1},{%0,%1,%2,%3};"
      : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  p[threadIdx.x] = a + b + c + d;
}
