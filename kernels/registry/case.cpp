// Puts a case on the device, between guards, and takes its outputs back in double.
#include "kernels/registry/case.h"

#include <algorithm>

#include "kernels/philox.h"

namespace annulus::registry {
namespace {

constexpr std::byte kGuardByte{0xA5};
constexpr std::byte kUnwritten{
    0xFF};  // NaN in every floating-point type: an element nobody wrote cannot pass

bool all_equal(const std::byte* begin, std::size_t count, std::byte value) {
  return std::all_of(begin, begin + count, [value](std::byte b) { return b == value; });
}

}  // namespace

Arrays Case::inputs() const {
  Arrays values;
  for (const Array& array : arrays_) {
    if (array.initial.empty() || !array.decode) continue;
    Values& decoded = values[array.name];
    for (std::size_t i = 0; i < array.count; ++i)
      decoded.push_back(array.decode(array.initial.data() + i * array.element_size));
  }
  return values;
}

double Case::bytes() const {
  double sum = 0;
  for (const Array& array : arrays_) {
    if (array.role == Role::workspace) continue;
    sum += static_cast<double>(array.bytes()) * (array.role == Role::in_out ? 2 : 1);
  }
  return sum;
}

DeviceArrays::DeviceArrays(const Case& c) {
  for (const Array& array : c.arrays())
    slots_.push_back({&array, Buffer<std::byte>(array.bytes() + 2 * kGuard)});
  reset();
}

void DeviceArrays::reset() {
  for (Slot& slot : slots_) {
    std::vector<std::byte> image(slot.memory.size(), kGuardByte);
    if (slot.array->initial.empty())
      std::fill_n(image.begin() + kGuard, slot.array->bytes(), kUnwritten);
    else
      std::copy(slot.array->initial.begin(), slot.array->initial.end(), image.begin() + kGuard);
    slot.memory.upload(image);
  }
}

Values DeviceArrays::download(const std::string& name) const {
  const Slot& slot = find(name);
  const std::vector<std::byte> image = slot.memory.download();
  Values values(slot.array->count);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = slot.array->decode(image.data() + kGuard + i * slot.array->element_size);
  return values;
}

std::vector<std::string> DeviceArrays::damaged() const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_) {
    const Array& array = *slot.array;
    const std::vector<std::byte> image = slot.memory.download();
    const bool guards_hold = all_equal(image.data(), kGuard, kGuardByte) &&
                             all_equal(image.data() + kGuard + array.bytes(), kGuard, kGuardByte);
    const bool input_holds =
        array.role != Role::input ||
        std::equal(array.initial.begin(), array.initial.end(), image.begin() + kGuard);
    if (!guards_hold || !input_holds) names.push_back(array.name);
  }
  return names;
}

const DeviceArrays::Slot& DeviceArrays::find(const std::string& name) const {
  for (const Slot& slot : slots_)
    if (slot.array->name == name) return slot;
  throw std::logic_error("registry: the case has no array '" + name + "'");
}

Values uniform_values(std::size_t count, double low, double high, std::uint32_t stream) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Uint4 bits = philox(2024, stream, 0, static_cast<std::uint32_t>(i >> 2), 0);
    const std::uint32_t word[] = {bits.x, bits.y, bits.z, bits.w};
    values[i] = low + (high - low) * uniform(word[i & 3]);
  }
  return values;
}

}  // namespace annulus::registry
