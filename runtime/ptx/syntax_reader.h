// The reader behind read_unit: a cursor over tokens, with one function a rule of the grammar.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ptx/lexer.h"
#include "runtime/ptx/syntax.h"

namespace tilec::ptx {

class SyntaxReader {
 public:
  SyntaxReader(const dsl::Source& source, Faults& faults)
      : tokens_(tokenize(source.text, faults)), faults_(faults) {}

  Unit read();

 private:
  // syntax.cpp: the module's level.
  void read_header();
  void read_item();
  void read_file_directive();
  void read_function(bool external);
  void read_performance(Function& function);
  std::array<uint32_t, 3> read_extents(std::string_view of_what = "threads: a block");
  std::vector<Variable> read_parameters(std::vector<RegisterDeclaration>& registers);
  void skip_statement();
  void skip_braces();

  // syntax_variables.cpp: declarations and constants.
  void read_variables(Space space, bool external, std::vector<Variable>& out);
  Variable read_variable_type(Space space);
  void read_variable_name(Variable& variable);
  void read_initial(Variable& variable);
  void read_initial_value(Variable& variable);
  void read_registers(std::vector<Statement>& out);
  bool read_alignment(Variable& variable);
  uint64_t read_constant(int least_precedence = 0);
  uint64_t read_constant_operand();

  // syntax_body.cpp: statements and operands.
  void read_body(Function& function);
  void read_statement(Function& function);
  void read_local_directive(Function& function);
  void read_loc();
  void read_targets(Function& function, std::string_view label, dsl::Span span);
  void read_instruction(Function& function);
  Operand read_operand();
  Operand read_operand_atom();
  Operand read_address();
  Operand read_number_operand();
  std::vector<Operand> read_list(std::string_view close);

  // The cursor.
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool accept(std::string_view text);
  bool expect(std::string_view text);  // false after a fault
  std::string_view expect_name(std::string_view what);
  void fault_expected(std::string_view what);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  Faults& faults_;
  Unit unit_;
  TileLocation tile_;
  int depth_ = 0;        // of nested lists, constants and scopes
  bool broken_ = false;  // the current statement has a fault: skip to its end
};

/// `.global` and its like; nothing if `word` names no state space.
std::optional<Space> space_of_directive(std::string_view word);

}  // namespace tilec::ptx
