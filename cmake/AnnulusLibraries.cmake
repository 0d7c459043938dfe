# The third-party libraries, found once for all rooms. Debian names and reasons: debian-packages.
# DNNL::dnnl (cmake/Finddnnl.cmake) serves the CPU device alone; build_info tells its version.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(dnnl REQUIRED)
find_package(cares REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CURL REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(civetweb REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)  # optional: `mpirun annulus train`
find_package(ibverbs)  # optional: `annulus doctor` reads InfiniBand with it
