#include "runtime/ptx/block.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

namespace tilec::ptx {
namespace {

// A warp runs so many instructions before the next gets its turn: enough for a spin on another
// warp to end, few enough to come back often.
constexpr uint64_t kQuantum = 1 << 16;
// Lanes that waited so many steps of their warp for other lanes get a turn of their own: they may
// hold what the others spin for.
constexpr uint64_t kPatience = 1 << 17;
constexpr uint32_t kTurn = 1 << 10;

std::array<uint32_t, 3> coordinates(uint64_t number, const std::array<uint32_t, 3>& extents) {
  const uint64_t xy = uint64_t{extents[0]} * extents[1];
  return {static_cast<uint32_t>(number % extents[0]),
          static_cast<uint32_t>(number / extents[0] % extents[1]),
          static_cast<uint32_t>(number / xy)};
}

}  // namespace

BlockRun::BlockRun(const Launch& launch) : launch_(launch) {
  const Code& code = *launch.code;
  warps_.resize(launch.warps_per_block);
  order_.resize(launch.warps_per_block);
  storage_.resize(size_t{code.register_bytes} * launch.warps_per_block + 256);
  predicates_.resize(size_t{code.predicates} * launch.warps_per_block);
  shared_.resize(launch.shared_end - kSharedBegin + 32);
  local_.resize((code.local_end - kLocalBegin) * launch.warps_per_block * kLanes);
  if (launch.config.checks == Checks::all) {
    local_written_.resize(local_.size());
    shared_shadow_ =
        std::make_unique<SharedShadow>(shared_bytes(), code.shared_grain, launch.warps_per_block);
    site_of_op_.resize(code.ops.size());
  }
  counts.blocks.resize(code.blocks.size());
  counts.off.resize(code.ops.size());
  counts.matrix_multiply_adds.resize(code.ops.size());
  counts.accesses.resize(code.accesses.size());
  counts.async_sources.resize(code.accesses.size());
  patterns.resize(code.accesses.size());
  source_patterns.resize(code.accesses.size());
  last_allocation.resize(code.accesses.size(), nullptr);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  std::byte* registers = storage_.data() + (256 - address % 256) % 256;
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    Warp& warp = warps_[w];
    warp.run = this;
    warp.index = w;
    warp.lanes.registers = registers + size_t{code.register_bytes} * w;
    warp.lanes.predicates = predicates_.data() + size_t{code.predicates} * w;
    warp.lanes.clock = &executed_;
    warp.lanes.code = &code;
    warp.lanes.warp = &warp;
  }
}

std::byte* BlockRun::local(const Warp& warp, uint32_t lane) {
  return local_.data() + (size_t{warp.index} * kLanes + lane) * local_bytes();
}

uint8_t* BlockRun::local_written(const Warp& warp, uint32_t lane) {
  return local_written_.data() + (size_t{warp.index} * kLanes + lane) * local_bytes();
}

Owner BlockRun::owner(uint32_t op) {
  uint32_t& site = site_of_op_[op];
  if (site == 0) {
    site = launch_.sites->add(op, block_);
    open_sites_.push_back(op);
  }
  return {.site = site, .block = block_, .synchronised = synchronised_};
}

void BlockRun::note_sync() {
  if (!shared_shadow_) return;
  std::vector<uint32_t> numbers;
  for (uint32_t op : open_sites_) numbers.push_back(std::exchange(site_of_op_[op], 0));
  open_sites_.clear();
  synchronised_ = launch_.sites->synchronise(numbers);
}

void BlockRun::begin(uint64_t block) {
  block_ = block;
  executed_ = 0;
  stop_ = false;
  round_ = 0;
  std::iota(order_.begin(), order_.end(), 0U);
  start();
}

bool BlockRun::advance(uint64_t instructions) {
  const uint64_t until = executed_ + instructions;
  while (!stop_) {
    bool progress = false;
    bool left = false;
    const Schedule& schedule = launch_.schedule;
    if (schedule.permutes()) schedule.shuffle(order_, block_, round_);
    ++round_;
    for (uint32_t index : order_) {
      Warp& warp = warps_[index];
      if (!warp.ready.empty()) {
        run_warp(warp, schedule.permutes() ? schedule.turn(index, block_, round_) : kQuantum);
        progress = true;
      }
      left |= warp.alive != 0;
      if (stop_) break;
    }
    if (!left) break;
    if (!progress && !stop_) {
      report_stuck();
      break;
    }
    if (executed_ >= until && !stop_) return false;
  }
  ++counts.run_blocks;
  counts.warps += warps_.size();
  return true;
}

