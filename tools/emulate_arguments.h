// The arguments of `tilec emulate`, from words to bytes. A word is read by what its parameter is:
//
//   number    = [TYPE "="] VALUE { "," VALUE }      for parameters that are numbers or arrays
//   buffer    = TYPE ":" EXTENT { "x" EXTENT } ["=" contents]
//             | FILE.npy                            for parameters of 64 bits: the buffer's address
//   contents  = "zero" | "index" | "fill:" VALUE | FILE.npy
//             | ("random" | "wide" | "denormal" | "special" | "bits") ":" SEED
//
// A buffer without contents is left unwritten, so that a read of what nothing wrote is found.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"
#include "runtime/elements.h"
#include "runtime/ptx/machine.h"

namespace tilec {

/// Codes of what is wrong with arguments, outputs and expectations; beside those of read_npy.
inline constexpr std::array<std::string_view, 7> kEmulateCodes = {
    "emulate-entry",           // none named where there are several
    "emulate-argument-count",  // too few or too many
    "emulate-number",          // does not read, does not fit, or too few of an array
    "emulate-buffer",          // its type, extents or contents do not read
    "emulate-argument-kind",   // a buffer where a number is wanted
    "emulate-file",            // a file's array does not fit the buffer
    "emulate-no-buffer",       // --out, --expect, --unit of what is no buffer's argument
};

struct BufferArgument {
  const ElementType* type = nullptr;
  std::vector<int64_t> shape;  // elements
  int64_t bytes = 0;
  std::vector<std::byte> contents;  // `bytes` long, or empty: left unwritten
};

struct EmulateArgument {
  ptx::Parameter parameter;
  std::string word;
  std::vector<std::byte> value;  // of a number, as large as the parameter
  BufferArgument buffer;         // without a type: the argument is a number

  bool is_buffer() const { return buffer.type != nullptr; }
};

/// Errors: user, all faults of all arguments together; and those of reading the files named.
dsl::Result<std::vector<EmulateArgument>> read_arguments(std::span<const ptx::Parameter> parameters,
                                                         std::span<const std::string> words);

/// The index of the buffer that `name` stands for: a number, or a parameter's name.
/// Errors: user, emulate-no-buffer; `option` is named in the message.
dsl::Result<size_t> find_buffer(std::span<const EmulateArgument> arguments, std::string_view name,
                                std::string_view option);

/// The elements of `file` for the buffer of `argument`. Errors: those of read_file and read_npy;
/// emulate-file where type or shape is another.
dsl::Result<std::vector<std::byte>> read_elements(const std::string& file,
                                                  const BufferArgument& buffer);

/// "argument 2 (`y`)"
std::string name_argument(size_t index, const ptx::Parameter& parameter);

}  // namespace tilec
