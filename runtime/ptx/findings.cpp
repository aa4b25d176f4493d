#include "runtime/ptx/findings.h"

#include <fmt/format.h>

#include "runtime/ptx/block.h"

namespace tilec::ptx {
namespace {

constexpr std::array<FindingRow, 14> kRows = {{
    {FindingKind::out_of_bounds, "ptx-out-of-bounds", "access out of bounds"},
    {FindingKind::misaligned, "ptx-misaligned", "misaligned access"},
    {FindingKind::read_only, "ptx-read-only", "write to read-only memory"},
    {FindingKind::unwritten_memory, "ptx-unwritten-memory", "read of memory never written"},
    {FindingKind::unwritten_register, "ptx-unwritten-register", "read of a register never written"},
    {FindingKind::not_waited_for, "ptx-not-waited-for", "access to data of a copy not waited for"},
    {FindingKind::shared_race, "ptx-shared-race", "race on shared memory"},
    {FindingKind::global_race, "ptx-global-race", "race on global memory"},
    {FindingKind::divergent_barrier, "ptx-divergent-barrier", "barrier in divergent code"},
    {FindingKind::missed_barrier, "ptx-missed-barrier", "barrier that some threads never reach"},
    {FindingKind::bad_barrier, "ptx-bad-barrier", "barrier misused"},
    {FindingKind::deadlock, "ptx-deadlock", "threads wait for each other for ever"},
    {FindingKind::too_long, "ptx-too-long", "the kernel runs too long"},
    {FindingKind::trap, "ptx-trap", "trap"},
}};

std::string at(const Site& site) {
  std::string text = fmt::format("line {}", site.ptx_line);
  if (site.tile_line > 0)
    text +=
        fmt::format(" ({}:{})", site.tile_file.empty() ? "tile" : site.tile_file, site.tile_line);
  return text + fmt::format(", block ({},{},{}) thread ({},{},{})", site.block[0], site.block[1],
                            site.block[2], site.thread[0], site.thread[1], site.thread[2]);
}

bool before(const FoundSite& a, const FoundSite& b) {
  return std::pair(a.block, a.thread) < std::pair(b.block, b.thread);
}

}  // namespace

const std::array<FindingRow, 14>& finding_rows() {
  return kRows;
}

std::string describe(const Finding& finding) {
  const FindingRow& row = kRows[static_cast<size_t>(finding.kind)];
  std::string text = fmt::format("{}: {}: {}", finding.kernel, row.what, at(finding.site));
  if (!finding.space.empty())
    text += fmt::format(", {} bytes of {} memory at {:#x}", finding.bytes, finding.space,
                        finding.address);
  if (!finding.detail.empty()) text += "; " + finding.detail;
  if (finding.clash) text += "; clashes with " + at(*finding.clash);
  if (finding.count > 1) text += fmt::format("; {} lanes in all", finding.count);
  return text;
}

void FoundList::add(Found found) {
  for (Found& known : list_) {
    if (known.kind != found.kind || known.site.op != found.site.op ||
        known.clash.op != found.clash.op || known.space != found.space)
      continue;
    const uint64_t count = known.count + found.count;
    if (before(found.site, known.site)) known = std::move(found);
    known.count = count;
    return;
  }
  list_.push_back(std::move(found));
}

void FoundList::add(const FoundList& other) {
  for (const Found& found : other.list_) add(found);
}

void BlockRun::found(FindingKind kind, const Op& op, const Warp& warp, uint32_t mask,
                     const Trouble& trouble) {
  const auto lane = static_cast<uint32_t>(mask == 0 ? 0 : first_lane(mask));
  findings.add({.kind = kind,
                .site = {.op = op.index, .block = block_, .thread = warp.index * kLanes + lane},
                .clash = trouble.clash,
                .space = trouble.space,
                .address = trouble.address,
                .bytes = trouble.bytes,
                .detail = trouble.detail,
                .count = popcount(mask)});
}

}  // namespace tilec::ptx
