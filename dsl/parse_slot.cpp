#include "dsl/parse_slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "dsl/text.h"

namespace tilec::dsl {
namespace {

using Words = std::span<const std::string_view>;

std::string_view word_of(const Clause& clause) {
  return row_of(clause.kind).word;
}

// number = ["-"] digit+          (the sign is read so that the range can be complained of)
std::optional<Atom> number_atom(Cursor& cursor, const Clause& clause) {
  Span span = cursor.peek().span;
  bool negative = cursor.at(TokenKind::minus) && cursor.peek(1).kind == TokenKind::number;
  if (negative) cursor.take();
  if (!cursor.at(TokenKind::number)) {
    const ClauseRow& row = row_of(clause.kind);
    cursor.fault_here(
        Fault::expected_number,
        fmt::format("`{}` needs a number here, found {}", row.word, cursor.found()),
        fmt::format("`{}` takes {}; for instance `{}`", row.word, row.syntax, row.example));
    // A word that begins no clause was meant for the number.
    if (cursor.at(TokenKind::word) && !find_clause(cursor.peek().text)) cursor.take();
    return std::nullopt;
  }
  const Token& token = cursor.take();
  span.end = token.span.end;
  Atom atom{span, 0, ""};
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  auto [stop, status] = std::from_chars(begin, end, atom.number);
  if (status == std::errc::result_out_of_range) {
    cursor.fault(Fault::number_too_large, span,
                 fmt::format("{} does not fit 64 bits", quoted(token.text)));
    return std::nullopt;
  }
  if (stop != end) {
    cursor.fault(
        Fault::expected_number, span,
        fmt::format("`{}` needs a whole number, found {}", word_of(clause), quoted(token.text)));
    return std::nullopt;
  }
  if (negative) atom.number = -atom.number;
  return atom;
}

std::optional<Atom> word_atom(Cursor& cursor, const Clause& clause, Words words) {
  const ClauseRow& row = row_of(clause.kind);
  const Token& token = cursor.peek();
  std::string takes = words.empty() ? fmt::format("for instance `{}`", row.example)
                                    : fmt::format("`{}` takes {}", row.word, row.syntax);
  bool known = std::find(words.begin(), words.end(), token.text) != words.end();
  if (token.kind != TokenKind::word || (!known && find_clause(token.text))) {
    cursor.fault_here(Fault::expected_word,
                      fmt::format("`{}` needs a word here, found {}", row.word, cursor.found()),
                      takes);
    return std::nullopt;
  }
  if (!words.empty() && !known) {
    std::optional<std::string> near = nearest_word(token.text, words);
    if (near) takes = fmt::format("did you mean `{}`? {}", *near, takes);
    cursor.fault_here(Fault::unknown_word,
                      fmt::format("`{}` does not know the word {}", row.word, quoted(token.text)),
                      takes);
    cursor.take();
    return std::nullopt;
  }
  cursor.take();
  return Atom{token.span, 0, std::string(token.text)};
}

bool same_value(const Atom& a, const Atom& b) {
  return a.number == b.number && a.word == b.word;
}

// A value named twice is one choice.
void add_choice(Slot& slot, Atom atom) {
  for (const Atom& known : slot.choices) {
    if (same_value(known, atom)) return;
  }
  slot.choices.push_back(std::move(atom));
}

bool set_too_long(Cursor& cursor, const Slot& slot, int64_t more) {
  if (more <= static_cast<int64_t>(kLongestSet - slot.choices.size())) return false;
  cursor.fault(Fault::set_too_long, {slot.span.begin, cursor.last_end()},
               fmt::format("a set has at most {} members", kLongestSet));
  return true;
}

// item = atom | number ".." number
template <class ReadAtom>
bool set_item(Cursor& cursor, Slot& slot, ReadAtom read_atom) {
  std::optional<Atom> first = read_atom();
  if (!first) return false;
  if (!first->word.empty() || !cursor.take_if(TokenKind::range)) {
    if (set_too_long(cursor, slot, 1)) return false;
    add_choice(slot, std::move(*first));
    return true;
  }
  std::optional<Atom> last = read_atom();
  if (!last) return false;
  Span span{first->span.begin, last->span.end};
  if (last->number < first->number) {
    cursor.fault(Fault::range_backwards, span,
                 fmt::format("the range {}..{} runs backwards", first->number, last->number),
                 fmt::format("write {}..{}", last->number, first->number));
    return false;
  }
  // The difference of two 64-bit numbers may need 65 bits; as unsigned it is right.
  uint64_t steps = static_cast<uint64_t>(last->number) - static_cast<uint64_t>(first->number);
  if (set_too_long(cursor, slot, static_cast<int64_t>(std::min<uint64_t>(steps, kLongestSet)) + 1))
    return false;
  for (int64_t i = first->number;; ++i) {
    add_choice(slot, {span, i, ""});
    if (i == last->number) return true;
  }
}

// After a fault inside a set: past its `}`, or up to what cannot belong to it.
void leave_set(Cursor& cursor) {
  while (!cursor.at(TokenKind::end) && !cursor.at(TokenKind::open_brace)) {
    if (cursor.at(TokenKind::word) && find_clause(cursor.peek().text)) return;
    if (cursor.take().kind == TokenKind::close_brace) return;
  }
}

// slot = atom | "{" item ("," item)* "}"
template <class ReadAtom>
bool read_slot(Cursor& cursor, Clause& clause, Role role, ReadAtom read_atom) {
  Slot slot{role, cursor.peek().span, {}};
  if (!cursor.take_if(TokenKind::open_brace)) {
    std::optional<Atom> atom = read_atom();
    if (!atom) return false;
    slot.span = atom->span;
    slot.choices.push_back(std::move(*atom));
    clause.slots.push_back(std::move(slot));
    return true;
  }
  do {
    if (!set_item(cursor, slot, read_atom)) {
      leave_set(cursor);
      return false;
    }
  } while (cursor.take_if(TokenKind::comma));
  if (!cursor.at(TokenKind::close_brace)) {
    cursor.fault_here(Fault::malformed_set,
                      fmt::format("a set ends with `}}`; found {}", cursor.found()),
                      "sets are written {64,128} or {2..5}");
    leave_set(cursor);
    return false;
  }
  cursor.take();
  slot.span.end = cursor.last_end();
  clause.slots.push_back(std::move(slot));
  return true;
}

}  // namespace

bool number_slot(Cursor& cursor, Clause& clause, Role role) {
  return read_slot(cursor, clause, role, [&] { return number_atom(cursor, clause); });
}

bool word_slot(Cursor& cursor, Clause& clause, Role role, Words words) {
  return read_slot(cursor, clause, role, [&] { return word_atom(cursor, clause, words); });
}

bool number_slot_follows(const Cursor& cursor, size_t ahead) {
  TokenKind kind = cursor.peek(ahead).kind;
  if (kind == TokenKind::open_brace) kind = cursor.peek(ahead + 1).kind;
  return kind == TokenKind::number || kind == TokenKind::minus;
}

bool word_slot_follows(const Cursor& cursor, Words words) {
  const Token* token = &cursor.peek();
  if (token->kind == TokenKind::open_brace) token = &cursor.peek(1);
  return token->kind == TokenKind::word &&
         std::find(words.begin(), words.end(), token->text) != words.end();
}

}  // namespace tilec::dsl
