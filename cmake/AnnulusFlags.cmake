# Compiler flags that decide bits or warnings, in one place.
# x86-64-v3 and a fixed ffp-contract: what a build computes must not depend on the machine it was built on.
set(ANNULUS_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, 'address,undefined' or 'thread'")
option(ANNULUS_CHECKED_SPANS "Check every Span index (slow; the debug and sanitizer presets turn it on)" OFF)

add_compile_options(-march=x86-64-v3 -ffp-contract=off -fno-math-errno -fno-trapping-math
                    -Wall -Wextra -Wpedantic -Werror=return-type -fdiagnostics-color=auto)
if(ANNULUS_SANITIZE)
  add_compile_options(-fsanitize=${ANNULUS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ANNULUS_SANITIZE})
endif()
if(ANNULUS_CHECKED_SPANS)
  add_compile_definitions(ANNULUS_CHECKED_SPANS)
endif()
