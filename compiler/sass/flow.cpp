#include "compiler/sass/flow.h"

#include <algorithm>
#include <map>

namespace tilec::sass {
namespace {

// Low 9 bits of the opcodes that end a block.
constexpr uint16_t kBra = 0x147, kBrx = 0x149, kExit = 0x14d, kRet = 0x150;

bool ends_block(const Instruction& instruction) {
  if (instruction.opcode == nullptr) return false;
  const uint16_t code = instruction.opcode->code;
  return code == kBra || code == kBrx || code == kExit || code == kRet;
}

// BRA has a predicate besides the guard, in bits 87..90; BRA.U (form 2) always depends on one.
bool may_fall_through(const Instruction& instruction) {
  if (!instruction.guard.always()) return true;
  if (instruction.opcode->code != kBra) return false;
  return form_of(instruction.word) == 2 || bits(instruction.word, 87, 4) != kTruePredicate;
}

// Index of the instruction that a direct branch goes to; none for other instructions, and for
// targets outside of the code.
std::optional<size_t> target_index(const Instruction& branch, size_t count) {
  const int64_t target = branch.target.value_or(-1);
  if (!ends_block(branch) || target < 0) return std::nullopt;
  const size_t index = static_cast<size_t>(target) / kWordBytes;
  return index < count ? std::optional<size_t>(index) : std::nullopt;
}

std::vector<size_t> block_starts(std::span<const Instruction> instructions) {
  std::vector<bool> starts(instructions.size() + 1, false);
  starts[0] = true;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (!ends_block(instructions[i])) continue;
    starts[i + 1] = true;
    if (const auto target = target_index(instructions[i], instructions.size()))
      starts[*target] = true;
  }
  std::vector<size_t> out;
  for (size_t i = 0; i < instructions.size(); ++i)
    if (starts[i]) out.push_back(i);
  return out;
}

void connect(Flow& flow, std::span<const Instruction> instructions) {
  std::map<size_t, size_t> block_at;  // first instruction -> block
  for (size_t b = 0; b < flow.blocks.size(); ++b) block_at[flow.blocks[b].begin] = b;
  const auto add_edge = [&](size_t from, size_t to) {
    std::vector<size_t>& successors = flow.blocks[from].successors;
    if (std::ranges::find(successors, to) != successors.end()) return;
    successors.push_back(to);
    flow.blocks[to].predecessors.push_back(from);
  };
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    const Instruction& last = instructions[flow.blocks[b].end - 1];
    const bool is_end = ends_block(last);
    if (const auto target = target_index(last, instructions.size()))
      add_edge(b, block_at.at(*target));
    if (is_end && last.opcode->code == kBrx) flow.complete = false;
    if (b + 1 < flow.blocks.size() && (!is_end || may_fall_through(last))) add_edge(b, b + 1);
  }
}

// Immediate dominators by Cooper, Harvey and Kennedy's iteration ("A simple, fast dominance
// algorithm", 2001). Unreached blocks get SIZE_MAX.
class Dominators {
 public:
  explicit Dominators(const Flow& flow)
      : order_(flow.blocks.size(), SIZE_MAX), parent_(flow.blocks.size(), SIZE_MAX) {
    const std::vector<size_t> reverse_postorder = order(flow);
    for (size_t i = 0; i < reverse_postorder.size(); ++i) order_[reverse_postorder[i]] = i;
    if (flow.blocks.empty()) return;
    parent_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const size_t block : reverse_postorder) {
        if (block == 0) continue;
        size_t parent = SIZE_MAX;
        for (const size_t from : flow.blocks[block].predecessors)
          if (parent_[from] != SIZE_MAX) parent = parent == SIZE_MAX ? from : common(parent, from);
        if (parent == parent_[block]) continue;
        parent_[block] = parent;
        changed = true;
      }
    }
  }

  bool dominates(size_t above, size_t block) const {
    if (parent_[block] == SIZE_MAX) return false;
    while (block != above) {
      if (block == 0) return false;
      block = parent_[block];
    }
    return true;
  }

 private:
  static std::vector<size_t> order(const Flow& flow) {
    std::vector<size_t> postorder;
    std::vector<bool> seen(flow.blocks.size(), false);
    std::vector<std::pair<size_t, size_t>> work;  // block, its next successor
    if (!flow.blocks.empty()) {
      work.emplace_back(0, 0);
      seen[0] = true;
    }
    while (!work.empty()) {
      auto& [block, next] = work.back();
      if (next == flow.blocks[block].successors.size()) {
        postorder.push_back(block);
        work.pop_back();
        continue;
      }
      const size_t to = flow.blocks[block].successors[next++];
      if (seen[to]) continue;
      seen[to] = true;
      work.emplace_back(to, 0);
    }
    return {postorder.rbegin(), postorder.rend()};
  }

  size_t common(size_t a, size_t b) const {
    while (a != b) {
      while (order_[a] > order_[b]) a = parent_[a];
      while (order_[b] > order_[a]) b = parent_[b];
    }
    return a;
  }

  std::vector<size_t> order_;   // place in reverse postorder
  std::vector<size_t> parent_;  // immediate dominator
};

