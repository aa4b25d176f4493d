// Loads, stores and asynchronous copies.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

InstructionClass class_of(AccessKind kind, Space space) {
  const bool load = kind == AccessKind::load;
  switch (space) {
    case Space::shared:
      return load ? InstructionClass::load_shared : InstructionClass::store_shared;
    case Space::local:
      return load ? InstructionClass::load_local : InstructionClass::store_local;
    case Space::parameter:
      return InstructionClass::load_parameter;
    default:
      return load ? InstructionClass::load_global : InstructionClass::store_global;
  }
}

// How caches and memory ordering are told to behave: nothing that a machine without caches does.
void take_hints(Modifiers& modifiers, bool load, bool& cache_policy, bool& strong) {
  modifiers.take("weak");
  strong = !modifiers.take_any({"volatile", "relaxed", "acquire", "release", "mmio"}).empty();
  modifiers.take_any({"cta", "cluster", "gpu", "sys"});
  if (load) {
    modifiers.take_any({"ca", "cg", "cs", "lu", "cv"});
    modifiers.take("nc");
    modifiers.take("unified");
  } else {
    modifiers.take_any({"wb", "cg", "cs", "wt"});
  }
  modifiers.take_any({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                      "L1::evict_last", "L1::no_allocate"});
  modifiers.take_any({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  cache_policy = modifiers.take("L2::cache_hint");
  modifiers.take_any({"L2::64B", "L2::128B", "L2::256B"});
}

}  // namespace

bool Decoder::take_space(Modifiers& modifiers, Space& space) {
  struct Row {
    std::string_view word;
    Space space;
  };
  static constexpr Row kRows[] = {{"global", Space::global},
                                  {"shared", Space::shared},
                                  {"shared::cta", Space::shared},
                                  {"shared::cluster", Space::shared},
                                  {"local", Space::local},
                                  {"param", Space::parameter},
                                  {"param::entry", Space::parameter},
                                  {"param::func", Space::parameter},
                                  {"const", Space::constant}};
  for (const Row& row : kRows)
    if (modifiers.take(row.word)) {
      space = row.space;
      break;
    }
  return true;
}

// [register + offset], [variable + offset], [number]; the variable has to lie in `space`.
std::optional<Decoder::Place> Decoder::address(const Operand& operand, Space space) {
  if (operand.kind != Operand::Kind::address) {
    fault("ptx-bad-operand", operand.span, "an address in brackets is wanted here");
    return std::nullopt;
  }
  const Operand& base = operand.items[0];
  if (base.kind == Operand::Kind::integer) return Place{.offset = static_cast<int64_t>(base.value)};
  if (const auto reg = declared(base)) {
    const Type type = type_of(*reg);
    if (type == Type::pred || is_floating(type) || bytes_of(type) < 4) {
      fault("ptx-type-mismatch", base.span,
            fmt::format("`{}` is .{}; an address has 32 or 64 bits", base.name, info(type).name));
      return std::nullopt;
    }
    return Place{.reg = *reg, .offset = operand.offset, .wide = bytes_of(type) == 8};
  }
  const Entity* entity = base.kind == Operand::Kind::name ? find(base.name) : nullptr;
  if (!entity || entity->kind != Entity::Kind::variable) {
    fault(base.name.starts_with('%') ? "ptx-undeclared-register" : "ptx-undeclared-name", base.span,
          fmt::format("`{}` is not declared", base.name));
    return std::nullopt;
  }
  const bool same = entity->space == space ||
                    (space == Space::generic && entity->space == Space::global) ||
                    (space == Space::generic && entity->space == Space::constant);
  if (!same) {
    fault("ptx-state-space", operand.span,
          fmt::format("`{}` lies in .{}, the instruction goes to .{}", base.name,
                      name_of(entity->space), name_of(space)));
    return std::nullopt;
  }
  const int64_t offset = operand.offset;
  if (entity->in_local)
    return Place{.offset = static_cast<int64_t>(entity->address.value) + offset, .in_local = true};
  if (entity->address.base == Constant::Base::none)
    return Place{.offset = static_cast<int64_t>(entity->address.value) + offset};
  return Place{.reg = constant(entity->address, Type::b64), .offset = offset};
}

// The registers that are loaded or stored: one, or as many as the vector has elements.
bool Decoder::access_data(const Operand& operand, Type type, bool load, Access& access,
                          std::vector<uint32_t>& data) {
  const bool vector = operand.kind == Operand::Kind::vector;
  const size_t count = vector ? operand.items.size() : 1;
  if (count != access.count) {
    fault("ptx-bad-operand", operand.span,
          fmt::format("{} registers for {} elements", count, access.count));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const Operand& item = vector ? operand.items[i] : operand;
    const auto reg = load ? wide_destination(item, type) : wide_source(item, type);
    if (!reg) return false;
    const Type declared_type = type_of(*reg);
    if (!agrees_relaxed(declared_type, type)) {
      mismatch(item, declared_type, type);
      return false;
    }
    const int lane_bytes = bytes_of(declared_type) == 8 ? 8 : 4;
    if (i > 0 && lane_bytes != access.register_bytes) {
      fault("ptx-unsupported", item.span, "registers of 32 and of 64 bits in one vector");
      return false;
    }
    access.register_bytes = static_cast<uint8_t>(lane_bytes);
    access.declared_bytes = static_cast<uint8_t>(bytes_of(declared_type));
    data.push_back(*reg);
  }
  return true;
}

void Decoder::access(const Instruction& instruction, AccessKind kind) {
  const bool load = kind == AccessKind::load;
  Modifiers modifiers(instruction);
  Access access{.kind = kind, .space = Space::generic};
  access.of_cluster =
      std::ranges::find(modifiers.left(), "shared::cluster") != modifiers.left().end();
  take_space(modifiers, access.space);
  bool cache_policy = false;
  take_hints(modifiers, load, cache_policy, access.strong);
  access.count = modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : modifiers.take("v8") ? 8 : 1;
  const auto type = modifiers.take_type();
  if (!type || *type == Type::pred || bytes_of(*type) > 8)
    return fault("ptx-bad-modifier", instruction.span,
                 fmt::format("`{}` names no type that memory holds", instruction.text));
  if (!expect_no_more(instruction, modifiers)) return;
  const size_t operands = cache_policy ? 3 : 2;
  if (!expect_operands(instruction, operands, operands)) return;
  access.bytes = static_cast<uint8_t>(bytes_of(*type));
  access.sign_extend = load && is_signed(*type);
  if (access.bytes * access.count > 32)
    return fault("ptx-bad-modifier", instruction.span, "no access is wider than 32 bytes");

  std::vector<uint32_t> data;
  const Operand& data_operand = instruction.operands[load ? 0 : 1];
  const Operand& place_operand = instruction.operands[load ? 1 : 0];
  if (!access_data(data_operand, *type, load, access, data)) return;
  const auto place = address(place_operand, access.space);
  if (!place) return;
  access.offset = place->offset;
  access.wide_address = place->wide;
  if (place->in_local) {
    access.space = Space::local;
  } else if (!load && access.space == Space::parameter) {
    return fault("ptx-state-space", place_operand.span, "an entry's parameters are read-only");
  }
  // Constant variables live in global memory, where a store is found to be to read-only memory.
  if (access.space == Space::constant) access.space = Space::global;

  const uint32_t index = emit(instruction, class_of(kind, access.space));
  code_.infos[index].access = static_cast<uint32_t>(code_.accesses.size());
  code_.accesses.push_back(access);
  if (place->reg != kNone) use(index, Field::address, place->reg, false);
  for (size_t i = 0; i < data.size(); ++i)
    use(index, Field::data, data[i], load, static_cast<uint8_t>(i));
}

// cp.async.{ca,cg}.shared.global [dst], [src], bytes {, src-size | , ignore-src} {, cache-policy};
// cp.async.commit_group;  cp.async.wait_group n;  cp.async.wait_all;
void Decoder::copy_async(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  if (!modifiers.take("async"))
    return fault("ptx-unsupported", instruction.span,
                 fmt::format("`{}` does not run here", instruction.text));
  if (modifiers.take("mbarrier")) return copies_arrive(instruction, modifiers);
  if (modifiers.take("bulk")) return bulk(instruction, modifiers);
  if (modifiers.take("commit_group")) {
    if (expect_operands(instruction, 0, 0) && expect_no_more(instruction, modifiers))
      emit_control(instruction, InstructionClass::async_copy, {.kind = ControlKind::commit_group});
    return;
  }
  const bool all = modifiers.take("wait_all");
  if (all || modifiers.take("wait_group")) {
    if (!expect_operands(instruction, all ? 0 : 1, all ? 0 : 1) ||
        !expect_no_more(instruction, modifiers))
      return;
    if (!all && instruction.operands[0].kind != Operand::Kind::integer)
      return fault("ptx-bad-operand", instruction.operands[0].span,
                   "the number of groups is a constant");
    const uint64_t groups = all ? 0 : instruction.operands[0].value;
    emit_control(instruction, InstructionClass::async_copy,
                 {.kind = ControlKind::wait_group,
                  .wait_all = all,
                  .groups = static_cast<uint32_t>(std::min<uint64_t>(groups, 1 << 20))});
    return;
  }
  const bool global_only = modifiers.take("cg");
  if (!global_only && !modifiers.take("ca"))
    return fault("ptx-unsupported", instruction.span,
                 fmt::format("`{}` does not run here", instruction.text));
  const bool shared = modifiers.take("shared") || modifiers.take("shared::cta");
  if (!shared || !modifiers.take("global"))
    return fault("ptx-bad-modifier", instruction.span, "cp.async goes .shared.global");
  const bool cache_policy = modifiers.take("L2::cache_hint");
  modifiers.take_any({"L2::64B", "L2::128B", "L2::256B"});
  if (!expect_no_more(instruction, modifiers)) return;
  if (!expect_operands(instruction, cache_policy ? 4 : 3, cache_policy ? 5 : 4)) return;

  Access access{.kind = AccessKind::async_copy, .space = Space::shared, .bytes = 1};
  const Operand& size = instruction.operands[2];
  const bool legal = size.kind == Operand::Kind::integer &&
                     (size.value == 16 || (!global_only && (size.value == 4 || size.value == 8)));
  if (!legal)
    return fault(
        "ptx-bad-operand", size.span,
        global_only ? "cp.async.cg copies 16 bytes" : "cp.async.ca copies 4, 8 or 16 bytes");
  access.copy_bytes = access.bytes = static_cast<uint8_t>(size.value);
  const auto to = address(instruction.operands[0], Space::shared);
  const auto from = address(instruction.operands[1], Space::global);
  if (!to || !from) return;
  access.offset = to->offset;
  access.wide_address = to->wide;
  access.source_offset = from->offset;
  access.wide_source = from->wide;

  uint32_t source_bytes = kNone, ignore = kNone;
  if (instruction.operands.size() > (cache_policy ? 4u : 3u)) {
    const Operand& extra = instruction.operands[3];
    const auto reg = declared(extra);
    if (reg && type_of(*reg) == Type::pred) {
      ignore = *reg;
      access.ignore_negated = extra.negated;
    } else if (const auto bytes = source(extra, Type::b32)) {
      source_bytes = *bytes;
    } else {
      return;
    }
  }
  const uint32_t index = emit(instruction, InstructionClass::async_copy);
  code_.infos[index].access = static_cast<uint32_t>(code_.accesses.size());
  code_.accesses.push_back(access);
  if (to->reg != kNone) use(index, Field::address, to->reg, false);
  if (from->reg != kNone) use(index, Field::source, from->reg, false);
  if (source_bytes != kNone) use(index, Field::source_bytes, source_bytes, false);
  if (ignore != kNone) use(index, Field::ignore_source, ignore, false);
}

}  // namespace tilec::ptx
