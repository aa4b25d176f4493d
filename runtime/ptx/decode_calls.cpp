// Calls of device functions.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

constexpr uint64_t kMaxLocalBytes = 512 * 1024;

bool visits_again(uint32_t function, const std::vector<std::vector<uint32_t>>& callees,
                  std::vector<uint8_t>& state) {
  // 0: not seen, 1: on the way, 2: done. The depth is the length of a chain of calls.
  if (state[function] != 0) return state[function] == 1;
  state[function] = 1;
  for (uint32_t to : callees[function])
    if (visits_again(to, callees, state)) return true;
  state[function] = 2;
  return false;
}

}  // namespace

Entity Decoder::place_parameter(const Variable& variable) {
  const auto mask = static_cast<uint64_t>(std::max<int64_t>(variable.align, 1)) - 1;
  Entity entity{.kind = Entity::Kind::variable,
                .type = variable.type,
                .space = Space::parameter,
                .bytes = variable.bytes()};
  entity.in_local = true;
  entity.address.value = (code_.local_end + mask) & ~mask;
  code_.local_end = entity.address.value + static_cast<uint64_t>(variable.bytes());
  if (code_.local_end > kMaxLocalBytes) {
    code_.local_end = kLocalBegin;
    fault("ptx-too-large", variable.span,
          fmt::format("more than {} bytes of local memory", kMaxLocalBytes));
  }
  return entity;
}

Entity Decoder::place_register(const RegisterDeclaration& declaration) {
  const auto reg = static_cast<uint32_t>(code_.registers.size());
  code_.registers.push_back({.type = declaration.type});
  code_.names.push_back({.first = reg, .stem = std::string(declaration.name)});
  return {.kind = Entity::Kind::reg, .reg = reg, .type = declaration.type};
}

// The function of that name, ready to be called; null after a fault.
Decoder::Callee* Decoder::callee(const Operand& name) {
  if (const auto known = callees_.find(name.name); known != callees_.end()) return &known->second;
  const Function* function = nullptr;
  for (const Function& each : unit_.functions)
    if (each.name == name.name && !each.entry && (!function || each.has_body)) function = &each;
  if (!function) {
    fault("ptx-undeclared-name", name.span, fmt::format("no function `{}`", name.name));
    return nullptr;
  }
  if (!function->has_body) {
    fault("ptx-unsupported", name.span,
          fmt::format("function `{}` has no body in this module", name.name));
    return nullptr;
  }
  Callee made{.function = function, .index = static_cast<uint32_t>(code_.functions.size())};
  for (const Variable& each : function->results) made.results.push_back(place_parameter(each));
  for (const RegisterDeclaration& each : function->register_results)
    made.results.push_back(place_register(each));
  for (const Variable& each : function->parameters)
    made.parameters.push_back(place_parameter(each));
  for (const RegisterDeclaration& each : function->register_parameters)
    made.parameters.push_back(place_register(each));
  code_.functions.push_back(0);
  to_decode_.push_back(name.name);
  return &callees_.emplace(name.name, std::move(made)).first->second;
}

// Names of a function's results and parameters, where its body is decoded.
void Decoder::declare_callee(const Callee& callee) {
  const Function& function = *callee.function;
  size_t at = 0;
  for (const Variable& each : function.results) declare(each.name, each.span, callee.results[at++]);
  for (const RegisterDeclaration& each : function.register_results)
    declare(each.name, each.span, callee.results[at++]);
  at = 0;
  for (const Variable& each : function.parameters)
    declare(each.name, each.span, callee.parameters[at++]);
  for (const RegisterDeclaration& each : function.register_parameters)
    declare(each.name, each.span, callee.parameters[at++]);
}

void Decoder::copy_local(const Instruction& instruction, uint64_t to, uint64_t from,
                         int64_t bytes) {
  const uint32_t index = emit(instruction, InstructionClass::move);
  code_.infos[index].hidden = true;
  code_.infos[index].is_copy = true;
  code_.ops[index].d = static_cast<uint32_t>(to);
  code_.ops[index].a = static_cast<uint32_t>(from);
  code_.ops[index].b = static_cast<uint32_t>(bytes);
}

