// See kernel_table.h.
#include "kernels/cpu/cudart/kernel_table.h"

#include <dlfcn.h>

#include <unordered_map>

namespace annulus::cpu {
namespace {

std::unordered_map<const void*, simt::Kernel>& kernels() {
  static auto& table = *new std::unordered_map<const void*, simt::Kernel>;
  return table;
}

}  // namespace

simt::Kernel* find_kernel(const void* address) {
  const auto it = kernels().find(address);
  return it == kernels().end() ? nullptr : &it->second;
}

// The linker's name of a function is the mangled one. Programs do not export their stubs, so what
// is found is the g++ build, which the libraries export.
void register_stub(const void* stub, const char* mangled_name) {
  if (const simt::Kernel* kernel = find_kernel(dlsym(RTLD_DEFAULT, mangled_name)))
    kernels().try_emplace(stub, simt::Kernel(*kernel));
}

}  // namespace annulus::cpu

namespace annulus::simt {

bool register_kernel(const Kernel& kernel) {
  auto [it, inserted] = cpu::kernels().try_emplace(kernel.address, kernel);
  if (!inserted) {  // its CPU form was there first
    auto* form = it->second.cpu_form;
    it->second = kernel;
    it->second.cpu_form = form;
  }
  return true;
}

bool register_cpu_form(const void* address, void (*cpu_form)(const void* packed)) {
  cpu::kernels()[address].cpu_form = cpu_form;
  return true;
}

}  // namespace annulus::simt
