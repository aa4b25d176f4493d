// Recursive descent over the grammar in kernel.h, one function a rule. The first fault ends it:
// tile IR is written by passes and by people who take one apart, so one good message is enough.

#include <fmt/format.h>

#include <optional>

#include "compiler/ir/parse_head.h"
#include "compiler/ir/text.h"
#include "dsl/cursor.h"
#include "dsl/lexer.h"
#include "dsl/parse_expression.h"

namespace tilec::ir {
namespace {

class Parser : HeadParser {
 public:
  using HeadParser::HeadParser;

  Kernel kernel();
  bool done() const { return at_end(); }
  void expect_end() {
    if (!at_end()) expected("the end of the text after the kernel");
  }

 private:
  Block block(const Kernel& kernel);
  Op op(const Kernel& kernel);
  Op copy_like(const Kernel& kernel, OpKind kind);
  Op assigned(const Kernel& kernel, OpKind kind, const char* sign = "=");
  Op fragment(const Kernel& kernel);
  Op outer(const Kernel& kernel);
  Op store(const Kernel& kernel, OpKind kind);
  Op sum(const Kernel& kernel);
  Op share(const Kernel& kernel);
  dsl::Expression expression(uint32_t begin, uint32_t end) const;
  Op loop(const Kernel& kernel);
  Op branch(const Kernel& kernel);
  Id storage_name(const Kernel& kernel);
  Id place(const Kernel& kernel, Index& index);  // NAME "[" index "]"
  Index index();
  Bound bound();
  Condition less();

