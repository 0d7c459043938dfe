// See device.h.
#include "engine/cli/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "comm/console.h"
#include "engine/build_info.h"
#include "engine/visible_devices.h"
#include "kernels/check.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";

const DeclaredEnvironment kDeclared("Device", {{kLibraryPath, "", "folders",
                                                "in a cuda build the CPU device's folder, first, "
                                                "puts it in the place of NVIDIA's libraries"}});

// As installed and as built: PREFIX/bin/annulus, PREFIX/lib/annulus/cpu-device.
fs::path cpu_device_folder() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "lib/annulus/cpu-device";
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The loader reads its path once, when a program starts.
[[noreturn]] void start_anew_on_cpu_device() {
  const std::string folder = cpu_device_folder().string();
  const char* before = std::getenv(kLibraryPath);
  const std::string path = before && *before ? folder + ":" + before : folder;
  if (!fs::exists(folder) || (before && std::string(before).starts_with(folder)))
    throw UserError(ExitCode::device,
                    fmt::format("the CPU device is not in {}: install annulus whole (cmake "
                                "--install), its lib/ beside its bin/",
                                folder));
  setenv(kLibraryPath, path.c_str(), 1);
  std::vector<std::string> words = command_line();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  throw UserError(ExitCode::device,
                  fmt::format("the CPU device cannot be started: execv: {}", std::strerror(errno)));
}

// Once: the ranks that this process starts read what it has chosen.
void say_gpus(int count) {
  note(fmt::format("annulus: computes on {} (--device cuda says so)\n",
                   count == 1 ? "the GPU" : fmt::format("GPUs, of which {} are visible", count)));
  setenv("ANNULUS_DEVICE", "cuda", 1);
}

}  // namespace

void choose_device(const std::string& device, int threads) {
  if (threads > 0) setenv("ANNULUS_CPU_THREADS", std::to_string(threads).c_str(), 1);
  if (device == "cuda" && build_info().cuda.empty())
    throw UserError(ExitCode::device,
                    "--device cuda: this build has only the CPU device; build the cuda preset, or "
                    "use --device cpu");
  if (device == "cuda" && cpu_device_is_loaded())
    throw UserError(ExitCode::device,
                    fmt::format("--device cuda: {} puts the CPU device in the place of NVIDIA's "
                                "libraries; unset it",
                                kLibraryPath));
  if (cpu_device_is_loaded()) return;
  if (device == "cpu") start_anew_on_cpu_device();
  const auto none = why_none(read_visible_devices(), &std::getenv);
  if (device == "auto" && none && none->reason == NoDevice::Reason::no_driver) {
    note("annulus: no NVIDIA driver here: computes on the CPU device (--device cpu says so)\n");
    start_anew_on_cpu_device();
  }
  const int gpus = device_count();
  if (device == "auto") say_gpus(gpus);
}

}  // namespace annulus
