// Case: one kernel at one shape, with its inputs, its double-precision reference and how to launch
// it. A case is a description and holds no device memory; DeviceArrays makes it run. Written by the
// entry files of this folder, read by tests/kernels/registry_check and bench/kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/registry/format.h"
#include "kernels/span.h"

namespace annulus::registry {

using Values = std::vector<double>;
using Arrays = std::map<std::string, Values>;  // by name

// Relative error of one fp32 rounding; tolerances are small multiples of it, counted from the
// kernel's roundings.
inline constexpr double kUnitRoundoff = 0x1p-24;

// How far what a kernel computes may lie from the reference: |got - want| <= absolute + relative *
// |want|, and why just so far. What it then stores in a half type must be a rounding of such a
// number.
struct Tolerance {
  double absolute = 0, relative = 0;
  std::string reason;
};

enum class Role { input, output, in_out, workspace };

// One device array of a case. The bytes are what it holds before the launch; outputs and workspace
// begin as NaN.
struct Array {
  std::string name;
  Role role;
  std::size_t count, element_size;
  std::vector<std::byte> initial;
  Tolerance tolerance;  // of outputs
  double (*decode)(const std::byte* element) =
      nullptr;                        // null: opaque, the reference does not see it
  const Format* half_type = nullptr;  // null: the elements are not of a half type

  std::size_t bytes() const { return count * element_size; }
  bool is_output() const { return role == Role::output || role == Role::in_out; }
};

class DeviceArrays;

class Case {
 public:
  explicit Case(std::string shape) : shape(std::move(shape)) {}

  std::string shape;  // "N=64 H=32 W=32 C=32"
  double flops = 0;   // per launch

  // Launches the kernel once. What it needs beside the arrays (plans, handles) the closure owns.
  std::function<void(cudaStream_t, const DeviceArrays&)> launch;

  // The outputs in double, by name, from the inputs as the kernel sees them: already rounded to
  // their types.
  std::function<Arrays(const Arrays& inputs)> reference;

  // Declare the arrays. T: what an element is on the device.
  template <class T = float>
  void input(const std::string& name, const Values& values) {
    add<T>(name, Role::input, values.size(), encode<T>(values), {});
  }
  template <class T = float>
  void output(const std::string& name, std::size_t count, const Tolerance& tolerance) {
    add<T>(name, Role::output, count, {}, tolerance);
  }
  // Of fp32, but a T on its way: what is stored is a number that T has.
  template <class T>
  void output_by_way_of(const std::string& name, std::size_t count, const Tolerance& tolerance) {
    output(name, count, tolerance);
    arrays_.back().half_type = kHalfTypeFormat<T>;
  }
  template <class T = float>
  void in_out(const std::string& name, const Values& values, const Tolerance& tolerance) {
    add<T>(name, Role::in_out, values.size(), encode<T>(values), tolerance);
  }
  template <class T = float>
  void workspace(const std::string& name, std::size_t count) {
    add<T>(name, Role::workspace, count, {}, {});
  }
  // An input that is not a number, such as a StepState: the reference takes it from its closure.
  template <class T>
  void opaque(const std::string& name, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    arrays_.push_back({name, Role::input, 1, sizeof(T), std::move(bytes), {}, nullptr});
  }

  const std::vector<Array>& arrays() const { return arrays_; }
  Arrays inputs() const;  // what the reference is given
  double bytes() const;   // minimal traffic: each input read once, each output written once

 private:
  template <class T>
  static double decode_element(const std::byte* element) {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<double>(value);
    else
      return static_cast<float>(value);
  }
  template <class T>
  static std::vector<std::byte> encode(const Values& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      if constexpr (std::is_arithmetic_v<T>)
        value = static_cast<T>(values[i]);
      else
        value = T(static_cast<float>(values[i]));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  }
  template <class T>
  void add(const std::string& name, Role role, std::size_t count, std::vector<std::byte> initial,
           const Tolerance& tolerance) {
    arrays_.push_back({name, role, count, sizeof(T), std::move(initial), tolerance,
                       &decode_element<T>, kHalfTypeFormat<T>});
  }

  std::vector<Array> arrays_;
};

// The device memory of one case. Each array lies between guard elements, so that a write past its
// end is seen even where the device allows it.
class DeviceArrays {
 public:
  explicit DeviceArrays(const Case& c);

  template <class T = float>
  Span<T> span(const std::string& name) const {
    const Slot& slot = find(name);
    if (slot.array->element_size != sizeof(T))
      throw std::logic_error("registry: array '" + name + "' is taken with another element type");
    return {reinterpret_cast<T*>(slot.memory.span().data + kGuard), slot.array->count};
  }

  void reset();  // every array as before the first launch
  Values download(const std::string& name) const;

  // The names of arrays that a launch damaged: guards overwritten, or a pure input changed.
  std::vector<std::string> damaged() const;

 private:
  static constexpr std::size_t kGuard =
      256;  // bytes on each side; keeps the alignment of cudaMalloc
  struct Slot {
    const Array* array;
    Buffer<std::byte> memory;
  };
  const Slot& find(const std::string& name) const;

  std::vector<Slot> slots_;
};

// `count` numbers uniform in [low, high), the same for the same stream on every machine.
Values uniform_values(std::size_t count, double low, double high, std::uint32_t stream);

}  // namespace annulus::registry
