#include "dsl/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "dsl/cursor.h"
#include "dsl/parse_clause.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

constexpr size_t kLongestName = 128;
constexpr size_t kGiveUp = 100;  // faults, many more than are shown, behind which nothing is read

// Names that PTX keeps for itself: the instruction keywords of the PTX ISA, "Identifiers".
constexpr auto kPtxWords = std::to_array<std::string_view>(
    {"abs",  "add",   "addc",  "and",     "atom",   "bar",      "bfe",       "bfi",  "bfind",
     "bra",  "brev",  "brkpt", "call",    "clz",    "cnot",     "copysign",  "cos",  "cvt",
     "cvta", "div",   "ex2",   "exit",    "fma",    "isspacep", "ld",        "ldu",  "lg2",
     "mad",  "mad24", "madc",  "max",     "membar", "min",      "mov",       "mul",  "mul24",
     "neg",  "not",   "or",    "pmevent", "popc",   "prefetch", "prefetchu", "prmt", "rcp",
     "red",  "rem",   "ret",   "rsqrt",   "sad",    "selp",     "set",       "setp", "shfl",
     "shl",  "shr",   "sin",   "slct",    "sqrt",   "st",       "sub",       "subc", "suld",
     "suq",  "sured", "sust",  "testp",   "tex",    "tld4",     "trap",      "txq",  "vabsdiff",
     "vadd", "vmad",  "vmax",  "vmin",    "vote",   "vset",     "vshl",      "vshr", "vsub",
     "xor"});

bool is_reserved(std::string_view name) {
  return name == "kernel" || name == "WARP_SZ" || find_clause(name) ||
         std::find(kPtxWords.begin(), kPtxWords.end(), name) != kPtxWords.end();
}

class Parser {
 public:
  Parser(std::shared_ptr<const Source> source, std::span<const Token> tokens,
         std::vector<Diagnostic>& faults)
      : source_(std::move(source)), cursor_(tokens, faults) {}

  // file = clause* | kernel+
  std::vector<SpecAst> file() {
    SpecAst loose = empty_spec();
    std::optional<Span> first_loose;
    std::vector<SpecAst> kernels;
    while (!cursor_.at(TokenKind::end) && cursor_.fault_count() < kGiveUp) {
      if (cursor_.at_word("kernel")) {
        kernels.push_back(kernel());
        continue;
      }
      Span here = cursor_.peek().span;
      if (!first_loose && cursor_.at(TokenKind::word)) first_loose = here;
      clause(loose);
    }
    if (kernels.empty()) {
      // Where no clause was understood, none is missed.
      if (loose.clauses.empty()) loose.broken.set();
      loose.span = {0, static_cast<uint32_t>(source_->text.size())};
      return {std::move(loose)};
    }
    if (first_loose) {
      cursor_.fault(Fault::clause_outside_kernel, *first_loose,
                    "this clause stands outside of the file's kernels",
                    "move it into a `kernel NAME { ... }` block");
    }
    return kernels;
  }

 private:
  SpecAst empty_spec() const {
    SpecAst spec;
    spec.source = source_;
    return spec;
  }

  // kernel = "kernel" NAME "{" clause* "}"
  SpecAst kernel() {
    SpecAst spec = empty_spec();
    Span word = cursor_.take().span;
    spec.span = {word.begin, word.end};
    kernel_name(spec);
    if (!cursor_.take_if(TokenKind::open_brace)) {
      cursor_.fault_here(
          Fault::expected_block,
          fmt::format("a kernel's clauses stand in {{ }}; found {}", cursor_.found()),
          "for instance `kernel small { tile 64x64 thread 4x4 }`");
    }
    while (!cursor_.at(TokenKind::end) && !cursor_.at_word("kernel")) {
      if (cursor_.fault_count() >= kGiveUp) return spec;
      if (cursor_.take_if(TokenKind::close_brace)) {
        spec.span.end = cursor_.last_end();
        return spec;
      }
      clause(spec);
    }
    cursor_.fault(Fault::unterminated_block, spec.span,
                  fmt::format("the block of kernel {} is not closed", quoted(spec.name)),
                  "add a `}` behind its last clause");
    return spec;
  }

