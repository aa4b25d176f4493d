#include "tools/read_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "dsl/diagnostics.h"
#include "dsl/parser.h"
#include "dsl/text.h"
#include "tools/files.h"

namespace tilec {
namespace {

constexpr std::string_view kTargetWithoutDevice = "sm_90a";

/// A word that can only be meant as a file's name: specs have blanks.
bool names_a_file(const std::string& argument) {
  std::error_code ignored;
  if (std::filesystem::exists(argument, ignored)) return true;
  return argument.find_first_of(" \t\n{#") == std::string::npos &&
         (argument.ends_with(".tile") || argument.find('/') != std::string::npos);
}

dsl::Error no_such_kernel(const std::string& name, const std::string& file,
                          const std::vector<dsl::SpecAst>& asts) {
  std::vector<std::string_view> names;
  for (const dsl::SpecAst& ast : asts) names.push_back(ast.name);
  std::optional<std::string> near = dsl::nearest_word(name, names);
  return dsl::Error::user("no-such-kernel",
                          fmt::format("{} has no kernel {}", file, dsl::quoted(name)),
                          fmt::format("{}it has {}", near ? "did you mean `" + *near + "`? " : "",
                                      dsl::join(names, " and ")));
}

/// Completes each; the faults of all are one error.
dsl::Result<std::vector<dsl::Spec>> complete_all(const std::vector<dsl::SpecAst>& asts,
                                                 const dsl::Source& source,
                                                 std::string_view default_target) {
  std::vector<dsl::Limits> limits = all_limits();
  std::vector<dsl::Spec> specs;
  std::vector<dsl::Diagnostic> faults;
  for (const dsl::SpecAst& ast : asts) {
    dsl::Result<dsl::Spec> spec = dsl::complete(ast, limits, default_target);
    if (spec) {
      specs.push_back(std::move(*spec));
    } else if (spec.error().road != dsl::Road::user) {
      return tl::unexpected(std::move(spec.error()));
    } else {
      std::ranges::move(spec.error().diagnostics, std::back_inserter(faults));
    }
  }
  if (!faults.empty()) return tl::unexpected(dsl::user_error(source, std::move(faults)));
  return specs;
}

}  // namespace

std::vector<dsl::Limits> all_limits() {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  return limits;
}

const Target& target_of(const dsl::Spec& spec) {
  return *find_target(spec.target);
}

dsl::Result<dsl::Source> read_source(const std::string& argument) {
  if (argument != "-" && !names_a_file(argument)) return dsl::Source{"<spec>", argument};
  dsl::Result<std::string> text = read_file(argument);
  if (!text) return tl::unexpected(std::move(text.error()));
  if (text->size() > dsl::kMostSourceBytes) {
    return tl::unexpected(dsl::Error::user(
        "source-too-large", fmt::format("{} holds {} bytes; a spec has at most {}", argument,
                                        text->size(), dsl::kMostSourceBytes)));
  }
  return dsl::Source{argument == "-" ? "<stdin>" : argument, std::move(*text)};
}

dsl::Result<std::vector<dsl::Spec>> read_specs(const SpecChoice& choice,
                                               const std::string& device_target) {
  dsl::Result<dsl::Source> source = read_source(choice.spec);
  if (!source) return tl::unexpected(std::move(source.error()));
  std::string default_target(kTargetWithoutDevice);
  if (!device_target.empty()) default_target = device_target;
  if (!choice.target.empty()) default_target = choice.target;

  dsl::Result<std::vector<dsl::SpecAst>> asts = dsl::parse(*source);
  // Faults of grammar are reported with those of the rules.
  if (!asts) return dsl::read_specs(*source, all_limits(), default_target);
  if (!choice.kernel.empty()) {
    auto other = [&](const dsl::SpecAst& ast) { return ast.name != choice.kernel; };
    if (std::ranges::all_of(*asts, other)) {
      return tl::unexpected(no_such_kernel(choice.kernel, source->name, *asts));
    }
    std::erase_if(*asts, other);
  }
  if (!choice.target.empty()) {
    for (dsl::SpecAst& ast : *asts) {
      std::erase_if(ast.clauses,
                    [](const dsl::Clause& c) { return c.kind == dsl::ClauseKind::target; });
    }
  }
  return complete_all(*asts, *source, default_target);
}

dsl::Result<dsl::Spec> only_one(std::vector<dsl::Spec> specs, const SpecChoice& choice) {
  if (specs.size() == 1) return std::move(specs.front());
  std::vector<std::string_view> names;
  for (const dsl::Spec& spec : specs) names.push_back(spec.name);
  return tl::unexpected(dsl::Error::user(
      "several-kernels",
      fmt::format("{} holds {} kernels, and one is wanted here", choice.spec, names.size()),
      fmt::format("choose with --kernel: {}", dsl::join(names, " or "))));
}

}  // namespace tilec
