#include "tools/library/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/target.h"
#include "dsl/complete.h"
#include "dsl/format.h"
#include "runtime/hash.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "tilec kernel 3\n";

// Fields, each with its length before it.
void put(std::string& out, std::string_view field) {
  out += fmt::format("{}\n", field.size());
  out += field;
}

class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  std::string take() {
    const size_t end = rest_.find('\n');
    size_t size = 0;
    if (end == std::string_view::npos || !number(rest_.substr(0, end), size) ||
        rest_.size() - end - 1 < size) {
      good_ = false;
      return "";
    }
    std::string field(rest_.substr(end + 1, size));
    rest_.remove_prefix(end + 1 + size);
    return field;
  }
  template <class Number>
  Number take_number() {
    Number out = 0;
    good_ = number(take(), out) && good_;
    return out;
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  template <class Number>
  static bool number(std::string_view text, Number& out) {
    const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), out);
    return status == std::errc() && stop == text.data() + text.size();
  }
  std::string_view rest_;
  bool good_ = true;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file, bytes.data(), bytes.size());
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

}  // namespace

std::string pack(const std::string& key, const Artifact& artifact) {
  std::string body;
  put(body, key);
  put(body, dsl::format(artifact.spec));
  put(body, std::to_string(static_cast<int>(artifact.batch)));
  put(body, std::to_string(artifact.blocks_per_sm));
  put(body, std::to_string(artifact.entries.size()));
  for (const Entry& entry : artifact.entries) {
    put(body, entry.name);
    for (int64_t number :
         {int64_t{entry.tile.m}, int64_t{entry.tile.n}, int64_t{entry.threads}, entry.shared_bytes,
          int64_t{entry.persistent ? 1 : 0}, int64_t{entry.awaits_before ? 1 : 0}})
      put(body, std::to_string(number));
  }
  put(body, artifact.ptx);
  put(body, {reinterpret_cast<const char*>(artifact.cubin.data()), artifact.cubin.size()});
  return std::string(kMagic) + hash_name(body) + "\n" + body;
}

std::optional<Artifact> unpack(const std::string& key, const std::string& bytes) {
  std::string_view rest = bytes;
  if (!rest.starts_with(kMagic)) return std::nullopt;
  rest.remove_prefix(kMagic.size());
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos || rest.substr(0, end) != hash_name(rest.substr(end + 1)))
    return std::nullopt;
  Fields fields(rest.substr(end + 1));
  if (fields.take() != key) return std::nullopt;
  const std::string spec = fields.take();
  Artifact out;
  out.batch = static_cast<dsl::Batch>(fields.take_number<int>());
  out.blocks_per_sm = fields.take_number<int>();
  const auto entries = fields.take_number<size_t>();
  for (size_t i = 0; i < entries && fields.good(); ++i) {
    Entry entry{.name = fields.take()};
    entry.tile.m = fields.take_number<int>();
    entry.tile.n = fields.take_number<int>();
    entry.threads = fields.take_number<int>();
    entry.shared_bytes = fields.take_number<int64_t>();
    entry.persistent = fields.take_number<int>() != 0;
    entry.awaits_before = fields.take_number<int>() != 0;
    out.entries.push_back(std::move(entry));
  }
  out.ptx = fields.take();
  const std::string cubin = fields.take();
  out.cubin.assign(cubin.begin(), cubin.end());
  if (!fields.at_end() || out.entries.empty()) return std::nullopt;
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  dsl::Result<std::vector<dsl::Spec>> specs = dsl::read_specs({"<cache>", spec}, limits, "sm_90a");
  if (!specs || specs->size() != 1) return std::nullopt;
  out.spec = std::move(specs->front());
  out.derived = dsl::derive(out.spec, find_target(out.spec.target)->limits);
  return out;
}

std::string KernelCache::path_of(const std::string& key) const {
  return fmt::format("{}/{}.kernel", folder_, hash_name(key).substr(std::string("fnv1a:").size()));
}

std::optional<Artifact> KernelCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return unpack(key, bytes);
}

bool KernelCache::store(const std::string& key, const Artifact& artifact) const {
  if (folder_.empty()) return false;
  static std::atomic<int> counter = 0;
  std::error_code fault;
  fs::create_directories(folder_, fault);
  const std::string path = path_of(key);
  const std::string beside = fmt::format("{}.{}-{}.part", path, getpid(), counter++);
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  // On disk before it has its name: a machine that stops leaves the old entry or the new one.
  bool whole = write_all(file, pack(key, artifact)) && fsync(file) == 0;
  whole = close(file) == 0 && whole;
  if (whole) fs::rename(beside, path, fault);
  if (whole && !fault) return true;
  fs::remove(beside, fault);
  return false;
}

std::string usual_cache_folder() {
  if (const char* folder = std::getenv("TILEC_CACHE")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/tilec/kernels";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/tilec/kernels";
  return "";
}

}  // namespace tilec
