# oneDNN as DNNL::dnnl, with dnnl_VERSION. Debian's own dnnl-config asks for the OpenCL headers, which
# only users of oneDNN's GPU engine need; this finds the library for its CPU engine alone.
include(HeaderVersion)
find_path(dnnl_INCLUDE_DIR oneapi/dnnl/dnnl_version.h)
find_library(dnnl_LIBRARY dnnl)
mark_as_advanced(dnnl_INCLUDE_DIR dnnl_LIBRARY)

if(dnnl_INCLUDE_DIR)
  annulus_header_version(dnnl_VERSION ${dnnl_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h DNNL_VERSION_ MAJOR MINOR PATCH)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS dnnl_LIBRARY dnnl_INCLUDE_DIR
                                  VERSION_VAR dnnl_VERSION)
if(dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED GLOBAL)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${dnnl_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${dnnl_INCLUDE_DIR}
                        INTERFACE_LINK_LIBRARIES gomp)  # Debian's is built with it; kernels/cpu/single_threaded.h
endif()
