#include "runtime/ptx/counters.h"

namespace tilec::ptx {
namespace {

constexpr std::array<std::string_view, kInstructionClasses> kNames = {
    "fma",        "floating",    "half",           "double",       "integer",     "compare",
    "move",       "convert",     "load_global",    "store_global", "load_shared", "store_shared",
    "load_local", "store_local", "load_parameter", "atomic",       "async_copy",  "barrier",
    "branch",     "shuffle",     "matrix",         "other"};

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view name_of(InstructionClass kind) {
  return kNames[static_cast<size_t>(kind)];
}

void MemoryCounts::add(const MemoryCounts& other) {
  requests += other.requests;
  bytes += other.bytes;
  sectors += other.sectors;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  for (size_t bank = 0; bank < bank_conflicts.size(); ++bank)
    bank_conflicts[bank] += other.bank_conflicts[bank];
}

void Counts::add(const Counts& other) {
  warp_instructions += other.warp_instructions;
  thread_instructions += other.thread_instructions;
  predicated_off += other.predicated_off;
  for (size_t i = 0; i < by_class.size(); ++i) by_class[i] += other.by_class[i];
  fma += other.fma;
  multiply_adds += other.multiply_adds;
  global_load.add(other.global_load);
  global_store.add(other.global_store);
  shared_load.add(other.shared_load);
  shared_store.add(other.shared_store);
  atomics.add(other.atomics);
  barriers += other.barriers;
  async_bytes += other.async_bytes;
  divergent_branches += other.divergent_branches;
}

double Counts::fma_share() const {
  return ratio(fma, warp_instructions);
}

double Counts::sectors_per_request() const {
  return ratio(global_load.sectors + global_store.sectors,
               global_load.requests + global_store.requests);
}

double Counts::wavefronts_per_shared_load() const {
  return ratio(shared_load.wavefronts, shared_load.requests);
}

}  // namespace tilec::ptx
