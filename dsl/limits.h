// What a machine allows: the numbers that the rules of validate.h are checked against.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilec::dsl {

/// Limits of one target, from the CUDA programming guide's table of compute capabilities.
struct Limits {
  std::string target;  // "sm_90a"
  int threads_per_block = 1024;
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int registers_per_thread = 255;
  int registers_per_sm = 65536;
  int register_allocation_unit = 256;  // registers are given out per warp in such units
  int64_t shared_bytes_per_block = 0;  // with opt-in
  int64_t shared_bytes_per_sm = 0;
  int64_t shared_bytes_reserved = 1024;  // the system's share of each block
};

/// The number in a target's name: 90 for sm_90 and for sm_90a.
constexpr int machine_number(std::string_view target) {
  int number = 0;
  for (const char c : target)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return number;
}

}  // namespace tilec::dsl
