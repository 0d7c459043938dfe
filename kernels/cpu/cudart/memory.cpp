// First-fit sub-allocation with a moving start: the address space is four times the memory, so an
// address comes back only after much else was allocated. Freed pages are punched out of the file.
#include "kernels/cpu/cudart/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace annulus::cpu {
namespace {

constexpr std::size_t kAlignment = 256;  // what cudaMalloc promises
constexpr std::size_t kPage = 4096;
constexpr std::size_t kRedZone = 256;
constexpr int kRedZoneByte = 0xA5;
constexpr int kFreshByte = 0xFF;  // a NaN in every float type
constexpr std::size_t kAddressFactor =
    4;  // address space per byte of memory: stale pointers stay stale

std::uint64_t next_id() {
  static std::uint64_t id = 0;
  return ++id;
}

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

bool Allocation::red_zone_is_intact() const {
  return std::all_of(base + bytes, base + reserved,
                     [](std::byte b) { return b == std::byte{kRedZoneByte}; });
}

void Allocation::restore_red_zone() { std::memset(base + bytes, kRedZoneByte, reserved - bytes); }

std::string Allocation::describe() const {
  return fmt::format("{} #{} ({} bytes)", pinned ? "pinned allocation" : "allocation", id, bytes);
}

void AllocationTable::insert(std::shared_ptr<Allocation> allocation) {
  const std::byte* base = allocation->base;
  by_base_[base] = std::move(allocation);
}

void AllocationTable::erase_freed(const std::byte* begin, const std::byte* end) {
  auto it = by_base_.lower_bound(begin);
  if (it != by_base_.begin()) {
    const auto before = std::prev(it);
    if (before->second->base + before->second->reserved > begin) it = before;
  }
  while (it != by_base_.end() && it->first < end) it = by_base_.erase(it);
}

void AllocationTable::erase(const Allocation& allocation) { by_base_.erase(allocation.base); }

std::shared_ptr<Allocation> AllocationTable::find(const void* data) const {
  const auto* address = static_cast<const std::byte*>(data);
  auto it = by_base_.upper_bound(address);
  if (it == by_base_.begin()) return nullptr;
  const auto& candidate = std::prev(it)->second;
  return candidate->offset(data) < candidate->reserved ? candidate : nullptr;
}

DeviceMemory::DeviceMemory(std::size_t limit, bool checked, AllocationTable& table)
    : limit_(limit), checked_(checked), table_(table) {}

void DeviceMemory::map() {
  capacity_ = round_up(limit_, kPage) * kAddressFactor;
  file_ = memfd_create("annulus-cpu-device", MFD_CLOEXEC);
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(capacity_)) != 0) {
    // A limit on the size of files counts for a memfd too; then the memory is this process's alone.
    if (errno != EFBIG)
      throw std::system_error(errno, std::generic_category(), "memfd for device memory");
    close(std::exchange(file_, -1));
  }
  const int sharing = file_ >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  const auto map_all = [&] {
    return mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, sharing | MAP_NORESERVE, file_, 0);
  };
  void* address = map_all();
  if (address == MAP_FAILED && errno == ENOMEM) {  // addresses are limited: none to spare
    capacity_ /= kAddressFactor;
    address = map_all();
  }
  if (address == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  if (address == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "mapping of device memory");
  madvise(address, capacity_, MADV_HUGEPAGE);
  base_ = static_cast<std::byte*>(address);
  gaps_[0] = capacity_;
}

std::shared_ptr<Allocation> DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > available()) return nullptr;
  if (base_ == nullptr) map();
  const std::size_t reserved = round_up(bytes + (checked_ ? kRedZone : 0), kAlignment);
  std::byte* base = reserve(reserved);
  if (base == nullptr) return nullptr;
  table_.erase_freed(base, base + reserved);
  used_ += bytes;
  auto allocation = std::make_shared<Allocation>(Allocation{
      .base = base, .bytes = bytes, .reserved = reserved, .id = next_id(), .pinned = false});
  if (checked_) {
    std::memset(base, kFreshByte, bytes);
    allocation->restore_red_zone();
  }
  table_.insert(allocation);
  return allocation;
}

// First fit behind the last allocation, then from the start.
std::byte* DeviceMemory::reserve(std::size_t bytes) {
  if (std::byte* found = reserve_behind(cursor_, bytes)) return found;
  return reserve_behind(0, bytes);
}

std::byte* DeviceMemory::reserve_behind(std::size_t begin, std::size_t bytes) {
  auto it = gaps_.upper_bound(begin);
  if (it != gaps_.begin()) --it;  // the gap that `begin` may lie in
  for (; it != gaps_.end(); ++it) {
    const auto [offset, size] = *it;
    const std::size_t start = std::max(offset, begin);
    const std::size_t end = offset + size;
    if (end < start + bytes) continue;
    if (start == offset) {
      gaps_.erase(it);
    } else {
      it->second = start - offset;
    }
    if (end > start + bytes) gaps_[start + bytes] = end - start - bytes;
    cursor_ = start + bytes;
    return base_ + start;
  }
  return nullptr;
}

void DeviceMemory::free(Allocation& allocation) {
  allocation.freed = true;
  used_ -= allocation.bytes;
  std::size_t begin = file_offset(allocation.base);
  std::size_t end = begin + allocation.reserved;
  const auto [it, inserted] = gaps_.emplace(begin, allocation.reserved);
  if (const auto next = std::next(it); next != gaps_.end() && next->first == end) {
    end += next->second;
    gaps_.erase(next);
  }
  if (it != gaps_.begin() && std::prev(it)->first + std::prev(it)->second == begin) {
    begin = std::prev(it)->first;
    gaps_.erase(it);
  }
  gaps_[begin] = end - begin;
  // Whole pages of the gap go back to the system, those shared with a former neighbour too.
  const std::size_t first =
      std::max(round_up(begin, kPage), file_offset(allocation.base) / kPage * kPage);
  const std::size_t last = std::min(
      end / kPage * kPage, round_up(file_offset(allocation.base) + allocation.reserved, kPage));
  if (first < last) madvise(base_ + first, last - first, file_ >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

bool DeviceMemory::owns(const void* data) const {
  const auto* address = static_cast<const std::byte*>(data);
  return base_ != nullptr && address >= base_ && address < base_ + capacity_;
}

std::size_t DeviceMemory::file_offset(const void* data) const {
  return static_cast<std::size_t>(static_cast<const std::byte*>(data) - base_);
}

std::shared_ptr<Allocation> allocate_pinned(std::size_t bytes, AllocationTable& table) {
  const std::size_t reserved = round_up(bytes, kAlignment);
  auto* base = static_cast<std::byte*>(std::aligned_alloc(kAlignment, reserved));
  if (base == nullptr) throw std::bad_alloc();
  table.erase_freed(base, base + reserved);
  auto allocation = std::make_shared<Allocation>(Allocation{
      .base = base, .bytes = bytes, .reserved = reserved, .id = next_id(), .pinned = true});
  table.insert(allocation);
  return allocation;
}

void free_pinned(Allocation& allocation, AllocationTable& table) {
  std::free(allocation.base);
  allocation.freed = true;
  table.erase(allocation);
}

}  // namespace annulus::cpu
