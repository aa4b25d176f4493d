// Kernels that use what ordinary CUDA code uses: input of the PTX machine's tests.
#include <assert.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <stdio.h>

#include "breadth_functions.h"

#define KERNEL(name)                                                                     \
  extern "C" __global__ void k_##name(const uint32_t* a, const uint32_t* b, uint32_t* c) { \
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                             \
    c[i] = name(a[i], b[i]);                                                              \
  }
KERNEL(divisions)
KERNEL(shifts)
KERNEL(small_integers)
KERNEL(choices)
KERNEL(stack)
KERNEL(calls)
KERNEL(floats)
KERNEL(doubles)
extern "C" __global__ void k_transcendentals(const uint32_t* a, const uint32_t* b, float* c) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = transcendentals(a[i], b[i]);
}

// Sum over the block, by shuffles and shared memory; the result of each block in its first thread.
extern "C" __global__ void k_block_sum(const uint32_t* a, const uint32_t*, uint32_t* c) {
  __shared__ uint32_t parts[32];
  uint32_t sum = a[blockIdx.x * blockDim.x + threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, by);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += parts[w];
    c[blockIdx.x * blockDim.x] = sum;
  }
}

extern "C" __global__ void k_group_sum(const uint32_t* a, const uint32_t*, uint32_t* c) {
  const auto block = cooperative_groups::this_thread_block();
  const auto tile = cooperative_groups::tiled_partition<8>(block);
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = cooperative_groups::reduce(tile, a[i], cooperative_groups::plus<uint32_t>());
}

// Counts of a[i] % 64 over all blocks, in c[0 .. 63]; c is zero before.
extern "C" __global__ void k_histogram(const uint32_t* a, const uint32_t*, uint32_t* c) {
  extern __shared__ uint32_t bins[];
  for (uint32_t i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  atomicAdd(&bins[a[blockIdx.x * blockDim.x + threadIdx.x] % 64], 1u);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 64; i += blockDim.x)
    if (bins[i] != 0) atomicAdd(&c[i], bins[i]);
}

__constant__ uint32_t table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ uint32_t calls_so_far = 40;

extern "C" __global__ void k_variables(const uint32_t* a, const uint32_t*, uint32_t* c) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = table[a[i] % 8] + calls_so_far;
}

struct Settings {
  uint32_t scale;
  float offset;
  uint8_t flags[4];
};
extern "C" __global__ void k_settings(const uint32_t* a, Settings settings, uint32_t* c) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(settings.scale != 0);
  if (settings.flags[i % 4] > 200) printf("flag %d\n", settings.flags[i % 4]);
  c[i] = a[i] * settings.scale + (uint32_t)settings.offset + settings.flags[i % 4];
}

// x * y + 1 in half precision, two at a time, and the same in bfloat16.
extern "C" __global__ void k_halves(const uint32_t* a, const uint32_t* b, uint32_t* c) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half2 x = __floats2half2_rn(ordinary(a[i] % 50000), ordinary(b[i] % 50000));
  const __half2 y = __float2half2_rn(0.25f);
  const __half2 sum = __hfma2(x, y, __float2half2_rn(1.0f));
  const __nv_bfloat162 u = __floats2bfloat162_rn(ordinary(a[i]), ordinary(b[i]));
  const __nv_bfloat162 v = __hmul2(u, __float2bfloat162_rn(3.0f));
  uint32_t halves, bfloats;
  memcpy(&halves, &sum, 4);
  memcpy(&bfloats, &v, 4);
  c[i] = halves ^ bfloats;
}

// A slice copied asynchronously, read reversed.
extern "C" __global__ void k_pipeline(const uint32_t* a, const uint32_t*, uint32_t* c) {
  __shared__ uint32_t slice[128];
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  __pipeline_memcpy_async(&slice[threadIdx.x], &a[i], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  c[i] = slice[blockDim.x - 1 - threadIdx.x];
}

// The same with a barrier object in shared memory.
extern "C" __global__ void k_barrier(const uint32_t* a, const uint32_t*, uint32_t* c) {
  __shared__ uint32_t slice[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  slice[threadIdx.x] = a[i];
  ready.arrive_and_wait();
  c[i] = slice[blockDim.x - 1 - threadIdx.x];
}

// Votes, matches and population counts.
extern "C" __global__ void k_votes(const uint32_t* a, const uint32_t* b, uint32_t* c) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t odd = __ballot_sync(0xFFFFFFFF, a[i] & 1);
  const uint32_t same = __match_any_sync(0xFFFFFFFF, b[i] % 5);
  const uint32_t all = __all_sync(0xFFFFFFFF, a[i] >= a[i]) + 2 * __any_sync(0xFFFFFFFF, 0);
  c[i] = __popc(odd) + 64 * __popc(same) + 4096 * all + 65536 * __reduce_max_sync(0xFFFFFFFF, i % 32) +
         __syncthreads_count(a[i] & 1) * 0 + (__ffs(b[i]) ^ __clz(a[i])) * 0x1000000;
}