void add_loops(Flow& flow) {
  const Dominators dominators(flow);
  std::map<size_t, std::vector<bool>> bodies;  // header -> blocks
  for (size_t tail = 0; tail < flow.blocks.size(); ++tail) {
    for (const size_t header : flow.blocks[tail].successors) {
      if (!dominators.dominates(header, tail)) continue;
      std::vector<bool>& body =
          bodies.try_emplace(header, std::vector<bool>(flow.blocks.size(), false)).first->second;
      body[header] = true;
      std::vector<size_t> work{tail};
      while (!work.empty()) {
        const size_t block = work.back();
        work.pop_back();
        if (body[block]) continue;
        body[block] = true;
        for (const size_t from : flow.blocks[block].predecessors) work.push_back(from);
      }
    }
  }
  for (const auto& [header, body] : bodies) {
    Loop loop{.header = header};
    for (size_t b = 0; b < body.size(); ++b)
      if (body[b]) loop.blocks.push_back(b);
    flow.loops.push_back(std::move(loop));
  }
  std::ranges::sort(flow.loops, [](const Loop& a, const Loop& b) {
    return std::pair(b.blocks.size(), a.header) < std::pair(a.blocks.size(), b.header);
  });
  for (size_t i = 0; i < flow.loops.size(); ++i) {
    for (size_t j = i; j-- > 0 && !flow.loops[i].parent;) {
      if (!flow.loops[j].contains(flow.loops[i].header)) continue;
      flow.loops[i].parent = j;
      flow.loops[i].depth = flow.loops[j].depth + 1;
    }
  }
}

}  // namespace

bool Loop::contains(size_t block) const {
  return std::ranges::binary_search(blocks, block);
}

Flow find_flow(std::span<const Instruction> instructions) {
  Flow flow;
  if (instructions.empty()) return flow;
  const std::vector<size_t> starts = block_starts(instructions);
  for (size_t i = 0; i < starts.size(); ++i)
    flow.blocks.push_back(
        {.begin = starts[i], .end = i + 1 < starts.size() ? starts[i + 1] : instructions.size()});
  connect(flow, instructions);
  add_loops(flow);
  return flow;
}

std::optional<size_t> steady_loop(const Flow& flow, std::span<const Instruction> instructions) {
  std::vector<int> sums;
  for (const Loop& loop : flow.loops) {
    int sum = 0;
    for (const size_t i : instructions_of(flow, loop, instructions))
      sum += multiply_adds(instructions[i]);
    sums.push_back(sum);
  }
  const auto holds_another = [&](size_t which) {
    for (size_t l = 0; l < flow.loops.size(); ++l)
      if (l != which && sums[l] > 0 && flow.loops[which].contains(flow.loops[l].header))
        return true;
    return false;
  };
  std::optional<size_t> best;
  for (size_t l = 0; l < flow.loops.size(); ++l)
    if (sums[l] > 0 && !holds_another(l) && (!best || sums[l] > sums[*best])) best = l;
  return best;
}

std::vector<size_t> instructions_of(const Flow& flow, const Loop& loop,
                                    std::span<const Instruction> instructions) {
  std::vector<size_t> out;
  for (const size_t block : loop.blocks)
    for (size_t i = flow.blocks[block].begin; i < flow.blocks[block].end; ++i)
      if (classify(instructions[i]) != Class::nop) out.push_back(i);
  return out;
}

std::vector<bool> blocks_after(const Flow& flow, size_t block) {
  std::vector<bool> seen(flow.blocks.size(), false);
  std::vector<size_t> work{block};
  seen[block] = true;
  while (!work.empty()) {
    const size_t from = work.back();
    work.pop_back();
    for (const size_t to : flow.blocks[from].successors) {
      if (seen[to]) continue;
      seen[to] = true;
      work.push_back(to);
    }
  }
  return seen;
}

}  // namespace tilec::sass