  // The name is whatever stands before the brace; only one identifier will do.
  void kernel_name(SpecAst& spec) {
    Span span = cursor_.peek().span;
    bool one_word = cursor_.at(TokenKind::word);
    if (one_word) {
      spec.name = cursor_.take().text;
      one_word = cursor_.at(TokenKind::open_brace) || cursor_.at(TokenKind::end) ||
                 cursor_.at(TokenKind::word);
    }
    if (!one_word) {
      while (!cursor_.at(TokenKind::end) && !cursor_.at(TokenKind::open_brace) &&
             !cursor_.at(TokenKind::close_brace) && !cursor_.at_word("kernel")) {
        span.end = cursor_.take().span.end;
      }
      cursor_.fault(Fault::bad_kernel_name, span,
                    "a kernel's name is made of letters, digits and `_`, and begins with no digit",
                    "for instance `kernel small_tiles { ... }`");
      return;
    }
    spec.span.end = span.end;
    if (spec.name.size() > kLongestName) {
      cursor_.fault(Fault::bad_kernel_name, span,
                    fmt::format("a kernel's name has at most {} characters; this one has {}",
                                kLongestName, spec.name.size()));
    } else if (is_reserved(spec.name)) {
      cursor_.fault(Fault::reserved_kernel_name, span,
                    fmt::format("{} is a word of the language or of PTX, so no kernel can have "
                                "it for a name",
                                quoted(spec.name)),
                    fmt::format("`{}_kernel` would do", spec.name));
    } else if (!names_.insert(spec.name).second) {
      cursor_.fault(Fault::duplicate_kernel, span,
                    fmt::format("there is a kernel {} already", quoted(spec.name)));
    }
  }

  // One clause, or a fault and whatever has to be skipped after it. Takes at least one token.
  void clause(SpecAst& spec) {
    if (!cursor_.at(TokenKind::word)) return stray(spec);
    const Token& word = cursor_.peek();
    std::optional<ClauseKind> kind = find_clause(word.text);
    if (!kind) return unknown_clause(spec);
    Clause parsed;
    parsed.kind = *kind;
    size_t faults_before = cursor_.fault_count();
    bool fine = parse_clause(cursor_, parsed);
    if (fine && !at_clause_end()) {
      const ClauseRow& row = row_of(*kind);
      std::string takes = row.syntax.empty() ? "nothing" : std::string(row.syntax);
      cursor_.fault_here(Fault::stray_token,
                         fmt::format("{} is too much for `{}`", cursor_.found(), row.word),
                         fmt::format("`{}` takes {}", row.word, takes));
      fine = false;
    }
    if (!fine) skip_arguments();
    if (!fine || cursor_.fault_count() > faults_before) spec.broken.set(static_cast<size_t>(*kind));
    if (const Clause* first = spec.find(*kind)) {
      Position position = source_->position(first->span.begin);
      cursor_.fault(Fault::clause_twice, parsed.span,
                    fmt::format("`{}` stands twice; first at line {}, column {}",
                                row_of(*kind).word, position.line, position.column),
                    "keep one of the two");
      spec.broken.set(static_cast<size_t>(*kind));
      return;
    }
    spec.clauses.push_back(std::move(parsed));
  }

  bool at_clause_end() const {
    return cursor_.at(TokenKind::word) || cursor_.at(TokenKind::end) ||
           cursor_.at(TokenKind::close_brace);
  }

  void stray(SpecAst& spec) {
    std::string what = cursor_.at(TokenKind::close_brace)
                           ? "this `}` closes no block"
                           : fmt::format("a clause was expected, found {}", cursor_.found());
    cursor_.fault_here(Fault::stray_token, what, "a clause begins with a word, such as `tile`");
    cursor_.take();
    if (!cursor_.at(TokenKind::close_brace)) skip_arguments();
    // What was meant is not known, so no rule can be held against what is missing.
    spec.broken.set();
  }

