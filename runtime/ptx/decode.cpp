#include "runtime/ptx/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/ptx/flow.h"

namespace tilec::ptx {
namespace {

constexpr int64_t kMaxParameterBytes = 32764;  // since PTX 8.1 on sm_70 and up
constexpr uint64_t kMaxSharedBytes = 1 << 20;
constexpr uint64_t kMaxLocalBytes = 512 * 1024;

uint64_t aligned(uint64_t offset, int64_t align) {
  const auto mask = static_cast<uint64_t>(align) - 1;
  return (offset + mask) & ~mask;
}

std::string parameter_type(const Variable& variable) {
  std::string text(info(variable.type).name);
  if (variable.vector > 1) text = fmt::format("v{}.{}", variable.vector, text);
  for (int64_t extent : variable.extents) text += fmt::format("[{}]", extent);
  return text;
}

// The bytes of a module-scope variable, as its initialiser gives them.
ModuleVariable module_variable(const Variable& variable) {
  ModuleVariable made{.name = std::string(variable.name),
                      .bytes = variable.bytes(),
                      .align = variable.align,
                      .read_only = variable.space == Space::constant,
                      .initialised = !variable.initial.empty()};
  made.image.resize(static_cast<size_t>(made.bytes));
  const size_t width = static_cast<size_t>(bytes_of(variable.type));
  for (size_t i = 0; i < variable.initial.size() && (i + 1) * width <= made.image.size(); ++i)
    for (size_t byte = 0; byte < std::min<size_t>(width, 8); ++byte)
      made.image[i * width + byte] = static_cast<uint8_t>(variable.initial[i].value >> (8 * byte));
  return made;
}

void relocate(const Unit& unit, Program& program, Faults& faults) {
  size_t index = 0;
  for (const Variable& variable : unit.variables) {
    if (variable.space != Space::global && variable.space != Space::constant) continue;
    ModuleVariable& made = program.variables[index++];
    for (size_t i = 0; i < variable.initial.size(); ++i) {
      const Initial& initial = variable.initial[i];
      if (initial.name.empty()) continue;
      const auto target =
          std::find_if(program.variables.begin(), program.variables.end(),
                       [&](const ModuleVariable& other) { return other.name == initial.name; });
      if (target == program.variables.end()) {
        faults.add("ptx-undeclared-name", initial.span,
                   fmt::format("`{}` is no global variable of this module", initial.name));
        continue;
      }
      const int width = bytes_of(variable.type);
      made.relocations.push_back({static_cast<int64_t>(i) * width, width,
                                  static_cast<uint32_t>(target - program.variables.begin()),
                                  initial.value});
    }
  }
}

}  // namespace

void decode_unit(const Unit& unit, Program& program, Faults& faults) {
  program.version = unit.version;
  program.target = unit.target;
  program.files = unit.files;
  for (const Variable& variable : unit.variables)
    if (variable.space == Space::global || variable.space == Space::constant)
      program.variables.push_back(module_variable(variable));
  relocate(unit, program, faults);
  for (const Function& function : unit.functions) {
    if (!function.entry || !function.has_body) continue;
    if (program.find(function.name)) {
      faults.add("ptx-duplicate-name", function.span,
                 fmt::format("entry `{}` stands twice", function.name));
      continue;
    }
    Code code = Decoder(unit, program, faults).decode(function);
    if (!faults.any()) finish_code(code);
    program.codes.push_back(std::move(code));
  }
}

bool Modifiers::take(std::string_view word) {
  const auto at = std::find(left_.begin(), left_.end(), word);
  if (at == left_.end()) return false;
  left_.erase(at);
  return true;
}

std::string_view Modifiers::take_any(std::initializer_list<std::string_view> words) {
  for (std::string_view word : words)
    if (take(word)) return word;
  return {};
}

bool Modifiers::take_prefix(std::string_view prefix) {
  const auto at = std::find_if(left_.begin(), left_.end(),
                               [&](std::string_view word) { return word.starts_with(prefix); });
  if (at == left_.end()) return false;
  left_.erase(at);
  return true;
}

std::optional<Type> Modifiers::take_type() {
  for (auto at = left_.begin(); at != left_.end(); ++at)
    if (const auto type = find_type(*at)) {
      left_.erase(at);
      return type;
    }
  return std::nullopt;
}

Decoder::Decoder(const Unit& unit, Program& program, Faults& faults)
    : unit_(unit), program_(program), faults_(faults) {
  for (uint32_t i = 0; i < program.variables.size(); ++i)
    module_variables_.emplace(program.variables[i].name, i);
}

void Decoder::fault(std::string_view code, dsl::Span span, std::string message, std::string help) {
  faults_.add(code, span, std::move(message), std::move(help));
}

Code Decoder::decode(const Function& entry) {
  code_.name = std::string(entry.name);
  code_.reqntid = entry.reqntid;
  code_.maxntid = entry.maxntid;
  code_.cluster = entry.cluster;
  scopes_.emplace_back();
  open_ = {0};
  declare_parameters(entry);
  code_.functions.push_back(0);
  function_body(entry);
  for (size_t i = 0; i < to_decode_.size() && !faults_.full(); ++i) {
    const Callee callee = callees_.at(to_decode_[i]);
    open_ = {static_cast<uint32_t>(scopes_.size())};
    scopes_.emplace_back();
    declare_callee(callee);
    current_function_ = callee.index;
    code_.functions[callee.index] = static_cast<uint32_t>(code_.ops.size());
    function_body(*callee.function);
  }
  resolve_branches();
  resolve_calls();
  code_.dynamic_shared = aligned(code_.shared_end, dynamic_align_);
  return std::move(code_);
}

// The scope of the function itself is open.
void Decoder::function_body(const Function& function) {
  const std::vector<uint32_t> outer = open_;
  next_scope_ = static_cast<uint32_t>(scopes_.size());
  find_labels(function);
  open_ = outer;
  for (const Statement& each : function.body) {
    statement(each);
    if (faults_.full()) return;
  }
  // Past its last statement a function returns.
  const uint32_t index =
      emit_control({}, InstructionClass::branch,
                   {.kind = function.entry ? ControlKind::exit : ControlKind::return_});
  code_.infos[index].hidden = true;
}

void Decoder::declare_parameters(const Function& function) {
  uint64_t offset = 0;
  for (const Variable& variable : function.parameters) {
    offset = aligned(offset, variable.align);
    code_.parameters.push_back({.name = std::string(variable.name),
                                .type = parameter_type(variable),
                                .bytes = static_cast<int>(variable.bytes()),
                                .align = static_cast<int>(variable.align)});
    code_.parameter_offsets.push_back(static_cast<int64_t>(offset));
    declare(variable.name, variable.span,
            {.kind = Entity::Kind::variable,
             .type = variable.type,
             .space = Space::parameter,
             .address = {.value = offset},
             .bytes = variable.bytes()});
    offset += static_cast<uint64_t>(variable.bytes());
    if (offset > static_cast<uint64_t>(kMaxParameterBytes)) {
      fault("ptx-too-large", variable.span,
            fmt::format("parameters of more than {} bytes", kMaxParameterBytes));
      return;
    }
  }
  code_.parameter_bytes = static_cast<int64_t>(offset);
}

// Labels are visible in their scope before they stand, so they are declared first.
void Decoder::find_labels(const Function& function) {
  for (const Statement& each : function.body) {
    if (std::holds_alternative<ScopeBegin>(each)) {
      open_.push_back(static_cast<uint32_t>(scopes_.size()));
      scopes_.emplace_back();
    } else if (std::holds_alternative<ScopeEnd>(each)) {
      open_.pop_back();
    } else if (const auto* label = std::get_if<Label>(&each)) {
      if (!scopes_[open_.back()].labels.emplace(label->name, kNone).second)
        fault("ptx-duplicate-label", label->span,
              fmt::format("label `{}` stands twice", label->name));
    }
  }
}

void Decoder::statement(const Statement& each) {
  if (const auto* one = std::get_if<Instruction>(&each)) {
    instruction(*one);
  } else if (const auto* label = std::get_if<Label>(&each)) {
    scopes_[open_.back()].labels[label->name] = static_cast<uint32_t>(code_.ops.size());
  } else if (const auto* registers = std::get_if<RegisterDeclaration>(&each)) {
    declare_registers(*registers);
  } else if (const auto* variable = std::get_if<Variable>(&each)) {
    declare_variable(*variable);
  } else if (std::holds_alternative<ScopeBegin>(each)) {
    open_.push_back(next_scope_++);
  } else if (std::holds_alternative<ScopeEnd>(each)) {
    open_.pop_back();
  } else {
    const Targets& targets = std::get<Targets>(each);
    scopes_[open_.back()].targets[targets.name] = targets.labels;
  }
}

void Decoder::declare(std::string_view name, dsl::Span span, Entity entity) {
  if (!scopes_[open_.back()].names.emplace(name, entity).second)
    fault("ptx-duplicate-name", span, fmt::format("`{}` is declared twice", name));
}

void Decoder::declare_registers(const RegisterDeclaration& declaration) {
  const auto first = static_cast<uint32_t>(code_.registers.size());
  const int64_t count = declaration.count < 0 ? declaration.vector : declaration.count;
  if (declaration.type == Type::b128 || (declaration.count >= 0 && declaration.vector > 1))
    return fault("ptx-unsupported", declaration.span, "registers of this kind do not run here");
  if (code_.registers.size() + static_cast<size_t>(count) > (1u << 21))
    return fault("ptx-too-large", declaration.span, "more than 2^21 registers");
  code_.registers.resize(code_.registers.size() + static_cast<size_t>(count),
                         Register{.type = declaration.type});
  code_.names.push_back({.first = first,
                         .count = static_cast<uint32_t>(count),
                         .stem = std::string(declaration.name),
                         .numbered = declaration.count >= 0});
  Scope& scope = scopes_[open_.back()];
  if (declaration.count < 0) {
    declare(declaration.name, declaration.span,
            {.kind = Entity::Kind::reg,
             .reg = first,
             .vector = declaration.vector,
             .type = declaration.type});
    return;
  }
  for (const RegisterDeclaration& other : scope.ranges)
    if (other.name == declaration.name)
      return fault("ptx-duplicate-name", declaration.span,
                   fmt::format("registers `{}` are declared twice", declaration.name));
  scope.ranges.push_back(declaration);
  scope.range_begin.push_back(first);
}

void Decoder::declare_variable(const Variable& variable) {
  Entity entity{.kind = Entity::Kind::variable,
                .type = variable.type,
                .space = variable.space,
                .bytes = variable.bytes()};
  if (variable.space == Space::shared) {
    if (variable.external) {
      entity.address.base = Constant::Base::dynamic_shared;
      dynamic_align_ = std::max(dynamic_align_, variable.align);
    } else {
      entity.address.value = aligned(code_.shared_end, variable.align);
      code_.shared_end = entity.address.value + static_cast<uint64_t>(variable.bytes());
    }
    if (code_.shared_end > kSharedBegin + kMaxSharedBytes) {
      code_.shared_end = kSharedBegin;
      return fault("ptx-too-large", variable.span,
                   fmt::format("more than {} bytes of shared memory", kMaxSharedBytes));
    }
  } else if (variable.space == Space::local) {
    entity.address.value = aligned(code_.local_end, variable.align);
    code_.local_end = entity.address.value + static_cast<uint64_t>(variable.bytes());
    if (code_.local_end > kMaxLocalBytes) {
      code_.local_end = kLocalBegin;
      return fault("ptx-too-large", variable.span,
                   fmt::format("more than {} bytes of local memory", kMaxLocalBytes));
    }
  } else if (variable.space == Space::parameter) {
    entity = place_parameter(variable);
  } else {
    return fault("ptx-unsupported", variable.span,
                 fmt::format(".{} variables inside a function", name_of(variable.space)));
  }
  declare(variable.name, variable.span, entity);
}

const Entity* Decoder::find(std::string_view name) {
  for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
    const auto found = scopes_[*open].names.find(name);
    if (found != scopes_[*open].names.end()) return &found->second;
    if (const Entity* entity = find_in_range(name, scopes_[*open])) return entity;
  }
  return find_module_variable(name);
}

