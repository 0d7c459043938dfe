// Loading libannulus_mpi.so, and the broadcast of rank 0's address; see comm/mpi_bootstrap.h.
#include "comm/mpi_bootstrap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <sstream>

#include "comm/interfaces.h"
#include "comm/mpi/annulus_mpi.h"
#include "comm/socket.h"
#include "kernels/check.h"

namespace annulus {
namespace {

// Beside the program, then wherever the loader looks. MPI's own plug-ins look for its symbols
// globally. Never unloaded: MPI leaves threads and exit handlers behind.
void* load(const std::string& library) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string beside = (program.parent_path() / "lib" / library).string();
  for (const std::string& name : {beside, library})
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
  throw UserError(
      ExitCode::usage,
      fmt::format("started by mpirun, but {} cannot be loaded ({}): build with Open MPI "
                  "(libopenmpi-dev), or give every rank --rendezvous host:port",
                  library, dlerror()));
}

template <typename Function>
Function* symbol(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (!address)
    throw UserError(ExitCode::usage, fmt::format("{}: rebuild libannulus_mpi.so", dlerror()));
  return reinterpret_cast<Function*>(address);
}

void require_success(int status, const char* call) {
  if (status != 0)
    throw UserError(ExitCode::usage,
                    fmt::format("{} failed with MPI error {}: start with mpirun of the same MPI",
                                call, status));
}

// Where the other ranks reach rank 0.
std::string own_address(const Identity& identity) {
  if (identity.local_world == identity.world) return "127.0.0.1";
  for (const Interface& interface : socket_interfaces())
    if (!interface.addresses.empty()) return interface.addresses.front();
  throw UserError(ExitCode::usage,
                  "no network interface with an address: give every rank --rendezvous host:port");
}

}  // namespace

MpiSession::MpiSession(const std::string& library) {
  void* handle = load(library);
  broadcast_ = symbol<decltype(annulus_mpi_broadcast)>(handle, "annulus_mpi_broadcast");
  finalize_ = symbol<decltype(annulus_mpi_finalize)>(handle, "annulus_mpi_finalize");
  require_success(symbol<decltype(annulus_mpi_init)>(handle, "annulus_mpi_init")(), "MPI_Init");
}

MpiSession::~MpiSession() { finalize_(); }

void MpiSession::broadcast(void* bytes, std::size_t count) {
  require_success(broadcast_(bytes, count), "MPI_Bcast");
}

std::string MpiSession::broadcast(const std::string& of_rank_0) {
  std::uint64_t length = of_rank_0.size();  // on the other ranks overwritten, as is the text
  broadcast(&length, sizeof length);
  std::string text = of_rank_0;
  text.resize(length);
  broadcast(text.data(), text.size());
  return text;
}

bool needs_mpi_rendezvous(const Identity& identity) {
  return identity.source == "Open MPI" && !identity.alone() && identity.rendezvous_port == 0;
}

int mpi_rendezvous(Identity& identity) {
  MpiSession session;
  Socket listener;
  std::string where;
  if (identity.rank == 0) {
    const std::string address = own_address(identity);
    listener = listen_on(address, 0);
    where = fmt::format("{} {} {}", address, listener.local_port(), identity.job);
  }
  std::istringstream told(session.broadcast(where));
  told >> identity.rendezvous_host >> identity.rendezvous_port >> identity.job;
  return listener ? fcntl(listener.descriptor(), F_DUPFD_CLOEXEC, 0) : -1;
}

}  // namespace annulus
