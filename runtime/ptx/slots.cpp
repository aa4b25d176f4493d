// Registers: which may be read before they are written, and which slot of the file each gets.
#include <algorithm>

#include "runtime/ptx/flow.h"

namespace tilec::ptx {
namespace {

constexpr uint32_t kLaneBytes = 128;              // 32 lanes of 4 bytes
constexpr uint64_t kMaxBits = uint64_t{1} << 31;  // of a data-flow table

// One bit a register and block.
class BitTable {
 public:
  BitTable(size_t rows, size_t bits, bool value)
      : words_((bits + 63) / 64), data_(rows * words_, value ? ~uint64_t{0} : 0) {}
  uint64_t* row(size_t index) { return data_.data() + index * words_; }
  size_t words() const { return words_; }
  static bool test(const uint64_t* row, uint32_t bit) { return row[bit / 64] >> bit % 64 & 1; }
  static void set(uint64_t* row, uint32_t bit) { row[bit / 64] |= uint64_t{1} << bit % 64; }
  static void clear(uint64_t* row, uint32_t bit) { row[bit / 64] &= ~(uint64_t{1} << bit % 64); }

 private:
  size_t words_;
  std::vector<uint64_t> data_;
};

struct Flow {
  std::vector<std::vector<uint32_t>> successors;
  std::vector<std::pair<size_t, size_t>> uses;  // of a block, into Code::uses
};

Flow flow_of(const Code& code) {
  Flow flow;
  flow.successors.resize(code.blocks.size());
  flow.uses.resize(code.blocks.size());
  size_t at = 0;
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    flow.successors[b] = successors(code, static_cast<uint32_t>(b), true);
    const CodeBlock& block = code.blocks[b];
    const uint32_t end = block.end + (block.control != kNone);
    const size_t begin = at;
    while (at < code.uses.size() && code.uses[at].op < end) ++at;
    flow.uses[b] = {begin, at};
  }
  return flow;
}

bool is_fixed(const Register& reg) {
  return reg.origin == Register::Origin::constant || reg.origin == Register::Origin::special;
}

// A guarded write leaves the lanes with a false guard as they were. Temporaries are written and
// read under one guard, so that does not matter to them.
bool writes_surely(const Code& code, const Use& use) {
  return use.write && (code.infos[use.op].guard == kNone ||
                       code.registers[use.reg].origin == Register::Origin::temporary);
}

struct Interval {
  uint32_t reg = 0;
  uint64_t begin = ~uint64_t{0};  // an op reads at 2 * index and writes at 2 * index + 1
  uint64_t end = 0;

  void add(uint64_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
};

BitTable live_in(const Code& code, const Flow& flow) {
  BitTable live(code.blocks.size(), code.registers.size(), false);
  std::vector<uint64_t> row(live.words());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = code.blocks.size(); b-- > 0;) {
      std::fill(row.begin(), row.end(), 0);
      for (uint32_t to : flow.successors[b])
        for (size_t w = 0; w < row.size(); ++w) row[w] |= live.row(to)[w];
      for (size_t u = flow.uses[b].second; u-- > flow.uses[b].first;) {
        // Uses of one op stand together, its reads before its writes.
        const Use& use = code.uses[u];
        if (writes_surely(code, use)) BitTable::clear(row.data(), use.reg);
        if (!use.write) BitTable::set(row.data(), use.reg);
      }
      if (!std::equal(row.begin(), row.end(), live.row(b))) {
        std::copy(row.begin(), row.end(), live.row(b));
        changed = true;
      }
    }
  }
  return live;
}

std::vector<Interval> intervals_of(const Code& code) {
  std::vector<Interval> intervals(code.registers.size());
  for (uint32_t reg = 0; reg < intervals.size(); ++reg) intervals[reg].reg = reg;
  for (const Use& use : code.uses) intervals[use.reg].add(2 * uint64_t{use.op} + use.write);
  const Flow flow = flow_of(code);
  BitTable live = live_in(code, flow);
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    const CodeBlock& block = code.blocks[b];
    const uint64_t last = 2 * uint64_t{block.end} + 1;
    for (size_t w = 0; w < live.words(); ++w) {
      uint64_t out = 0;
      for (uint32_t to : flow.successors[b]) out |= live.row(to)[w];
      for (uint64_t in = live.row(b)[w]; in != 0; in &= in - 1)
        intervals[w * 64 + static_cast<size_t>(__builtin_ctzll(in))].add(2 * uint64_t{block.begin});
      for (; out != 0; out &= out - 1)
        intervals[w * 64 + static_cast<size_t>(__builtin_ctzll(out))].add(last);
    }
  }
  return intervals;
}

