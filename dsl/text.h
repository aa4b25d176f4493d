// Small helpers on words: edit distance, suggestions, lists in prose.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilec::dsl {

/// Insertions, deletions, changes and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

/// The one of `words` nearest to `word`, case ignored; none if none is near enough to be meant
/// (more than about a third of the word's letters, or more than 2 edits, apart).
std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string_view> words);

/// "a", "a or b", "a, b or c".
std::string join(std::span<const std::string_view> words, std::string_view last_separator);

/// Offset of the first byte that is not text: NUL, or not valid UTF-8. None if all is text.
std::optional<size_t> first_binary_byte(std::string_view text);

/// Bytes of the UTF-8 character that begins with `lead` (1 to 4), from valid UTF-8.
int character_bytes(char lead);

/// At most `bytes` of a word of the user's, fit to be quoted in one line of a message.
std::string quoted(std::string_view word, size_t bytes = 40);

}  // namespace tilec::dsl
