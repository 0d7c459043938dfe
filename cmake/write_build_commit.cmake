# Writes HEADER with the commit of SOURCE and whether the sources differ from it; leaves it untouched
# if nothing changed. Run by the build (cmake/BuildInfo.cmake). Without git the commit is "unknown".
execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
set(dirty false)
if(failed)
  set(commit unknown)
else()
  execute_process(COMMAND git diff --quiet HEAD -- CMakeLists.txt CMakePresets.json
                          cmake kernels comm data engine
                  WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE differs)
  if(differs)
    set(dirty true)
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT [[
#pragma once
#define ANNULUS_COMMIT "@commit@"
#define ANNULUS_DIRTY @dirty@
]] @ONLY)
