// Device memory: one memfd per device, mapped once and sub-allocated, so that another process can
// map the same bytes; and page-locked host memory. Addresses are reused as late as possible, so a
// stale pointer is recognised. Callers hold the runtime's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernels/cpu/cudart/ranges.h"

namespace annulus::cpu {

struct Allocation {
  std::byte* base;
  std::size_t bytes;     // as asked for
  std::size_t reserved;  // with padding and red zone
  std::uint64_t id;      // the how-manieth of the process, for reports
  bool pinned;           // page-locked host memory
  bool freed = false;
  AccessHistory history = {};  // who touched which bytes last

  std::size_t offset(const void* data) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(data) - base);
  }
  bool contains(const void* data, std::size_t count) const {
    return offset(data) <= bytes && count <= bytes - offset(data);
  }
  bool red_zone_is_intact() const;
  void restore_red_zone();
  std::string describe() const;
};

// Allocations by address. Freed ones stay until their addresses are used again.
class AllocationTable {
 public:
  void insert(std::shared_ptr<Allocation> allocation);
  void erase_freed(const std::byte* begin, const std::byte* end);
  void erase(const Allocation& allocation);
  std::shared_ptr<Allocation> find(const void* data) const;  // whose reserved bytes hold `data`

 private:
  std::map<const std::byte*, std::shared_ptr<Allocation>> by_base_;
};

class DeviceMemory {
 public:
  DeviceMemory(std::size_t limit, bool checked, AllocationTable& table);
  DeviceMemory(const DeviceMemory&) = delete;

  // Null if the limit is reached. Checked memory starts as 0xFF bytes (NaN) and ends in a red zone.
  std::shared_ptr<Allocation> allocate(std::size_t bytes);
  void free(Allocation& allocation);  // gives its pages back

  std::size_t limit() const { return limit_; }
  std::size_t available() const { return limit_ - used_; }
  bool owns(const void* data) const;
  int file() const { return file_; }
  std::size_t file_offset(const void* data) const;

 private:
  std::byte* reserve(std::size_t bytes);
  std::byte* reserve_behind(std::size_t begin, std::size_t bytes);
  void map();

  const std::size_t limit_;
  const bool checked_;
  AllocationTable& table_;
  std::size_t used_ = 0;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;                 // of address space
  std::size_t cursor_ = 0;                   // where the next search begins
  std::map<std::size_t, std::size_t> gaps_;  // offset -> bytes, never adjacent
};

// Page-locked host memory; malloc'ed, so the sanitizers see it.
std::shared_ptr<Allocation> allocate_pinned(std::size_t bytes, AllocationTable& table);
void free_pinned(Allocation& allocation, AllocationTable& table);

}  // namespace annulus::cpu
