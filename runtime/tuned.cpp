#include "runtime/tuned.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <utility>

#include "runtime/try.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;

constexpr int kApplication = 0x746c6331;  // "tlc1", which SQLite keeps at the head of the file
constexpr int kSchema = 1;

constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS results("
    "device TEXT, driver TEXT, version TEXT, m INTEGER, n INTEGER, k INTEGER, batch INTEGER,"
    "layout TEXT, alignment TEXT, spec TEXT, status TEXT, us REAL, clock_mhz REAL, message TEXT,"
    "measured TEXT,"
    "PRIMARY KEY(device, driver, version, m, n, k, batch, layout, alignment, spec)) WITHOUT ROWID";

constexpr const char* kColumns =
    "device, driver, version, m, n, k, batch, layout, alignment, spec, status, us, clock_mhz, "
    "message, measured";
constexpr const char* kOfKey =
    " WHERE device=?1 AND driver=?2 AND version=?3 AND m=?4 AND n=?5 AND k=?6 AND batch=?7 AND "
    "layout=?8 AND alignment=?9";

dsl::Error failed(sqlite3* database, const std::string& path, const char* doing) {
  return dsl::Error::machine("tuning-file",
                             fmt::format("{} {} failed: {}", doing, path,
                                         database ? sqlite3_errmsg(database) : "out of memory"));
}

// A statement, finished at the end of its scope.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& text) {
    status_ = sqlite3_prepare_v2(database, text.c_str(), -1, &statement_, nullptr);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  bool valid() const { return status_ == SQLITE_OK; }
  void bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void bind(int64_t number) { sqlite3_bind_int64(statement_, ++bound_, number); }
  void bind(double number) { sqlite3_bind_double(statement_, ++bound_, number); }
  void bind(const TuningKey& key) {
    for (const std::string& text : {key.device, key.driver, key.version}) bind(text);
    for (int64_t number : {key.m, key.n, key.k, key.batch}) bind(number);
    for (const std::string& text : {key.layout, key.alignment}) bind(text);
  }
  int step() { return valid() ? sqlite3_step(statement_) : status_; }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? "" : bytes;
  }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int status_ = SQLITE_ERROR;
  int bound_ = 0;
};

TuningRow row_of(const Statement& s) {
  return {.key = {.device = s.text(0),
                  .driver = s.text(1),
                  .version = s.text(2),
                  .m = s.integer(3),
                  .n = s.integer(4),
                  .k = s.integer(5),
                  .batch = s.integer(6),
                  .layout = s.text(7),
                  .alignment = s.text(8)},
          .spec = s.text(9),
          .status = s.text(10),
          .us = s.real(11),
          .clock_mhz = s.real(12),
          .message = s.text(13),
          .measured = s.text(14)};
}

Result<std::vector<TuningRow>> read_rows(Statement& select, sqlite3* database,
                                         const std::string& path) {
  std::vector<TuningRow> out;
  int status = select.step();
  for (; status == SQLITE_ROW; status = select.step()) out.push_back(row_of(select));
  if (status == SQLITE_DONE) return out;
  return tl::unexpected(failed(database, path, "reading"));
}

int64_t pragma(sqlite3* database, const char* name) {
  Statement statement(database, fmt::format("PRAGMA {}", name));
  return statement.step() == SQLITE_ROW ? statement.integer(0) : -1;
}

bool is_damaged(sqlite3* database) {
  Statement check(database, "PRAGMA quick_check(1)");
  return check.step() != SQLITE_ROW || check.text(0) != "ok";
}

// A name beside `path` that no file has yet.
fs::path aside(const fs::path& path) {
  std::error_code ignored;
  for (int number = 1;; ++number) {
    fs::path name = path;
    name += fmt::format(".damaged-{}", number);
    if (!fs::exists(name, ignored)) return name;
  }
}

// The first bytes of every SQLite file. What has others was never one, and is not ours to move.
bool looks_like_sqlite(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  char head[16] = {};
  FILE* file = fopen(path.c_str(), "rb");
  if (file == nullptr) return true;
  const size_t size = fread(head, 1, sizeof head, file);
  fclose(file);
  return size == 0 || std::string_view(head, kMagic.size()) == kMagic;
}

}  // namespace

struct TuningFile::Database {
  sqlite3* handle = nullptr;
  std::string path;
  ~Database() { sqlite3_close(handle); }
};

TuningFile::TuningFile(std::unique_ptr<Database> database) : database_(std::move(database)) {}
TuningFile::TuningFile(TuningFile&&) noexcept = default;
TuningFile& TuningFile::operator=(TuningFile&&) noexcept = default;
TuningFile::~TuningFile() = default;

