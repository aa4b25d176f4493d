// Rules `pace` and `idle`: distances that do not follow from registers, that the assembler keeps
// and that hardware turned out to need. The code is walked straight: the words before the region,
// as far as they run into it, the loop twice, the way out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "compiler/sass/latency.h"
#include "compiler/sass/verify_parts.h"

namespace tilec::sass::verify {
namespace {

constexpr size_t kAround = 12;  // words before the region and behind it: more than any distance

bool is_never(const Instruction& instruction) {
  return instruction.guard.predicate == kTruePredicate && instruction.guard.negated;
}

bool is_idle_load(const Code& code, size_t i) {
  return code.operands[i].effect == Effect::shared_read && is_never(code.at[i]);
}

bool is_load(const Code& code, size_t i) {
  return code.operands[i].effect == Effect::shared_read && !is_never(code.at[i]);
}

// The words in the order in which they issue.
std::vector<size_t> walk_of(const Code& code, const LoopEdit& edit) {
  std::vector<size_t> walk;
  size_t first = edit.new_begin;
  while (first > 0 && edit.new_begin - first < kAround && code.operands[first - 1].known &&
         code.operands[first - 1].effect != Effect::control)
    --first;
  for (size_t i = first; i < edit.new_loop_begin; ++i) walk.push_back(i);
  for (int trip = 0; trip < 2; ++trip)
    for (size_t i = edit.new_loop_begin; i < edit.new_loop_end; ++i) walk.push_back(i);
  const size_t last = std::min(edit.new_end + kAround, code.at.size());
  for (size_t i = edit.new_loop_end; i < last; ++i) {
    if (!code.operands[i].known || code.operands[i].effect == Effect::control) break;
    walk.push_back(i);
  }
  return walk;
}

// `pace`: each access, wait and barrier, and each instruction of the uniform datapath, against the
// last of each of these before it.
std::optional<Finding> check_pace(const Code& code, const LoopEdit& edit) {
  struct Last {
    std::optional<size_t> word;
    int time = 0;
  };
  std::array<Last, 4> last;  // access, barrier, wait, uniform
  int now = 0;
  for (const size_t i : walk_of(code, edit)) {
    const Operands& operands = code.operands[i];
    for (const Last& before : last) {
      if (!before.word) continue;
      const size_t b = *before.word;
      const bool judged =
          (i >= edit.new_begin && i < edit.new_end) || (b >= edit.new_begin && b < edit.new_end);
      const int needed = issue_distance(code.at[b], code.operands[b], code.at[i], operands);
      if (judged && now - before.time < needed)
        return Finding{
            i, "pace",
            fmt::format("{} stands {} cycles behind {} (word {}), {} are needed",
                        name_of(code.at[i]), now - before.time, name_of(code.at[b]), b, needed)};
    }
    if (goes_to_memory(code.at[i], operands)) last[0] = {i, now};
    if (operands.effect == Effect::block_barrier) last[1] = {i, now};
    if (operands.effect == Effect::async_wait) last[2] = {i, now};
    if (is_uniform(pipe_of(code.at[i], operands))) last[3] = {i, now};
    now += std::max(1, code.at[i].control.stall);
  }
  return std::nullopt;
}

// `pace`: what overtakes in the uniform datapath, against those before it that read what it writes.
std::optional<Finding> check_overtaking(const Code& code, const LoopEdit& edit) {
  std::map<std::pair<File, int>, int> read_at;  // cycles
  const auto in_file = [](const Operand& operand) {
    return operand.file == File::uniform || operand.file == File::uniform_predicate;
  };
  int now = 0;
  for (const size_t i : walk_of(code, edit)) {
    const Operands& operands = code.operands[i];
    const Pipe pipe = pipe_of(code.at[i], operands);
    const bool judged = i >= edit.new_begin && i < edit.new_end && overtakes(pipe);
    for (const Operand& write : operands.writes()) {
      for (int r = 0; judged && in_file(write) && r < write.count; ++r) {
        const auto read = read_at.find({write.file, write.first + r});
        if (read != read_at.end() && now - read->second < kOvertakeDistance)
          return Finding{i, "pace",
                         fmt::format("{} writes what was read {} cycles before, {} are needed",
                                     name_of(code.at[i]), now - read->second, kOvertakeDistance)};
      }
    }
    for (const Operand& read : operands.reads())
      for (int r = 0; is_uniform(pipe) && in_file(read) && r < read.count; ++r)
        read_at[{read.file, read.first + r}] = now;
    now += std::max(1, code.at[i].control.stall);
  }
  return std::nullopt;
}

// For each asynchronous copy that comes behind a load from shared memory: how many loads that never
// happen stand between the last such load and it. By word; over two trips.
std::vector<std::pair<size_t, int>> idle_before_copies(const Code& code, size_t begin, size_t end) {
  std::vector<std::pair<size_t, int>> out;
  bool loaded = false;
  int idle = 0;
  for (int trip = 0; trip < 2; ++trip) {
    for (size_t i = begin; i < end; ++i) {
      if (is_load(code, i)) {
        loaded = true;
        idle = 0;
      } else if (is_idle_load(code, i)) {
        ++idle;
      } else if (code.operands[i].effect == Effect::async_copy && loaded) {
        out.push_back({i, idle});
        loaded = false;
      }
    }
  }
  return out;
}

// `idle`: as many as the assembler keeps in the old loop.
std::optional<Finding> check_idle(const Both& both) {
  const LoopEdit& edit = both.edit;
  const auto old = idle_before_copies(both.before, edit.old_begin, edit.old_end);
  if (old.empty()) return std::nullopt;
  const int needed = std::ranges::min(old, {}, &std::pair<size_t, int>::second).second;
  for (const auto& [word, idle] :
       idle_before_copies(both.after, edit.new_loop_begin, edit.new_loop_end))
    if (idle < needed)
      return Finding{word, "idle",
                     fmt::format("{} loads that never happen stand between a load from shared "
                                 "memory and this copy, the old loop has {}",
                                 idle, needed)};
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check_memory(const Both& both) {
  if (auto finding = check_pace(both.after, both.edit)) return finding;
  if (auto finding = check_overtaking(both.after, both.edit)) return finding;
  return check_idle(both);
}

}  // namespace tilec::sass::verify
