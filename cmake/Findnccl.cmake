# NCCL as nccl::nccl, beside the CUDA toolkit or in a folder of its own (NCCL_ROOT).
include(HeaderVersion)
find_path(nccl_INCLUDE_DIR nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(nccl_LIBRARY NAMES nccl libnccl.so.2
             HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib64 lib)
mark_as_advanced(nccl_INCLUDE_DIR nccl_LIBRARY)

if(nccl_INCLUDE_DIR)
  annulus_header_version(nccl_VERSION ${nccl_INCLUDE_DIR}/nccl.h NCCL_ MAJOR MINOR PATCH)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(nccl REQUIRED_VARS nccl_LIBRARY nccl_INCLUDE_DIR
                                  VERSION_VAR nccl_VERSION)
if(nccl_FOUND AND NOT TARGET nccl::nccl)
  add_library(nccl::nccl UNKNOWN IMPORTED GLOBAL)
  set_target_properties(nccl::nccl PROPERTIES IMPORTED_LOCATION ${nccl_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${nccl_INCLUDE_DIR})
endif()
