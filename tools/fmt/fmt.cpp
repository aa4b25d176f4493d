// fmt's own code, compiled once. Its header-only form compiles it again in every file that prints,
// which took more than half of a full build; Debian has no static library of it, and tilec is to be
// one file.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What the headers declare and leave to the library.
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view,
                                 basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
