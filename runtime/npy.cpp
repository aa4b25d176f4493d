#include "runtime/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "dsl/text.h"

namespace tilec {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMostElements = int64_t{1} << 40;

tl::unexpected<dsl::Error> refused(std::string_view code, const std::string& file,
                                   const std::string& why, std::string help = "") {
  return tl::unexpected(
      dsl::Error::user(std::string(code), fmt::format("{}: {}", file, why), std::move(help)));
}

// The header, read as the few forms of Python that numpy writes:
//   dictionary = "{" [ entry { "," entry } [","] ] "}"
//   entry      = string ":" ( string | "True" | "False" | tuple )
//   tuple      = "(" [ number { "," number } [","] ] ")"
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  struct Header {
    std::string descr;
    bool fortran_order = false;
    std::vector<int64_t> shape;
  };

  /// None if it is not of this form, or an entry is missing.
  std::optional<Header> read() {
    Header header;
    int entries = 0;  // each of the three once
    if (!take("{")) return std::nullopt;
    while (!take("}")) {
      const std::optional<std::string> key = string();
      if (!key || !take(":") || !entry(*key, header)) return std::nullopt;
      ++entries;
      if (!take(",") && !at("}")) return std::nullopt;
    }
    skip_blanks();
    if (!rest_.empty() || entries != 3) return std::nullopt;
    return header;
  }

 private:
  bool entry(const std::string& key, Header& header) {
    if (std::exchange(seen_[key], true)) return false;
    return (key == "descr" && keep(string(), header.descr)) ||
           (key == "fortran_order" && keep(boolean(), header.fortran_order)) ||
           (key == "shape" && keep(tuple(), header.shape));
  }
  template <class Value>
  static bool keep(std::optional<Value> from, Value& to) {
    if (from) to = std::move(*from);
    return from.has_value();
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size()));
  }
  bool at(std::string_view token) {
    skip_blanks();
    return rest_.starts_with(token);
  }
  bool take(std::string_view token) {
    if (!at(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string> string() {
    skip_blanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::optional<bool> boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    return std::nullopt;
  }
  std::optional<std::vector<int64_t>> tuple() {
    std::vector<int64_t> extents;
    if (!take("(")) return std::nullopt;
    while (!take(")")) {
      skip_blanks();
      int64_t extent = 0;
      const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc()) return std::nullopt;
      rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
      take("L");  // numpy under Python 2 wrote long integers so
      extents.push_back(extent);
      if (!take(",") && !at(")")) return std::nullopt;
    }
    return extents;
  }

  std::string_view rest_;
  std::map<std::string, bool> seen_;
};

// Elements of a shape; none if it has negative extents or too many.
std::optional<int64_t> elements_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > kMostElements / extent)) return std::nullopt;
    count *= extent;
  }
  return count;
}

// "<f4": order, kind, bytes. 0 where it is none of the forms that tilec has a type for.
int bytes_of_descr(std::string_view descr) {
  if (descr.size() != 3 || std::string_view("<|=").find(descr[0]) == std::string_view::npos ||
      std::string_view("iufVb").find(descr[1]) == std::string_view::npos)
    return 0;
  const int bytes = descr[2] - '0';
  const bool known = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (!known || (descr[1] == 'f' && bytes == 1) || (descr[1] == 'b' && bytes != 1)) return 0;
  return bytes;
}

std::string_view without_order(std::string_view descr) {
  return descr.substr(1);
}

}  // namespace

dsl::Result<NpyArray> read_npy(const std::string& file, std::string_view bytes) {
  if (!bytes.starts_with(kMagic.substr(0, std::min(kMagic.size(), bytes.size()))) || bytes.empty())
    return refused("npy-not-npy", file, "not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < kMagic.size() + 4)
    return refused("npy-truncated", file, "the file ends in its header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return refused("npy-not-npy", file, fmt::format("version {}; 1, 2 and 3 are known", version));
  // Bytes of the header: 16 bits in version 1, else 32, little-endian.
  const size_t field = version == 1 ? 2 : 4;
  const size_t begin = kMagic.size() + 2 + field;
  size_t length = 0;
  for (size_t i = 0; i < field && kMagic.size() + 2 + i < bytes.size(); ++i)
    length |= size_t{static_cast<unsigned char>(bytes[kMagic.size() + 2 + i])} << 8 * i;
  if (bytes.size() < begin || bytes.size() - begin < length)
    return refused("npy-truncated", file, "the file ends in its header");

  const auto header = HeaderReader(bytes.substr(begin, length)).read();
  if (!header)
    return refused("npy-header", file,
                   "the header is no dictionary of descr, fortran_order and shape (arrays of "
                   "structures are not read)");
  NpyArray array{.descr = header->descr, .shape = header->shape};
  array.element_bytes = bytes_of_descr(array.descr);
  if (array.element_bytes == 0)
    return refused("npy-type", file,
                   fmt::format("elements of type {}; read are integers and floats of 1 to 8 "
                               "bytes, little-endian",
                               dsl::quoted(array.descr)));
  const std::optional<int64_t> count = elements_of(array.shape);
  if (!count) return refused("npy-shape", file, "extents that no array has");
  if (header->fortran_order && array.shape.size() > 1)
    return refused("npy-order", file, "the array is stored columns first",
                   "save numpy.ascontiguousarray of it");
  const std::string_view data = bytes.substr(begin + length);
  const auto wanted = static_cast<size_t>(*count) * static_cast<size_t>(array.element_bytes);
  if (data.size() != wanted)
    return refused(data.size() < wanted ? "npy-truncated" : "npy-shape", file,
                   fmt::format("{} bytes of elements; its shape {} has {}", data.size(),
                               shape_text(array.shape), wanted));
  array.data.resize(wanted);
  if (wanted > 0) std::memcpy(array.data.data(), data.data(), wanted);
  return array;
}

std::string write_npy(const ElementType& type, const std::vector<int64_t>& shape,
                      std::span<const std::byte> data) {
  std::string tuple;
  for (int64_t extent : shape) tuple += fmt::format("{}{}", tuple.empty() ? "" : ", ", extent);
  if (shape.size() == 1) tuple += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type.npy, tuple);
  // The elements begin at a multiple of 64 bytes, behind a line end.
  constexpr size_t kBefore = 10;
  header.resize((kBefore + header.size() + 1 + 63) / 64 * 64 - kBefore, ' ');
  header.back() = '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

bool npy_fits(std::string_view descr, const ElementType& type) {
  if (bytes_of_descr(descr) != type.bytes) return false;
  if (without_order(descr) == without_order(type.npy)) return true;
  if (type.kind == ElementKind::bits) return true;
  if (type.npy[1] == 'V') return descr[1] == 'u';
  return type.bytes == 1 && type.kind == ElementKind::natural && descr[1] == 'b';
}

const ElementType* type_of_npy(std::string_view descr) {
  if (bytes_of_descr(descr) == 0 || descr[1] == 'V') return nullptr;
  const ElementType* found = nullptr;
  for (const ElementType& type : element_types()) {
    const bool same = without_order(descr) == without_order(type.npy) || descr[1] == 'b';
    const bool plain = type.kind != ElementKind::bits && type.unused_bits == 0;
    if (same && plain && npy_fits(descr, type) && found == nullptr) found = &type;
  }
  return found;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace tilec