void BlockRun::start() {
  alive_threads_ = launch_.threads_per_block;
  barriers_ = {};
  std::memset(storage_.data(), 0, storage_.size());
  std::fill(predicates_.begin(), predicates_.end(), 0);
  // Shared and local memory hold a NaN with a known pattern until they are written.
  std::memset(shared_.data(), 0xFF, shared_.size());
  std::fill(local_.begin(), local_.end(), std::byte{0xFF});
  std::fill(local_written_.begin(), local_written_.end(), 0);
  if (shared_shadow_) shared_shadow_->reset();
  std::fill(site_of_op_.begin(), site_of_op_.end(), 0);
  open_sites_.clear();
  synchronised_ = 0;
  mbarriers = {};
  for (Warp& warp : warps_) start_warp(warp);
}

void BlockRun::start_warp(Warp& warp) {
  const uint32_t first = warp.index * kLanes;
  const uint32_t count = std::min<uint32_t>(kLanes, launch_.threads_per_block - first);
  warp.members = warp.alive = count == kLanes ? kAllLanes : (1u << count) - 1;
  warp.steps = 0;
  warp.turn = 0;
  warp.ready.assign(1, {.block = 0, .mask = warp.alive});
  warp.waiting.clear();
  warp.frames.assign(1, {});
  warp.copies.clear();
  warp.written.assign(launch_.code->tracked.size(), 0);
  fill_constants(warp);
}

void BlockRun::fill_constants(Warp& warp) {
  const Code& code = *launch_.code;
  for (const Constant& constant : code.constants) {
    uint64_t value = constant.value;
    if (constant.base == Constant::Base::dynamic_shared) value += code.dynamic_shared;
    if (constant.base == Constant::Base::variable) value += launch_.variables[constant.variable];
    const Register& reg = code.registers[constant.reg];
    std::byte* at = warp.lanes.registers + reg.slot;
    if (reg.type == Type::pred)
      warp.lanes.predicates[reg.slot] = value != 0 ? kAllLanes : 0;
    else if (bytes_of(reg.type) == 8)
      std::fill_n(reinterpret_cast<uint64_t*>(at), kLanes, value);
    else
      std::fill_n(reinterpret_cast<uint32_t*>(at), kLanes, static_cast<uint32_t>(value));
  }
  const auto block = coordinates(block_, launch_.config.grid);
  for (const auto& [which, id] : code.specials) {
    std::byte* at = warp.lanes.registers + code.registers[id].slot;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const auto thread = coordinates(warp.index * kLanes + lane, launch_.config.block);
      uint32_t value = 0;
      switch (which) {
        case Special::tid_x:
          value = thread[0];
          break;
        case Special::tid_y:
          value = thread[1];
          break;
        case Special::tid_z:
          value = thread[2];
          break;
        case Special::ntid_x:
          value = launch_.config.block[0];
          break;
        case Special::ntid_y:
          value = launch_.config.block[1];
          break;
        case Special::ntid_z:
          value = launch_.config.block[2];
          break;
        case Special::ctaid_x:
          value = block[0];
          break;
        case Special::ctaid_y:
          value = block[1];
          break;
        case Special::ctaid_z:
          value = block[2];
          break;
        case Special::nctaid_x:
          value = launch_.config.grid[0];
          break;
        case Special::nctaid_y:
          value = launch_.config.grid[1];
          break;
        case Special::nctaid_z:
          value = launch_.config.grid[2];
          break;
        case Special::laneid:
          value = lane;
          break;
        case Special::warpid:
          value = warp.index;
          break;
        case Special::nwarpid:
          value = 64;
          break;
        case Special::smid:
          value = 0;
          break;
        case Special::nsmid:
          value = 1;
          break;
        case Special::gridid:
          value = 0;
          break;
        case Special::lanemask_eq:
          value = 1u << lane;
          break;
        case Special::lanemask_le:
          value = (2u << lane) - 1;
          break;
        case Special::lanemask_lt:
          value = (1u << lane) - 1;
          break;
        case Special::lanemask_ge:
          value = ~((1u << lane) - 1);
          break;
        case Special::lanemask_gt:
          value = ~((2u << lane) - 1);
          break;
        case Special::dynamic_smem_size:
          value = static_cast<uint32_t>(launch_.config.dynamic_shared_bytes);
          break;
        case Special::total_smem_size:
          value = static_cast<uint32_t>(launch_.shared_end - kSharedBegin);
          break;
        case Special::zero:
          value = 0;
          break;
        case Special::one:
          value = 1;
          break;
      }
      if (bytes_of(code.registers[id].type) == 8)
        reinterpret_cast<uint64_t*>(at)[lane] = value;
      else
        reinterpret_cast<uint32_t*>(at)[lane] = value;
    }
  }
}

