// Looks for a data set's files: in the folder itself, in folders in it, in archives in it.
#include "data/recognise.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "data/data_error.h"
#include "data/data_files.h"
#include "data/file.h"
#include "data/layouts.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWhatIsRead =
    "CIFAR-10 or CIFAR-100, binary or Python version, MNIST or Fashion-MNIST, or a .tar.gz of a "
    "CIFAR; nothing is downloaded: docs/data.md says where to get them; or use --data synthetic";

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The folders in `folder` that hold a set; torchvision keeps MNIST's files one deeper, in raw.
std::vector<fs::path> folders_with_sets(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error) throw_data_error(folder, "cannot be read: {}", error.message());
  for (const fs::directory_entry& entry : entries)
    for (const fs::path& candidate : {entry.path(), entry.path() / "raw"})
      if (is_folder(candidate) && layout_of(DataFiles::in_folder(candidate)) != nullptr)
        found.push_back(candidate);
  return found;
}

std::vector<fs::path> archives_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const std::string_view archive : known_archives())
    if (DataFiles::in_folder(folder).holds(archive)) found.push_back(folder / archive);
  return found;
}

Datasets read_archive(const fs::path& archive) {
  DataFiles files = DataFiles::in_archive(archive, is_known_file);
  const Layout* layout = layout_of(files);
  if (layout == nullptr)
    throw_data_error(archive, "no data set in this archive; wanted: {}", kWhatIsRead);
  return read_layout(files, *layout);
}

Datasets read_folder(const fs::path& folder) {
  DataFiles files = DataFiles::in_folder(folder);
  if (const Layout* layout = layout_of(files)) return read_layout(files, *layout);
  std::vector<fs::path> found = folders_with_sets(folder);
  if (found.empty()) found = archives_in(folder);
  if (found.empty())
    throw_data_error(folder, "no data set in this folder; wanted: {}", kWhatIsRead);
  if (found.size() > 1) {
    std::sort(found.begin(), found.end());
    std::vector<std::string> names;
    for (const fs::path& path : found) names.push_back(path.lexically_relative(folder).string());
    throw_data_error(folder, "holds several data sets; name one of: {}", comma_separated(names));
  }
  return is_folder(found.front()) ? read_folder(found.front()) : read_archive(found.front());
}

}  // namespace

Datasets read_datasets(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw_data_error(path, "no such data folder or archive; wanted: {}", kWhatIsRead);
  if (error) throw_data_error(path, "cannot be examined: {}", error.message());
  if (fs::is_directory(status)) return read_folder(path);
  if (is_archive(path)) return read_archive(path);
  if (is_known_file(path.filename().string()))
    throw_data_error(path, "is one file of a data set; name its folder, {}",
                     fs::absolute(path, error).parent_path().string());
  std::array<std::uint8_t, 12> first{};
  const std::size_t size = read_fully(*open_file(path), first);
  throw_data_error(path,
                   "is a file, and not tar or gzipped tar (it begins with '{}'); name the folder "
                   "that holds all files of a data set, or its .tar.gz",
                   printable({reinterpret_cast<const char*>(first.data()), size}));
}

}  // namespace annulus
