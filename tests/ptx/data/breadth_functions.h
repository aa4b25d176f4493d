// Functions that are compiled for the GPU by nvcc and for the host by the tests: what the PTX
// machine makes of them is compared with what the host gives. A thread has two words and gives one.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define BOTH __host__ __device__
#define APART __noinline__
#else
#define BOTH inline
#define APART
#endif

BOTH uint32_t divisions(uint32_t a, uint32_t b) {
  const int32_t x = (int32_t)a, y = (int32_t)(b | 1);
  const int64_t wide = (int64_t)x * 1000003 + b;
  return (uint32_t)(x / y + x % y) ^ a / (b | 3) ^ a % (b | 5) ^ (uint32_t)(wide / y) ^
         (uint32_t)((uint64_t)wide % (a | 7));
}

BOTH uint32_t shifts(uint32_t a, uint32_t b) {
  const uint32_t by = b & 31;
  const uint64_t wide = (uint64_t)a << 32 | b;
  return (a << by) ^ (uint32_t)((int32_t)a >> by) ^ (uint32_t)(wide >> (b & 63)) ^
         (uint32_t)((int64_t)wide >> (a & 63)) ^ (a << by | a >> ((32 - by) & 31));
}

BOTH uint32_t small_integers(uint32_t a, uint32_t b) {
  int8_t s8 = (int8_t)a;
  uint16_t u16 = (uint16_t)(b * 3 + a);
  int16_t s16 = (int16_t)(a - b);
  s8 = (int8_t)(s8 * 3 + s16);
  u16 = (uint16_t)(u16 / 7 + s8);
  return (uint32_t)(s8 * 65537) ^ u16 ^ (uint32_t)(s16 << 3);
}

// A dense switch: nvcc makes it a table of branches.
BOTH uint32_t choices(uint32_t a, uint32_t b) {
  switch (a % 9) {
    case 0: return b * 3;
    case 1: return b + 77;
    case 2: return b ^ 0x5555;
    case 3: return b / 3;
    case 4: return ~b;
    case 5: return b * b;
    case 6: return b >> 5;
    case 7: return b << 7;
    default: return a - b;
  }
}

// An array of the stack, with indices that are only known when it runs.
BOTH uint32_t stack(uint32_t a, uint32_t b) {
  uint32_t array[16];
  for (uint32_t i = 0; i < 16; ++i) array[i] = a * i + b;
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t other = (a >> i & 15);
    const uint32_t kept = array[i];
    array[i] = array[other];
    array[other] = kept ^ i;
  }
  return array[b & 15] + array[(a + b) & 15];
}

BOTH APART uint32_t power(uint32_t base, uint32_t exponent) {
  uint32_t result = 1;
  while (exponent != 0) {
    if (exponent & 1) result *= base;
    base *= base;
    exponent >>= 1;
  }
  return result;
}
BOTH APART uint32_t twice(uint32_t a) { return power(a, 3) + power(a + 1, 2); }

BOTH uint32_t calls(uint32_t a, uint32_t b) {
  return (a & 1) ? twice(b) + power(a, b & 15) : power(b, a & 7) - twice(a);
}

BOTH float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
BOTH uint32_t as_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
// A float of ordinary size out of any word.
BOTH float ordinary(uint32_t a) { return (float)((int32_t)a >> 8) * 0.001f; }

BOTH uint32_t floats(uint32_t a, uint32_t b) {
  const float x = ordinary(a), y = ordinary(b);
  const float sum = x * y + x / (y * y + 1.0f);
  const float rounded = floorf(x) + ceilf(y) - rintf(x * 0.5f) + truncf(y);
  return as_bits(sum) ^ as_bits(rounded) ^ as_bits(sqrtf(fabsf(x))) ^ (uint32_t)(int32_t)x ^
         as_bits(fmaxf(x, y) - fminf(x, -y)) ^ (x < y ? 1u : 2u);
}

BOTH uint32_t doubles(uint32_t a, uint32_t b) {
  const double x = ordinary(a), y = (double)b * 1e-3 + 1.0;
  const double value = sqrt(x * x + y) / y - floor(x) * 0.25 + fma(x, y, 1.5);
  const int64_t whole = (int64_t)(value * 1000.0);
  return (uint32_t)whole ^ (uint32_t)(whole >> 32) ^ as_bits((float)value) ^ (uint32_t)(y);
}

// Not exact on either side: compared within a tolerance.
BOTH float transcendentals(uint32_t a, uint32_t b) {
  const float x = ordinary(a % 100000) * 10.0f, y = ordinary(b % 5000) + 0.5f;
  return sinf(x) + cosf(y) + expf(-y) + logf(y + 1.0f) + powf(y, 1.7f) + tanhf(x) + 1.0f / sqrtf(y) +
         atan2f(x, y) + cbrtf(y) + erff(x);
}
