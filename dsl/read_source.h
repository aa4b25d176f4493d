// What an argument stands for: a file that holds a spec, or the spec itself.
#pragma once

#include <string>

#include "dsl/error.h"

namespace tilec::dsl {

/// Text, if the argument begins as a spec does: with a clause's word or `kernel` or `#` and then
/// a blank, a brace or the end. Else a file, if there is one of that name. Else text again if it
/// holds a blank or a brace, so that its faults are shown; and otherwise a missing file.
/// Errors: missing-file, unreadable-file, source-too-large.
Result<Source> read_source(const std::string& path_or_text);

}  // namespace tilec::dsl
