# The third-party libraries, found once for all rooms. Debian names and reasons: debian-packages.
# DNNL::dnnl (cmake/Finddnnl.cmake) and annulus::openblas serve the CPU device alone; build_info tells
# their versions.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(dnnl REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# Debian's OpenBLAS flavours share one soname; the serial one is named by its own folder, at link time
# and in the run path, because the CPU device calls it from many threads at once and wants
# single-threaded answers.
find_package(OpenBLAS REQUIRED
             HINTS /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-serial/cmake/openblas)
add_library(annulus::openblas INTERFACE IMPORTED GLOBAL)
target_link_libraries(annulus::openblas INTERFACE ${OpenBLAS_LIBRARIES})
target_include_directories(annulus::openblas INTERFACE ${OpenBLAS_INCLUDE_DIRS})