// Linear scan: slots of registers whose interval has ended are taken again.
class SlotPool {
 public:
  explicit SlotPool(uint32_t bytes) : bytes_(bytes) {}

  uint32_t take(uint64_t begin, uint64_t end) {
    if (!busy_.empty() && busy_.front().first < begin) {
      std::pop_heap(busy_.begin(), busy_.end(), later);
      const uint32_t slot = busy_.back().second;
      busy_.back() = {end, slot};
      std::push_heap(busy_.begin(), busy_.end(), later);
      return slot;
    }
    busy_.emplace_back(end, count_);
    std::push_heap(busy_.begin(), busy_.end(), later);
    return count_++;
  }
  uint32_t bytes() const { return count_ * bytes_; }
  uint32_t slot_bytes() const { return bytes_; }

 private:
  using Entry = std::pair<uint64_t, uint32_t>;
  static bool later(const Entry& a, const Entry& b) { return a > b; }
  uint32_t bytes_;
  uint32_t count_ = 0;
  std::vector<Entry> busy_;  // min-heap by end
};

void assign(Code& code) {
  const bool share = uint64_t{code.registers.size()} * code.blocks.size() < kMaxBits;
  std::vector<Interval> intervals;
  if (share) {
    intervals = intervals_of(code);
  } else {
    intervals.resize(code.registers.size());
    for (uint32_t reg = 0; reg < intervals.size(); ++reg) intervals[reg] = {reg, 0, 0};
    for (const Use& use : code.uses) intervals[use.reg].end = ~uint64_t{0};
  }
  for (Interval& interval : intervals) {
    const Register& reg = code.registers[interval.reg];
    if (is_fixed(reg) || reg.tracked) interval = {interval.reg, 0, ~uint64_t{0}};
  }
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return std::pair(a.begin, a.reg) < std::pair(b.begin, b.reg);
  });
  SlotPool narrow(kLaneBytes), wide(2 * kLaneBytes);
  for (const Interval& interval : intervals) {
    Register& reg = code.registers[interval.reg];
    if (interval.begin == ~uint64_t{0}) continue;  // declared and never named
    if (reg.type == Type::pred)
      reg.slot = code.predicates++;
    else
      reg.slot = (bytes_of(reg.type) == 8 ? wide : narrow).take(interval.begin, interval.end);
  }
  for (Register& reg : code.registers) {
    if (reg.type == Type::pred) continue;
    reg.slot = bytes_of(reg.type) == 8 ? narrow.bytes() + reg.slot * wide.slot_bytes()
                                       : reg.slot * narrow.slot_bytes();
  }
  code.register_bytes = narrow.bytes() + wide.bytes();
}

void patch(Code& code, const Use& use) {
  const uint32_t slot = code.registers[use.reg].slot;
  Op& op = code.ops[use.op];
  OpInfo& info = code.infos[use.op];
  switch (use.field) {
    case Field::d:
      op.d = slot;
      break;
    case Field::a:
      op.a = slot;
      break;
    case Field::b:
      op.b = slot;
      break;
    case Field::c:
      op.c = slot;
      break;
    case Field::extra:
      op.extra = slot;
      break;
    case Field::guard:
      info.guard = slot;
      break;
    case Field::address:
      code.accesses[info.access].address = slot;
      break;
    case Field::source:
      code.accesses[info.access].source = slot;
      break;
    case Field::source_bytes:
      code.accesses[info.access].source_bytes = slot;
      break;
    case Field::ignore_source:
      code.accesses[info.access].ignore_source = slot;
      break;
    case Field::barrier:
      code.controls[info.control].barrier = slot;
      break;
    case Field::threads:
      code.controls[info.control].threads = slot;
      break;
    case Field::index:
      code.controls[info.control].index = slot;
      break;
    case Field::predicate:
      code.controls[info.control].predicate = slot;
      break;
    case Field::result:
      code.controls[info.control].result = slot;
      break;
    case Field::members:
      code.collectives[code.controls[info.control].collective].members = slot;
      break;
    case Field::part:
      code.collectives[code.controls[info.control].collective].parts[use.element] = slot;
      break;
    case Field::data:
      code.accesses[info.access].data[use.element] = slot;
      break;
  }
}

}  // namespace

