// The options of `tilec tune`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "dsl/words.h"
#include "tools/command_options.h"

namespace tilec {
namespace {

// "2/8": the third of eight.
bool read_shard(const std::string& word, int& shard, int& shards) {
  const size_t slash = word.find('/');
  if (slash == std::string::npos) return false;
  const char* begin = word.data();
  const char* middle = begin + slash;
  const char* end = begin + word.size();
  const auto first = std::from_chars(begin, middle, shard);
  const auto second = std::from_chars(middle + 1, end, shards);
  return first.ec == std::errc() && first.ptr == middle && second.ec == std::errc() &&
         second.ptr == end && shards >= 1 && shard >= 0 && shard < shards;
}

}  // namespace

void set_up(CLI::App* app, TuneCommand& command, TuneWords& words) {
  app->add_option(
      "SPACE", command.choice.spec,
      "a file, or a space in quotes; without one that of tools/choice/candidates.space");
  app->add_option("--kernel", command.choice.kernel, "which kernel of a file that holds several");
  app->add_option("--shape", words.shapes, "shapes, with commas between")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("MxNxK");
  add_layout(app, command.layout);
  add_batch(app, command.batch, command.batched);
  add_device(app, command.device);
  app->add_option("--file", command.file,
                  "where results are kept (default: TILEC_TUNING, or one in the cache folder)");
  app->add_option("--most", command.most, "candidates that the model leaves (default: 256)")
      ->check(CLI::PositiveNumber);
  app->add_option("--shard", words.shard, "i/n: the i-th of n parts, counted from 0");
  app->add_option("--limit", command.seconds, "seconds for one candidate (default: 30)")
      ->check(CLI::PositiveNumber);
  app->add_flag("--again", command.again, "run also what the file has already");
  app->add_option("--merge", command.merged, "take the results of other files into the file")
      ->delimiter(',')
      ->type_name("FILE");
  app->add_option(
         "--export", command.exported,
         "write the fastest of each shape as lines of tools/choice/tuned.txt; - for output")
      ->type_name("FILE");
  add_json(app, command.json);
}

void finish(TuneCommand& command, const TuneWords& words) {
  for (const std::string& shape : words.shapes) command.shapes.push_back(shape_of(shape));
  if (!words.shard.empty() && !read_shard(words.shard, command.shard, command.shards))
    throw CLI::ValidationError(
        fmt::format("--shard {} is no i/n with 0 <= i < n, such as 0/4", words.shard));
  if (command.shapes.empty() && command.merged.empty() && command.exported.empty())
    throw CLI::ValidationError("--shape, --merge or --export is required");
}

}  // namespace tilec
