#include "runtime/ptx/global_shadow.h"

#include <algorithm>

namespace tilec::ptx {
namespace {

constexpr uint64_t kSeveral = 1;

// Bits of the byte mask of the word at `word` that [offset, offset + bytes) covers.
uint8_t covered(uint64_t word, uint64_t offset, uint32_t bytes) {
  const uint64_t begin = std::max(offset, word * 4), end = std::min(offset + bytes, word * 4 + 4);
  return static_cast<uint8_t>(((1u << (end - begin)) - 1) << (begin - word * 4));
}

template <class Each>
void each_word(uint64_t offset, uint32_t bytes, Each&& each) {
  for (uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) each(word);
}

}  // namespace

void start_owners(Memory& memory) {
  for (Allocation& allocation : memory.allocations())
    allocation.owners.reset(new std::atomic<uint64_t>[2 * (allocation.bytes / 4 + 1)]());
}

void drop_owners(Memory& memory) {
  for (Allocation& allocation : memory.allocations()) allocation.owners.reset();
}

bool is_written(const Allocation& allocation, uint64_t offset, uint32_t bytes) {
  const uint8_t* written = allocation.written.get();
  if (offset % 4 == 0 && bytes % 4 == 0) {
    uint8_t all = 0xF;
    for (uint64_t word = offset / 4; word < (offset + bytes) / 4; ++word) all &= written[word];
    return all == 0xF;
  }
  bool good = true;
  each_word(offset, bytes, [&](uint64_t word) {
    const uint8_t wanted = covered(word, offset, bytes);
    good &= (written[word] & wanted) == wanted;
  });
  return good;
}

void set_written(Allocation& allocation, uint64_t offset, uint32_t bytes) {
  uint8_t* written = allocation.written.get();
  each_word(offset, bytes, [&](uint64_t word) {
    const uint8_t wanted = covered(word, offset, bytes);
    // Blocks may write different bytes of one word at once.
    std::atomic_ref<uint8_t> cell(written[word]);
    if ((cell.load(std::memory_order_relaxed) & wanted) != wanted)
      cell.fetch_or(wanted, std::memory_order_relaxed);
  });
}

uint64_t own_read(Allocation& allocation, uint64_t offset, uint32_t bytes, uint64_t block,
                  uint32_t op) {
  uint64_t clash = 0;
  const uint64_t mine = (block + 1) << 32 | uint64_t{op} << 1;
  each_word(offset, bytes, [&](uint64_t word) {
    std::atomic<uint64_t>& writer = allocation.owners[2 * word];
    std::atomic<uint64_t>& reader = allocation.owners[2 * word + 1];
    const uint64_t before = reader.load(std::memory_order_relaxed);
    if (before == 0)
      reader.exchange(mine);
    else if (before >> 32 != block + 1 && !(before & kSeveral))
      reader.exchange(mine | kSeveral);
    const uint64_t wrote = writer.load();
    if (wrote != 0 && wrote >> 32 != block + 1) clash = wrote;
  });
  return clash;
}

uint64_t own_write(Allocation& allocation, uint64_t offset, uint32_t bytes, uint64_t block,
                   uint32_t op) {
  uint64_t clash = 0;
  const uint64_t mine = (block + 1) << 32 | uint64_t{op} << 1;
  each_word(offset, bytes, [&](uint64_t word) {
    std::atomic<uint64_t>& writer = allocation.owners[2 * word];
    std::atomic<uint64_t>& reader = allocation.owners[2 * word + 1];
    const uint64_t wrote = writer.exchange(mine);
    if (wrote != 0 && wrote >> 32 != block + 1) clash = wrote;
    const uint64_t read = reader.load();
    if (read != 0 && (read >> 32 != block + 1 || (read & kSeveral))) clash = read;
  });
  return clash;
}

}  // namespace tilec::ptx
