// A fresh memfd is all zeros, which is what every member of RankArea starts as.
#include "comm/cpu/control_area.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <system_error>

namespace annulus::cpu::nccl {
namespace {

// The areas this process has mapped.
struct Mapped {
  std::mutex mutex;
  std::map<Nonce, std::weak_ptr<ControlArea>> areas;
};

Mapped& mapped() {
  static Mapped& value = *new Mapped;
  return value;
}

std::size_t area_bytes(int world) { return static_cast<std::size_t>(world) * sizeof(RankArea); }

std::shared_ptr<ControlArea> remember(const Nonce& nonce, std::shared_ptr<ControlArea> area) {
  std::erase_if(mapped().areas, [](const auto& entry) { return entry.second.expired(); });
  mapped().areas[nonce] = area;
  return area;
}

}  // namespace

std::shared_ptr<ControlArea> ControlArea::make(const Nonce& nonce, int world) {
  const std::lock_guard lock(mapped().mutex);
  Socket file(memfd_create("annulus-nccl", MFD_CLOEXEC));
  if (!file || ftruncate(file.descriptor(), static_cast<off_t>(area_bytes(world))) != 0)
    throw std::system_error(errno, std::generic_category(), "memfd for a communicator");
  return remember(nonce, std::make_shared<ControlArea>(std::move(file), world));
}

std::shared_ptr<ControlArea> ControlArea::open(const Nonce& nonce, const Members& members) {
  const std::lock_guard lock(mapped().mutex);
  if (const auto known = mapped().areas.find(nonce); known != mapped().areas.end()) {
    if (auto area = known->second.lock()) return area;
  }
  const Member& maker = members.front();
  const std::string path = fmt::format("/proc/{}/fd/{}", maker.process, maker.area_file);
  Socket file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return nullptr;
  return remember(nonce,
                  std::make_shared<ControlArea>(std::move(file), static_cast<int>(members.size())));
}

ControlArea::ControlArea(Socket file, int world)
    : file_(std::move(file)), bytes_(area_bytes(world)) {
  void* address = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), 0);
  if (address == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "mapping of a communicator's memory");
  ranks_ = static_cast<RankArea*>(address);
}

ControlArea::~ControlArea() { munmap(ranks_, bytes_); }

}  // namespace annulus::cpu::nccl
