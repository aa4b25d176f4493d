// C = A * B, row-major f32, m, n and k multiples of 128, 128 and 8: block tile 128x128x8, thread
// tile 8x8 in quads, two buffers in shared memory, A stored transposed. The cubins beside this file
// are made from it by make_data.sh; the tests read those, so that no CUDA compiler is needed.
#include <cstdint>

constexpr int kTile = 128, kSlice = 8, kThread = 8;

extern "C" __global__ void __launch_bounds__(256, 2)
    sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
          int n, int k) {
  __shared__ float slice_a[2][kSlice][kTile];
  __shared__ float slice_b[2][kSlice][kTile];
  const int t = threadIdx.x;
  const int copy_a_row = t / 2, copy_a_column = t % 2 * 4;
  const int copy_b_row = t / 32, copy_b_column = t % 32 * 4;
  const int row = t / 16 * 4, column = t % 16 * 4;
  a += int64_t(blockIdx.y * kTile + copy_a_row) * k + copy_a_column;
  b += int64_t(copy_b_row) * n + blockIdx.x * kTile + copy_b_column;
  float sum[kThread][kThread] = {};

  float4 next_a = *reinterpret_cast<const float4*>(a);
  float4 next_b = *reinterpret_cast<const float4*>(b);
  int stage = 0;
  auto store = [&](int to) {
    slice_a[to][copy_a_column + 0][copy_a_row] = next_a.x;
    slice_a[to][copy_a_column + 1][copy_a_row] = next_a.y;
    slice_a[to][copy_a_column + 2][copy_a_row] = next_a.z;
    slice_a[to][copy_a_column + 3][copy_a_row] = next_a.w;
    *reinterpret_cast<float4*>(&slice_b[to][copy_b_row][copy_b_column]) = next_b;
  };
  store(0);
  __syncthreads();
#pragma unroll 1
  for (int slice = 0; slice < k; slice += kSlice) {
    const bool more = slice + kSlice < k;
    if (more) {
      a += kSlice;
      b += int64_t(kSlice) * n;
      next_a = *reinterpret_cast<const float4*>(a);
      next_b = *reinterpret_cast<const float4*>(b);
    }
#pragma unroll
    for (int p = 0; p < kSlice; ++p) {
      float fa[kThread], fb[kThread];
      *reinterpret_cast<float4*>(fa) = *reinterpret_cast<float4*>(&slice_a[stage][p][row]);
      *reinterpret_cast<float4*>(fa + 4) = *reinterpret_cast<float4*>(&slice_a[stage][p][row + 64]);
      *reinterpret_cast<float4*>(fb) = *reinterpret_cast<float4*>(&slice_b[stage][p][column]);
      *reinterpret_cast<float4*>(fb + 4) =
          *reinterpret_cast<float4*>(&slice_b[stage][p][column + 64]);
#pragma unroll
      for (int i = 0; i < kThread; ++i)
#pragma unroll
        for (int j = 0; j < kThread; ++j) sum[i][j] += fa[i] * fb[j];
    }
    if (more) {
      stage ^= 1;
      store(stage);
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < kThread; ++i)
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int64_t at = int64_t(blockIdx.y * kTile + row + i / 4 * 64 + i % 4) * n +
                         blockIdx.x * kTile + column + q * 64;
      *reinterpret_cast<float4*>(c + at) =
          make_float4(sum[i][q * 4], sum[i][q * 4 + 1], sum[i][q * 4 + 2], sum[i][q * 4 + 3]);
    }
}
