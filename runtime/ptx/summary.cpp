#include "runtime/ptx/summary.h"

#include <algorithm>
#include <map>

namespace tilec::ptx {
namespace {

bool is_global(Space space) {
  return space == Space::global || space == Space::generic;
}

// What one access adds; cp.async is a global load on one side and a shared store on the other.
void add_access(Counts& counts, const Access& access, const MemoryCounts& main,
                const MemoryCounts& source) {
  if (access.kind == AccessKind::async_copy) {
    counts.global_load.add(source);
    counts.shared_store.add(main);
    counts.async_bytes += main.bytes;
  } else if (access.kind == AccessKind::bulk_in || access.kind == AccessKind::bulk_out) {
    (access.kind == AccessKind::bulk_in ? counts.global_load : counts.global_store).add(source);
    counts.async_bytes += source.bytes;
  } else if (access.kind == AccessKind::atomic) {
    counts.atomics.add(main);
  } else if (access.space == Space::shared) {
    (access.kind == AccessKind::load ? counts.shared_load : counts.shared_store).add(main);
  } else if (is_global(access.space)) {
    (access.kind == AccessKind::load ? counts.global_load : counts.global_store).add(main);
  }
}

Counts counts_of(const Code& code, uint32_t op, const BlockCount& block, const RawCounts& raw) {
  const OpInfo& info = code.infos[op];
  Counts counts;
  const uint64_t lanes = block.threads - raw.off[op];
  counts.warp_instructions = block.warps;
  counts.thread_instructions = lanes;
  counts.predicated_off = raw.off[op];
  counts.by_class[static_cast<size_t>(info.kind)] = block.warps;
  if (info.kind == InstructionClass::fma) counts.fma = block.warps;
  counts.multiply_adds = lanes * info.multiply_adds;
  counts.multiply_adds += raw.matrix_multiply_adds[op];
  if (info.kind == InstructionClass::barrier) counts.barriers = block.warps;
  if (info.access != kNone)
    add_access(counts, code.accesses[info.access], raw.accesses[info.access],
               raw.async_sources[info.access]);
  if (info.control != kNone && code.controls[info.control].kind == ControlKind::branch)
    counts.divergent_branches = block.divergent;
  return counts;
}

std::vector<LineCounts> list_of(const std::map<std::pair<std::string, int>, Counts>& by_line) {
  std::vector<LineCounts> list;
  for (const auto& [place, counts] : by_line)
    list.push_back({.line = place.second, .file = place.first, .counts = counts});
  return list;
}

std::string file_of(const Program& program, TileLocation tile) {
  const auto file = static_cast<size_t>(tile.file);
  return tile.line > 0 && file < program.files.size() ? program.files[file] : std::string();
}

Site site_of(const Launch& launch, const FoundSite& found) {
  const OpInfo& info = launch.code->infos[found.op];
  return {.ptx_line = info.line,
          .tile_line = info.tile.line,
          .tile_file = file_of(*launch.program, info.tile),
          .block = coordinates(found.block, launch.config.grid),
          .thread = coordinates(found.thread, launch.config.block)};
}

}  // namespace

void RawCounts::add(const RawCounts& other) {
  const auto grow = [](auto& mine, const auto& theirs) {
    if (mine.size() < theirs.size()) mine.resize(theirs.size());
  };
  grow(blocks, other.blocks);
  grow(off, other.off);
  grow(matrix_multiply_adds, other.matrix_multiply_adds);
  grow(accesses, other.accesses);
  grow(async_sources, other.async_sources);
  for (size_t i = 0; i < other.blocks.size(); ++i) {
    blocks[i].warps += other.blocks[i].warps;
    blocks[i].threads += other.blocks[i].threads;
    blocks[i].divergent += other.blocks[i].divergent;
  }
  for (size_t i = 0; i < other.off.size(); ++i) off[i] += other.off[i];
  for (size_t i = 0; i < other.matrix_multiply_adds.size(); ++i)
    matrix_multiply_adds[i] += other.matrix_multiply_adds[i];
  for (size_t i = 0; i < other.accesses.size(); ++i) {
    accesses[i].add(other.accesses[i]);
    async_sources[i].add(other.async_sources[i]);
  }
  warps += other.warps;
  run_blocks += other.run_blocks;
}

Counters summarise(const Program& program, const Code& code, const RawCounts& raw) {
  Counters counters{.blocks = raw.run_blocks, .warps = raw.warps};
  std::map<std::pair<std::string, int>, Counts> by_ptx, by_tile;
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    const BlockCount& count = raw.blocks[b];
    if (count.warps == 0) continue;
    const CodeBlock& block = code.blocks[b];
    for (uint32_t op = block.begin; op < block.end + (block.control != kNone); ++op) {
      const OpInfo& info = code.infos[op];
      if (info.hidden) continue;
      const Counts counts = counts_of(code, op, count, raw);
      counters.total.add(counts);
      by_ptx[{std::string(), info.line}].add(counts);
      by_tile[{file_of(program, info.tile), info.tile.line}].add(counts);
    }
  }
  counters.by_ptx_line = list_of(by_ptx);
  counters.by_tile_line = list_of(by_tile);
  return counters;
}

std::vector<Finding> describe_all(const Launch& launch, const FoundList& found) {
  std::vector<Finding> out;
  for (const Found& each : found.list()) {
    Finding finding{.kind = each.kind,
                    .kernel = launch.code->name,
                    .site = site_of(launch, each.site),
                    .address = each.address,
                    .bytes = each.bytes,
                    .detail = each.detail,
                    .count = each.count};
    if (each.space != Space::none) finding.space = std::string(name_of(each.space));
    if (each.clash.op != kNone) finding.clash = site_of(launch, each.clash);
    out.push_back(std::move(finding));
  }
  std::sort(out.begin(), out.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.site.ptx_line, a.kind, a.detail) <
           std::tie(b.site.ptx_line, b.kind, b.detail);
  });
  return out;
}

}  // namespace tilec::ptx