void find_unwritten(Code& code) {
  if (uint64_t{code.registers.size()} * code.blocks.size() >= kMaxBits) return;
  const Flow flow = flow_of(code);
  // Bit set: written on every path to the block's begin.
  BitTable written(code.blocks.size(), code.registers.size(), true);
  std::fill(written.row(0), written.row(0) + written.words(), 0);
  std::vector<uint64_t> row(written.words());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < code.blocks.size(); ++b) {
      if (code.blocks[b].order == kNone) continue;  // never reached
      std::copy(written.row(b), written.row(b) + row.size(), row.begin());
      for (size_t u = flow.uses[b].first; u < flow.uses[b].second; ++u)
        if (writes_surely(code, code.uses[u])) BitTable::set(row.data(), code.uses[u].reg);
      for (uint32_t to : flow.successors[b])
        for (size_t w = 0; w < row.size(); ++w) {
          const uint64_t before = written.row(to)[w];
          written.row(to)[w] = before & row[w];
          changed |= written.row(to)[w] != before;
        }
    }
  }
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    if (code.blocks[b].order == kNone) continue;
    for (size_t u = flow.uses[b].first; u < flow.uses[b].second; ++u) {
      const Use& use = code.uses[u];
      Register& reg = code.registers[use.reg];
      if (!use.write && reg.origin == Register::Origin::declared &&
          !BitTable::test(written.row(b), use.reg))
        reg.tracked = true;
      if (writes_surely(code, use)) BitTable::set(written.row(b), use.reg);
    }
  }
}

namespace {

// Arithmetic, and what lanes do together, pass values on; whatever else reads one looks at it.
bool passes_on(const Code& code, uint32_t op) {
  const OpInfo& info = code.infos[op];
  if (info.lane_op != LaneOp::none) return true;
  if (info.control == kNone) return false;
  const uint32_t collective = code.controls[info.control].collective;
  if (collective == kNone) return false;
  const CollectiveKind kind = code.collectives[collective].kind;
  return kind == CollectiveKind::shuffle || kind == CollectiveKind::multiply ||
         kind == CollectiveKind::move_matrix;
}

// The registers that get their value from tracked ones: all that must be watched.
std::vector<bool> watched_registers(const Code& code) {
  std::vector<bool> watched(code.registers.size(), false);
  for (uint32_t reg = 0; reg < code.registers.size(); ++reg)
    watched[reg] = code.registers[reg].tracked;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t begin = 0; begin < code.uses.size();) {
      size_t end = begin;
      bool from_watched = false;
      for (; end < code.uses.size() && code.uses[end].op == code.uses[begin].op; ++end)
        from_watched |= !code.uses[end].write && code.uses[end].field != Field::guard &&
                        watched[code.uses[end].reg];
      if (from_watched && passes_on(code, code.uses[begin].op))
        for (size_t i = begin; i < end; ++i)
          if (code.uses[i].write && !watched[code.uses[i].reg])
            changed = watched[code.uses[i].reg] = true;
      begin = end;
    }
  }
  return watched;
}

}  // namespace

void note_tracked(Code& code) {
  const std::vector<bool> watched = watched_registers(code);
  std::vector<uint32_t> index(code.registers.size(), kNone);
  for (uint32_t reg = 0; reg < code.registers.size(); ++reg) {
    if (!watched[reg]) continue;
    index[reg] = static_cast<uint32_t>(code.tracked.size());
    code.tracked.push_back(reg);
  }
  for (const Use& use : code.uses) {
    if (index[use.reg] == kNone) continue;
    OpInfo& info = code.infos[use.op];
    if (info.tracked_count++ == 0)
      info.tracked_begin = static_cast<uint32_t>(code.tracked_uses.size());
    code.tracked_uses.push_back(
        {.tracked = index[use.reg],
         .field = use.field,
         .write = use.write,
         .guard = use.field == Field::guard,
         .sink = !use.write && (!passes_on(code, use.op) || use.field == Field::members)});
  }
  for (const Access& access : code.accesses) {
    const bool global = access.space == Space::global || access.space == Space::generic;
    code.between_blocks |= global && (access.strong || access.kind == AccessKind::atomic);
    if (access.space != Space::shared && access.space != Space::generic) continue;
    if (access.kind == AccessKind::mbarrier) continue;
    const uint32_t bytes = access.kind == AccessKind::async_copy
                               ? access.copy_bytes
                               : uint32_t{access.bytes} * access.count;
    code.shared_grain = std::min(code.shared_grain, bytes);
  }
}

void allocate_slots(Code& code) {
  assign(code);
  for (const Use& use : code.uses) patch(code, use);
}

}  // namespace tilec::ptx
