// The options of `tilec emulate`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "dsl/text.h"
#include "tools/command_options.h"

namespace tilec {
namespace {

CLI::ValidationError fault(const std::string& message) {
  return CLI::ValidationError(message);
}

/// "8", "8,4" or "8,4,2"; the rest are 1. Whether a kernel may have them is said later.
std::array<uint64_t, 3> extents_of(const std::string& option, const std::string& word) {
  std::array<uint64_t, 3> extents{1, 1, 1};
  const char* at = word.data();
  const char* const end = at + word.size();
  for (uint64_t& extent : extents) {
    const auto [stop, error] = std::from_chars(at, end, extent);
    if (error != std::errc()) break;
    at = stop;
    if (at == end) return extents;
    if (*at != ',') break;
    ++at;
  }
  throw fault(fmt::format("{} wants X, X,Y or X,Y,Z, not {}", option, dsl::quoted(word)));
}

/// "random:7".
uint64_t seed_of(const std::string& word) {
  const std::string_view text(word);
  uint64_t seed = 0;
  const std::string_view head = "random:";
  const bool right = text.starts_with(head) && text.size() > head.size();
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + (right ? head.size() : 0), end, seed);
  if (!right || error != std::errc() || stop != end)
    throw fault(fmt::format("--schedule wants random:SEED, not {}", dsl::quoted(word)));
  return seed;
}

void add_extents(CLI::App* app, const std::string& option, std::array<uint64_t, 3>& extents,
                 const std::string& what) {
  app->add_option_function<std::string>(
         option,
         [option, &extents](const std::string& word) { extents = extents_of(option, word); }, what)
      ->required()
      ->type_name("X[,Y[,Z]]");
}

/// An option that may be given any number of times, with one word each.
void add_list(CLI::App* app, const std::string& option, std::vector<std::string>& words,
              const std::string& type, const std::string& what) {
  app->add_option(option, words, what)->allow_extra_args(false)->take_all()->type_name(type);
}

constexpr const char* kArgumentHelp =
    "an argument of the kernel, once for each parameter, in order:\n"
    "  42, -1.5, nan       a number of the parameter's type; a,b,c for an array\n"
    "  f32=1.5             of a type named here, where the parameter has none (.b32)\n"
    "  f32:1024            the address of a buffer of 1024 elements, never written\n"
    "  f32:32x64=INIT      of a buffer that holds INIT: zero, fill:VALUE, index, random:SEED,\n"
    "                      wide:SEED, denormal:SEED, special:SEED, bits:SEED, or a file.npy\n"
    "  file.npy            of a buffer that holds the file's array\n"
    "Types are s8 to s64, u8 to u64, b8 to b64, f16, bf16, tf32, f32, f64, f8e4m3 and f8e5m2.";

}  // namespace

void set_up(CLI::App* app, EmulateCommand& command) {
  app->add_option("FILE", command.file, "a file of PTX, or - for standard input")->required();
  app->add_option("--entry", command.entry, "which kernel of a file that holds several")
      ->type_name("NAME");
  add_extents(app, "--grid", command.grid, "blocks");
  add_extents(app, "--block", command.block, "threads of a block");
  app->add_option("--shared", command.shared_bytes, "dynamic shared memory, bytes (default: 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("BYTES");
  add_list(app, "--arg", command.arguments, "ARG", kArgumentHelp);
  add_list(app, "--out", command.outputs, "N=FILE.npy",
           "after a clean run, write the buffer of argument N (counted from 0; or the parameter's "
           "name) to a file");
  add_list(app, "--expect", command.expected, "N=FILE.npy",
           "after the run, compare the buffer of argument N with a file, bit for bit");
  app->add_option("--within", command.within,
                  "units in the last place by which --expect lets floats differ (default: 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("UNITS");
  app->add_option("--unit", command.unit_of,
                  "an argument of the same type and length; the unit of an element is that of this "
                  "one's magnitude (default: that of the element expected)")
      ->type_name("N");
  app->add_option_function<std::string>(
         "--device", [&command](const std::string& name) { command.gpu = name == "gpu"; },
         "cpu (default), or gpu: the driver assembles and launches, nothing is looked for or "
         "counted")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->type_name("DEVICE");
  app->add_option_function<std::string>(
         "--checks", [&command](const std::string& name) { command.check_all = name == "all"; },
         "what is looked for: all (default), or bounds: not races and what was never written, "
         "which is faster")
      ->check(CLI::IsMember({"all", "bounds"}))
      ->type_name("WHICH");
  app->add_option_function<std::string>(
         "--schedule", [&command](const std::string& word) { command.schedule = seed_of(word); },
         "random:SEED runs blocks and warps in another order, in short turns: races show in the "
         "result (default: by their numbers)")
      ->type_name("random:SEED");
  app->add_option("--max-instructions", command.most_instructions,
                  "warp instructions of a block after which the kernel is given up (default: "
                  "200000000)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app->add_flag("--counters", command.counters,
                "say what is counted, in the whole and line by line");
  app->add_flag("--json", command.json, "print JSON of a stable schema");
}

/// What makes no sense together.
void finish(const EmulateCommand& command) {
  if (command.gpu && command.counters) throw fault("--counters counts on the CPU: --device cpu");
  if (command.gpu && command.schedule) throw fault("--schedule is for the CPU: --device cpu");
  if (command.most_instructions == 0) throw fault("--max-instructions: at least 1");
  if (!std::isfinite(command.within)) throw fault("--within: a number of units");
  if (command.expected.empty() && (command.within > 0 || !command.unit_of.empty()))
    throw fault("--within and --unit are for --expect");
  for (const auto& [option, words] :
       {std::pair("--out", &command.outputs), std::pair("--expect", &command.expected)}) {
    for (const std::string& word : *words) {
      const size_t sign = word.find('=');
      if (sign == std::string::npos || sign == 0 || sign + 1 == word.size())
        throw fault(fmt::format("{} wants N=FILE.npy, not {}", option, dsl::quoted(word)));
    }
  }
}

}  // namespace tilec
