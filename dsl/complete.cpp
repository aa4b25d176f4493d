#include "dsl/complete.h"

#include <fmt/format.h>

#include "dsl/defaults.h"
#include "dsl/derive.h"
#include "dsl/diagnostics.h"
#include "dsl/nearest.h"
#include "dsl/parser.h"
#include "dsl/request.h"
#include "dsl/text.h"
#include "dsl/validate.h"

namespace tilec::dsl {
namespace {

std::string_view target_name(const Request& request, std::string_view default_target) {
  return request.target ? std::string_view(*request.target) : default_target;
}

Diagnostic unknown_target(std::string_view name, Span span, std::span<const Limits> targets) {
  std::vector<std::string_view> names;
  for (const Limits& target : targets) names.push_back(target.target);
  std::string help = "the targets are " + join(names, " and ");
  if (auto near = nearest_word(name, names))
    help = fmt::format("did you mean `{}`? {}", *near, help);
  return diagnose(Fault::unknown_target, span, fmt::format("there is no target {}", quoted(name)),
                  help);
}

bool is_broken(const ClauseSet& broken, ClauseKind kind) {
  return broken.test(static_cast<size_t>(kind));
}

// The way out of all of them, shown once, under the last.
void add_nearest(std::vector<Diagnostic>& violations, const Request& request,
                 const Limits& limits) {
  std::string nearest =
      fmt::format("nearest legal spec: `{}`", to_string(nearest_legal(request, limits)));
  Diagnostic* last = &violations.front();
  for (Diagnostic& found : violations) {
    if (found.span.begin >= last->span.begin) last = &found;
  }
  std::string& help = last->help;
  help = help.empty() ? nearest : fmt::format("{}; {}", help, nearest);
}

// Appends the AST's faults to `faults`; the Spec means something only if there are none.
Spec complete_into(const SpecAst& ast, std::span<const Limits> targets,
                   std::string_view default_target, std::vector<Diagnostic>& faults) {
  ClauseSet broken = ast.broken;
  Request request = read_request(ast, broken, faults);
  Places places = places_of(ast);
  const Limits* limits = find_limits(targets, target_name(request, default_target));
  if (!limits) {
    faults.push_back(unknown_target(target_name(request, default_target),
                                    places.of(ClauseKind::target), targets));
    broken.set(static_cast<size_t>(ClauseKind::target));
    request.target.reset();
    // The rules that need no machine can still be checked, against the most generous one.
    limits = find_limits(targets, "sm_90a");
    if (!limits) return {};
  }
  if (is_broken(broken, ClauseKind::tile)) request.tile.reset();
  Spec spec = fill_defaults(request, *limits);
  Derived derived = derive(spec, *limits);
  std::vector<Diagnostic> violations = validate({request, spec, derived, *limits}, places, broken);
  if (!violations.empty()) {
    if (request.tile) add_nearest(violations, request, *limits);
    faults.insert(faults.end(), violations.begin(), violations.end());
  }
  return spec;
}

}  // namespace

const Limits* find_limits(std::span<const Limits> targets, std::string_view name) {
  for (const Limits& limits : targets) {
    if (limits.target == name) return &limits;
  }
  return nullptr;
}

Result<Spec> complete(const SpecAst& ast, std::span<const Limits> targets,
                      std::string_view default_target) {
  std::vector<Diagnostic> faults;
  Spec spec = complete_into(ast, targets, default_target, faults);
  if (!faults.empty()) return tl::unexpected(user_error(*ast.source, std::move(faults)));
  return spec;
}

Result<std::vector<Spec>> read_specs(const Source& source, std::span<const Limits> targets,
                                     std::string_view default_target) {
  Parsed parsed = parse_all(source);
  std::vector<Spec> specs;
  specs.reserve(parsed.specs.size());
  for (const SpecAst& ast : parsed.specs) {
    specs.push_back(complete_into(ast, targets, default_target, parsed.faults));
  }
  if (!parsed.faults.empty()) {
    return tl::unexpected(user_error(source, std::move(parsed.faults)));
  }
  return specs;
}

}  // namespace tilec::dsl
