# annulus_build_info: what this build is made of, as annulus::build_info() (engine/build_info.h).
# The commit is asked for again when HEAD moves or a source changes; only build_info.cpp recompiles,
# and only if the answer differs.
set(build_commit_header ${CMAKE_BINARY_DIR}/generated/build_commit.h)
file(GLOB_RECURSE annulus_sources kernels/* comm/* data/* engine/*)
execute_process(COMMAND git rev-parse --path-format=absolute --git-path logs/HEAD
                WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                OUTPUT_VARIABLE git_head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT EXISTS "${git_head_log}")
  set(git_head_log)
endif()
add_custom_command(
  OUTPUT ${build_commit_header}.stamp
  BYPRODUCTS ${build_commit_header}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DHEADER=${build_commit_header}
          -P ${CMAKE_SOURCE_DIR}/cmake/write_build_commit.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${build_commit_header}.stamp
  DEPENDS ${git_head_log} ${annulus_sources} cmake/write_build_commit.cmake
  COMMENT "Asking git for the commit" VERBATIM)
add_custom_target(annulus_build_commit DEPENDS ${build_commit_header}.stamp)

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
list(JOIN ANNULUS_CXX_OPTIONS " " build_flags)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${build_flags}" build_flags)

add_library(annulus_build_info STATIC engine/build_info.cpp)
add_dependencies(annulus_build_info annulus_build_commit)
target_include_directories(annulus_build_info PUBLIC ${CMAKE_SOURCE_DIR}
                           PRIVATE ${CMAKE_BINARY_DIR}/generated)
target_compile_definitions(annulus_build_info PRIVATE
  ANNULUS_VERSION="${PROJECT_VERSION}"
  ANNULUS_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  ANNULUS_COMPILE_FLAGS="${build_flags}"
  ANNULUS_BUILD_TYPE="${CMAKE_BUILD_TYPE}"
  ANNULUS_CUDA_VERSION="${CUDAToolkit_VERSION}"
  ANNULUS_ONEDNN_VERSION="${dnnl_VERSION}")