// `%r12` of `%r<20>`; remembered as a name of its own.
const Entity* Decoder::find_in_range(std::string_view name, Scope& scope) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size()) return nullptr;
  uint32_t number = 0;
  const auto [end, bad] =
      std::from_chars(name.data() + last + 1, name.data() + name.size(), number);
  if (bad != std::errc() || (name[last + 1] == '0' && name.size() > last + 2)) return nullptr;
  for (size_t i = 0; i < scope.ranges.size(); ++i) {
    if (scope.ranges[i].name != name.substr(0, last + 1)) continue;
    if (number >= static_cast<uint64_t>(scope.ranges[i].count)) continue;
    const Entity entity{.kind = Entity::Kind::reg,
                        .reg = scope.range_begin[i] + number,
                        .type = scope.ranges[i].type};
    return &scope.names.emplace(name, entity).first->second;
  }
  return nullptr;
}

const Entity* Decoder::find_module_variable(std::string_view name) {
  const auto known = shared_variables_.find(name);
  if (known != shared_variables_.end()) return &known->second;
  for (const Variable& variable : unit_.variables) {
    if (variable.name != name) continue;
    if (variable.space == Space::shared) {
      // Laid out when an entry first names it: entries do not pay for each other's arrays.
      const std::vector<uint32_t> open = std::exchange(open_, {0});
      declare_variable(variable);
      open_ = open;
      const auto made = scopes_[0].names.find(name);
      if (made == scopes_[0].names.end()) return nullptr;
      return &shared_variables_.emplace(name, made->second).first->second;
    }
    const auto index = module_variables_.find(name);
    if (index == module_variables_.end()) return nullptr;
    const Entity entity{.kind = Entity::Kind::variable,
                        .type = variable.type,
                        .space = variable.space,
                        .address = {.base = Constant::Base::variable, .variable = index->second},
                        .bytes = variable.bytes()};
    return &shared_variables_.emplace(name, entity).first->second;
  }
  return nullptr;
}

void Decoder::resolve_branches() {
  for (const PendingBranch& branch : pending_) {
    uint32_t target = kNone;
    bool found = false;
    for (auto scope = branch.scopes.rbegin(); scope != branch.scopes.rend() && !found; ++scope) {
      const auto label = scopes_[*scope].labels.find(branch.label);
      if (label == scopes_[*scope].labels.end()) continue;
      found = true;
      target = label->second;
    }
    if (!found)
      fault("ptx-missing-label", branch.span, fmt::format("no label `{}` here", branch.label));
    Control& control = code_.controls[branch.control];
    (branch.element == kNone ? control.target : control.targets[branch.element]) = target;
  }
}

std::string Code::name_of(uint32_t reg) const {
  for (const RegisterName& each : names)
    if (reg - each.first < each.count)
      return each.numbered ? fmt::format("{}{}", each.stem, reg - each.first) : each.stem;
  return "a temporary";
}

const Code* Program::find(std::string_view entry) const {
  for (const Code& code : codes)
    if (code.name == entry) return &code;
  return nullptr;
}

}  // namespace tilec::ptx
