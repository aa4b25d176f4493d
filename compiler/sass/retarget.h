// Where a branch leads, written.
#pragma once

#include <optional>

#include "compiler/sass/word.h"

namespace tilec::sass {

/// `word`, a direct branch (BRA, BSSY, CALL) at `offset`, leading to `target`, both in bytes from
/// the kernel's start; none for other instructions and where the distance does not fit. The fields
/// are those that decode() reads.
std::optional<Word> with_target(Word word, uint32_t offset, int64_t target, int sm);

}  // namespace tilec::sass
