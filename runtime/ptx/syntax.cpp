#include "runtime/ptx/syntax.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/ptx/syntax_reader.h"

namespace tilec::ptx {
namespace {

constexpr int kOldestVersion = 30;
constexpr int kNewestVersion = 99;
constexpr size_t kMaxFile = 1 << 16;

bool is_linkage(std::string_view word) {
  return word == ".visible" || word == ".extern" || word == ".weak" || word == ".common";
}

// Directives after a function's parameters that take numbers and do not matter here.
constexpr std::array<std::string_view, 5> kIgnoredWithNumbers = {
    ".minnctapersm", ".maxnctapersm", ".maxnreg", ".maxclusterrank", ".local_maxnreg"};
constexpr std::array<std::string_view, 3> kIgnoredFlags = {".noreturn", ".explicitcluster",
                                                           ".unique"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

std::string_view name_of(Space space) {
  constexpr std::array<std::string_view, 7> kNames = {"no",    "generic", "global", "shared",
                                                      "local", "param",   "const"};
  return kNames[static_cast<size_t>(space)];
}

std::optional<Space> space_of_directive(std::string_view word) {
  if (word == ".global") return Space::global;
  if (word == ".const") return Space::constant;
  if (word == ".shared") return Space::shared;
  if (word == ".local") return Space::local;
  if (word == ".param") return Space::parameter;
  return std::nullopt;
}

int64_t Variable::elements() const {
  int64_t count = vector;
  for (int64_t extent : extents) count *= extent;
  return count;
}

Unit read_unit(const dsl::Source& source, Faults& faults) {
  return SyntaxReader(source, faults).read();
}

bool SyntaxReader::accept(std::string_view text) {
  if (!peek().is(text)) return false;
  next();
  return true;
}

bool SyntaxReader::expect(std::string_view text) {
  if (accept(text)) return true;
  fault_expected(fmt::format("`{}`", text));
  return false;
}

std::string_view SyntaxReader::expect_name(std::string_view what) {
  if (peek().kind == TokenKind::word && peek().text[0] != '.') return next().text;
  fault_expected(what);
  return {};
}

void SyntaxReader::fault_expected(std::string_view what) {
  if (broken_) return;
  broken_ = true;
  if (at_end())
    faults_.add("ptx-truncated", peek().span(), fmt::format("expected {}, found the end", what));
  else
    faults_.add("ptx-syntax", peek().span(),
                fmt::format("expected {}, found `{}`", what, peek().text));
}

// To just after the next `;`, or to a brace: what follows is read as a new statement.
void SyntaxReader::skip_statement() {
  broken_ = false;
  while (!at_end() && !peek().is(";") && !peek().is("{") && !peek().is("}")) next();
  accept(";");
}

void SyntaxReader::skip_braces() {
  int depth = 0;
  while (!at_end()) {
    const Token& token = next();
    depth += token.is("{") - token.is("}");
    if (depth <= 0) return;
  }
  fault_expected("`}`");
}

Unit SyntaxReader::read() {
  read_header();
  while (!at_end() && !faults_.full()) {
    const size_t before = at_;
    read_item();
    if (broken_) skip_statement();
    if (at_ == before) next();  // always forward, whatever the text
  }
  return std::move(unit_);
}

void SyntaxReader::read_header() {
  if (!peek().is(".version")) {
    faults_.add("ptx-version", peek().span(), "a PTX module begins with `.version`");
  } else {
    next();
    const std::string_view text = next().text;
    const size_t dot = text.find('.');
    if (dot != std::string_view::npos && text.size() >= dot + 2 && dot <= 2)
      unit_.version = static_cast<int>(read_number(text.substr(0, dot)).bits * 10 +
                                       read_number(text.substr(dot + 1)).bits);
    if (unit_.version < kOldestVersion || unit_.version > kNewestVersion)
      faults_.add("ptx-version", tokens_[at_ - 1].span(),
                  fmt::format("PTX version `{}` is not one from {}.0 to {}.9", text,
                              kOldestVersion / 10, kNewestVersion / 10));
  }
  if (!peek().is(".target")) {
    faults_.add("ptx-target", peek().span(), "`.target` has to follow `.version`");
  } else {
    next();
    unit_.target = peek().text;
    if (!unit_.target.starts_with("sm_"))
      faults_.add("ptx-target", peek().span(),
                  fmt::format("target `{}` is not of the form sm_NN", unit_.target));
    next();
    while (accept(",")) next();  // texmode_…, debug, map_f64_to_f32
  }
  if (accept(".address_size")) {
    if (!peek().is("64"))
      faults_.add("ptx-address-size", peek().span(),
                  fmt::format("addresses of {} bits; the machine has 64", peek().text));
    next();
  }
}

void SyntaxReader::read_item() {
  bool external = false;
  while (is_linkage(peek().text)) external |= next().text == ".extern";
  const Token& token = peek();
  if (token.is(".entry") || token.is(".func")) return read_function(external);
  if (const auto space = space_of_directive(token.text)) {
    next();
    return read_variables(*space, external, unit_.variables);
  }
  if (token.is(".file")) return read_file_directive();
  if (token.is(".section")) {
    while (!at_end() && !peek().is("{")) next();
    return skip_braces();
  }
  if (token.is(".pragma") || token.is(".alias")) return skip_statement();
  if (accept(";")) return;
  if (token.text == ".tex" || token.text.ends_with("ref"))
    faults_.add("ptx-unsupported", token.span(), "textures, surfaces and samplers do not run here");
  else if (token.kind == TokenKind::word && token.text[0] == '.')
    faults_.add("ptx-unknown-directive", token.span(),
                fmt::format("directive `{}` is not known", token.text));
  else
    fault_expected("a declaration of the module");
  broken_ = true;
}

// .file 1 "name" [, time, size]   (LLVM writes .file 1 "directory" "name")
void SyntaxReader::read_file_directive() {
  next();
  const uint64_t number = read_number(next().text).bits;
  std::string name;
  while (peek().kind == TokenKind::string) {
    const std::string_view quoted = next().text;
    name = std::string(quoted.substr(1, quoted.size() - 2));
  }
  while (accept(",")) next();
  if (number >= kMaxFile) return;
  if (unit_.files.size() <= number) unit_.files.resize(number + 1);
  unit_.files[number] = std::move(name);
}

void SyntaxReader::read_function(bool external) {
  Function function;
  function.entry = next().text == ".entry";
  function.external = external;
  if (!function.entry && peek().is("(")) {
    function.results = read_parameters(function.register_results);
    if (broken_) return;
  }
  function.span = peek().span();
  function.name = expect_name("the name of a function");
  if (peek().is("(")) function.parameters = read_parameters(function.register_parameters);
  if (broken_) return;
  read_performance(function);
  if (broken_) return;
  if (!accept(";")) {
    function.has_body = true;
    read_body(function);
  }
  unit_.functions.push_back(std::move(function));
}

std::array<uint32_t, 3> SyntaxReader::read_extents(std::string_view of_what) {
  std::array<uint32_t, 3> extents{1, 1, 1};
  const dsl::Span span = tokens_[at_ - 1].span();
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t value = read_number(peek().text).bits;
    if (value == 0 || value > 1024)
      faults_.add("ptx-reqntid", span.begin ? peek().span() : span,
                  fmt::format("`{}` {} has 1 to 1024 along an axis", peek().text, of_what));
    extents[axis] = static_cast<uint32_t>(value);
    next();
    if (!accept(",")) break;
  }
  return extents;
}

void SyntaxReader::read_performance(Function& function) {
  while (!broken_ && !at_end() && !peek().is("{") && !peek().is(";")) {
    if (accept(".reqntid")) {
      function.reqntid = read_extents();
    } else if (accept(".maxntid")) {
      function.maxntid = read_extents();
    } else if (accept(".reqnctapercluster")) {
      function.cluster = read_extents("blocks: a cluster");
    } else if (contains(kIgnoredFlags, peek().text)) {
      next();
    } else if (contains(kIgnoredWithNumbers, peek().text)) {
      do next();
      while (peek().kind == TokenKind::number || peek().is(","));
    } else if (peek().is(".pragma")) {
      skip_statement();
    } else if (peek().kind == TokenKind::word && peek().text[0] == '.') {
      faults_.add("ptx-unknown-directive", peek().span(),
                  fmt::format("directive `{}` is not known for a function", peek().text));
      broken_ = true;
    } else {
      fault_expected("`{` or `;`");
    }
  }
}

// `( .param .u64 .ptr .global .align 16 name, … )`; a .func may have `.reg .b32 name`.
std::vector<Variable> SyntaxReader::read_parameters(std::vector<RegisterDeclaration>& registers) {
  std::vector<Variable> parameters;
  expect("(");
  while (!broken_ && !peek().is(")")) {
    if (accept(".reg")) {
      const auto type = find_type(peek().text.substr(peek().text.starts_with('.') ? 1 : 0));
      if (!type) fault_expected("a type");
      next();
      const dsl::Span span = peek().span();
      registers.push_back({.type = type.value_or(Type::b32),
                           .name = expect_name("the name of a register"),
                           .span = span});
    } else if (expect(".param")) {
      Variable variable = read_variable_type(Space::parameter);
      if (!broken_) read_variable_name(variable);
      parameters.push_back(std::move(variable));
    }
    if (!accept(",")) break;
  }
  expect(")");
  return parameters;
}

}  // namespace tilec::ptx
