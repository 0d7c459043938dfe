# How a room, a test and a bench are declared; every CMakeLists.txt of the house uses these three.

# annulus_room(NAME SOURCES … LINKS …): a static library annulus_NAME. Sources ending in .cu are CUDA sources that the cpu
# preset compiles with g++.
function(annulus_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(annulus_${name} STATIC ${ROOM_SOURCES})
  foreach(source IN LISTS ROOM_SOURCES)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
    endif()
  endforeach()
  target_include_directories(annulus_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(annulus_${name} PUBLIC ${ROOM_LINKS} fmt::fmt Threads::Threads)
endfunction()

# annulus_test(NAME SOURCES … LINKS … [LABELS fast|data|slow] [TIMEOUT s]): a GoogleTest executable run by ctest as one entry.
# fast: every build, minutes in all. data: needs ../shared's data, skipped elsewhere. slow: only ./dev test --all.
function(annulus_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  if(NOT TEST_LABELS)
    set(TEST_LABELS fast)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  foreach(source IN LISTS TEST_SOURCES)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT}
                       SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()

# annulus_bench(NAME SOURCES … LINKS …): a program under bench/, built with the rest, run by hand or by bench/peers.
function(annulus_bench name)
  cmake_parse_arguments(BENCH "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(bench_${name} ${BENCH_SOURCES})
  target_link_libraries(bench_${name} PRIVATE ${BENCH_LINKS})
endfunction()
