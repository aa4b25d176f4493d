#include "runtime/ptx/flow.h"

#include <algorithm>
#include <array>

namespace tilec::ptx {
namespace {

// Bourdoncle's algorithm with its recursion on an explicit stack. Visits number the vertices in
// depth-first order; a component's head is a vertex that a later one reaches back to. The order is
// built from the back, so each vertex is put in front of what was put before.
class WeakTopologicalOrder {
 public:
  explicit WeakTopologicalOrder(const Code& code)
      : depth_number_(code.blocks.size(), 0), successors_(code.blocks.size()) {
    for (uint32_t i = 0; i < code.blocks.size(); ++i) successors_[i] = successors(code, i, false);
  }

  std::vector<uint32_t> run(const std::vector<uint32_t>& roots) {
    std::vector<uint32_t> order;
    for (uint32_t root : roots) {
      if (depth_number_[root] != 0) continue;
      reversed_.clear();
      visit_all(root);
      order.insert(order.end(), reversed_.rbegin(), reversed_.rend());
    }
    return order;
  }

 private:
  struct Frame {
    uint32_t vertex;
    size_t next_successor = 0;
    uint32_t head = 0;  // least number reached
    bool loop = false;
    bool in_component = false;  // second phase: successors are visited for the component's order
  };

  void visit_all(uint32_t root) {
    push(root);
    while (!frames_.empty()) step();
  }

  void push(uint32_t vertex) {
    stack_.push_back(vertex);
    depth_number_[vertex] = ++count_;
    frames_.push_back({.vertex = vertex, .head = count_});
  }

  void step() {
    Frame& frame = frames_.back();
    const std::vector<uint32_t>& out = successors_[frame.vertex];
    if (frame.in_component) {
      while (frame.next_successor < out.size()) {
        const uint32_t to = out[frame.next_successor++];
        if (depth_number_[to] == 0) return push(to);
      }
      finish(frame.vertex, frame.head);
      return;
    }
    while (frame.next_successor < out.size()) {
      const uint32_t to = out[frame.next_successor];
      if (depth_number_[to] == 0) {
        ++frame.next_successor;
        return push(to);
      }
      ++frame.next_successor;
      reach(frame, depth_number_[to]);
    }
    leave(frame);
  }

  static void reach(Frame& frame, uint32_t number) {
    if (number > frame.head) return;
    frame.head = number;
    frame.loop = true;
  }

  // All successors seen: if nothing before this vertex is reached, it heads a component.
  void leave(Frame& frame) {
    const uint32_t vertex = frame.vertex;
    if (frame.head != depth_number_[vertex]) return finish_child(frame.head);
    depth_number_[vertex] = kDone;
    uint32_t element = stack_.back();
    stack_.pop_back();
    if (!frame.loop) return finish(vertex, frame.head);
    while (element != vertex) {
      depth_number_[element] = 0;
      element = stack_.back();
      stack_.pop_back();
    }
    frame.in_component = true;
    frame.next_successor = 0;
  }

  void finish(uint32_t vertex, uint32_t head) {
    reversed_.push_back(vertex);
    finish_child(head);
  }

  void finish_child(uint32_t head) {
    frames_.pop_back();
    // A component's own visits start afresh: what they reach does not count for the outer head.
    if (!frames_.empty() && !frames_.back().in_component) reach(frames_.back(), head);
  }

  static constexpr uint32_t kDone = 0x7FFF'FFFF;
  std::vector<uint32_t> depth_number_;
  std::vector<std::vector<uint32_t>> successors_;
  std::vector<uint32_t> stack_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> reversed_;
  uint32_t count_ = 0;
};

}  // namespace

namespace {

// The blocks that follow calls of the function that block `index` belongs to.
std::vector<uint32_t> return_sites(const Code& code, uint32_t index) {
  const auto after = std::upper_bound(code.functions.begin(), code.functions.end(), index);
  const uint32_t function = *std::prev(after);
  std::vector<uint32_t> out;
  for (const CodeBlock& block : code.blocks)
    if (block.control != kNone && code.controls[block.control].kind == ControlKind::call &&
        code.controls[block.control].target == function && block.next != kNone)
      out.push_back(block.next);
  return out;
}

}  // namespace

std::vector<uint32_t> successors(const Code& code, uint32_t index, bool through_calls) {
  const CodeBlock& block = code.blocks[index];
  std::vector<uint32_t> out;
  if (block.control == kNone) {
    if (block.next != kNone) out.push_back(block.next);
    return out;
  }
  const Control& control = code.controls[block.control];
  bool goes_on = code.infos[block.end].guard != kNone;
  switch (control.kind) {
    case ControlKind::branch:
      out.push_back(control.target);
      break;
    case ControlKind::indirect:
      out = control.targets;
      break;
    case ControlKind::call:
      if (through_calls)
        out.push_back(control.target);
      else
        goes_on = true;
      break;
    case ControlKind::return_:
      if (through_calls) out = return_sites(code, index);
      break;
    case ControlKind::exit:
    case ControlKind::trap:
      break;
    default:
      goes_on = true;
  }
  if (goes_on && block.next != kNone) out.push_back(block.next);
  return out;
}

void finish_code(Code& code) {
  cut_blocks(code);
  for (const Use& use : code.uses)
    if (use.field == Field::guard) code.infos[use.op].guard = 0;  // the slot follows
  order_blocks(code);
  find_unwritten(code);
  note_tracked(code);
  allocate_slots(code);
}

void cut_blocks(Code& code) {
  const auto count = static_cast<uint32_t>(code.ops.size());
  std::vector<bool> begins(count + 1, false);
  begins[0] = true;
  for (const OpInfo& info : code.infos) {
    if (info.control == kNone) continue;
    begins[static_cast<size_t>(&info - code.infos.data()) + 1] = true;
    const Control& control = code.controls[info.control];
    if (control.target != kNone) begins[control.target] = true;
    for (uint32_t target : control.targets) begins[target] = true;
  }
  for (uint32_t function : code.functions) begins[function] = true;
  std::vector<uint32_t> block_of(count + 1, kNone);
  for (uint32_t begin = 0; begin < count;) {
    uint32_t end = begin + 1;
    while (end < count && !begins[end]) ++end;
    block_of[begin] = static_cast<uint32_t>(code.blocks.size());
    const uint32_t control = code.infos[end - 1].control;
    code.blocks.push_back(
        {.begin = begin, .end = control == kNone ? end : end - 1, .control = control});
    begin = end;
  }
  // One block without ops stands for the end of the function: a branch may go there.
  const auto last = static_cast<uint32_t>(code.blocks.size());
  block_of[count] = last;
  code.blocks.push_back({.begin = count, .end = count});
  for (uint32_t i = 0; i < last; ++i) code.blocks[i].next = i + 1;
  for (Control& control : code.controls) {
    if (control.target != kNone) control.target = block_of[control.target];
    for (uint32_t& target : control.targets) target = block_of[target];
  }
  for (uint32_t& function : code.functions) function = block_of[function];
}

void order_blocks(Code& code) {
  const std::vector<uint32_t> order = WeakTopologicalOrder(code).run(code.functions);
  for (CodeBlock& block : code.blocks) block.order = kNone;
  for (uint32_t i = 0; i < order.size(); ++i) code.blocks[order[i]].order = i;
}

}  // namespace tilec::ptx
