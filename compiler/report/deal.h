// Blocks dealt to SMs, as the hardware does it: the next block to the SM that first has room.
#pragma once

#include <cstdint>
#include <functional>

namespace tilec {

struct Deal {
  int64_t blocks = 0;
  int sms = 0;
  int resident = 0;                     // blocks that an SM has room for
  std::function<int(int64_t)> kind_of;  // of a block, by its number
  /// Cycles of a block of a kind among `resident` on one SM.
  std::function<double(int kind, int resident)> cycles_of;
};

/// Cycles until the last block ends.
double deal_blocks(const Deal& deal);

}  // namespace tilec
