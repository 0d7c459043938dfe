// See data_files.h. Of archives nothing reaches the disk.
#include "data/data_files.h"

#include <array>
#include <memory>
#include <system_error>
#include <utility>

#include "data/data_error.h"
#include "data/file.h"
#include "data/gzip.h"
#include "data/tar.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostArchiveBytes = std::uint64_t{1} << 30;

// The tar archive in a file, unpacked where it is in gzip.
class ArchiveSource final : public ByteSource {
 public:
  explicit ArchiveSource(const fs::path& path) : file_(open_file(path)) {
    std::array<std::uint8_t, 2> magic{};
    if (!is_gzip(std::span(magic).first(read_fully(*open_file(path), magic)))) return;
    unpacked_ = std::make_unique<GzipSource>(path, *file_);
  }

  std::size_t read(std::span<std::uint8_t> to) override {
    return unpacked_ ? unpacked_->read(to) : file_->read(to);
  }

 private:
  std::unique_ptr<ByteSource> file_, unpacked_;
};

// A gzip stream's CRC stands at its end, after the archive's own.
void read_to_end(ByteSource& source) {
  std::array<std::uint8_t, std::size_t{1} << 16> rest{};
  while (source.read(rest) > 0) {
  }
}

}  // namespace

DataFiles DataFiles::in_folder(fs::path folder) {
  DataFiles files;
  files.where_ = std::move(folder);
  return files;
}

DataFiles DataFiles::in_archive(fs::path archive,
                                const std::function<bool(std::string_view)>& wanted) {
  DataFiles files;
  files.where_ = std::move(archive);
  files.is_folder_ = false;
  ArchiveSource source(files.where_);
  TarReader tar(files.where_, source);
  std::uint64_t held = 0;
  while (const std::optional<TarMember> member = tar.next()) {
    std::string name = fs::path(member->name).filename().string();
    if (!wanted(name)) continue;
    std::vector<std::uint8_t> bytes = tar.contents(kMostArchiveBytes - held);
    held += bytes.size();
    files.members_.insert_or_assign(std::move(name), Member{member->name, std::move(bytes)});
  }
  read_to_end(source);
  return files;
}

bool DataFiles::holds(std::string_view name) const {
  std::error_code ignored;  // absent and unreachable are one here: the caller says what is missing
  if (!is_folder_) return members_.contains(name);
  return fs::exists(where_ / name, ignored) && !fs::is_directory(where_ / name, ignored);
}

fs::path DataFiles::path_of(std::string_view name) const {
  const auto member = members_.find(name);
  return where_ / (member == members_.end() ? fs::path(name) : fs::path(member->second.path));
}

std::vector<std::uint8_t> DataFiles::take(std::string_view name) {
  if (is_folder_) return read_file(where_ / name);
  const auto member = members_.find(name);
  if (member == members_.end()) throw_data_error(where_, "holds no {}", name);
  return std::exchange(member->second.bytes, {});
}

bool is_archive(const fs::path& path) {
  ArchiveSource source(path);
  std::array<std::uint8_t, kTarBlock> first{};
  return read_fully(source, first) == first.size() && is_tar(first);
}

}  // namespace annulus