void BlockRun::run_warp(Warp& warp, uint64_t instructions) {
  const uint64_t until = executed_ + instructions;
  while (!warp.ready.empty() && executed_ < until && !stop_) {
    if (all_yielded(warp)) return;
    const size_t index = warp.ready.size() == 1 ? 0 : pick(warp);
    Split& split = warp.ready[index];
    split.last_run = ++warp.steps;
    const CodeBlock& block = launch_.code->blocks[split.block];
    if (executed_ > launch_.config.max_block_instructions) {
      const size_t op = std::min<size_t>(block.begin, launch_.ops.size() - 1);
      found(FindingKind::too_long, launch_.ops[op], warp, split.mask,
            {.detail = "more than " + std::to_string(launch_.config.max_block_instructions) +
                       " warp instructions in one block"});
      stop_ = true;
      return;
    }
    execute(warp, split, block);
    split.yielded = std::exchange(yield_, false);
    if (block.control == kNone && block.next != kNone)
      move_to(warp, index, block.next);
    else
      control(warp, index, block);
  }
}

// Whether no lane of the warp has more to do than to wait; if so, the next turn begins afresh.
bool BlockRun::all_yielded(Warp& warp) {
  for (const Split& split : warp.ready)
    if (!split.yielded) return false;
  for (Split& split : warp.ready) split.yielded = false;
  return true;
}

// The split whose block comes first in the code's order, unless another has waited too long.
size_t BlockRun::pick(Warp& warp) {
  size_t best = 0, oldest = 0;
  // Whoever is deeper in calls goes first, to come back to where the others are.
  const auto rank = [&](const Split& split) {
    return std::tuple(split.yielded, ~warp.frames[split.frame].depth,
                      launch_.code->blocks[split.block].order);
  };
  for (size_t i = 1; i < warp.ready.size(); ++i) {
    const Split& split = warp.ready[i];
    if (rank(split) < rank(warp.ready[best])) best = i;
    if (split.last_run < warp.ready[oldest].last_run) oldest = i;
  }
  if (warp.turn > 0) {
    // The turn goes to whoever ran last, which is the split that was given it.
    --warp.turn;
    return static_cast<size_t>(
        std::max_element(warp.ready.begin(), warp.ready.end(),
                         [](const Split& a, const Split& b) { return a.last_run < b.last_run; }) -
        warp.ready.begin());
  }
  if (warp.steps - warp.ready[oldest].last_run > kPatience) {
    warp.turn = kTurn;
    return oldest;
  }
  return best;
}

void BlockRun::execute(Warp& warp, const Split& split, const CodeBlock& block) {
  const Op* op = launch_.ops.data() + block.begin;
  const Op* const end = launch_.ops.data() + block.end;
  Lanes& lanes = warp.lanes;
  lanes.mask = split.mask;
  executed_ += block.end - block.begin + 1;
  BlockCount& count = counts.blocks[split.block];
  ++count.warps;
  count.threads += popcount(split.mask);
  if (split.mask == kAllLanes) {
    for (; op != end; ++op) op->run_all(*op, lanes);
  } else {
    for (; op != end; ++op) op->run_some(*op, lanes);
  }
}

void BlockRun::control(Warp& warp, size_t index, const CodeBlock& block) {
  const uint32_t all = warp.ready[index].mask;
  if (block.control == kNone) return leave(warp, index, all);  // past the end: exit
  const Control& control = launch_.code->controls[block.control];
  const OpInfo& info = launch_.code->infos[block.end];
  const uint32_t mask = guarded(info, warp.lanes, all);
  if (info.tracked_count != 0 && launch_.config.checks == Checks::all) {
    check_reads(launch_.ops[block.end], warp, all, true);
    check_reads(launch_.ops[block.end], warp, mask, false);
  }
  if (info.guard != kNone) counts.off[block.end] += popcount(all & ~mask);
  switch (control.kind) {
    case ControlKind::branch:
      return branch(warp, index, control.target, mask);
    case ControlKind::indirect:
      return branch_by_index(warp, index, block, mask);
    case ControlKind::call:
      return call(warp, index, block, mask);
    case ControlKind::return_: {
      if (mask == 0) return move_to(warp, index, block.next);
      const CallFrame frame = warp.frames[warp.ready[index].frame];
      const Waiting back{.block = frame.resume, .mask = mask, .frame = frame.parent};
      park(warp, index, mask, block.next);
      return resume(warp, back);
    }
    case ControlKind::exit:
      return leave(warp, index, mask);
    case ControlKind::barrier:
      return arrive(warp, index, block, mask);
    case ControlKind::collective:
      return arrive_collective(warp, index, block, mask);
    case ControlKind::commit_group:
      warp.copies.commit(mask);
      return move_to(warp, index, block.next);
    case ControlKind::wait_group:
      warp.copies.wait(mask, control.groups, control.wait_all,
                       [&](const PendingCopy& copy, uint32_t due) { complete(warp, copy, due); });
      return move_to(warp, index, block.next);
    case ControlKind::trap:
      if (mask == 0) return move_to(warp, index, block.next);
      found(FindingKind::trap, launch_.ops[block.end], warp, mask);
      stop_ = true;
      return;
  }
}

