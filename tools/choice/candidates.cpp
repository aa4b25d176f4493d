#include "tools/choice/candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/target.h"
#include "dsl/complete.h"
#include "dsl/defaults.h"
#include "dsl/derive.h"
#include "dsl/format.h"
#include "dsl/parser.h"
#include "dsl/request.h"
#include "dsl/space.h"
#include "dsl/validate.h"
#include "dsl/words.h"
#include "runtime/parallel.h"

namespace tilec {
namespace {

// A clause of a spec that says nothing of it, as if it were written there.
void add_clause(dsl::SpecAst& ast, dsl::ClauseKind kind, const std::string& text) {
  if (ast.find(kind) != nullptr) return;
  const dsl::Result<std::vector<dsl::SpecAst>> parsed = dsl::parse({"<clause>", text});
  if (parsed) ast.clauses.push_back(*parsed->front().find(kind));
}

std::vector<dsl::Limits> limits_of_all() {
  std::vector<dsl::Limits> out;
  for (const Target& target : targets()) out.push_back(target.limits);
  return out;
}

// One member of the space: what the model makes of it, or the code of the rule that refuses it.
struct Looked {
  dsl::SpecAst ast;
  bool legal = false;
  dsl::Spec spec;  // of a legal one, without the search for a padding
  Prediction prediction;
  std::string code;
  std::string message;
};

void refuse(Looked& looked, const dsl::Diagnostic& why) {
  looked.code = why.code;
  looked.message = why.message;
}

// Whether a member keeps the rules, without the search for a way out that `complete` would make for
// each that does not, and without the search for a padding.
void look_at(Looked& looked, const GemmProblem& problem, const std::string& target,
             const MachineRates& machine, const std::vector<dsl::Limits>& all) {
  dsl::SpecAst& ast = looked.ast;
  add_clause(ast, dsl::ClauseKind::layout,
             fmt::format("layout {}", dsl::word_for(dsl::kLayoutWords, problem.layout)));
  dsl::ClauseSet broken = ast.broken;
  std::vector<dsl::Diagnostic> faults;
  const dsl::Request request = dsl::read_request(ast, broken, faults);
  const dsl::Limits* limits = dsl::find_limits(all, request.target.value_or(target));
  if (!faults.empty()) return refuse(looked, faults.front());
  if (limits == nullptr)
    return refuse(looked, {"unknown-target", {}, "there is no such target", ""});
  const dsl::Spec spec = dsl::fill_defaults(request, *limits, dsl::LayoutSearch::none);
  const dsl::Derived derived = dsl::derive(spec, *limits);
  const auto violations =
      dsl::validate({request, spec, derived, *limits}, dsl::places_of(ast), broken);
  if (!violations.empty()) return refuse(looked, violations.front());
  const Artifact artifact{.spec = spec, .derived = derived, .batch = problem.batched};
  if (const Result<void> accepted = accepts(artifact, problem); !accepted)
    return refuse(looked, accepted.error().diagnostics.front());
  looked.legal = true;
  looked.spec = spec;
  looked.prediction = predict(spec, derived, problem.shape, problem.batch, machine);
}

// Kernels that differ in stages, threads or order alone are much alike: so that a short list is not
// one tile many times over, the first pass takes only so many of each tile and share of K.
class Families {
 public:
  explicit Families(size_t most) : limit_(std::max<size_t>(1, most / kLeast)) {}
  bool takes(const dsl::Spec& spec) {
    return counts_[{spec.tile.m, spec.tile.n, spec.split_k, spec.cluster}]++ < limit_;
  }

 private:
  static constexpr size_t kLeast = 8;  // families in a list
  size_t limit_;
  std::map<std::array<int, 4>, size_t> counts_;
};

dsl::Error empty_space(const std::vector<Looked>& all) {
  std::map<std::string, int> counts;
  for (const Looked& looked : all) ++counts[looked.code];
  std::vector<std::string> rules;
  for (const auto& [code, count] : counts) rules.push_back(fmt::format("{} by {}", count, code));
  return dsl::Error::user("empty-space",
                          fmt::format("no member of the space is legal here: of {}, {}", all.size(),
                                      fmt::join(rules, ", ")),
                          all.empty() ? "" : "the first: " + all.front().message);
}

}  // namespace

MachineRates rates_of(const DeviceInfo& device) {
  MachineRates rates;
  if (device.sm_count > 0) rates.sm_count = device.sm_count;
  if (device.lanes_per_sm > 0) rates.lanes_per_sm = device.lanes_per_sm;
  return rates;
}

dsl::Result<Candidates> find_candidates(const std::vector<dsl::SpecAst>& space,
                                        const GemmProblem& problem, const std::string& target,
                                        const MachineRates& machine, size_t most) {
  std::vector<dsl::SpecAst> members;
  for (const dsl::SpecAst& ast : space) {
    dsl::Result<std::vector<dsl::SpecAst>> expanded = dsl::expand(ast);
    if (!expanded) return tl::unexpected(std::move(expanded.error()));
    std::ranges::move(*expanded, std::back_inserter(members));
  }
  const std::vector<dsl::Limits> limits = limits_of_all();
  std::vector<Looked> looked(members.size());
  for (size_t i = 0; i < members.size(); ++i) looked[i].ast = std::move(members[i]);
  parallel_for(static_cast<int64_t>(looked.size()), [&](int64_t i) {
    look_at(looked[static_cast<size_t>(i)], problem, target, machine, limits);
  });
  Candidates out{.members = static_cast<int64_t>(looked.size())};
  std::vector<const Looked*> legal;
  for (const Looked& one : looked)
    if (one.legal) legal.push_back(&one);
  out.refused = out.members - static_cast<int64_t>(legal.size());
  if (legal.empty()) return tl::unexpected(empty_space(looked));
  std::ranges::sort(legal, {}, [](const Looked* one) { return one->prediction.us; });
  // Members may complete to one and the same spec.
  std::set<std::string> seen;
  Families families(most);
  for (const bool all : {false, true})
    for (const Looked*& one : legal) {
      if (out.list.size() == most) break;
      if (one == nullptr || (!all && !families.takes(one->spec))) continue;
      dsl::Result<dsl::Spec> spec = dsl::complete(one->ast, limits, target);
      if (!spec) return tl::unexpected(std::move(spec.error()));
      spec->name = "gemm";  // one name, so that the same kernel is the same spec
      dsl::Spec fitting = narrowed(*spec, problem);
      if (seen.insert(dsl::format(fitting)).second)
        out.list.push_back({std::move(fitting), one->prediction});
      one = nullptr;
    }
  std::ranges::sort(out.list, {}, [](const Candidate& c) { return c.prediction.us; });
  return out;
}

dsl::Result<Candidates> find_candidates(const std::string& text, const GemmProblem& problem,
                                        const std::string& target, const MachineRates& machine,
                                        size_t most) {
  const dsl::Result<std::vector<dsl::SpecAst>> space = dsl::parse({"<space>", text});
  if (!space) return tl::unexpected(space.error());
  return find_candidates(*space, problem, target, machine, most);
}

}  // namespace tilec
