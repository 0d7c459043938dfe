# oneDNN as DNNL::dnnl, with dnnl_VERSION. Debian's own dnnl-config asks for the OpenCL headers, which
# only users of oneDNN's GPU engine need; this finds the library for its CPU engine alone.
find_path(dnnl_INCLUDE_DIR oneapi/dnnl/dnnl_version.h)
find_library(dnnl_LIBRARY dnnl)
mark_as_advanced(dnnl_INCLUDE_DIR dnnl_LIBRARY)

if(dnnl_INCLUDE_DIR)
  set(numbers)
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS ${dnnl_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h line REGEX "DNNL_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND numbers ${number})
  endforeach()
  list(JOIN numbers "." dnnl_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS dnnl_LIBRARY dnnl_INCLUDE_DIR
                                  VERSION_VAR dnnl_VERSION)
if(dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED GLOBAL)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${dnnl_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${dnnl_INCLUDE_DIR})
endif()
