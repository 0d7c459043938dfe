# Compiler flags that decide bits, warnings and checks, in one place. Included once, by the top
# CMakeLists.txt. x86-64-v3 and a fixed -ffp-contract: what a build computes does not depend on the
# machine it was built on.
option(ANNULUS_WERROR "Warnings are errors (CI turns it on)" OFF)
option(ANNULUS_CHECKED_SPANS "Check every Span index (slow; on in the debug and sanitizer presets)" OFF)
set(ANNULUS_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

add_compile_options(-march=x86-64-v3 -ffp-contract=off -fno-math-errno -fno-trapping-math
                    -Wall -Wextra -Wpedantic -Werror=return-type -fdiagnostics-color=auto
                    -Wno-missing-field-initializers)  # designated initialisers name what differs
if(ANNULUS_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 takes "text" + std::string apart wrongly at -O3 and then warns (its bugs 105329, 105651).
  add_compile_options(-Wno-restrict)
endif()
if(ANNULUS_SANITIZE)
  add_compile_options(-fsanitize=${ANNULUS_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # What the sanitizers add to the standard library's headers makes GCC 12 warn inside <regex>.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${ANNULUS_SANITIZE})
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
