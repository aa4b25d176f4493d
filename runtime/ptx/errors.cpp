#include "runtime/ptx/machine.h"
#include "runtime/ptx/program.h"

namespace tilec::ptx {
namespace {

// The text of line `number`, without leading blanks.
dsl::Span span_of_line(const std::string& text, int number) {
  size_t begin = 0;
  for (int line = 1; line < number && begin != std::string::npos; ++line) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos) return {};
  const size_t end = std::min(text.find('\n', begin), text.size());
  begin = std::min(text.find_first_not_of(" \t", begin), end);
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

}  // namespace

dsl::Error to_error(const Module& module, const LaunchResult& result) {
  dsl::Error error{.road = dsl::Road::check, .source = module.program().source};
  for (const Finding& finding : result.findings)
    error.diagnostics.push_back(
        {.code = std::string(finding_rows()[static_cast<size_t>(finding.kind)].code),
         .span = span_of_line(error.source.text, finding.site.ptx_line),
         .message = describe(finding)});
  return error;
}

}  // namespace tilec::ptx