  void unknown_clause(SpecAst& spec) {
    const Token& word = cursor_.peek();
    std::string help;
    std::optional<std::string> near = nearest_word(word.text, clause_words());
    std::optional<ClauseKind> owner = clause_of_argument(word.text);
    if (owner == ClauseKind::epilogue) {
      help = "factors of an epilogue are joined by `*`";
    } else if (owner) {
      help = fmt::format("`{0}` is a word of the clause `{1}`; for instance `{2}`", word.text,
                         row_of(*owner).word, row_of(*owner).example);
    } else if (near) {
      help = fmt::format("did you mean `{}`?", *near);
    } else {
      help = "the clauses are " + join(clause_words(), " and ");
    }
    cursor_.fault_here(Fault::unknown_clause,
                       fmt::format("there is no clause {}", quoted(word.text)), help);
    // What was probably meant is not held to be missing.
    std::optional<ClauseKind> meant = near ? find_clause(*near) : std::nullopt;
    if (meant) spec.broken.set(static_cast<size_t>(*meant));
    cursor_.take();
    skip_arguments();
  }

  // Past everything that can only be an argument: up to a word that may begin a clause, or the
  // end of the block. Braces of sets are skipped in pairs.
  void skip_arguments() {
    int open = 0;
    while (!cursor_.at(TokenKind::end)) {
      if (cursor_.at(TokenKind::word) && may_begin_clause(cursor_.peek().text)) return;
      if (cursor_.at(TokenKind::open_brace)) ++open;
      if (cursor_.at(TokenKind::close_brace) && --open < 0) return;
      cursor_.take();
    }
  }

  static bool may_begin_clause(std::string_view word) {
    if (find_clause(word) || word == "kernel") return true;
    for (const ClauseRow& row : clause_rows()) {
      auto words = argument_words(row.kind);
      if (std::find(words.begin(), words.end(), word) != words.end()) return false;
    }
    return true;
  }

  std::shared_ptr<const Source> source_;
  Cursor cursor_;
  std::set<std::string, std::less<>> names_;
};

// What makes a text unreadable as a whole.
std::optional<Diagnostic> unreadable(const Source& source) {
  if (source.text.size() > kMostSourceBytes) {
    return diagnose(
        Fault::source_too_large, {},
        fmt::format("the text has {} bytes; the most is {}", source.text.size(), kMostSourceBytes));
  }
  if (std::optional<size_t> at = first_binary_byte(source.text)) {
    auto byte = static_cast<unsigned>(static_cast<unsigned char>(source.text[*at]));
    auto offset = static_cast<uint32_t>(*at);
    return diagnose(Fault::not_text, {offset, offset + 1},
                    fmt::format("byte {} (0x{:02x}) is not text: a spec is UTF-8", *at, byte));
  }
  return std::nullopt;
}

}  // namespace

Parsed parse_all(const Source& source) {
  Parsed out;
  if (std::optional<Diagnostic> fault = unreadable(source)) {
    out.faults.push_back(std::move(*fault));
    return out;
  }
  auto shared = std::make_shared<const Source>(source);
  std::vector<Token> tokens = lex(*shared, out.faults);
  if (tokens.size() == 1 && out.faults.empty()) {
    out.faults.push_back(diagnose(Fault::empty_spec, {}, "the spec is empty",
                                  "the shortest one is a tile, such as `tile 16x16`"));
    return out;
  }
  out.specs = Parser(shared, tokens, out.faults).file();
  return out;
}

Result<std::vector<SpecAst>> parse(const Source& source) {
  Parsed parsed = parse_all(source);
  if (!parsed.faults.empty()) {
    return tl::unexpected(user_error(source, std::move(parsed.faults)));
  }
  return std::move(parsed.specs);
}

}  // namespace tilec::dsl
