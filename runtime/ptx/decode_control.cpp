// Branches, barriers, the end of a thread; emitting; the table of opcodes.
#include <fmt/format.h>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {

const std::unordered_map<std::string_view, Decoder::Method>& Decoder::methods() {
  static const std::unordered_map<std::string_view, Method> kMethods = {
      {"mov", &Decoder::move},
      {"setp", &Decoder::set_predicate},
      {"set", &Decoder::set_predicate},
      {"cvta", &Decoder::convert_address},
      {"ld", &Decoder::load},
      {"ldu", &Decoder::load},
      {"st", &Decoder::store},
      {"cp", &Decoder::copy_async},
      {"mbarrier", &Decoder::mbarrier},
      {"isspacep", &Decoder::is_space},
      {"mapa", &Decoder::map_address},
      {"getctarank", &Decoder::rank_of_address},
      {"createpolicy", &Decoder::trivial},
      {"setmaxnreg", &Decoder::nothing},
      {"griddepcontrol", &Decoder::nothing},
      {"brkpt", &Decoder::nothing},
      {"mma", &Decoder::multiply_matrices},
      {"ldmatrix", &Decoder::access_matrix},
      {"stmatrix", &Decoder::access_matrix},
      {"movmatrix", &Decoder::move_matrix},
      {"atom", &Decoder::atomic},
      {"red", &Decoder::atomic},
      {"shfl", &Decoder::shuffle},
      {"vote", &Decoder::vote},
      {"match", &Decoder::match},
      {"redux", &Decoder::reduce_warp},
      {"elect", &Decoder::elect},
      {"call", &Decoder::call},
      {"brx", &Decoder::indirect_branch},
      {"bra", &Decoder::branch},
      {"ret", &Decoder::leave},
      {"exit", &Decoder::leave},
      {"trap", &Decoder::trap},
      {"bar", &Decoder::bar},
      {"barrier", &Decoder::bar},
      {"membar", &Decoder::nothing},
      {"fence", &Decoder::fence},
      {"prefetch", &Decoder::nothing},
      {"prefetchu", &Decoder::nothing},
      {"nanosleep", &Decoder::nothing},
      {"pmevent", &Decoder::nothing},
      {"discard", &Decoder::nothing},
      {"applypriority", &Decoder::nothing},
  };
  return kMethods;
}

void Decoder::instruction(const Instruction& instruction) {
  const auto method = methods().find(instruction.opcode);
  if (method != methods().end())
    (this->*method->second)(instruction);
  else
    lane(instruction);
}

bool Decoder::expect_operands(const Instruction& instruction, size_t least, size_t most) {
  const size_t count = instruction.operands.size();
  if (count >= least && count <= most) return true;
  fault("ptx-operand-count", instruction.span,
        least == most ? fmt::format("`{}` has {} operands, here {}", instruction.text, least, count)
                      : fmt::format("`{}` has {} to {} operands, here {}", instruction.text, least,
                                    most, count));
  return false;
}

bool Decoder::expect_no_more(const Instruction& instruction, const Modifiers& modifiers) {
  if (modifiers.left().empty()) return true;
  fault("ptx-bad-modifier", instruction.span,
        fmt::format("`.{}` is no modifier of {} that the machine knows", modifiers.left()[0],
                    instruction.opcode));
  return false;
}

uint32_t Decoder::emit(const Instruction& instruction, InstructionClass kind) {
  const auto index = static_cast<uint32_t>(code_.ops.size());
  code_.ops.push_back({.index = index});
  code_.infos.push_back(
      {.line = instruction.line, .tile = instruction.tile, .span = instruction.span, .kind = kind});
  if (!instruction.guard.empty()) {
    const Operand guard{.span = instruction.span, .name = instruction.guard};
    const auto reg = declared(guard);
    if (!reg || type_of(*reg) != Type::pred) {
      fault(reg ? "ptx-bad-guard" : "ptx-undeclared-register", instruction.span,
            fmt::format("guard `{}` is no declared predicate", instruction.guard));
    } else {
      code_.infos[index].guard_negated = instruction.guard_negated;
      use(index, Field::guard, *reg, false);
    }
  }
  return index;
}

