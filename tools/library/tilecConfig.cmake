# find_package(tilec) gives the target tilec::tilec, a shared library that links nothing else.
get_filename_component(_tilec_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET tilec::tilec)
  add_library(tilec::tilec SHARED IMPORTED)
  set_target_properties(tilec::tilec PROPERTIES
    IMPORTED_LOCATION "${_tilec_root}/lib/libtilec.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_tilec_root}/include")
endif()
