# What the sanitizers are told when tests run: one environment for every test of their presets.
# Suppressions name third-party libraries only, in tests/lsan.supp and tests/tsan.supp.
set(ANNULUS_TEST_ENVIRONMENT)
if(ANNULUS_SANITIZE MATCHES "address")
  list(APPEND ANNULUS_TEST_ENVIRONMENT
    "ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=0"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
elseif(ANNULUS_SANITIZE MATCHES "thread")
  list(APPEND ANNULUS_TEST_ENVIRONMENT
    "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp:second_deadlock_stack=1")
endif()