  int depth_ = 0;
};

Kernel Parser::kernel() {
  Kernel out;
  expect("kernel");
  out.name = name("a kernel name");
  expect("target");
  out.target = name("a target");
  if (accept("blocks_per_sm")) out.blocks_per_sm = number("a number");
  if (accept("registers")) out.registers = number("a number");
  out.exact = accept("exact");
  out.persistent = accept("persistent");
  out.staged_store = accept("staged_store");
  out.synchronised = accept("synchronised");
  expect("{");
  head(out);
  while (is("global") || is("shared") || is("exchange") || is("register")) {
    const dsl::Span span = here();
    Storage s = storage();
    if (out.find(s.name) >= 0)
      fail("tile-ir-name", fmt::format("storage `{}` is declared twice", s.name), span);
    out.storage.push_back(std::move(s));
  }
  out.ops = block(out);
  return out;
}

Block Parser::block(const Kernel& kernel) {
  if (++depth_ > 32) expected("at most 32 nested blocks");
  Block out;
  while (!accept("}")) out.push_back(op(kernel));
  --depth_;
  return out;
}

Op Parser::op(const Kernel& kernel) {
  const dsl::Span span = here();
  const std::string word = name("an op");
  Op out;
  if (word == "copy") return copy_like(kernel, OpKind::copy);
  if (word == "load") return copy_like(kernel, OpKind::load);
  if (word == "put") return copy_like(kernel, OpKind::put);
  if (word == "async") return copy_like(kernel, OpKind::async);
  if (word == "fragment") return fragment(kernel);
  if (word == "outer") return outer(kernel);
  if (word == "store") return store(kernel, OpKind::store);
  if (word == "reduce") return store(kernel, OpKind::reduce);
  if (word == "share") return share(kernel);
  if (word == "sum") return sum(kernel);
  if (word == "loop") return loop(kernel);
  if (word == "if") return branch(kernel);
  if (word == "zero") {
    out.kind = OpKind::zero;
    out.to = storage_name(kernel);
  } else if (word == "commit") {
    out.kind = OpKind::commit;
  } else if (word == "wait") {
    out.kind = OpKind::wait;
    out.count = number("a number of groups");
  } else if (word == "cluster_barrier") {
    out.kind = OpKind::cluster_barrier;
  } else if (word == "depart") {
    out.kind = OpKind::depart;
  } else if (word != "barrier") {
    fail("tile-ir-syntax", fmt::format("unknown op `{}`", word), span);
  }
  return out;
}

// copy, load, put, async: a register is named bare, a slice or slot with its index.
Op Parser::copy_like(const Kernel& kernel, OpKind kind) {
  Op out;
  out.kind = kind;
  out.to = kind == OpKind::load ? storage_name(kernel) : place(kernel, out.to_index);
  expect("=");
  out.from = kind == OpKind::put ? storage_name(kernel) : place(kernel, out.from_index);
  if (kind == OpKind::copy && accept("via")) out.via = storage_name(kernel);
  if (accept("when")) out.when = less();
  out.guard = accept("guard");
  return out;
}

// `NAME =`, or another sign.
Op Parser::assigned(const Kernel& kernel, OpKind kind, const char* sign) {
  Op out;
  out.kind = kind;
  out.to = storage_name(kernel);
  expect(sign);
  return out;
}

Op Parser::fragment(const Kernel& kernel) {
  Op out = assigned(kernel, OpKind::fragment);
  out.from = place(kernel, out.from_index);
  expect("at");
  out.k = index();
  if (accept("when")) out.when = less();
  out.guard = accept("guard");
  return out;
}

Op Parser::outer(const Kernel& kernel) {
  Op out = assigned(kernel, OpKind::outer, "+=");
  out.from = storage_name(kernel);
  expect("*");
  out.from_n = storage_name(kernel);
  return out;
}

// The expression runs to the end of its line, or to `guard`.
Op Parser::store(const Kernel& kernel, OpKind kind) {
  Op out = assigned(kernel, kind);
  out.from = storage_name(kernel);
  const uint32_t start = here().end;
  if (!is(":")) expected("`:` and an expression");
  uint32_t stop = static_cast<uint32_t>(source().text.find('\n', start));
  if (stop > source().text.size()) stop = static_cast<uint32_t>(source().text.size());
  std::string_view line = std::string_view(source().text).substr(start, stop - start);
  line = line.substr(0, line.find("//"));
  if (const size_t guard = line.find("guard"); guard != std::string_view::npos) {
    out.guard = true;
    line = line.substr(0, guard);
  }
  out.epilogue = expression(start, start + static_cast<uint32_t>(line.size()));
  skip_to(stop);
  return out;
}

Op Parser::sum(const Kernel& kernel) {
  Op out = assigned(kernel, OpKind::sum);
  out.from = storage_name(kernel);
  out.guard = accept("guard");
  return out;
}

Op Parser::share(const Kernel& kernel) {
  Op out = assigned(kernel, OpKind::share);
  out.from = storage_name(kernel);
  return out;
}

// The expression in [begin, end) of the source, by the parser of the `epilogue` clause; blanks in
// front of it keep its place.
dsl::Expression Parser::expression(uint32_t begin, uint32_t end) const {
  dsl::Source part{source().name,
                   std::string(begin, ' ') + source().text.substr(begin, end - begin)};
  std::vector<dsl::Diagnostic> faults;
  const std::vector<dsl::Token> tokens = dsl::lex(part, faults);
  dsl::Cursor cursor(tokens, faults);
  const std::optional<dsl::Expression> out = dsl::parse_expression(cursor);
  if (faults.empty() && !cursor.at(dsl::TokenKind::end))
    cursor.fault_here(dsl::Fault::stray_token, "expected the end of the expression");
  if (!faults.empty()) throw Fault{{dsl::Road::user, {faults[0]}, source()}};
  return *out;
}

Op Parser::loop(const Kernel& kernel) {
  Op out;
  out.kind = OpKind::loop;
  out.variable = name("a loop variable");
  expect("=");
  out.lower = bound();
  expect("to");
  out.upper = bound();
  out.count = accept("step") ? number("a step") : 1;
  expect("{");
  out.body = block(kernel);
  return out;
}

Op Parser::branch(const Kernel& kernel) {
  Op out;
  out.kind = OpKind::branch;
  using enum ConditionKind;
  for (const auto& [word, kind] :
       {std::pair{"whole", whole}, {"beta_is_zero", beta_is_zero}, {"in_parts", in_parts}})
    if (out.when.kind == none && accept(word)) out.when.kind = kind;
  if (out.when.kind == none) out.when = Parser::less();
  expect("{");
  out.body = block(kernel);
  if (accept("else")) {
    expect("{");
    out.otherwise = block(kernel);
  }
  return out;
}

Id Parser::storage_name(const Kernel& kernel) {
  const dsl::Span span = here();
  const std::string text = name("the name of a storage");
  const Id id = kernel.find(text);
  if (id < 0) fail("tile-ir-name", fmt::format("no storage is named `{}`", text), span);
  return id;
}

Id Parser::place(const Kernel& kernel, Index& at) {
  const Id id = storage_name(kernel);
  expect("[");
  at = index();
  expect("]");
  return id;
}

Index Parser::index() {
  Index out;
  if (!at_name()) {
    out.offset = number("an index");
    return out;
  }
  out.variable = name("an index");
  if (accept("+")) out.offset = number("an offset");
  return out;
}

Bound Parser::bound() {
  if (accept("full")) return {BoundKind::full, 0};
  if (accept("slices")) return {BoundKind::slices, 0};
  return {BoundKind::number, number("a bound: a number, `full` or `slices`")};
}

Condition Parser::less() {
  Condition out;
  out.kind = ConditionKind::less;
  out.left = index();
  expect("<");
  out.right = bound();
  return out;
}

}  // namespace

dsl::Result<Kernel> parse(const dsl::Source& source) {
  try {
    Parser parser(source);
    Kernel out = parser.kernel();
    parser.expect_end();
    return out;
  } catch (Fault& fault) {
    return tl::unexpected(std::move(fault.error));
  }
}

dsl::Result<std::vector<Kernel>> parse_all(const dsl::Source& source) {
  try {
    Parser parser(source);
    std::vector<Kernel> out;
    do {
      out.push_back(parser.kernel());
    } while (!parser.done());
    return out;
  } catch (Fault& fault) {
    return tl::unexpected(std::move(fault.error));
  }
}

}  // namespace tilec::ir
