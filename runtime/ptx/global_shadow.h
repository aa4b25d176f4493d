// What is known of global memory while a kernel runs: which bytes were written, and which blocks
// have written and read each word, so that races between blocks are seen.
//
// Blocks of one launch are not ordered, so a word that one block writes and another touches is a
// race, whatever the order they happened to run in. Each word has two owners, the last writer and
// a reader, `(block + 1) << 32 | op << 1 | several`; blocks on other host threads may change them
// at any time, so they are atomic.
#pragma once

#include "runtime/ptx/findings.h"
#include "runtime/ptx/gather.h"
#include "runtime/ptx/memory.h"

namespace tilec::ptx {

/// Makes the owners of every allocation, none owned.
void start_owners(Memory& memory);
void drop_owners(Memory& memory);

/// Whether the `bytes` bytes at `offset` of an allocation were written.
bool is_written(const Allocation& allocation, uint64_t offset, uint32_t bytes);
void set_written(Allocation& allocation, uint64_t offset, uint32_t bytes);

/// The access of block `block` by instruction `op`; the owner it clashes with, or 0.
uint64_t own_read(Allocation& allocation, uint64_t offset, uint32_t bytes, uint64_t block,
                  uint32_t op);
uint64_t own_write(Allocation& allocation, uint64_t offset, uint32_t bytes, uint64_t block,
                   uint32_t op);
inline uint64_t block_of(uint64_t owner) {
  return (owner >> 32) - 1;
}
inline uint32_t op_of(uint64_t owner) {
  return static_cast<uint32_t>(owner) >> 1;
}

}  // namespace tilec::ptx
