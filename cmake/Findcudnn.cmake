# cuDNN 9 as cudnn::cudnn, beside the CUDA toolkit or in a folder of its own (CUDNN_ROOT). Only libcudnn
# is linked: it loads its sub-libraries itself.
include(HeaderVersion)
find_path(cudnn_INCLUDE_DIR cudnn.h HINTS ${CUDNN_ROOT} ENV CUDNN_ROOT ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(cudnn_LIBRARY NAMES cudnn libcudnn.so.9
             HINTS ${CUDNN_ROOT} ENV CUDNN_ROOT ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib64 lib)
mark_as_advanced(cudnn_INCLUDE_DIR cudnn_LIBRARY)

if(EXISTS "${cudnn_INCLUDE_DIR}/cudnn_version.h")
  annulus_header_version(cudnn_VERSION ${cudnn_INCLUDE_DIR}/cudnn_version.h CUDNN_ MAJOR MINOR PATCHLEVEL)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cudnn REQUIRED_VARS cudnn_LIBRARY cudnn_INCLUDE_DIR
                                  VERSION_VAR cudnn_VERSION)
if(cudnn_FOUND AND NOT TARGET cudnn::cudnn)
  add_library(cudnn::cudnn UNKNOWN IMPORTED GLOBAL)
  set_target_properties(cudnn::cudnn PROPERTIES IMPORTED_LOCATION ${cudnn_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${cudnn_INCLUDE_DIR})
endif()
