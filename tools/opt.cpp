// `tilec opt`: tile IR text in, passes, tile IR text out.
#include <fmt/format.h>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/passes.h"
#include "tools/commands.h"
#include "tools/files.h"

namespace tilec {
namespace {

/// A pass made IR that does not verify. If it ran in the order of compile() that is a fault of
/// ours; else the order asked for may not be one that the pass can take.
dsl::Error broken_by(const passes::PassInfo& pass, bool in_order, const dsl::Error& why,
                     const ir::Kernel& kernel) {
  std::string message = fmt::format("{} made of valid tile IR what does not verify: {}", pass.name,
                                    why.diagnostics.front().message);
  if (in_order) return dsl::Error::internal(message + "\n" + ir::print(kernel));
  return dsl::Error::user("pass-out-of-order", message,
                          "passes expect what those before them made; tilec opt --help lists them "
                          "in order");
}

dsl::Result<ir::Kernel> run_passes(ir::Kernel kernel, const std::vector<std::string>& words) {
  if (auto right = ir::verify(kernel); !right) return tl::unexpected(std::move(right.error()));
  bool in_order = true;
  const passes::PassInfo* last = nullptr;
  for (const std::string& word : words) {
    const passes::PassInfo* pass = passes::find(word);
    in_order = in_order && (last == nullptr || last < pass);
    last = pass;
    kernel = pass->run(kernel);
    if (auto right = ir::verify(kernel); !right) {
      return tl::unexpected(broken_by(*pass, in_order, right.error(), kernel));
    }
  }
  return kernel;
}

}  // namespace

dsl::Result<void> run(const OptCommand& command) {
  dsl::Result<std::string> text = read_file(command.file);
  if (!text) return tl::unexpected(std::move(text.error()));
  std::string name = command.file == "-" ? "<stdin>" : command.file;
  dsl::Result<std::vector<ir::Kernel>> kernels = ir::parse_all({name, std::move(*text)});
  if (!kernels) return tl::unexpected(std::move(kernels.error()));
  std::string out;
  for (const ir::Kernel& kernel : *kernels) {
    dsl::Result<ir::Kernel> made = run_passes(kernel, command.passes);
    if (!made) return tl::unexpected(std::move(made.error()));
    out += ir::print(*made);
  }
  return write_output(out);
}

}  // namespace tilec
