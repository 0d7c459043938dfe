// What the data tests share: a folder that cleans itself up, tiny CIFAR-10 files, the words of an
// error, and where the reference data lies. Used by the tests of data/.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/check.h"

namespace annulus::test {

constexpr std::size_t kRecordBytes = 3073;

// A new folder under the system's temporary one; gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "annulus-data-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Record r has number n = first_label + r and label n % 10; pixel i of plane c is (n + 85 * c + i)
// % 256.
inline std::vector<std::uint8_t> cifar_records(int records, int first_label = 0) {
  std::vector<std::uint8_t> bytes;
  for (int n = first_label; n < first_label + records; ++n) {
    bytes.push_back(static_cast<std::uint8_t>(n % 10));
    for (int c = 0; c < 3; ++c)
      for (int i = 0; i < 1024; ++i) bytes.push_back(static_cast<std::uint8_t>(n + 85 * c + i));
  }
  return bytes;
}

// The six files with `records` records each; file k begins with label k.
inline void write_cifar10(const std::filesystem::path& folder, int records) {
  for (int k = 1; k <= 5; ++k)
    write_file(folder / ("data_batch_" + std::to_string(k) + ".bin"), cifar_records(records, k));
  write_file(folder / "test_batch.bin", cifar_records(records, 6));
}

// The message of the UserError(data) that `call` throws; it must be one line.
inline std::string data_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline bool says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

// A path below the folder that an environment variable names, where both exist.
inline std::optional<std::filesystem::path> reference(const char* variable,
                                                      const std::string& below) {
  const char* folder = std::getenv(variable);
  if (folder == nullptr) return std::nullopt;
  const std::filesystem::path path = std::filesystem::path(folder) / below;
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace annulus::test
