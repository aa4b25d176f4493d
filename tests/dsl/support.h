// What the tests of the language share.
#pragma once

#include <string>
#include <vector>

#include "dsl/complete.h"
#include "dsl/derive.h"
#include "dsl/error.h"
#include "dsl/limits.h"
#include "dsl/parser.h"

namespace tilec::test {

std::vector<dsl::Limits> all_limits();

/// The only spec of `text`, completed for sm_90a where it names no target.
dsl::Result<dsl::Spec> complete(const std::string& text);

/// The same, where the test is pointless unless it is legal: aborts with the faults if not.
dsl::Spec spec_of(const std::string& text);
dsl::Derived derived_of(const dsl::Spec& spec);

/// The codes of an error's findings, in order, parted by blanks.
std::string codes(const dsl::Error& error);

/// The codes of what is wrong with `text`; "" if nothing is.
std::string faults_of(const std::string& text);

/// The text between the first pair of backquotes after `label`; "" if there is none.
std::string quoted_after(const std::string& text, const std::string& label);

std::string read_file(const std::string& path);  // "" if it cannot be read

/// Whether goldens are to be written in place of compared: TILEC_RENEW=1.
bool renewing();

/// Compares with the file's text, or writes it when renewing.
void expect_golden(const std::string& path, const std::string& actual);

}  // namespace tilec::test
