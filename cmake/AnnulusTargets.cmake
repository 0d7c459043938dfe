# How a room, a test and a bench are declared; every CMakeLists.txt of the house uses these three.

# Sources ending in .cu are CUDA sources; the cpu presets compile them with g++.
function(annulus_compile_cuda_as_cxx)
  if(ANNULUS_CUDA)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
    endif()
  endforeach()
endfunction()

# annulus_kernels_for_cpu(VARIABLE SOURCE…): C++ sources that are these CUDA sources, for the shared libraries that hold
# a kernel's g++ build beside nvcc's.
function(annulus_kernels_for_cpu variable)
  set(sources)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(GET source STEM name)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${name}_for_cpu.cpp)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"@source@\"\n" @ONLY)
    list(APPEND sources ${wrapper})
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
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
#              [MODES eager threads shuffled] [SEQUENTIAL]): a GoogleTest executable.
# Each mode is one entry of ctest that runs it with the CPU device's streams in that mode: NAME for
# eager (the default), NAME.threads, NAME.shuffled. Every test runs with the device's checker on.
#   fast: in every preset, minutes in all.  data: whole training runs, in the cpu preset; on CIFAR-10 where it is.
#   slow: only in ./dev test --all.
# SEQUENTIAL: no two threads meet in it; ThreadSanitizer's preset leaves it out.
# TIMEOUT (default 600) is there to end a hang, also on a busy machine; sanitizers get four times that.
function(annulus_test name)
  cmake_parse_arguments(TEST "SEQUENTIAL" "TIMEOUT" "SOURCES;LINKS;LABELS;MODES" ${ARGN})
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
  # A sanitizer sees a test in the mode in which it has most to say.
  if(ANNULUS_SANITIZE STREQUAL "thread" AND "threads" IN_LIST TEST_MODES)
    set(TEST_MODES threads)
  elseif(ANNULUS_SANITIZE)
    list(GET TEST_MODES 0 TEST_MODES)
  endif()
  set(left_out)
  if(TEST_SEQUENTIAL AND ANNULUS_SANITIZE STREQUAL "thread")
    set(left_out EXCLUDE_FROM_ALL)
    set(TEST_MODES)
  endif()
  add_executable(${name} ${left_out} ${TEST_SOURCES})
  annulus_compile_cuda_as_cxx(${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} GTest::gtest_main)
  set(environment ${ANNULUS_TEST_ENVIRONMENT})
  if(ANNULUS_CUDA)
    annulus_preload_kernels_for_cpu(${name})
  endif()
  foreach(mode IN LISTS TEST_MODES)
    set(entry ${name}.${mode})
    if(mode STREQUAL "eager")
      set(entry ${name})
    endif()
    add_test(NAME ${entry} COMMAND ${name})
    set_tests_properties(${entry} PROPERTIES
      LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT}
      ENVIRONMENT "ANNULUS_CPU_CHECK=1;ANNULUS_CPU_MODE=${mode};${environment}")
  endforeach()
endfunction()

# Within annulus_test in the cuda preset: the test's own kernels, as g++ compiles them, in a library that is loaded first.
macro(annulus_preload_kernels_for_cpu name)
  add_dependencies(${name} annulus_cpu_device_shared)
  set(kernels ${TEST_SOURCES})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  if(kernels)
    set(other_sources ${TEST_SOURCES})
    list(FILTER other_sources EXCLUDE REGEX "\\.cu$")
    annulus_kernels_for_cpu(kernels_for_cpu ${kernels})
    add_library(${name}_for_cpu SHARED ${kernels_for_cpu} ${other_sources})
    target_include_directories(${name}_for_cpu BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/kernels/cpu/include)
    target_link_libraries(${name}_for_cpu PRIVATE annulus_cpu_internals ${TEST_LINKS} GTest::gtest)
    target_link_options(${name}_for_cpu PRIVATE -Wl,-Bsymbolic)
    add_dependencies(${name} ${name}_for_cpu)
    list(APPEND environment "LD_PRELOAD=$<TARGET_FILE:${name}_for_cpu>")
  endif()
endmacro()

# annulus_bench(NAME SOURCES … LINKS …): a program under bench/, run by ./dev bench NAME.
function(annulus_bench name)
  cmake_parse_arguments(BENCH "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(bench_${name} ${BENCH_SOURCES})
  if(ANNULUS_SANITIZE)  # times mean nothing there
    set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(bench_${name} PRIVATE ${BENCH_LINKS})
endfunction()
