#include "tests/dsl/support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/target.h"

namespace tilec::test {

std::vector<dsl::Limits> all_limits() {
  std::vector<dsl::Limits> out;
  for (const Target& target : targets()) out.push_back(target.limits);
  return out;
}

dsl::Result<dsl::Spec> complete(const std::string& text) {
  auto specs = dsl::read_specs({"<spec>", text}, all_limits(), "sm_90a");
  if (!specs) return tl::unexpected(specs.error());
  return specs->front();
}

dsl::Spec spec_of(const std::string& text) {
  auto spec = complete(text);
  if (spec) return *spec;
  fmt::print(stderr, "{}", dsl::render(spec.error()));
  std::abort();
}

dsl::Derived derived_of(const dsl::Spec& spec) {
  std::vector<dsl::Limits> limits = all_limits();
  return dsl::derive(spec, *dsl::find_limits(limits, spec.target));
}

std::string codes(const dsl::Error& error) {
  std::string out;
  for (const auto& found : error.diagnostics) out += (out.empty() ? "" : " ") + found.code;
  return out;
}

std::string faults_of(const std::string& text) {
  auto specs = dsl::read_specs({"<spec>", text}, all_limits(), "sm_90a");
  return specs ? "" : codes(specs.error());
}

std::string quoted_after(const std::string& text, const std::string& label) {
  size_t at = text.find(label);
  if (at == std::string::npos) return "";
  size_t begin = text.find('`', at);
  if (begin == std::string::npos) return "";
  return text.substr(begin + 1, text.find('`', begin + 1) - begin - 1);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool renewing() {
  const char* value = std::getenv("TILEC_RENEW");
  return value && std::string(value) == "1";
}

void expect_golden(const std::string& path, const std::string& actual) {
  if (renewing()) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(read_file(path), actual) << "golden " << path << " (renew with TILEC_RENEW=1)";
}

}  // namespace tilec::test
