// Operands to registers: names, immediates, addresses of variables, special registers.
#include <fmt/format.h>

#include <array>
#include <bit>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

struct SpecialRow {
  std::string_view name;
  Special which;
};
constexpr std::array<SpecialRow, 39> kSpecials = {{
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
}};

// Registers that change while a thread looks at them. Time here is the block's instructions.
struct ClockRow {
  std::string_view name;
  LaneOp op;
  Type type;
};
constexpr std::array<ClockRow, 6> kClocks = {{
    {"%clock", LaneOp::clock_32, Type::b32},
    {"%clock_hi", LaneOp::clock_high_32, Type::b32},
    {"%clock64", LaneOp::clock_64, Type::b64},
    {"%globaltimer", LaneOp::clock_64, Type::b64},
    {"%globaltimer_lo", LaneOp::clock_32, Type::b32},
    {"%globaltimer_hi", LaneOp::clock_high_32, Type::b32},
}};

uint64_t single_bits(uint64_t of_double) {
  return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(of_double)));
}

uint64_t double_bits(uint64_t of_single) {
  const auto single = std::bit_cast<float>(static_cast<uint32_t>(of_single));
  return std::bit_cast<uint64_t>(static_cast<double>(single));
}

int component(std::string_view name) {
  if (name.size() < 3 || name[name.size() - 2] != '.') return -1;
  const size_t at = std::string_view("xyzw").find(name.back());
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

void Decoder::mismatch(const Operand& operand, Type declared, Type wanted) {
  fault("ptx-type-mismatch", operand.span,
        fmt::format("`{}` is .{} where .{} is wanted", operand.name, info(declared).name,
                    info(wanted).name));
}

uint32_t Decoder::constant(Constant value, Type type) {
  if (type == Type::pred)
    value.value = value.value != 0;
  else if (bytes_of(type) < 8 && value.base == Constant::Base::none)
    value.value &= (uint64_t{1} << (8 * bytes_of(type))) - 1;
  const Type held = type == Type::pred ? type : bytes_of(type) == 8 ? Type::b64 : Type::b32;
  for (const Constant& known : code_.constants) {
    Constant same = known;
    same.reg = value.reg;
    if (same == value && type_of(known.reg) == held) return known.reg;
  }
  value.reg = static_cast<uint32_t>(code_.registers.size());
  code_.registers.push_back({.type = held, .origin = Register::Origin::constant});
  code_.constants.push_back(value);
  return value.reg;
}

uint32_t Decoder::special(Special which) {
  for (const auto& [known, reg] : code_.specials)
    if (known == which) return reg;
  const auto reg = static_cast<uint32_t>(code_.registers.size());
  code_.registers.push_back({.type = which == Special::gridid ? Type::b64 : Type::b32,
                             .origin = Register::Origin::special});
  code_.specials.emplace_back(which, reg);
  return reg;
}

uint32_t Decoder::temporary(Type type) {
  const auto reg = static_cast<uint32_t>(code_.registers.size());
  code_.registers.push_back({.type = type, .origin = Register::Origin::temporary});
  return reg;
}

// The register that a name declares, a component of a vector included.
std::optional<uint32_t> Decoder::declared(const Operand& operand) {
  if (operand.kind != Operand::Kind::name || operand.offset != 0) return std::nullopt;
  const Entity* entity = find(operand.name);
  int part = 0;
  if (!entity && component(operand.name) >= 0) {
    part = component(operand.name);
    entity = find(operand.name.substr(0, operand.name.size() - 2));
  }
  if (!entity || entity->kind != Entity::Kind::reg || part >= entity->vector) return std::nullopt;
  return entity->reg + static_cast<uint32_t>(part);
}

std::optional<Constant> Decoder::immediate(const Operand& operand, Type wanted) {
  using Kind = Operand::Kind;
  const bool wants_float = is_floating(wanted);
  switch (operand.kind) {
    case Kind::integer:
      if (wants_float && bytes_of(wanted) >= 4 && wanted != Type::f16x2 && wanted != Type::bf16x2) {
        fault("ptx-type-mismatch", operand.span,
              fmt::format("an integer where .{} is wanted", info(wanted).name),
              "write it as 0f… or 0d…, or as a decimal with a point");
        return std::nullopt;
      }
      return Constant{.value = operand.value};
    case Kind::real32:
    case Kind::real64: {
      const bool single = operand.kind == Kind::real32;
      const bool takes_real = wants_float || info(wanted).kind == ptx::Kind::bits;
      if (bytes_of(wanted) == 4 && takes_real)
        return Constant{.value = single ? operand.value : single_bits(operand.value)};
      if (bytes_of(wanted) == 8 && takes_real)
        return Constant{.value = single ? double_bits(operand.value) : operand.value};
      fault("ptx-type-mismatch", operand.span,
            fmt::format("a real number where .{} is wanted", info(wanted).name));
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// A register, special register, immediate, or the address of a variable. The register may be wider
// than `wanted`; `source` refuses that.
std::optional<uint32_t> Decoder::wide_source(const Operand& operand, Type wanted) {
  using Kind = Operand::Kind;
  if (wanted == Type::pred) return predicate(operand);
  if (operand.negated) {
    fault("ptx-bad-operand", operand.span, "`!` stands before predicates alone");
    return std::nullopt;
  }
  if (operand.kind == Kind::integer || operand.kind == Kind::real32 ||
      operand.kind == Kind::real64) {
    const auto value = immediate(operand, wanted);
    if (!value) return std::nullopt;
    return constant(*value, wanted);
  }
  if (operand.kind != Kind::name) {
    fault("ptx-bad-operand", operand.span,
          fmt::format("a register or a number is wanted here, of type .{}", info(wanted).name));
    return std::nullopt;
  }
  if (const auto reg = declared(operand)) return reg;
  for (const SpecialRow& row : kSpecials)
    if (row.name == operand.name) return special(row.which);
  for (const ClockRow& row : kClocks)
    if (row.name == operand.name) {
      const uint32_t now = temporary(row.type);
      emit_lane({}, InstructionClass::other, row.op, now, {}, true);
      return now;
    }
  const Entity* entity = find(operand.name);
  if (entity && entity->kind == Entity::Kind::variable) {
    if (bytes_of(wanted) < 4 || is_floating(wanted)) {
      fault(
          "ptx-type-mismatch", operand.span,
          fmt::format("the address of `{}` where .{} is wanted", operand.name, info(wanted).name));
      return std::nullopt;
    }
    Constant value = entity->address;
    value.value += static_cast<uint64_t>(operand.offset);
    return constant(value, wanted);
  }
  const bool reg = operand.name.starts_with('%');
  fault(reg ? "ptx-undeclared-register" : "ptx-undeclared-name", operand.span,
        fmt::format("`{}` is not declared", operand.name));
  return std::nullopt;
}

std::optional<uint32_t> Decoder::source(const Operand& operand, Type wanted) {
  const auto reg = wide_source(operand, wanted);
  if (!reg || wanted == Type::pred) return reg;
  const Register& found = code_.registers[*reg];
  if (found.origin == Register::Origin::constant) return reg;
  // Special registers are 32 bits wide; old code reads them as 16.
  if (found.origin == Register::Origin::special && !is_floating(wanted) &&
      bytes_of(wanted) <= bytes_of(found.type))
    return reg;
  if (agrees(found.type, wanted)) return reg;
  mismatch(operand, found.type, wanted);
  return std::nullopt;
}

std::optional<uint32_t> Decoder::predicate(const Operand& operand) {
  if (operand.kind == Operand::Kind::integer) return constant(operand.value, Type::pred);
  const auto reg = declared(operand);
  if (!reg) {
    if (operand.kind == Operand::Kind::name)
      fault("ptx-undeclared-register", operand.span,
            fmt::format("`{}` is no declared predicate", operand.name));
    else
      fault("ptx-bad-operand", operand.span, "a predicate is wanted here");
    return std::nullopt;
  }
  if (type_of(*reg) == Type::pred) return reg;
  mismatch(operand, type_of(*reg), Type::pred);
  return std::nullopt;
}

std::optional<uint32_t> Decoder::wide_destination(const Operand& operand, Type wanted) {
  if (operand.kind == Operand::Kind::sink) return temporary(wanted);
  if (const auto reg = declared(operand)) return reg;
  if (operand.kind == Operand::Kind::name && !operand.name.starts_with('%') && find(operand.name))
    fault("ptx-bad-operand", operand.span,
          fmt::format("`{}` is a variable; results go to registers", operand.name));
  else if (operand.kind == Operand::Kind::name)
    fault("ptx-undeclared-register", operand.span,
          fmt::format("`{}` is not a declared register", operand.name));
  else
    fault("ptx-bad-operand", operand.span, "a result goes to a register");
  return std::nullopt;
}

std::optional<uint32_t> Decoder::destination(const Operand& operand, Type wanted) {
  const auto reg = wide_destination(operand, wanted);
  if (!reg || agrees(type_of(*reg), wanted)) return reg;
  mismatch(operand, type_of(*reg), wanted);
  return std::nullopt;
}

}  // namespace tilec::ptx
