// Files of other processes are opened through /proc, which asks the same of us as a debugger.
#include "comm/cpu/peer_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <system_error>

namespace annulus::cpu::nccl {

PeerMemory::~PeerMemory() {
  for (const auto& [key, mapping] : mappings_) munmap(mapping.base, mapping.bytes);
}

std::byte* PeerMemory::locate(int peer, const Location& location) {
  if (share_process(members_[static_cast<std::size_t>(peer)],
                    members_[static_cast<std::size_t>(rank_)]))
    return const_cast<std::byte*>(location.address);
  return map(peer, location.file).base + location.offset;
}

const PeerMemory::Mapping& PeerMemory::map(int peer, int file) {
  const auto [place, inserted] = mappings_.try_emplace({peer, file});
  if (!inserted) return place->second;
  const std::string path =
      fmt::format("/proc/{}/fd/{}", members_[static_cast<std::size_t>(peer)].process, file);
  const Socket memory(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  void* base = MAP_FAILED;
  if (memory && fstat(memory.descriptor(), &status) == 0) {
    base = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE, memory.descriptor(), 0);
  }
  if (base == MAP_FAILED) {
    const int error = errno;
    mappings_.erase(place);
    throw std::system_error(error, std::generic_category(),
                            fmt::format("mapping of rank {}'s device memory", peer));
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  madvise(base, bytes, MADV_HUGEPAGE);
  place->second = {static_cast<std::byte*>(base), bytes};
  return place->second;
}

}  // namespace annulus::cpu::nccl
