# Compiler flags that decide bits, warnings and checks, in one place. Included once, by the top
# CMakeLists.txt. x86-64-v3 and a fixed -ffp-contract: what a build computes does not depend on the
# machine it was built on.
option(ANNULUS_WERROR "Warnings are errors (CI turns it on)" OFF)
option(ANNULUS_CHECKED_SPANS "Check every Span index (slow; on in the debug and sanitizer presets)" OFF)
set(ANNULUS_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

set(ANNULUS_CXX_OPTIONS
  -march=x86-64-v3 -ffp-contract=off -fno-math-errno -fno-trapping-math
  -Wall -Wextra -Wpedantic -Werror=return-type -fdiagnostics-color=auto
  -Wno-missing-field-initializers)  # designated initialisers name what differs
if(ANNULUS_WERROR)
  list(APPEND ANNULUS_CXX_OPTIONS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # NVIDIA's and our kernels' pragmas are GCC's; operators of what a template does not use are fine.
  list(APPEND ANNULUS_CXX_OPTIONS -Wno-unknown-pragmas)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 takes "text" + std::string apart wrongly at -O3 and then warns (its bugs 105329, 105651).
  list(APPEND ANNULUS_CXX_OPTIONS -Wno-restrict)
endif()
if(ANNULUS_SANITIZE)
  list(APPEND ANNULUS_CXX_OPTIONS -fsanitize=${ANNULUS_SANITIZE} -fno-omit-frame-pointer
                                  -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ANNULUS_SANITIZE})
  # GCC defines macros for this, clang has __has_feature: the sources ask for ours.
  if(ANNULUS_SANITIZE MATCHES address)
    add_compile_definitions(ANNULUS_ASAN)
  else()
    add_compile_definitions(ANNULUS_TSAN)
  endif()
endif()
if(ANNULUS_CUDA)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${ANNULUS_CXX_OPTIONS}>")
else()
  add_compile_options(${ANNULUS_CXX_OPTIONS})
endif()
if(ANNULUS_CHECKED_SPANS)
  add_compile_definitions(ANNULUS_CHECKED_SPANS)
endif()

# The same source compiled in another preset, branch or clone comes from the compiler cache.
find_program(ANNULUS_CCACHE ccache)
if(ANNULUS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the checkout, so that another clone of the same sources finds the objects too.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
                                  CCACHE_NOHASHDIR=1 ${ANNULUS_CCACHE})
endif()
