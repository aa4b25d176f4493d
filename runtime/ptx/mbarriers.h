// mbarriers: barriers that live in shared memory and count arrivals and bytes of a phase.
//
// The object is a word of 64 bits whose layout PTX leaves open; here it is, from the lowest bit:
// arrivals still pending (20 bits), arrivals of a whole phase (20), bytes still to come (22,
// signed), and the phase (1). A state, as arrive returns it, is the word before the arrival.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/ptx/lanes.h"
#include "runtime/ptx/program.h"

namespace tilec::ptx {

inline constexpr uint32_t kMaxArrivals = (1u << 20) - 1;

struct MbarrierState {
  uint32_t pending = 0;
  uint32_t expected = 0;
  int32_t bytes = 0;
  bool phase = false;

  static MbarrierState unpack(uint64_t word);
  uint64_t pack() const;
  /// Ends the phase if nothing is pending any more.
  void settle();
};

/// A cp.async.bulk into shared memory, on its way until its mbarrier is looked at.
struct BulkCopy {
  uint32_t op = 0;
  uint32_t warp = 0;
  uint32_t lane = 0;
  uint64_t to = 0;  // offset into shared memory
  const std::byte* from = nullptr;
  uint32_t bytes = 0;
  uint64_t mbarrier = 0;  // address in the shared space
};

/// What a block keeps about its mbarriers beside their words.
struct Mbarriers {
  std::map<uint64_t, std::vector<uint32_t>> clocks;  // by address: who has arrived, when
  std::vector<BulkCopy> copies;
};

/// The handlers of mbarrier.* and of cp.async.bulk.
Handler mbarrier_handler();
Handler bulk_handler(const Access& access);

}  // namespace tilec::ptx
