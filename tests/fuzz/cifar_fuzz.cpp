// CIFAR's binary version.
#include "data/cifar.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  for (const Cifar* cifar : {&kCifar10, &kCifar100})
    fuzz::allow_data_errors([&] {
      Dataset dataset = empty_cifar(*cifar);
      append_cifar_records(*cifar, fuzz::kPath, fuzz::Input(data, size), dataset);
      fuzz::require_whole(dataset);
    });
  return 0;
}
