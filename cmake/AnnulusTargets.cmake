# How a room, a test and a bench are declared; every CMakeLists.txt of the house uses these three.

# Sources ending in .cu are CUDA sources; the cpu presets compile them with g++.
function(annulus_compile_cuda_as_cxx)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
    endif()
  endforeach()
endfunction()

# annulus_room(NAME SOURCES … LINKS …): a static library annulus_NAME.
function(annulus_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(annulus_${name} STATIC ${ROOM_SOURCES})
  annulus_compile_cuda_as_cxx(${ROOM_SOURCES})
  target_include_directories(annulus_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(annulus_${name} PUBLIC ${ROOM_LINKS} fmt::fmt Threads::Threads)
endfunction()

# annulus_test(NAME SOURCES … LINKS … [LABELS fast|data|slow] [TIMEOUT s]
#              [MODES eager threads shuffled]): a GoogleTest executable.
# Each mode is one entry of ctest that runs it with the CPU device's streams in that mode: NAME for
# eager (the default), NAME.threads, NAME.shuffled. Every test runs with the device's checker on.
#   fast: in every preset, minutes in all.  data: whole training runs, in the cpu preset; on CIFAR-10 where it is.
#   slow: only in ./dev test --all.
# TIMEOUT (default 600) is there to end a hang, also on a busy machine; sanitizers get four times that.
function(annulus_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;LINKS;LABELS;MODES" ${ARGN})
  if(NOT TEST_LABELS)
    set(TEST_LABELS fast)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  if(ANNULUS_SANITIZE)
    math(EXPR TEST_TIMEOUT "4 * ${TEST_TIMEOUT}")
  endif()
  if(NOT TEST_MODES)
    set(TEST_MODES eager)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  annulus_compile_cuda_as_cxx(${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} GTest::gtest_main)
  foreach(mode IN LISTS TEST_MODES)
    set(entry ${name}.${mode})
    if(mode STREQUAL "eager")
      set(entry ${name})
    endif()
    add_test(NAME ${entry} COMMAND ${name})
    set_tests_properties(${entry} PROPERTIES
      LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT}
      ENVIRONMENT "ANNULUS_CPU_CHECK=1;ANNULUS_CPU_MODE=${mode};${ANNULUS_SANITIZER_ENVIRONMENT}")
  endforeach()
endfunction()

# annulus_bench(NAME SOURCES … LINKS …): a program under bench/, run by ./dev bench NAME.
function(annulus_bench name)
  cmake_parse_arguments(BENCH "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(bench_${name} ${BENCH_SOURCES})
  target_link_libraries(bench_${name} PRIVATE ${BENCH_LINKS})
endfunction()
