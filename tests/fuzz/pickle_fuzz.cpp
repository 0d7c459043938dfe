// CIFAR's Python version: the pickle machine and what CIFAR takes from it.
#include "data/cifar_pickle.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  const fuzz::Input input(data, size);
  for (const Cifar* cifar : {&kCifar10, &kCifar100})
    fuzz::allow_data_errors([&] {
      Dataset dataset = empty_cifar(*cifar);
      append_cifar_pickle(*cifar, fuzz::kPath, input, dataset);
      fuzz::require_whole(dataset);
    });
  fuzz::allow_data_errors([&] { pickled_names(fuzz::kPath, input, "label_names"); });
  return 0;
}
