// The folder and the records of CIFAR-10's binary version. What looks like another version of the
// data (gzip, Python pickle, CIFAR-100) is named as such: a file of the wrong kind, read as
// records, would train on noise.
#include "data/cifar.h"

#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "data/checksum.h"
#include "data/data_error.h"
#include "data/file.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32, kChannels = 3, kClasses = 10;
constexpr std::size_t kPlane = std::size_t{kSide} * kSide;
constexpr std::size_t kRecord = 1 + kPlane * kChannels;
constexpr std::size_t kFullTrainSet = 50000;
constexpr std::size_t kCifar100Record = kRecord + 1;  // a coarse label, then a fine one

constexpr std::array<std::string_view, 5> kTrainFiles = {"data_batch_1.bin", "data_batch_2.bin",
                                                         "data_batch_3.bin", "data_batch_4.bin",
                                                         "data_batch_5.bin"};
constexpr std::string_view kTestFile = "test_batch.bin";
constexpr std::string_view kArchive = "cifar-10-binary.tar.gz";
constexpr std::string_view kArchiveFolder = "cifar-10-batches-bin";
constexpr std::string_view kUnpackAgain = "unpack cifar-10-binary.tar.gz again";

// Absent and unreachable are one here: the caller says what is missing.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<std::string_view> missing_files(const fs::path& folder) {
  std::vector<std::string_view> missing;
  for (const std::string_view name : kTrainFiles)
    if (!is_there(folder / name)) missing.push_back(name);
  if (!is_there(folder / kTestFile)) missing.push_back(kTestFile);
  return missing;
}

std::string comma_separated(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

// No file of the binary version is there: say what is there instead, if we know it.
[[noreturn]] void throw_no_files(const fs::path& folder) {
  if (is_there(folder / "data_batch_1") || is_there(folder / "cifar-10-batches-py"))
    throw_data_error(folder,
                     "holds CIFAR-10's Python version (pickle), which is not read; get the binary "
                     "version, {}, and name its folder {}",
                     kArchive, kArchiveFolder);
  if (is_there(folder / "train.bin"))
    throw_data_error(
        folder, "looks like CIFAR-100 (train.bin), which is not read; get CIFAR-10, {}", kArchive);
  if (is_there(folder / kArchive))
    throw_data_error(folder, "{0} is not unpacked; run there: tar -xzf {0}", kArchive);
  throw_data_error(folder,
                   "no CIFAR-10 file in this folder ({} to {}, {}); unpack {} there (nothing is "
                   "downloaded), or use --data synthetic",
                   kTrainFiles.front(), kTrainFiles.back(), kTestFile, kArchive);
}

void check_is_folder(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw_data_error(path,
                     "no such data folder; name the folder that {} was unpacked to (nothing is "
                     "downloaded), or use --data synthetic",
                     kArchive);
  if (error) throw_data_error(path, "cannot be examined: {}", error.message());
  if (!fs::is_directory(status))
    throw_data_error(path, "is not a folder; name the folder that holds {}", kTrainFiles.front());
}

// The folder itself, or the one in it that the archive unpacks to.
fs::path find_files(const fs::path& folder) {
  check_is_folder(folder);
  for (const fs::path& candidate : {folder, folder / kArchiveFolder}) {
    const std::vector<std::string_view> missing = missing_files(candidate);
    if (missing.empty()) return candidate;
    if (missing.size() <= kTrainFiles.size())
      throw_data_error(candidate, "missing {}; {}", comma_separated(missing), kUnpackAgain);
  }
  throw_no_files(folder);
}

void check_holds_records(const fs::path& path, std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw_data_error(path, "is empty; {}", kUnpackAgain);
  if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
    throw_data_error(path, "holds gzip data; run: mv {0} {0}.gz && gunzip {0}.gz", path.string());
  if (bytes[0] == 0x80)
    throw_data_error(path, "holds a Python pickle, not binary records; get {}", kArchive);
  if (bytes.size() % kRecord == 0) return;
  if (bytes.size() % kCifar100Record == 0)
    throw_data_error(path,
                     "{} is not a multiple of {} (CIFAR-100 record is {}): this looks like "
                     "CIFAR-100; get CIFAR-10, {}",
                     bytes.size(), kRecord, kCifar100Record, kArchive);
  throw_data_error(path,
                   "{} bytes is not a multiple of {}, the size of a record: cut short or damaged; "
                   "{}",
                   bytes.size(), kRecord, kUnpackAgain);
}

// [C,H,W] -> [H,W,C]
void interleave(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < kPlane; ++i)
    for (std::size_t c = 0; c < kChannels; ++c) pixels[i * kChannels + c] = planes[c * kPlane + i];
}

// From batches.meta.txt, where it is there and whole; the names are for people only.
std::vector<std::string> read_class_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::ifstream meta(folder / "batches.meta.txt");
  for (std::string line; std::getline(meta, line);)
    if (!line.empty()) names.push_back(line);
  if (names.size() == kClasses) return names;
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

}  // namespace

Dataset empty_cifar10() {
  Dataset dataset;
  dataset.name = "CIFAR-10";
  dataset.image = {kSide, kSide, kChannels};
  dataset.classes = kClasses;
  return dataset;
}

void append_cifar10_records(const fs::path& path, std::span<const std::uint8_t> bytes,
                            Dataset& dataset) {
  check_holds_records(path, bytes);
  const std::size_t first = dataset.size(), records = bytes.size() / kRecord;
  dataset.images.resize((first + records) * dataset.image.size());
  for (std::size_t record = 0; record < records; ++record) {
    const std::uint8_t* label = bytes.data() + record * kRecord;
    if (*label >= kClasses)
      throw_data_error(path, "label {} in record {} is above {}: damaged, or not CIFAR-10; {}",
                       *label, record, kClasses - 1, kUnpackAgain);
    dataset.labels.push_back(*label);
    interleave(label + 1, dataset.images.data() + (first + record) * dataset.image.size());
  }
}

Datasets read_cifar10(const fs::path& folder) {
  const fs::path found = find_files(folder);
  Datasets datasets;
  datasets.source = found.string();
  datasets.train = datasets.test = empty_cifar10();
  datasets.train.class_names = datasets.test.class_names = read_class_names(found);
  datasets.train.images.reserve(kFullTrainSet * datasets.train.image.size());
  Sha256 checksum;
  const auto append = [&](std::string_view name, Dataset& dataset) {
    const std::vector<std::uint8_t> bytes = read_file(found / name);
    checksum.add(bytes);
    append_cifar10_records(found / name, bytes, dataset);
  };
  for (const std::string_view name : kTrainFiles) append(name, datasets.train);
  append(kTestFile, datasets.test);
  datasets.checksum = checksum.finish();
  return datasets;
}

}  // namespace annulus