Result<TuningFile> TuningFile::open(const std::string& path, std::string* said) {
  if (!looks_like_sqlite(path))
    return tl::unexpected(dsl::Error::user("foreign-tuning-file",
                                           fmt::format("{} is no tuning file", path),
                                           "name another file; this one is left as it is"));
  std::error_code ignored;
  fs::create_directories(fs::absolute(path, ignored).parent_path(), ignored);
  auto database = std::make_unique<Database>();
  database->path = path;
  if (sqlite3_open(path.c_str(), &database->handle) != SQLITE_OK)
    return tl::unexpected(failed(database->handle, path, "opening"));
  sqlite3* handle = database->handle;
  constexpr int kWaitMs = 10000;  // for another process that writes
  sqlite3_busy_timeout(handle, kWaitMs);
  if (is_damaged(handle)) {
    database.reset();
    const fs::path kept = aside(path);
    fs::rename(path, kept, ignored);
    for (const char* rest : {"-journal", "-wal", "-shm"}) fs::remove(path + rest, ignored);
    if (said != nullptr)
      *said = fmt::format("{} is damaged; it was moved to {}, and a new file begun", path,
                          kept.string());
    if (fs::exists(path, ignored))
      return tl::unexpected(dsl::Error::machine(
          "tuning-file", fmt::format("{} is damaged and cannot be moved aside", path)));
    return open(path, nullptr);
  }
  const int64_t application = pragma(handle, "application_id");
  const int64_t schema = pragma(handle, "user_version");
  const bool is_new = application == 0 && schema == 0 && pragma(handle, "schema_version") == 0;
  if (!is_new && (application != kApplication || schema != kSchema))
    return tl::unexpected(dsl::Error::user(
        "foreign-tuning-file",
        application == kApplication
            ? fmt::format("{} is of version {}, and this tilec knows {}", path, schema, kSchema)
            : fmt::format("{} is a database, but no tuning file", path),
        "name another file; this one is left as it is"));
  const std::string begin = fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; {}",
                                        kApplication, kSchema, kTable);
  if (sqlite3_exec(handle, begin.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return tl::unexpected(failed(handle, path, "beginning"));
  return TuningFile(std::move(database));
}

Result<void> TuningFile::put(const TuningRow& row) {
  Statement insert(database_->handle,
                   fmt::format("INSERT INTO results({}) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,"
                               "?12,?13,?14,?15) ON CONFLICT DO UPDATE SET status=excluded.status,"
                               "us=excluded.us, clock_mhz=excluded.clock_mhz,"
                               "message=excluded.message, measured=excluded.measured "
                               "WHERE excluded.measured >= measured",
                               kColumns));
  insert.bind(row.key);
  insert.bind(row.spec);
  insert.bind(row.status);
  insert.bind(row.us);
  insert.bind(row.clock_mhz);
  insert.bind(row.message);
  insert.bind(row.measured);
  if (insert.step() == SQLITE_DONE) return {};
  return tl::unexpected(failed(database_->handle, database_->path, "writing to"));
}

Result<std::vector<TuningRow>> TuningFile::rows(const TuningKey& key) const {
  Statement select(database_->handle, fmt::format("SELECT {} FROM results{}", kColumns, kOfKey));
  select.bind(key);
  return read_rows(select, database_->handle, database_->path);
}

Result<std::vector<TuningRow>> TuningFile::all() const {
  Statement select(database_->handle, fmt::format("SELECT {} FROM results", kColumns));
  return read_rows(select, database_->handle, database_->path);
}

Result<std::optional<TuningRow>> TuningFile::best(const TuningKey& key) const {
  Statement select(database_->handle,
                   fmt::format("SELECT {} FROM results{} AND status='ok' ORDER BY us LIMIT 1",
                               kColumns, kOfKey));
  select.bind(key);
  const int status = select.step();
  if (status == SQLITE_ROW) return row_of(select);
  if (status == SQLITE_DONE) return std::nullopt;
  return tl::unexpected(failed(database_->handle, database_->path, "reading"));
}

Result<std::vector<std::string>> TuningFile::others(const TuningKey& key) const {
  Statement select(database_->handle,
                   "SELECT DISTINCT device, driver, version FROM results WHERE m=?1 AND n=?2 AND "
                   "k=?3 AND batch=?4 AND layout=?5");
  for (int64_t number : {key.m, key.n, key.k, key.batch}) select.bind(number);
  select.bind(key.layout);
  std::vector<std::string> out;
  int status = select.step();
  for (; status == SQLITE_ROW; status = select.step()) {
    const bool same = select.text(0) == key.device && select.text(1) == key.driver &&
                      select.text(2) == key.version;
    if (!same)
      out.push_back(fmt::format("{}, driver {}, tilec {}", select.text(0),
                                select.text(1).empty() ? "none" : select.text(1), select.text(2)));
  }
  if (status == SQLITE_DONE) return out;
  return tl::unexpected(failed(database_->handle, database_->path, "reading"));
}

}  // namespace tilec
