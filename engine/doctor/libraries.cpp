// The libraries that Annulus stands on, with their versions. Linked ones are asked; others are
// looked for as the loader would find them.
#include <cudnn.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <nccl.h>

#include <filesystem>
#include <memory>

#include "engine/build_info.h"
#include "engine/doctor/checks.h"

namespace annulus::doctor {
namespace {

// A shared library, loaded if it can be, for as long as the object lives.
class SharedLibrary {
 public:
  explicit SharedLibrary(const char* soname) : handle_(dlopen(soname, RTLD_LAZY)) {}

  explicit operator bool() const { return handle_ != nullptr; }

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_.get(), name));
  }

  // The file behind its links, whose name often ends in the version.
  std::string file() const {
    link_map* map = nullptr;
    if (dlinfo(handle_.get(), RTLD_DI_LINKMAP, &map) != 0) return "";
    std::error_code gone;
    return std::filesystem::canonical(map->l_name, gone).string();
  }

 private:
  struct Close {
    void operator()(void* handle) const { dlclose(handle); }
  };
  std::unique_ptr<void, Close> handle_;
};

// cuDNN and NCCL count alike: 91900 is 9.19.0.
std::string version(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::size_t nccl_version() {
  int number = 0;
  ncclGetVersion(&number);
  return static_cast<std::size_t>(number);
}

Finding libibverbs() {
  const SharedLibrary library("libibverbs.so.1");
  if (library) return {.name = "libibverbs", .fact = library.file()};
  return {.state = State::note,
          .name = "libibverbs",
          .fact = "not found",
          .fix = "InfiniBand and RoCE need it (Debian: libibverbs1, ibverbs-providers)"};
}

Finding open_mpi() {
  constexpr std::size_t kMaxVersionText = 256;  // MPI_MAX_LIBRARY_VERSION_STRING of Open MPI
  const SharedLibrary library("libmpi.so.40");
  const auto version =
      library ? library.function<int(char*, int*)>("MPI_Get_library_version") : nullptr;
  if (version == nullptr)
    return {.state = State::note,
            .name = "Open MPI",
            .fact = "not found",
            .fix = "only mpirun needs it (Debian: openmpi-bin)"};
  std::string text(kMaxVersionText, '\0');
  int length = 0;
  version(text.data(), &length);
  // "Open MPI v4.1.4, package: Debian OpenMPI, …"
  return {.name = "Open MPI", .fact = text.substr(0, text.find_first_of(",\0", 0, 2))};
}

}  // namespace

std::vector<Finding> check_libraries(bool on_gpus) {
  const char* whose = on_gpus ? "" : " (the CPU device's)";
  std::vector<Finding> findings = {{.name = "cuDNN", .fact = version(cudnnGetVersion()) + whose},
                                   {.name = "NCCL", .fact = version(nccl_version()) + whose}};
  if (!on_gpus)
    findings.push_back(
        {.name = "oneDNN",
         .fact = fmt::format("{} (under the CPU device's cuDNN and cuBLAS)", build_info().onednn)});
  findings.push_back(libibverbs());
  findings.push_back(open_mpi());
  return findings;
}

}  // namespace annulus::doctor
