// What is known of global memory while a kernel runs: which bytes were written, and which blocks
// have written and read each word, so that races between blocks are seen.
//
// Blocks of one launch are not ordered, so a word that one block writes and another touches is a
// race, whatever the order they happened to run in; unless the blocks talk through atomics or
// volatile accesses. Those are taken as one lock: what a block did before one of its own is known
// to every block that comes to one of its own later. That never accuses a kernel that
// synchronises so, and may miss a race in one that does it wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "runtime/ptx/findings.h"
#include "runtime/ptx/gather.h"
#include "runtime/ptx/memory.h"

namespace tilec::ptx {

/// An instruction of a block between two of its synchronisations: what owns a word.
struct OwnerSite {
  uint32_t op = kNone;
  uint64_t block = 0;
  uint64_t released = ~uint64_t{0};  // sequence of the block's next synchronisation
};

/// The sites of one launch. Words name them by number, from 1; 0 is nobody.
class OwnerSites {
 public:
  uint32_t add(uint32_t op, uint64_t block);
  OwnerSite get(uint32_t number) const;
  /// The block that made `sites` synchronises; returns the sequence of that, from 1.
  uint64_t synchronise(const std::vector<uint32_t>& sites);

 private:
  mutable std::mutex mutex_;  // blocks of several host threads add sites
  std::deque<OwnerSite> sites_;
  uint64_t sequence_ = 0;
};

/// Makes the owners of every allocation, none owned.
void start_owners(Memory& memory);
void drop_owners(Memory& memory);

/// Whether the `bytes` bytes at `offset` of an allocation were written.
bool is_written(const Allocation& allocation, uint64_t offset, uint32_t bytes);
void set_written(Allocation& allocation, uint64_t offset, uint32_t bytes);

/// Who makes an access of global memory.
struct Owner {
  uint32_t site = 0;
  uint64_t block = 0;
  uint64_t synchronised = 0;  // sequence of its last synchronisation
};

/// Records the access; the number of the site it clashes with, or 0.
uint32_t own_read(Allocation& allocation, uint64_t offset, uint32_t bytes, const Owner& by,
                  const OwnerSites& sites);
uint32_t own_write(Allocation& allocation, uint64_t offset, uint32_t bytes, const Owner& by,
                   const OwnerSites& sites);

}  // namespace tilec::ptx
