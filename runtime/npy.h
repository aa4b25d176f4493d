// NumPy's file of one array: a magic word, a version, a header that is a Python dictionary, and the
// elements. Format: numpy.lib.format, versions 1.0, 2.0 and 3.0 are read, 1.0 is written.
//
// numpy has no bf16 and no 8-bit floats; their arrays travel as opaque elements ("<V2", "|V1"), as
// numpy.save leaves arrays of the package ml_dtypes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"
#include "runtime/elements.h"

namespace tilec {

/// Codes of the diagnostics of read_npy.
inline constexpr std::array<std::string_view, 6> kNpyCodes = {
    "npy-not-npy",    // no magic word, or a version that is not known
    "npy-truncated",  // the file ends in its header or its elements
    "npy-header",     // the header is no dictionary of descr, fortran_order and shape
    "npy-type",       // elements that tilec has no type for, or in big-endian order
    "npy-order",      // columns first
    "npy-shape",      // extents that do not fit, or more bytes than the shape has elements
};

struct NpyArray {
  std::string descr;           // "<f4"
  int element_bytes = 0;       // 1, 2, 4 or 8
  std::vector<int64_t> shape;  // elements; empty: one element, a scalar
  std::vector<std::byte> data;

  int64_t elements() const { return static_cast<int64_t>(data.size()) / element_bytes; }
};

/// `file` names the file in messages. Errors: user, kNpyCodes.
dsl::Result<NpyArray> read_npy(const std::string& file, std::string_view bytes);

/// The bytes of a file. `data` holds as many elements as `shape`.
std::string write_npy(const ElementType& type, const std::vector<int64_t>& shape,
                      std::span<const std::byte> data);

/// Whether an array of `descr` may fill a buffer of `type`: the same type; an opaque or unsigned
/// one of the same size for types that numpy lacks; any of the same size for b8 … b64.
bool npy_fits(std::string_view descr, const ElementType& type);

/// The type that an array of `descr` is taken for where none was named; null for opaque elements.
const ElementType* type_of_npy(std::string_view descr);

/// "64x32" of {64, 32}; "1" for a scalar.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace tilec
