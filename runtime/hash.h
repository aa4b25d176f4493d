// A short name for bytes, to tell in a result's provenance which code was run.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilec {

/// FNV-1a, 64 bits (Fowler, Noll, Vo), as "fnv1a:0123456789abcdef". Not cryptographic.
inline std::string hash_name(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    hash ^= static_cast<uint8_t>(byte);
    hash *= 0x100000001b3ULL;
  }
  return fmt::format("fnv1a:{:016x}", hash);
}

inline std::string hash_name(std::span<const uint8_t> bytes) {
  return hash_name(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace tilec