void Decoder::use(uint32_t op, Field field, uint32_t reg, bool write, uint8_t element) {
  code_.uses.push_back({.op = op, .field = field, .write = write, .element = element, .reg = reg});
}

uint32_t Decoder::emit_control(const Instruction& instruction, InstructionClass kind,
                               Control control) {
  const uint32_t index = emit(instruction, kind);
  code_.infos[index].control = static_cast<uint32_t>(code_.controls.size());
  code_.controls.push_back(control);
  return index;
}

// bra[.uni] label
void Decoder::branch(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  modifiers.take("uni");
  if (!expect_operands(instruction, 1, 1) || !expect_no_more(instruction, modifiers)) return;
  const Operand& label = instruction.operands[0];
  if (label.kind != Operand::Kind::name)
    return fault("ptx-bad-operand", label.span, "a branch goes to a label");
  emit_control(instruction, InstructionClass::branch, {.kind = ControlKind::branch});
  pending_.push_back({.control = static_cast<uint32_t>(code_.controls.size() - 1),
                      .element = kNone,
                      .label = label.name,
                      .span = label.span,
                      .scopes = open_});
}

// brx.idx[.uni] index, table;   table: .branchtargets L0, L1, …;
void Decoder::indirect_branch(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  modifiers.take("uni");
  if (!modifiers.take("idx"))
    return fault("ptx-bad-modifier", instruction.span, "brx is written brx.idx");
  if (!expect_operands(instruction, 2, 2) || !expect_no_more(instruction, modifiers)) return;
  const auto index = source(instruction.operands[0], Type::u32);
  if (!index) return;
  const Operand& table = instruction.operands[1];
  const std::vector<std::string_view>* labels = nullptr;
  for (uint32_t scope : open_)
    if (const auto found = scopes_[scope].targets.find(table.name);
        found != scopes_[scope].targets.end())
      labels = &found->second;
  if (!labels)
    return fault("ptx-missing-label", table.span,
                 fmt::format("no table of branch targets `{}` before this", table.name));
  const uint32_t op =
      emit_control(instruction, InstructionClass::branch, {.kind = ControlKind::indirect});
  use(op, Field::index, *index, false);
  const auto control = static_cast<uint32_t>(code_.controls.size() - 1);
  code_.controls[control].targets.resize(labels->size());
  for (uint32_t i = 0; i < labels->size(); ++i)
    pending_.push_back({.control = control,
                        .element = i,
                        .label = (*labels)[i],
                        .span = table.span,
                        .scopes = open_});
}

// `ret` of a device function goes back to the call; `exit`, and `ret` of an entry, end the thread.
void Decoder::leave(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  modifiers.take("uni");
  const bool back = instruction.opcode == "ret" && current_function_ != 0;
  if (expect_operands(instruction, 0, 0) && expect_no_more(instruction, modifiers))
    emit_control(instruction, InstructionClass::branch,
                 {.kind = back ? ControlKind::return_ : ControlKind::exit});
}

void Decoder::trap(const Instruction& instruction) {
  emit_control(instruction, InstructionClass::other, {.kind = ControlKind::trap});
}

