// Declarations of variables and registers, and constant expressions.
#include <fmt/format.h>

#include <array>
#include <bit>

#include "runtime/ptx/syntax_reader.h"

namespace tilec::ptx {
namespace {

constexpr int64_t kMaxArrayBytes = int64_t{1} << 32;
constexpr int64_t kMaxRegisters = 1 << 20;
constexpr int kMaxDepth = 64;  // of nested braces and parentheses: the reader is recursive

struct BinaryOperator {
  std::string_view text;
  int precedence;  // higher binds tighter
  uint64_t (*apply)(uint64_t, uint64_t);
};

constexpr std::array<BinaryOperator, 16> kOperators = {{
    {"||", 1, [](uint64_t a, uint64_t b) -> uint64_t { return a || b; }},
    {"&&", 2, [](uint64_t a, uint64_t b) -> uint64_t { return a && b; }},
    {"|", 3, [](uint64_t a, uint64_t b) { return a | b; }},
    {"^", 4, [](uint64_t a, uint64_t b) { return a ^ b; }},
    {"&", 5, [](uint64_t a, uint64_t b) { return a & b; }},
    {"==", 6, [](uint64_t a, uint64_t b) -> uint64_t { return a == b; }},
    {"!=", 6, [](uint64_t a, uint64_t b) -> uint64_t { return a != b; }},
    {"<", 7, [](uint64_t a, uint64_t b) -> uint64_t { return a < b; }},
    {">", 7, [](uint64_t a, uint64_t b) -> uint64_t { return a > b; }},
    {"<=", 7, [](uint64_t a, uint64_t b) -> uint64_t { return a <= b; }},
    {">=", 7, [](uint64_t a, uint64_t b) -> uint64_t { return a >= b; }},
    {"<<", 8, [](uint64_t a, uint64_t b) { return b < 64 ? a << b : 0; }},
    {">>", 8, [](uint64_t a, uint64_t b) { return b < 64 ? a >> b : 0; }},
    {"+", 9, [](uint64_t a, uint64_t b) { return a + b; }},
    {"-", 9, [](uint64_t a, uint64_t b) { return a - b; }},
    {"*", 10, [](uint64_t a, uint64_t b) { return a * b; }},
}};

const BinaryOperator* find_operator(std::string_view text) {
  for (const BinaryOperator& row : kOperators)
    if (row.text == text) return &row;
  return nullptr;
}

std::optional<Type> type_of_word(std::string_view word) {
  return word.starts_with('.') ? find_type(word.substr(1)) : std::nullopt;
}

int vector_of_word(std::string_view word) {
  return word == ".v2" ? 2 : word == ".v4" ? 4 : word == ".v8" ? 8 : 1;
}

}  // namespace

// constant := unary { operator unary }, by precedence
uint64_t SyntaxReader::read_constant(int least_precedence) {
  uint64_t value = read_constant_operand();
  while (!broken_) {
    const BinaryOperator* row =
        peek().kind == TokenKind::mark ? find_operator(peek().text) : nullptr;
    if (!row || row->precedence <= least_precedence) return value;
    next();
    value = row->apply(value, read_constant(row->precedence));
  }
  return value;
}

uint64_t SyntaxReader::read_constant_operand() {
  if (depth_ > kMaxDepth) {
    fault_expected("fewer nested parentheses");
    return 0;
  }
  ++depth_;
  uint64_t value = 0;
  if (accept("-")) {
    value = 0 - read_constant_operand();
  } else if (accept("+")) {
    value = read_constant_operand();
  } else if (accept("~")) {
    value = ~read_constant_operand();
  } else if (accept("!")) {
    value = read_constant_operand() == 0;
  } else if (accept("(")) {
    value = read_constant();
    expect(")");
  } else if (accept("WARP_SZ")) {
    value = 32;
  } else if (peek().kind == TokenKind::number) {
    const NumberValue number = read_number(peek().text);
    if (number.form != NumberValue::Form::integer && !broken_) {
      faults_.add("ptx-number", peek().span(),
                  fmt::format("`{}` is not an integer of at most 64 bits", peek().text));
      broken_ = true;
    }
    value = number.bits;
    next();
  } else {
    fault_expected("a number");
  }
  --depth_;
  return value;
}

// Everything between the state space and the name: .align 16 .v4 .f32 .ptr .global .align 16
Variable SyntaxReader::read_variable_type(Space space) {
  Variable variable{.space = space, .type = Type::b8};
  bool typed = false;
  while (!broken_ && peek().kind == TokenKind::word && peek().text[0] == '.') {
    const std::string_view word = peek().text;
    if (word == ".align") {
      next();
      if (!read_alignment(variable)) return variable;
      continue;
    }
    if (vector_of_word(word) > 1) {
      variable.vector = vector_of_word(word);
    } else if (const auto type = type_of_word(word); type && !typed) {
      variable.type = *type;
      typed = true;
    } else if (word == ".ptr") {
      // What follows describes what the pointer points at, not the parameter.
      next();
      variable.pointer = true;
      while (space_of_directive(peek().text)) next();
      if (accept(".align")) next();
      continue;
    } else if (!word.starts_with(".attribute")) {
      fault_expected("a type");
      return variable;
    }
    next();
    if (word.starts_with(".attribute") && peek().is("(")) {
      while (!at_end() && !accept(")")) next();
    }
  }
  if (!typed) fault_expected("a type");
  return variable;
}

bool SyntaxReader::read_alignment(Variable& variable) {
  const dsl::Span span = peek().span();
  const uint64_t align = read_constant(10);
  if (broken_) return false;
  if (!std::has_single_bit(align) || align > 1 << 20) {
    faults_.add("ptx-alignment", span, fmt::format(".align {} is not a power of two", align));
    broken_ = true;
    return false;
  }
  variable.align = static_cast<int64_t>(align);
  return true;
}

// NAME { '[' [extent] ']' }
void SyntaxReader::read_variable_name(Variable& variable) {
  variable.span = peek().span();
  variable.name = expect_name("the name of a variable");
  int64_t bytes = variable.vector * std::max(1, bytes_of(variable.type));
  while (!broken_ && accept("[")) {
    int64_t extent = 0;
    if (!peek().is("]")) {
      const uint64_t value = read_constant();
      extent = value > static_cast<uint64_t>(kMaxArrayBytes) ? kMaxArrayBytes
                                                             : static_cast<int64_t>(value);
    }
    expect("]");
    variable.extents.push_back(extent);
    if (extent > 0 && bytes > kMaxArrayBytes / extent) {
      faults_.add("ptx-too-large", variable.span,
                  fmt::format("`{}` has more than {} bytes", variable.name, kMaxArrayBytes));
      broken_ = true;
      return;
    }
    bytes *= std::max<int64_t>(extent, 1);
  }
  if (variable.align == 0) variable.align = std::max(1, bytes_of(variable.type)) * variable.vector;
}

void SyntaxReader::read_variables(Space space, bool external, std::vector<Variable>& out) {
  const Variable stem = read_variable_type(space);
  if (broken_) return;
  do {
    Variable variable = stem;
    variable.external = external;
    read_variable_name(variable);
    if (!broken_ && accept("=")) read_initial(variable);
    if (broken_) return;
    out.push_back(std::move(variable));
  } while (accept(","));
  expect(";");
}

// value | '{' initial {, initial} '}'; the first open extent takes the number of values.
void SyntaxReader::read_initial(Variable& variable) {
  read_initial_value(variable);
  if (broken_) return;
  const auto count = static_cast<int64_t>(variable.initial.size());
  if (!variable.extents.empty() && variable.extents[0] == 0) {
    int64_t rest = variable.vector;
    for (size_t i = 1; i < variable.extents.size(); ++i) rest *= variable.extents[i];
    variable.extents[0] = rest > 0 ? (count + rest - 1) / rest : 0;
  }
  if (count > variable.elements())
    faults_.add("ptx-initialiser", variable.span,
                fmt::format("{} values for the {} elements of `{}`", count, variable.elements(),
                            variable.name));
}

void SyntaxReader::read_initial_value(Variable& variable) {
  if (depth_ > kMaxDepth) return fault_expected("fewer nested braces");
  if (accept("{")) {
    ++depth_;
    while (!broken_ && !peek().is("}")) {
      read_initial_value(variable);
      if (!accept(",")) break;
    }
    --depth_;
    expect("}");
    return;
  }
  Initial initial{.span = peek().span()};
  if (accept("generic")) {
    initial.generic = true;
    expect("(");
    initial.name = expect_name("the name of a variable");
    expect(")");
  } else if (peek().kind == TokenKind::word && !peek().is("WARP_SZ")) {
    initial.name = expect_name("a number or the name of a variable");
  }
  if (!initial.name.empty()) {
    if (accept("+")) initial.value = read_constant(8);
  } else {
    // Reals stand for their own bits; a decimal takes the width of the variable's type.
    const bool minus = peek().is("-") && peek(1).kind == TokenKind::number &&
                       read_number(peek(1).text).form == NumberValue::Form::real64;
    if (minus) next();
    const NumberValue number = read_number(peek().text);
    if (number.form == NumberValue::Form::real32) {
      initial.value = number.bits;
      next();
    } else if (number.form == NumberValue::Form::real64) {
      double value = std::bit_cast<double>(number.bits);
      if (minus) value = -value;
      initial.value = variable.type == Type::f32
                          ? std::bit_cast<uint32_t>(static_cast<float>(value))
                          : std::bit_cast<uint64_t>(value);
      next();
    } else {
      initial.value = read_constant();
    }
  }
  variable.initial.push_back(initial);
}

// .reg .b32 %r<10>, %x;   .reg .v4 .f32 %v;
void SyntaxReader::read_registers(std::vector<Statement>& out) {
  RegisterDeclaration stem{.type = Type::pred};
  stem.vector = vector_of_word(peek().text);
  if (stem.vector > 1) next();
  const auto type = type_of_word(peek().text);
  if (!type) return fault_expected("a type");
  stem.type = *type;
  next();
  if (stem.vector == 1 && vector_of_word(peek().text) > 1)
    stem.vector = vector_of_word(next().text);
  do {
    RegisterDeclaration declaration = stem;
    declaration.span = peek().span();
    declaration.name = expect_name("the name of a register");
    if (!broken_ && accept("<")) {
      const uint64_t count = read_constant(9);
      if (!broken_ && count > kMaxRegisters) {
        faults_.add("ptx-too-large", declaration.span,
                    fmt::format("{} registers; at most {}", count, kMaxRegisters));
        broken_ = true;
      }
      declaration.count = static_cast<int64_t>(count);
      expect(">");
    }
    if (broken_) return;
    out.push_back(declaration);
  } while (accept(","));
  expect(";");
}

}  // namespace tilec::ptx
