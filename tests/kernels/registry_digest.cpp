// registry_digest [timed]: one line per registry entry, a digest of the bits of all outputs of its
// tested cases, or of its timed ones. Run by registry_bits_test.sh under several settings of the
// CPU device.
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>

#include "kernels/registry/registry.h"

namespace annulus::registry {
namespace {

// FNV-1a over the bits of the values.
class Digest {
 public:
  void add(const Values& values) {
    for (double value : values) hash_ = (hash_ ^ std::bit_cast<std::uint64_t>(value)) * kPrime;
  }
  std::uint64_t value() const { return hash_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

void add_outputs(const Case& c, Digest& digest) {
  const DeviceArrays device(c);
  const Stream stream;
  c.launch(stream.get(), device);
  stream.synchronize();
  for (const Array& array : c.arrays())
    if (array.is_output()) digest.add(device.download(array.name));
}

void print_digests(bool timed) {
  for (const Entry& entry : entries()) {
    Digest digest;
    for (const MakeCase& make : timed ? entry.timed : entry.tested) add_outputs(make(), digest);
    fmt::print("{} {:016x}\n", entry.name, digest.value());
  }
}

}  // namespace
}  // namespace annulus::registry

int main(int argc, char** argv) {
  try {
    annulus::registry::print_digests(argc > 1 && std::string_view(argv[1]) == "timed");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "registry_digest: %s\n", error.what());
    return 1;
  }
}
