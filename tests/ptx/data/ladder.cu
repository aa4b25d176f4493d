// The ladder of hand-written f32 matrix multiplies, C = A * B, all n x n and row-major, n a multiple
// of 128: input of the PTX machine's tests. nvcc -ptx -arch=sm_90 -O3 -lineinfo ladder.cu
#include <cuda_runtime.h>

// 1: one thread an element; consecutive threads take consecutive rows.
extern "C" __global__ void rung1_naive(int n, const float* a, const float* b, float* c) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  const int column = blockIdx.y * 32 + threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// 2: consecutive threads take consecutive columns.
extern "C" __global__ void rung2_coalesced(int n, const float* a, const float* b, float* c) {
  const int column = blockIdx.x * 32 + threadIdx.x;
  const int row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// 3: 32 x 32 tiles in shared memory.
extern "C" __global__ void rung3_shared(int n, const float* a, const float* b, float* c) {
  __shared__ float tile_a[32][32], tile_b[32][32];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
  float sum = 0.0f;
  for (int begin = 0; begin < n; begin += 32) {
    tile_a[y][x] = a[row * n + begin + x];
    tile_b[y][x] = b[(begin + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// 4: 64 x 64 tiles, slices of 8; a thread has 8 elements of one column. 512 threads.
extern "C" __global__ void rung4_column(int n, const float* a, const float* b, float* c) {
  __shared__ float tile_a[64][8], tile_b[8][64];
  const int thread = threadIdx.x;
  const int thread_row = thread / 64, thread_column = thread % 64;
  const int row = blockIdx.y * 64, column = blockIdx.x * 64;
  float sum[8] = {};
  for (int begin = 0; begin < n; begin += 8) {
    tile_a[thread / 8][thread % 8] = a[(row + thread / 8) * n + begin + thread % 8];
    tile_b[thread / 64][thread % 64] = b[(begin + thread / 64) * n + column + thread % 64];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float value = tile_b[k][thread_column];
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += tile_a[thread_row * 8 + i][k] * value;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) c[(row + thread_row * 8 + i) * n + column + thread_column] = sum[i];
}

// 5: 128 x 128 tiles, slices of 8; a thread has 8 x 8 elements. 256 threads.
extern "C" __global__ void rung5_square(int n, const float* a, const float* b, float* c) {
  __shared__ float tile_a[128][8], tile_b[8][128];
  const int thread = threadIdx.x;
  const int thread_row = thread / 16, thread_column = thread % 16;
  const int row = blockIdx.y * 128, column = blockIdx.x * 128;
  float sum[8][8] = {};
  for (int begin = 0; begin < n; begin += 8) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = thread + i * 256;
      tile_a[at / 8][at % 8] = a[(row + at / 8) * n + begin + at % 8];
      tile_b[at / 128][at % 128] = b[(begin + at / 128) * n + column + at % 128];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      float from_a[8], from_b[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) from_a[i] = tile_a[thread_row * 8 + i][k];
#pragma unroll
      for (int j = 0; j < 8; ++j) from_b[j] = tile_b[k][thread_column * 8 + j];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += from_a[i] * from_b[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j)
      c[(row + thread_row * 8 + i) * n + column + thread_column * 8 + j] = sum[i][j];
}

// What rungs 6 to 9 share: float4 accesses and A's slice transposed.
struct Slices {
  float a[8][128];
  float b[8][128];
};

struct Staged {
  float4 a, b;
};

__device__ __forceinline__ Staged fetch(int n, const float* a, const float* b, int row, int column,
                                        int begin) {
  const int thread = threadIdx.x;
  return {*reinterpret_cast<const float4*>(&a[(row + thread / 2) * n + begin + thread % 2 * 4]),
          *reinterpret_cast<const float4*>(&b[(begin + thread / 32) * n + column +
                                              thread % 32 * 4])};
}

__device__ __forceinline__ void put(Slices& slices, const Staged& staged) {
  const int thread = threadIdx.x;
  const int m = thread / 2, k = thread % 2 * 4;
  slices.a[k][m] = staged.a.x;
  slices.a[k + 1][m] = staged.a.y;
  slices.a[k + 2][m] = staged.a.z;
  slices.a[k + 3][m] = staged.a.w;
  *reinterpret_cast<float4*>(&slices.b[thread / 32][thread % 32 * 4]) = staged.b;
}

// `second` is where a thread's second four rows and columns lie: 4 after the first if whole, 64 if
// split.
template <int kFirst, int kSecond>
__device__ __forceinline__ void multiply(const Slices& slices, float (&sum)[8][8]) {
  const int thread_row = threadIdx.x / 16 * kFirst, thread_column = threadIdx.x % 16 * kFirst;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float from_a[8], from_b[8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float4*>(&from_a[half * 4]) =
          *reinterpret_cast<const float4*>(&slices.a[k][thread_row + half * kSecond]);
      *reinterpret_cast<float4*>(&from_b[half * 4]) =
          *reinterpret_cast<const float4*>(&slices.b[k][thread_column + half * kSecond]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[i][j] += from_a[i] * from_b[j];
  }
}

template <int kFirst, int kSecond>
__device__ __forceinline__ void write(int n, float* c, int row, int column, float (&sum)[8][8]) {
  const int thread_row = threadIdx.x / 16 * kFirst, thread_column = threadIdx.x % 16 * kFirst;
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<float4*>(&c[(row + thread_row + i / 4 * kSecond + i % 4) * n + column +
                                    thread_column + half * kSecond]) =
          *reinterpret_cast<float4*>(&sum[i][half * 4]);
}

template <int kFirst, int kSecond>
__device__ __forceinline__ void one_stage(int n, const float* a, const float* b, float* c) {
  __shared__ Slices slices;
  const int row = blockIdx.y * 128, column = blockIdx.x * 128;
  float sum[8][8] = {};
  for (int begin = 0; begin < n; begin += 8) {
    put(slices, fetch(n, a, b, row, column, begin));
    __syncthreads();
    multiply<kFirst, kSecond>(slices, sum);
    __syncthreads();
  }
  write<kFirst, kSecond>(n, c, row, column, sum);
}

// 6: float4 everywhere.
extern "C" __global__ void rung6_vector(int n, const float* a, const float* b, float* c) {
  one_stage<8, 4>(n, a, b, c);
}

// 7: two blocks an SM.
extern "C" __global__ void __launch_bounds__(256, 2)
    rung7_occupancy(int n, const float* a, const float* b, float* c) {
  one_stage<8, 4>(n, a, b, c);
}

// 8: a thread's tile in four pieces of 4 x 4.
extern "C" __global__ void __launch_bounds__(256, 2)
    rung8_split(int n, const float* a, const float* b, float* c) {
  one_stage<4, 64>(n, a, b, c);
}

// 9: two stages; the next slice is fetched while this one is multiplied.
extern "C" __global__ void __launch_bounds__(256, 2)
    rung9_double(int n, const float* a, const float* b, float* c) {
  __shared__ Slices slices[2];
  const int row = blockIdx.y * 128, column = blockIdx.x * 128;
  float sum[8][8] = {};
  put(slices[0], fetch(n, a, b, row, column, 0));
  __syncthreads();
  int stage = 0;
  for (int begin = 0; begin < n; begin += 8) {
    const bool more = begin + 8 < n;
    Staged staged;
    if (more) staged = fetch(n, a, b, row, column, begin + 8);
    multiply<4, 64>(slices[stage], sum);
    if (more) put(slices[stage ^ 1], staged);
    __syncthreads();
    stage ^= 1;
  }
  write<4, 64>(n, c, row, column, sum);
}
