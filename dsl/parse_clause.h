// One clause: its word and what follows it, by the grammar of its row in ast.cpp.
#pragma once

#include "dsl/ast.h"
#include "dsl/cursor.h"

namespace tilec::dsl {

/// Reads the clause of `clause.kind`, whose word is at the cursor. False after a fault, which is
/// reported; the cursor then stands somewhere inside the clause.
bool parse_clause(Cursor& cursor, Clause& clause);

/// The words a clause's arguments are made of, for suggestions and for recovery.
std::span<const std::string_view> argument_words(ClauseKind kind);

/// The clause that `word` is an argument of, if it is one of a single clause.
std::optional<ClauseKind> clause_of_argument(std::string_view word);

}  // namespace tilec::dsl