// bar[.cta].{sync,arrive} a[, b];   barrier[.cta].{sync,arrive}[.aligned] a[, b];
// bar.red.{popc.u32 d,and.pred p,or.pred p}, a[, b], [!]c;   bar.warp.sync m;   barrier.cluster…
void Decoder::bar(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  if (modifiers.take("cluster")) return cluster_barrier(instruction, modifiers);
  modifiers.take("cta");
  if (modifiers.take("warp")) {
    if (modifiers.take("sync") && expect_no_more(instruction, modifiers) &&
        expect_operands(instruction, 1, 1))
      collective(instruction, {.kind = CollectiveKind::sync}, {}, {}, &instruction.operands[0]);
    return;
  }
  Control control{.kind = ControlKind::barrier};
  control.aligned = instruction.opcode == "bar" || modifiers.take("aligned");
  if (instruction.opcode == "bar") modifiers.take("aligned");
  control.arrive_only = modifiers.take("arrive");
  const bool reduce = !control.arrive_only && modifiers.take("red");
  Type result = Type::pred;
  if (reduce) {
    control.reduce = modifiers.take("popc")  ? CollectiveMode::add
                     : modifiers.take("and") ? CollectiveMode::and_
                     : modifiers.take("or")  ? CollectiveMode::or_
                                             : CollectiveMode::none;
    if (control.reduce == CollectiveMode::add) result = Type::u32;
    modifiers.take(info(result).name);
  }
  if ((!reduce && !control.arrive_only && !modifiers.take("sync")) ||
      (reduce && control.reduce == CollectiveMode::none))
    return fault("ptx-bad-modifier", instruction.span,
                 fmt::format("`{}` is no barrier that the machine knows", instruction.text));
  if (!expect_no_more(instruction, modifiers)) return;
  const std::vector<Operand>& operands = instruction.operands;
  const size_t extra = reduce ? 2 : 0;
  if (!expect_operands(instruction, (control.arrive_only ? 2u : 1u) + extra, 2 + extra)) return;
  size_t at = 0;
  const auto d = reduce ? destination(operands[at++], result) : std::optional<uint32_t>(kNone);
  const auto barrier = source(operands[at++], Type::b32);
  const auto threads = at + (reduce ? 1 : 0) < operands.size() ? source(operands[at++], Type::b32)
                                                               : std::optional<uint32_t>(kNone);
  const auto c = reduce ? predicate(operands[at]) : std::optional<uint32_t>(kNone);
  if (!d || !barrier || !threads || !c) return;
  control.negated = reduce && operands[at].negated;
  const uint32_t index = emit_control(instruction, InstructionClass::barrier, control);
  use(index, Field::barrier, *barrier, false);
  if (*threads != kNone) use(index, Field::threads, *threads, false);
  if (*c != kNone) use(index, Field::predicate, *c, false);
  if (*d != kNone) use(index, Field::result, *d, true);
}

// barrier.cluster.arrive[.release,.relaxed][.aligned];   barrier.cluster.wait[.acquire][.aligned];
void Decoder::cluster_barrier(const Instruction& instruction, Modifiers& modifiers) {
  Control control{.kind = ControlKind::cluster_wait};
  if (modifiers.take("arrive")) {
    control.kind = ControlKind::cluster_arrive;
    control.relaxed = modifiers.take("relaxed");
    if (!control.relaxed) modifiers.take("release");
  } else if (modifiers.take("wait")) {
    modifiers.take("acquire");
  } else {
    return fault("ptx-bad-modifier", instruction.span,
                 fmt::format("`{}` is no barrier that the machine knows", instruction.text));
  }
  control.aligned = modifiers.take("aligned");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 0, 0)) return;
  emit_control(instruction, InstructionClass::barrier, control);
}

// fence[.sc,.acq_rel,.acquire,.release][.sync_restrict…].scope: what comes before one that releases
// to other blocks is ordered by a relaxed arrival behind it. Other fences order what this machine
// keeps in order anyway.
void Decoder::fence(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const std::string_view order = modifiers.take_any({"sc", "acq_rel", "acquire", "release"});
  const std::string_view scope = modifiers.take_any({"cluster", "gpu", "sys"});
  modifiers.take("sync_restrict::shared::cta");
  if (!modifiers.left().empty() || order == "acquire" || scope.empty()) return nothing(instruction);
  if (expect_operands(instruction, 0, 0))
    emit_control(instruction, InstructionClass::other, {.kind = ControlKind::fence});
}

// What orders or warms caches, or only takes time: this machine has one order and no caches.
void Decoder::nothing(const Instruction& instruction) {
  emit(instruction, InstructionClass::other);
}

}  // namespace tilec::ptx
