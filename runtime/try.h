// Passes an error on: `TILEC_TRY(call())` returns from the function around it if the call failed.
#pragma once

#define TILEC_TRY(expression)                                                               \
  do {                                                                                      \
    if (auto tried = (expression); !tried) return tl::unexpected(std::move(tried.error())); \
  } while (false)
