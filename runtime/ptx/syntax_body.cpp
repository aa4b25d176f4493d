// Statements of a function's body, and operands.
#include <fmt/format.h>

#include "runtime/ptx/syntax_reader.h"

namespace tilec::ptx {
namespace {

constexpr int kMaxDepth = 64;

// "ld.global.nc.L1::no_allocate.v4.f32" -> opcode "ld", modifiers the rest.
void split_opcode(std::string_view text, Instruction& instruction) {
  size_t dot = text.find('.');
  instruction.text = text;
  instruction.opcode = text.substr(0, dot);
  while (dot != std::string_view::npos) {
    const size_t end = text.find('.', dot + 1);
    instruction.modifiers.push_back(
        text.substr(dot + 1, end == std::string_view::npos ? end : end - dot - 1));
    dot = end;
  }
}

}  // namespace

void SyntaxReader::read_body(Function& function) {
  if (!expect("{")) return;
  tile_ = {};
  int scopes = 1;
  while (!faults_.full()) {
    if (at_end()) return fault_expected("`}`");
    const size_t before = at_;
    if (accept("}")) {
      if (--scopes == 0) return;
      function.body.push_back(ScopeEnd{});
    } else if (accept("{")) {
      ++scopes;
      function.body.push_back(ScopeBegin{});
    } else {
      read_statement(function);
      if (broken_) skip_statement();
    }
    if (at_ == before) next();
  }
}

void SyntaxReader::read_statement(Function& function) {
  const Token& token = peek();
  if (accept(";")) return;
  if (token.kind == TokenKind::word && token.text[0] == '.') return read_local_directive(function);
  if (token.kind == TokenKind::word && peek(1).is(":")) {
    next();
    next();
    if (peek().is(".branchtargets") || peek().is(".calltargets"))
      return read_targets(function, token.text, token.span());
    if (peek().is(".callprototype")) {
      // What an indirect call passes is checked against the function it reaches.
      function.body.push_back(Targets{.name = token.text, .calls = true, .span = token.span()});
      return skip_statement();
    }
    function.body.push_back(Label{token.text, token.span()});
    return;
  }
  read_instruction(function);
}

void SyntaxReader::read_local_directive(Function& function) {
  const Token& token = next();
  if (token.is(".reg")) return read_registers(function.body);
  if (token.is(".loc")) return read_loc();
  if (token.is(".pragma")) return skip_statement();
  if (const auto space = space_of_directive(token.text)) {
    std::vector<Variable> variables;
    read_variables(*space, false, variables);
    for (Variable& variable : variables) function.body.push_back(std::move(variable));
    return;
  }
  faults_.add("ptx-unknown-directive", token.span(),
              fmt::format("directive `{}` is not known in a function", token.text));
  broken_ = true;
}

// .loc file line column [, function_name $label [+ n], inlined_at file line column]
void SyntaxReader::read_loc() {
  std::array<uint64_t, 3> numbers{};
  for (uint64_t& number : numbers) {
    if (peek().kind != TokenKind::number) return fault_expected("a number");
    number = read_number(next().text).bits;
  }
  tile_ = {static_cast<int>(numbers[0] & 0xFFFF), static_cast<int>(numbers[1] & 0x7FFFFFFF)};
  while (accept(",")) {
    next();  // function_name or inlined_at
    if (peek().kind == TokenKind::word) next();
    if (accept("+")) next();
    while (peek().kind == TokenKind::number) next();
  }
  accept(";");
}

void SyntaxReader::read_targets(Function& function, std::string_view label, dsl::Span span) {
  Targets targets{.name = label, .calls = next().text == ".calltargets", .span = span};
  do targets.labels.push_back(expect_name("a label"));
  while (!broken_ && accept(","));
  expect(";");
  function.body.push_back(std::move(targets));
}

void SyntaxReader::read_instruction(Function& function) {
  Instruction instruction;
  instruction.tile = tile_;
  if (accept("@")) {
    instruction.guard_negated = accept("!");
    instruction.guard = expect_name("a predicate");
    if (broken_) return;
  }
  const Token& token = peek();
  instruction.span = token.span();
  instruction.line = token.line;
  if (token.kind != TokenKind::word || token.text[0] == '.' || token.text[0] == '%')
    return fault_expected("an instruction");
  split_opcode(next().text, instruction);
  while (!broken_ && (instruction.operands.empty() ? !peek().is(";") : accept(",")))
    instruction.operands.push_back(read_operand());
  if (!expect(";")) return;
  function.body.push_back(std::move(instruction));
}

// operand := atom ['|' atom]
Operand SyntaxReader::read_operand() {
  Operand operand = read_operand_atom();
  const bool can_pair = operand.kind == Operand::Kind::name || operand.kind == Operand::Kind::sink;
  if (broken_ || !can_pair || !accept("|")) return operand;
  Operand pair{.kind = Operand::Kind::pair, .span = operand.span};
  pair.items.push_back(std::move(operand));
  pair.items.push_back(read_operand_atom());
  pair.span.end = pair.items[1].span.end;
  return pair;
}

Operand SyntaxReader::read_operand_atom() {
  Operand operand{.span = peek().span()};
  if (depth_ > kMaxDepth) {
    fault_expected("fewer nested operands");
    return operand;
  }
  ++depth_;
  if (accept("!")) {
    operand = read_operand_atom();
    operand.negated = !operand.negated;
  } else if (peek().is("[")) {
    operand = read_address();
  } else if (accept("{")) {
    operand.kind = Operand::Kind::vector;
    operand.items = read_list("}");
  } else if (accept("(")) {
    operand.kind = Operand::Kind::list;
    operand.items = read_list(")");
  } else if (accept("_")) {
    operand.kind = Operand::Kind::sink;
  } else if (peek().kind == TokenKind::word && peek().text[0] != '.' && !peek().is("WARP_SZ")) {
    operand.name = next().text;
    if (peek().is("+") || peek().is("-")) {
      const bool minus = next().text == "-";
      const auto offset = static_cast<int64_t>(read_constant(9));
      operand.offset = minus ? static_cast<int64_t>(0 - static_cast<uint64_t>(offset)) : offset;
    }
  } else {
    operand = read_number_operand();
  }
  operand.span.end = tokens_[at_ > 0 ? at_ - 1 : 0].span().end;
  --depth_;
  return operand;
}

Operand SyntaxReader::read_number_operand() {
  using Form = NumberValue::Form;
  Operand operand{.kind = Operand::Kind::integer, .span = peek().span()};
  const bool minus = peek().is("-");
  const Token& token = peek(minus ? 1 : 0);
  const Form form = token.kind == TokenKind::number ? read_number(token.text).form : Form::integer;
  if (form != Form::real32 && form != Form::real64) {
    operand.value = read_constant();
    return operand;
  }
  if (minus) next();
  operand.kind = form == Form::real32 ? Operand::Kind::real32 : Operand::Kind::real64;
  operand.value = read_number(next().text).bits;
  if (minus) operand.value ^= form == Form::real32 ? 1ull << 31 : 1ull << 63;
  return operand;
}

// '[' (NAME | number) [+ n] ']', or '[' operand, operand… ']'
Operand SyntaxReader::read_address() {
  Operand operand{.kind = Operand::Kind::address, .span = peek().span()};
  next();
  operand.items = read_list("]");
  if (operand.items.size() > 1) {
    operand.kind = Operand::Kind::tensor;
  } else if (operand.items.size() == 1) {
    operand.offset = operand.items[0].offset;
    operand.items[0].offset = 0;
  } else {
    fault_expected("an address");
  }
  return operand;
}

std::vector<Operand> SyntaxReader::read_list(std::string_view close) {
  std::vector<Operand> items;
  while (!broken_ && !peek().is(close)) {
    items.push_back(read_operand());
    if (!accept(",")) break;
  }
  expect(close);
  return items;
}

}  // namespace tilec::ptx
