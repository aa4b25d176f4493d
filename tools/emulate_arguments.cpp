#include "tools/emulate_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "dsl/text.h"
#include "runtime/npy.h"
#include "tools/files.h"

namespace tilec {
namespace {

using dsl::Error;
using dsl::Result;

constexpr int64_t kMostBufferBytes = int64_t{1} << 36;
// .npy files; a buffer of the device may be larger.
constexpr size_t kMostFileBytes = size_t{1} << 32;

tl::unexpected<Error> refused(const char* code, std::string message, std::string help = "") {
  return tl::unexpected(Error::user(code, std::move(message), std::move(help)));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// "b8[16]" is b8; the type of one element of a parameter, or of bits where we have no such type.
const ElementType* element_of(const ptx::Parameter& parameter) {
  const std::string_view name(parameter.type);
  const ElementType* type = find_element_type(name.substr(0, name.find('[')));
  if (type != nullptr) return type;
  return find_element_type(fmt::format("b{}", 8 * parameter.bytes));
}

bool takes_address(const ptx::Parameter& parameter) {
  return parameter.type == "u64" || parameter.type == "s64" || parameter.type == "b64";
}

/// A value of an untyped parameter may be written as a float of the same size.
std::optional<uint64_t> parse_value(const ElementType& type, std::string_view text) {
  std::optional<uint64_t> bits = parse_element(type, text);
  if (bits || type.kind != ElementKind::bits || type.bytes < 4) return bits;
  return parse_element(*find_element_type(type.bytes == 4 ? "f32" : "f64"), text);
}

Result<std::vector<std::byte>> read_number(const ptx::Parameter& parameter,
                                           const std::string& word) {
  const ElementType* type = element_of(parameter);
  std::string_view values = word;
  if (const size_t sign = word.find('='); sign != std::string::npos) {
    type = find_element_type(std::string_view(word).substr(0, sign));
    values.remove_prefix(sign + 1);
    if (type == nullptr)
      return refused("emulate-number",
                     fmt::format("{} is no type", dsl::quoted(word.substr(0, sign))));
  }
  if (type == nullptr)
    return refused("emulate-number",
                   fmt::format("a .{} has to be written as TYPE=VALUE,VALUE,...", parameter.type));
  std::vector<std::byte> bytes;
  for (std::string_view text : split(values, ',')) {
    const std::optional<uint64_t> bits = parse_value(*type, text);
    if (!bits)
      return refused("emulate-number", fmt::format("{} is no .{}", dsl::quoted(text), type->name));
    bytes.resize(bytes.size() + static_cast<size_t>(type->bytes));
    write_bits(*type, *bits, bytes.data() + bytes.size() - type->bytes);
  }
  if (bytes.size() != static_cast<size_t>(parameter.bytes))
    return refused("emulate-number", fmt::format("{} has {} bytes; a .{} has {}", dsl::quoted(word),
                                                 bytes.size(), parameter.type, parameter.bytes));
  return bytes;
}

/// "1024", "32x64".
Result<std::vector<int64_t>> read_extents(std::string_view text, const ElementType& type) {
  std::vector<int64_t> shape;
  int64_t bytes = type.bytes;
  for (std::string_view word : split(text, 'x')) {
    const std::optional<uint64_t> extent = whole_number(word);
    if (!extent)
      return refused(
          "emulate-buffer",
          fmt::format("{} is no number of elements, such as 1024 or 32x64", dsl::quoted(text)));
    if (*extent > static_cast<uint64_t>(kMostBufferBytes / std::max<int64_t>(1, bytes)))
      return refused("emulate-buffer", fmt::format("{} elements of {} are more than {} bytes",
                                                   dsl::quoted(text), type.name, kMostBufferBytes));
    bytes *= static_cast<int64_t>(*extent);
    shape.push_back(static_cast<int64_t>(*extent));
  }
  return shape;
}

/// "random:7", "fill:1.5", "zero".
Result<Filling> read_filling(std::string_view text, const ElementType& type) {
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto words = filling_words();
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) {
    const std::optional<std::string> near = dsl::nearest_word(word, words);
    return refused("emulate-buffer",
                   fmt::format("{} is nothing that a buffer can hold; {}there are {}, and files "
                               "that end in .npy",
                               dsl::quoted(word), near ? "did you mean " + *near + "? " : "",
                               fmt::join(words, ", ")));
  }
  Filling filling{.kind = static_cast<Filling::Kind>(found - words.begin())};
  const bool plain = filling.kind == Filling::Kind::zero || filling.kind == Filling::Kind::index;
  const bool value = filling.kind == Filling::Kind::value;
  if (plain != (colon == std::string_view::npos))
    return refused("emulate-buffer",
                   plain ? fmt::format("{} takes nothing behind it", word)
                         : fmt::format("{} wants {}:{}", word, word, value ? "VALUE" : "SEED"));
  if (plain) return filling;
  const std::string_view rest = text.substr(colon + 1);
  const std::optional<uint64_t> number = value ? parse_value(type, rest) : whole_number(rest);
  if (!number)
    return refused("emulate-buffer", value
                                         ? fmt::format("{} is no .{}", dsl::quoted(rest), type.name)
                                         : fmt::format("{} is no seed", dsl::quoted(rest)));
  (value ? filling.value : filling.seed) = *number;
  return filling;
}

int64_t elements_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

Result<NpyArray> read_array(const std::string& file) {
  Result<std::string> bytes = read_file(file, kMostFileBytes);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  return read_npy(file, *bytes);
}

Result<BufferArgument> read_whole_file(const std::string& file) {
  Result<NpyArray> array = read_array(file);
  if (!array) return tl::unexpected(std::move(array.error()));
  BufferArgument buffer{.type = type_of_npy(array->descr)};
  if (buffer.type == nullptr)
    return refused("emulate-file",
                   fmt::format("{}: elements of {} may be of several types", file, array->descr),
                   fmt::format("say which, as in bf16:{}={}", shape_text(array->shape), file));
  buffer.shape = array->shape;
  buffer.bytes = static_cast<int64_t>(array->data.size());
  buffer.contents = std::move(array->data);
  return buffer;
}

Result<BufferArgument> read_buffer(const std::string& word, size_t colon) {
  const std::string_view text(word);
  BufferArgument buffer{.type = find_element_type(text.substr(0, colon))};
  const size_t sign = std::min(text.find('='), text.size());
  Result<std::vector<int64_t>> shape =
      read_extents(text.substr(colon + 1, sign - colon - 1), *buffer.type);
  if (!shape) return tl::unexpected(std::move(shape.error()));
  buffer.shape = std::move(*shape);
  buffer.bytes = elements_of(buffer.shape) * buffer.type->bytes;
  if (sign == text.size()) return buffer;
  const std::string_view contents = text.substr(sign + 1);
  if (contents.ends_with(".npy")) {
    Result<std::vector<std::byte>> data = read_elements(std::string(contents), buffer);
    if (!data) return tl::unexpected(std::move(data.error()));
    buffer.contents = std::move(*data);
    return buffer;
  }
  const Result<Filling> filling = read_filling(contents, *buffer.type);
  if (!filling) return tl::unexpected(filling.error());
  buffer.contents = fill_elements(*buffer.type, elements_of(buffer.shape), *filling);
  return buffer;
}

Result<EmulateArgument> read_argument(const ptx::Parameter& parameter, const std::string& word) {
  EmulateArgument argument{.parameter = parameter, .word = word};
  const size_t colon = word.find(':');
  const bool named = colon != std::string::npos && colon < word.find('=') &&
                     find_element_type(std::string_view(word).substr(0, colon)) != nullptr;
  if (!named && !word.ends_with(".npy")) {
    Result<std::vector<std::byte>> value = read_number(parameter, word);
    if (!value) return tl::unexpected(std::move(value.error()));
    argument.value = std::move(*value);
    return argument;
  }
  if (!takes_address(parameter))
    return refused("emulate-argument-kind", fmt::format("{} is a buffer; a .{} takes a number",
                                                        dsl::quoted(word), parameter.type));
  Result<BufferArgument> buffer = named ? read_buffer(word, colon) : read_whole_file(word);
  if (!buffer) return tl::unexpected(std::move(buffer.error()));
  argument.buffer = std::move(*buffer);
  return argument;
}

std::string list_parameters(std::span<const ptx::Parameter> parameters) {
  std::string list;
  for (const ptx::Parameter& parameter : parameters)
    list += fmt::format("{}{} .{}", list.empty() ? "" : ", ", parameter.name, parameter.type);
  return list;
}

}  // namespace

std::string name_argument(size_t index, const ptx::Parameter& parameter) {
  return fmt::format("argument {} (`{}`)", index, parameter.name);
}

Result<std::vector<EmulateArgument>> read_arguments(std::span<const ptx::Parameter> parameters,
                                                    std::span<const std::string> words) {
  if (words.size() != parameters.size())
    return refused(
        "emulate-argument-count",
        fmt::format("{} argument{} for {} parameter{}", words.size(), words.size() == 1 ? "" : "s",
                    parameters.size(), parameters.size() == 1 ? "" : "s"),
        parameters.empty() ? "the kernel takes none"
                           : "one --arg each for " + list_parameters(parameters));
  std::vector<EmulateArgument> arguments;
  Error faults;
  for (size_t i = 0; i < words.size(); ++i) {
    Result<EmulateArgument> argument = read_argument(parameters[i], words[i]);
    if (argument) {
      arguments.push_back(std::move(*argument));
      continue;
    }
    for (dsl::Diagnostic& found : argument.error().diagnostics) {
      found.message = fmt::format("{}: {}", name_argument(i, parameters[i]), found.message);
      faults.diagnostics.push_back(std::move(found));
    }
  }
  if (!faults.diagnostics.empty()) return tl::unexpected(std::move(faults));
  return arguments;
}

Result<size_t> find_buffer(std::span<const EmulateArgument> arguments, std::string_view name,
                           std::string_view option) {
  size_t index = 0;
  while (index < arguments.size() && arguments[index].parameter.name != name) ++index;
  if (index == arguments.size())
    index = std::min<uint64_t>(whole_number(name).value_or(index), arguments.size());
  if (index < arguments.size() && arguments[index].is_buffer()) return index;
  std::vector<std::string> buffers;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].is_buffer())
      buffers.push_back(fmt::format("{} ({})", i, arguments[i].parameter.name));
  return refused("emulate-no-buffer",
                 fmt::format("{} {}: there is no such buffer", option, dsl::quoted(name)),
                 buffers.empty() ? "no argument is a buffer"
                                 : fmt::format("there are {}", fmt::join(buffers, ", ")));
}

Result<std::vector<std::byte>> read_elements(const std::string& file,
                                             const BufferArgument& buffer) {
  Result<NpyArray> array = read_array(file);
  if (!array) return tl::unexpected(std::move(array.error()));
  if (!npy_fits(array->descr, *buffer.type))
    return refused("emulate-file", fmt::format("{}: elements of type {}, where .{} are wanted",
                                               file, array->descr, buffer.type->name));
  // A plain count takes an array of any shape that has so many elements.
  const bool same = buffer.shape.size() == 1 ? elements_of(array->shape) == buffer.shape[0]
                                             : array->shape == buffer.shape;
  if (!same)
    return refused("emulate-file",
                   fmt::format("{}: an array of {}, where {} elements are wanted", file,
                               shape_text(array->shape), shape_text(buffer.shape)));
  return std::move(array->data);
}

}  // namespace tilec
