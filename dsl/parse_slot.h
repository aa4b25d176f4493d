// A slot: one number or word, or in a space a set or range of them.
#pragma once

#include "dsl/ast.h"
#include "dsl/cursor.h"

namespace tilec::dsl {

inline constexpr size_t kLongestSet = 1024;  // choices of one slot

/// Appends a slot of numbers to `clause`. False after a fault, which is reported.
bool number_slot(Cursor& cursor, Clause& clause, Role role);

/// Appends a slot of words, each one of `words`; with no `words` any word that begins no clause.
bool word_slot(Cursor& cursor, Clause& clause, Role role, std::span<const std::string_view> words);

/// Whether a slot of numbers, or of `words`, begins `ahead` tokens on.
bool number_slot_follows(const Cursor& cursor, size_t ahead = 0);
bool word_slot_follows(const Cursor& cursor, std::span<const std::string_view> words);

}  // namespace tilec::dsl
