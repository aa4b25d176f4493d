#include "compiler/codegen/assemble.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <regex>

namespace tilec::codegen {

namespace {

int64_t number_before(const std::string& log, const std::string& words) {
  std::smatch found;
  if (!std::regex_search(log, found, std::regex("([0-9]+) " + words))) return 0;
  return std::stoll(found[1]);
}

}  // namespace

std::string first_entry(const std::string& ptx) {
  std::smatch found;
  return std::regex_search(ptx, found, std::regex("\\.entry ([A-Za-z0-9_$]+)")) ? found[1].str()
                                                                                : "";
}

AssemblerReport read_assembler_log(const std::string& whole, const std::string& entry) {
  AssemblerReport report;
  report.log = whole;
  const std::string begins = "Compiling entry function '";
  const size_t from = entry.empty() ? std::string::npos : whole.find(begins + entry + "'");
  const size_t to = from == std::string::npos ? from : whole.find(begins, from + begins.size());
  const std::string log = from == std::string::npos ? whole : whole.substr(from, to - from);
  std::smatch found;
  if (std::regex_search(log, found, std::regex("Used ([0-9]+) registers")))
    report.registers = std::stoi(found[1]);
  report.stack_bytes = number_before(log, "bytes stack frame");
  report.spill_store_bytes = number_before(log, "bytes spill stores");
  report.spill_load_bytes = number_before(log, "bytes spill loads");
  return report;
}

dsl::Error assembler_failed(const std::string& tool, const std::string& words,
                            const std::string& ptx) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path kept = fs::temp_directory_path(ignored) /
                        fmt::format("tilec-failed-{:016x}.ptx", std::hash<std::string>()(ptx));
  std::ofstream(kept) << ptx;
  return dsl::Error::machine("assembler-failed", fmt::format("{} failed: {}", tool, words),
                             fmt::format("the PTX is kept in {}", kept.string()));
}

dsl::Result<Assembled> assemble(const std::string& ptx, const std::string& target,
                                Assembler assembler) {
  if (assembler == Assembler::nvjitlink) return assemble_with_nvjitlink(ptx, target);
  if (assembler == Assembler::ptxas) return assemble_with_ptxas(ptx, target);
  dsl::Result<Assembled> first = assemble_with_nvjitlink(ptx, target);
  if (first || first.error().diagnostics[0].code != "no-assembler") return first;
  dsl::Result<Assembled> second = assemble_with_ptxas(ptx, target);
  if (second || second.error().diagnostics[0].code != "no-assembler") return second;
  return tl::unexpected(dsl::Error::machine(
      "no-assembler",
      first.error().diagnostics[0].message + "; " + second.error().diagnostics[0].message,
      "install a CUDA toolkit, or the nvidia-nvjitlink wheel; PTX, the CPU run and everything but "
      "cubin and SASS work without one"));
}

}  // namespace tilec::codegen
