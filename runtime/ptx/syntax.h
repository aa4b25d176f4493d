// PTX text as statements: what stands there, not yet what it means. Views point into the text.
//
//   unit        := header { variable | function | .pragma … }
//   header      := .version N.N  .target NAME {, NAME}  [.address_size N]
//   function    := linkage (.entry | .func [results]) NAME [( parameters )] {performance} ( ; |
//   body ) body        := '{' { .reg … ; | variable ; | label: | [@[!]p] opcode operands ; | .loc |
//   body } '}' operand     := [!] (NAME | number | NAME+n | '[' base [+n] ']' | '{' list '}' | '('
//   list ')')
//                  [ '|' operand ]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/source.h"
#include "runtime/ptx/diagnostics.h"
#include "runtime/ptx/types.h"

namespace tilec::ptx {

enum class Space : uint8_t { none, generic, global, shared, local, parameter, constant };
std::string_view name_of(Space space);

struct Operand {
  enum class Kind : uint8_t {
    name,     // register, variable, label, special register (with its `.x`), perhaps + offset
    integer,  // `value`, 64 bits
    real32,   // 0f…: bits in `value`
    real64,   // 0d…, or a decimal: bits in `value`
    address,  // [items[0] + offset], items[0] a name or an integer
    tensor,   // [items[0], items[1]…]: more than one thing in brackets
    vector,   // { items }
    list,     // ( items )
    pair,     // items[0] | items[1]
    sink,     // _
  };
  Kind kind = Kind::name;
  bool negated = false;  // `!` before it
  dsl::Span span;
  std::string_view name;
  uint64_t value = 0;
  int64_t offset = 0;
  std::vector<Operand> items;
};

/// What `.loc` said last before an instruction; file is an index into Unit::files.
struct TileLocation {
  int file = 0;
  int line = 0;
};

struct Instruction {
  std::string_view text;                    // "fma.rn.f32"
  std::string_view opcode;                  // "fma"
  std::vector<std::string_view> modifiers;  // "rn", "f32"
  std::string_view guard;                   // register; empty if none
  bool guard_negated = false;
  std::vector<Operand> operands;
  dsl::Span span;  // opcode and modifiers
  int line = 0;    // of the PTX text
  TileLocation tile;
};

struct Label {
  std::string_view name;
  dsl::Span span;
};

struct RegisterDeclaration {
  Type type{};
  int vector = 1;         // .v2, .v4: names get .x .y .z .w
  std::string_view name;  // stem if `count` is set
  int64_t count = -1;     // %r<count>; -1 for one register
  dsl::Span span;
};

/// An initial value: plain bits, or the address of a variable plus `value`.
struct Initial {
  std::string_view name;  // empty: plain
  uint64_t value = 0;
  bool generic = false;  // generic(name)
  dsl::Span span;
};

struct Variable {
  Space space{};
  Type type{};
  int vector = 1;
  int64_t align = 0;  // bytes; natural if not given
  std::string_view name;
  std::vector<int64_t> extents;  // of an array; 0 where left open
  bool external = false;
  bool pointer = false;  // .param with .ptr
  std::vector<Initial> initial;
  dsl::Span span;

  int64_t elements() const;  // product of extents and vector; 0 if an extent is open
  int64_t bytes() const { return elements() * bytes_of(type); }
};

/// `NAME: .branchtargets A, B;` and `.calltargets`.
struct Targets {
  std::string_view name;
  std::vector<std::string_view> labels;
  bool calls = false;
  dsl::Span span;
};

struct ScopeBegin {};
struct ScopeEnd {};

using Statement =
    std::variant<Instruction, Label, RegisterDeclaration, Variable, Targets, ScopeBegin, ScopeEnd>;

struct Function {
  std::string_view name;
  bool entry = false;
  bool has_body = false;
  bool external = false;
  std::vector<Variable> results;  // of a .func: .param or .reg
  std::vector<Variable> parameters;
  std::vector<RegisterDeclaration> register_results, register_parameters;  // .func with .reg
  std::array<uint32_t, 3> reqntid{};                                       // 0: not given
  std::array<uint32_t, 3> maxntid{};
  std::array<uint32_t, 3> cluster{1, 1, 1};  // .reqnctapercluster
  std::vector<Statement> body;
  dsl::Span span;  // the name
};

struct Unit {
  int version = 0;  // times ten
  std::string_view target;
  std::vector<std::string> files;  // by number of `.file`; gaps are empty
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Faults go to `faults`; the unit is then only fit for finding more of them.
Unit read_unit(const dsl::Source& source, Faults& faults);

}  // namespace tilec::ptx