// The lanes of `mask` go to `target`, the others on.
void BlockRun::branch(Warp& warp, size_t index, uint32_t target, uint32_t mask) {
  const uint32_t all = warp.ready[index].mask;
  const uint32_t next = launch_.code->blocks[warp.ready[index].block].next;
  if (mask == all) return move_to(warp, index, target);
  if (mask == 0) return move_to(warp, index, next);
  ++counts.blocks[warp.ready[index].block].divergent;
  const Waiting parted{.block = target, .mask = mask, .frame = warp.ready[index].frame};
  warp.ready[index].mask = all & ~mask;
  move_to(warp, index, next);
  resume(warp, parted);
}

// brx.idx: lanes with one index go together. An index past the table has no meaning in PTX.
void BlockRun::branch_by_index(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  const Control& control = launch_.code->controls[block.control];
  const auto* values = reinterpret_cast<const uint32_t*>(warp.lanes.registers + control.index);
  const uint32_t frame = warp.ready[index].frame;
  const uint32_t from = warp.ready[index].block;
  uint32_t parts = mask != warp.ready[index].mask;
  park(warp, index, mask, block.next);
  while (mask != 0) {
    const uint32_t value = values[first_lane(mask)];
    uint32_t same = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1)
      if (values[first_lane(left)] == value) same |= 1u << first_lane(left);
    mask &= ~same;
    if (value >= control.targets.size()) {
      found(FindingKind::trap, launch_.ops[block.end], warp, same,
            {.detail = "an index past the table of targets"});
      stop_ = true;
      return;
    }
    ++parts;
    resume(warp, {.block = control.targets[value], .mask = same, .frame = frame});
  }
  if (parts > 1) ++counts.blocks[from].divergent;
}

uint32_t BlockRun::frame_of(Warp& warp, uint32_t parent, uint32_t resume) {
  for (uint32_t i = 1; i < warp.frames.size(); ++i)
    if (warp.frames[i].parent == parent && warp.frames[i].resume == resume) return i;
  warp.frames.push_back(
      {.parent = parent, .resume = resume, .depth = warp.frames[parent].depth + 1});
  return static_cast<uint32_t>(warp.frames.size() - 1);
}

void BlockRun::call(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  if (mask == 0) return move_to(warp, index, block.next);
  const uint32_t target = launch_.code->controls[block.control].target;
  const Waiting inside{
      .block = target, .mask = mask, .frame = frame_of(warp, warp.ready[index].frame, block.next)};
  park(warp, index, mask, block.next);
  resume(warp, inside);
}

// Takes lanes off a split; those that stay go on to `next`.
void BlockRun::park(Warp& warp, size_t index, uint32_t mask, uint32_t next) {
  Split& split = warp.ready[index];
  split.mask &= ~mask;
  if (split.mask == 0)
    warp.ready.erase(warp.ready.begin() + static_cast<ptrdiff_t>(index));
  else
    move_to(warp, index, next);
}

void BlockRun::resume(Warp& warp, const Waiting& waited) {
  warp.ready.push_back(
      {.block = kNone, .mask = waited.mask, .last_run = warp.steps, .frame = waited.frame});
  move_to(warp, warp.ready.size() - 1, waited.block);
}

// Sends a split to a block, joining it to one that is there already.
void BlockRun::move_to(Warp& warp, size_t index, uint32_t block) {
  warp.ready[index].block = block;
  if (warp.ready.size() == 1) return;
  for (size_t i = 0; i < warp.ready.size(); ++i) {
    if (i == index || warp.ready[i].block != block ||
        warp.ready[i].frame != warp.ready[index].frame)
      continue;
    warp.ready[i].mask |= warp.ready[index].mask;
    warp.ready[i].yielded &= warp.ready[index].yielded;
    warp.ready[i].last_run = std::max(warp.ready[i].last_run, warp.ready[index].last_run);
    warp.ready.erase(warp.ready.begin() + static_cast<ptrdiff_t>(index));
    return;
  }
}

void BlockRun::leave(Warp& warp, size_t index, uint32_t mask) {
  warp.alive &= ~mask;
  alive_threads_ -= popcount(mask);
  Split& split = warp.ready[index];
  split.mask &= ~mask;
  if (split.mask == 0) {
    warp.ready.erase(warp.ready.begin() + static_cast<ptrdiff_t>(index));
  } else {
    move_to(warp, index, launch_.code->blocks[split.block].next);
  }
  // Who has left is not waited for.
  for (uint32_t barrier = 0; barrier < barriers_.size(); ++barrier) try_release(barrier);
  release_collectives(warp);
}

}  // namespace tilec::ptx