bool Decoder::pass_one(const Instruction& instruction, const Operand& operand, const Entity& formal,
                       bool result) {
  const InstructionClass kind = InstructionClass::move;
  if (formal.kind == Entity::Kind::reg) {
    const LaneOp op = formal.type == Type::pred    ? LaneOp::mov_pred
                      : bytes_of(formal.type) == 8 ? LaneOp::mov_64
                                                   : LaneOp::mov_32;
    const auto reg = result ? destination(operand, formal.type) : source(operand, formal.type);
    if (!reg) return false;
    emit_lane(instruction, kind, op, result ? *reg : formal.reg, {result ? formal.reg : *reg},
              true);
    return true;
  }
  const Entity* actual = operand.kind == Operand::Kind::name ? find(operand.name) : nullptr;
  if (!actual || !actual->in_local) {
    fault("ptx-call", operand.span, "a .param of this function is wanted here");
    return false;
  }
  if (actual->bytes != formal.bytes) {
    fault("ptx-call", operand.span,
          fmt::format("{} bytes where the function has {}", actual->bytes, formal.bytes));
    return false;
  }
  copy_local(instruction, result ? actual->address.value : formal.address.value,
             result ? formal.address.value : actual->address.value, formal.bytes);
  return true;
}

bool Decoder::pass(const Instruction& instruction, const Operand& list,
                   const std::vector<Entity>& to, bool results) {
  if (list.items.size() != to.size()) {
    fault("ptx-call", list.span,
          fmt::format("{} {} where the function has {}", list.items.size(),
                      results ? "results" : "arguments", to.size()));
    return false;
  }
  for (size_t i = 0; i < to.size(); ++i)
    if (!pass_one(instruction, list.items[i], to[i], results)) return false;
  return true;
}

// Functions that every driver brings along: printf prints nothing here, a failed assertion traps.
bool Decoder::known_function(const Instruction& instruction, std::string_view name) {
  if (callees_.contains(name)) return false;
  for (const Function& each : unit_.functions)
    if (each.name == name && each.has_body) return false;
  if (name == "__assertfail") {
    trap(instruction);
    return true;
  }
  if (name != "vprintf") return false;
  const Operand& results = instruction.operands[0];
  const Entity* result = results.kind == Operand::Kind::list && results.items.size() == 1
                             ? find(results.items[0].name)
                             : nullptr;
  if (result && result->in_local)
    copy_local(instruction, result->address.value, kNone, result->bytes);
  return true;
}

// call[.uni] [(results),] name [, (arguments)];
void Decoder::call(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  modifiers.take("uni");
  if (!expect_no_more(instruction, modifiers)) return;
  const std::vector<Operand>& operands = instruction.operands;
  static const Operand kNothing{.kind = Operand::Kind::list};
  size_t at = 0;
  const bool has_results = !operands.empty() && operands[0].kind == Operand::Kind::list;
  const Operand& results = has_results ? operands[at++] : kNothing;
  if (at >= operands.size() || operands[at].kind != Operand::Kind::name)
    return fault("ptx-bad-operand", instruction.span, "a call names a function");
  const Operand& name = operands[at++];
  const Operand& arguments =
      at < operands.size() && operands[at].kind == Operand::Kind::list ? operands[at++] : kNothing;
  if (at < operands.size() || name.name.starts_with('%'))
    return fault("ptx-unsupported", name.span, "calls through registers do not run here");
  if (known_function(instruction, name.name)) return;
  const Callee* found = callee(name);
  if (!found) return;
  const Callee called = *found;
  if (!pass(instruction, arguments, called.parameters, false)) return;
  emit_control(instruction, InstructionClass::branch, {.kind = ControlKind::call});
  pending_calls_.emplace_back(static_cast<uint32_t>(code_.controls.size() - 1), called.index);
  calls_.push_back({.from = current_function_, .to = called.index, .span = name.span});
  pass(instruction, results, called.results, true);
}

void Decoder::resolve_calls() {
  for (const auto& [control, function] : pending_calls_)
    code_.controls[control].target = code_.functions[function];
  refuse_recursion();
}

void Decoder::refuse_recursion() {
  std::vector<std::vector<uint32_t>> callees(code_.functions.size());
  for (const CallEdge& edge : calls_) callees[edge.from].push_back(edge.to);
  std::vector<uint8_t> state(code_.functions.size(), 0);
  if (visits_again(0, callees, state))
    fault("ptx-recursion", calls_.back().span, "functions that call themselves do not run here");
}

}  // namespace tilec::ptx
