# c-ares as cares::cares; Debian ships it without a CMake package.
find_path(cares_INCLUDE_DIR ares.h)
find_library(cares_LIBRARY cares)
mark_as_advanced(cares_INCLUDE_DIR cares_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cares REQUIRED_VARS cares_LIBRARY cares_INCLUDE_DIR)
if(cares_FOUND AND NOT TARGET cares::cares)
  add_library(cares::cares UNKNOWN IMPORTED GLOBAL)
  set_target_properties(cares::cares PROPERTIES IMPORTED_LOCATION ${cares_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${cares_INCLUDE_DIR})
endif()
