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

}  // namespace

dsl::Result<void> run(const OptCommand& command) {
  dsl::Result<std::string> text = read_file(command.file);
  if (!text) return tl::unexpected(std::move(text.error()));
  std::string name = command.file == "-" ? "<stdin>" : command.file;
  dsl::Result<ir::Kernel> kernel = ir::parse({name, std::move(*text)});
  if (!kernel) return tl::unexpected(std::move(kernel.error()));
  if (auto right = ir::verify(*kernel); !right) return right;

  bool in_order = true;
  const passes::PassInfo* last = nullptr;
  for (const std::string& word : command.passes) {
    const passes::PassInfo* pass = passes::find(word);
    in_order = in_order && (last == nullptr || last < pass);
    last = pass;
    kernel = pass->run(*kernel);
    if (auto right = ir::verify(*kernel); !right) {
      return tl::unexpected(broken_by(*pass, in_order, right.error(), *kernel));
    }
  }
  return write_output(ir::print(*kernel));
}

}  // namespace tilec
