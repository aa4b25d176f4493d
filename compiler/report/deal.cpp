#include "compiler/report/deal.h"

#include <limits>
#include <queue>
#include <vector>

namespace tilec {
namespace {

constexpr double kStagger = 1e-3;        // of a block's work
constexpr int64_t kMostDealt = 1 << 15;  // blocks that are dealt one by one

struct Running {
  int kind = 0;
  double left = 1;  // of its work
};

struct Sm {
  std::vector<Running> blocks;
  double now = 0;  // when `left` is true of
};

double cycles_left(const Sm& sm, const Running& block, const Deal& deal) {
  return block.left * deal.cycles_of(block.kind, static_cast<int>(sm.blocks.size()));
}

// When the next block of `sm` ends, and which.
double next_end(const Sm& sm, const Deal& deal, size_t& which) {
  double soonest = std::numeric_limits<double>::infinity();
  for (size_t b = 0; b < sm.blocks.size(); ++b) {
    const double takes = cycles_left(sm, sm.blocks[b], deal);
    if (takes >= soonest) continue;
    soonest = takes;
    which = b;
  }
  return sm.now + soonest;
}

void advance(Sm& sm, double to, const Deal& deal) {
  const auto resident = static_cast<int>(sm.blocks.size());
  for (Running& block : sm.blocks)
    block.left -= (to - sm.now) / deal.cycles_of(block.kind, resident);
  sm.now = to;
}

}  // namespace

double deal_blocks(const Deal& deal) {
  // Whole waves in the middle of a very large grid are all alike.
  const int64_t at_once = int64_t{deal.sms} * deal.resident;
  const int64_t skipped = deal.blocks > kMostDealt ? (deal.blocks - kMostDealt) / at_once : 0;
  const int64_t dealt = deal.blocks - skipped * at_once;
  std::vector<Sm> sms(static_cast<size_t>(deal.sms));
  int64_t next = 0;
  // Blocks that start together do not end together: those that came first end first.
  for (int round = 0; round < deal.resident; ++round)
    for (Sm& sm : sms)
      if (next < dealt) sm.blocks.push_back({deal.kind_of(next++), 1 + kStagger * round});
  using Event = std::pair<double, size_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  size_t which = 0;
  for (size_t s = 0; s < sms.size(); ++s)
    if (!sms[s].blocks.empty()) events.emplace(next_end(sms[s], deal, which), s);
  double end = 0;
  while (!events.empty()) {
    const auto [time, s] = events.top();
    events.pop();
    Sm& sm = sms[s];
    next_end(sm, deal, which);
    advance(sm, time, deal);
    sm.blocks.erase(sm.blocks.begin() + static_cast<std::ptrdiff_t>(which));
    if (next < dealt) sm.blocks.push_back({deal.kind_of(next++)});
    end = time;
    if (!sm.blocks.empty()) events.emplace(next_end(sm, deal, which), s);
  }
  return end + static_cast<double>(skipped) * deal.cycles_of(0, deal.resident);
}

}  // namespace tilec
