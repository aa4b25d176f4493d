#include "runtime/ptx/global_shadow.h"

#include <algorithm>

namespace tilec::ptx {
namespace {

// Set in a word's reader where several blocks have read it.
constexpr uint32_t kSeveral = 0x8000'0000;

bool ordered(const OwnerSite& site, const Owner& by) {
  return site.block == by.block || site.released < by.synchronised;
}

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

uint32_t OwnerSites::add(uint32_t op, uint64_t block) {
  const std::lock_guard lock(mutex_);
  sites_.push_back({.op = op, .block = block});
  return static_cast<uint32_t>(sites_.size());
}

OwnerSite OwnerSites::get(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return sites_[number - 1];
}

uint64_t OwnerSites::synchronise(const std::vector<uint32_t>& sites) {
  const std::lock_guard lock(mutex_);
  ++sequence_;
  for (uint32_t number : sites) sites_[number - 1].released = sequence_;
  return sequence_;
}

void start_owners(Memory& memory) {
  for (Allocation& allocation : memory.allocations())
    allocation.owners.reset(new std::atomic<uint32_t>[2 * (allocation.bytes / 4 + 1)]());
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

uint32_t own_read(Allocation& allocation, uint64_t offset, uint32_t bytes, const Owner& by,
                  const OwnerSites& sites) {
  uint32_t clash = 0;
  each_word(offset, bytes, [&](uint64_t word) {
    std::atomic<uint32_t>& writer = allocation.owners[2 * word];
    std::atomic<uint32_t>& reader = allocation.owners[2 * word + 1];
    const uint32_t before = reader.load(std::memory_order_relaxed);
    if (before == 0)
      reader.exchange(by.site);
    else if ((before & ~kSeveral) != by.site && !(before & kSeveral))
      reader.exchange(sites.get(before).block == by.block ? by.site : by.site | kSeveral);
    const uint32_t wrote = writer.load();
    if (wrote != 0 && wrote != by.site && !ordered(sites.get(wrote), by)) clash = wrote;
  });
  return clash;
}

uint32_t own_write(Allocation& allocation, uint64_t offset, uint32_t bytes, const Owner& by,
                   const OwnerSites& sites) {
  uint32_t clash = 0;
  each_word(offset, bytes, [&](uint64_t word) {
    std::atomic<uint32_t>& writer = allocation.owners[2 * word];
    std::atomic<uint32_t>& reader = allocation.owners[2 * word + 1];
    const uint32_t wrote = writer.exchange(by.site);
    if (wrote != 0 && wrote != by.site && !ordered(sites.get(wrote), by)) clash = wrote;
    const uint32_t read = reader.load();
    if (read == 0) return;
    // Of several readers the last is known; where blocks talk, the others may be ordered too.
    const OwnerSite site = sites.get(read & ~kSeveral);
    const bool others = (read & kSeveral) && by.synchronised == 0;
    if (others || !ordered(site, by)) clash = read & ~kSeveral;
  });
  return clash;
}

}  // namespace tilec::ptx
