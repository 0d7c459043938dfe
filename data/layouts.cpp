// The table of layouts: which files make one, and how each is read.
#include "data/layouts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "data/cifar.h"
#include "data/cifar_pickle.h"
#include "data/data_error.h"
#include "data/data_files.h"
#include "data/idx.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

// The name under which the file is there, or its usual one.
std::string_view present(const DataFiles& files, const Spellings& spellings) {
  const auto found = std::find_if(spellings.begin(), spellings.end(),
                                  [&](std::string_view name) { return files.holds(name); });
  return found == spellings.end() ? spellings.front() : *found;
}

constexpr std::size_t kFullTrainSet = 50000;

void start(const Cifar& cifar, Datasets& datasets) {
  datasets.train = datasets.test = empty_cifar(cifar);
  datasets.train.images.reserve(kFullTrainSet * kCifarPixels);
}

std::vector<std::string> lines(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::string> lines;
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(printable(line));
  }
  return lines;
}

// The last of a layout's files is the test set, the others are the training set.
template <class Append>
void read_cifar_files(const Cifar& cifar, DataFiles& files, const Layout& layout,
                      const std::vector<std::string>& class_names, Datasets& datasets,
                      Append append) {
  start(cifar, datasets);
  for (Dataset* dataset : {&datasets.train, &datasets.test}) set_class_names(class_names, *dataset);
  for (const Spellings& file : layout.files) {
    const std::string_view name = file.front();
    const std::vector<std::uint8_t> bytes = files.take(name);
    Dataset& dataset = &file == &layout.files.back() ? datasets.test : datasets.train;
    append(cifar, files.path_of(name), bytes, dataset);
  }
}

void read_records(const Cifar& cifar, std::string_view names_file, DataFiles& files,
                  const Layout& layout, Datasets& datasets) {
  std::vector<std::string> names;
  if (files.holds(names_file)) names = lines(files.take(names_file));
  read_cifar_files(cifar, files, layout, names, datasets, append_cifar_records);
}

void read_pickles(const Cifar& cifar, std::string_view names_file, std::string_view names_key,
                  DataFiles& files, const Layout& layout, Datasets& datasets) {
  std::vector<std::string> names;
  if (files.holds(names_file)) {
    const std::vector<std::uint8_t> bytes = files.take(names_file);
    names = pickled_names(files.path_of(names_file), bytes, names_key);
  }
  read_cifar_files(cifar, files, layout, names, datasets, append_cifar_pickle);
}

// MNIST and Fashion-MNIST have the same files; the labels that each begins with tell them apart,
// and for parts of a set the name of the folder.
bool is_fashion(const DataFiles& files, const Dataset& train) {
  constexpr std::array<std::uint8_t, 10> fashion = {9, 0, 0, 3, 0, 2, 7, 2, 5, 5};
  if (train.size() >= fashion.size() &&
      std::equal(fashion.begin(), fashion.end(), train.labels.begin()))
    return true;
  const std::filesystem::path& where = files.where();  // in torchvision's FashionMNIST/raw, say
  std::string folder = (where.parent_path().filename() / where.filename()).string();
  std::transform(folder.begin(), folder.end(), folder.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return folder.find("fashion") != std::string::npos;
}

void read_idx_files(DataFiles& files, const Layout& layout, Datasets& datasets) {
  const auto append = [&](std::size_t first_file, Dataset& dataset) {
    const std::string_view images = present(files, layout.files[first_file]),
                           labels = present(files, layout.files[first_file + 1]);
    const std::vector<std::uint8_t> image_bytes = files.take(images),
                                    label_bytes = files.take(labels);
    dataset.classes = 10;
    append_idx({files.path_of(images), image_bytes}, {files.path_of(labels), label_bytes}, dataset);
  };
  append(0, datasets.train);
  datasets.test.image = datasets.train.image;
  append(2, datasets.test);
  const bool fashion = is_fashion(files, datasets.train);
  for (Dataset* dataset : {&datasets.train, &datasets.test}) {
    dataset->name = fashion ? "Fashion-MNIST" : "MNIST";
    dataset->class_names =
        fashion
            ? std::vector<std::string>{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                       "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"}
            : std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  }
}

template <std::size_t n>
std::vector<Spellings> train_and_test(const std::array<std::string_view, n>& train,
                                      std::string_view test) {
  std::vector<Spellings> files;
  for (const std::string_view name : train) files.push_back({name});
  files.push_back({test});
  return files;
}

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> table = {
      {"CIFAR-10, binary version", "cifar-10-binary.tar.gz",
       train_and_test(kCifar10TrainRecords, "test_batch.bin"), 1,
       [](DataFiles& files, const Layout& layout, Datasets& datasets) {
         read_records(kCifar10, "batches.meta.txt", files, layout, datasets);
       }},
      {"CIFAR-10, Python version", "cifar-10-python.tar.gz",
       train_and_test(kCifar10TrainPickles, "test_batch"), 1,
       [](DataFiles& files, const Layout& layout, Datasets& datasets) {
         read_pickles(kCifar10, "batches.meta", "label_names", files, layout, datasets);
       }},
      {"CIFAR-100, binary version",
       "cifar-100-binary.tar.gz",
       {{"train.bin"}, {"test.bin"}},
       1,
       [](DataFiles& files, const Layout& layout, Datasets& datasets) {
         read_records(kCifar100, "fine_label_names.txt", files, layout, datasets);
       }},
      // Many a folder has a file called train or test: one of them is not enough.
      {"CIFAR-100, Python version",
       "cifar-100-python.tar.gz",
       {{"train"}, {"test"}},
       2,
       [](DataFiles& files, const Layout& layout, Datasets& datasets) {
         read_pickles(kCifar100, "meta", "fine_label_names", files, layout, datasets);
       }},
      {"idx files",
       "the four files of MNIST",
       {{"train-images-idx3-ubyte", "train-images.idx3-ubyte", "train-images-idx3-ubyte.gz",
         "train-images.idx3-ubyte.gz"},
        {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte", "train-labels-idx1-ubyte.gz",
         "train-labels.idx1-ubyte.gz"},
        {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", "t10k-images-idx3-ubyte.gz",
         "t10k-images.idx3-ubyte.gz"},
        {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte", "t10k-labels-idx1-ubyte.gz",
         "t10k-labels.idx1-ubyte.gz"}},
       1,
       read_idx_files},
  };
  return table;
}

std::vector<std::string> missing_files(const DataFiles& files, const Layout& layout) {
  std::vector<std::string> missing;
  for (const Spellings& file : layout.files)
    if (!files.holds(present(files, file))) missing.emplace_back(file.front());
  return missing;
}

}  // namespace

std::string comma_separated(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

bool is_known_file(std::string_view name) {
  constexpr std::array<std::string_view, 4> optional = {"batches.meta.txt", "batches.meta",
                                                        "fine_label_names.txt", "meta"};
  if (std::find(optional.begin(), optional.end(), name) != optional.end()) return true;
  for (const Layout& layout : layouts())
    for (const Spellings& file : layout.files)
      if (std::find(file.begin(), file.end(), name) != file.end()) return true;
  return false;
}

const Layout* layout_of(const DataFiles& files) {
  for (const Layout& layout : layouts())
    if (layout.files.size() - missing_files(files, layout).size() >= layout.enough) return &layout;
  return nullptr;
}

Datasets read_layout(DataFiles& files, const Layout& layout) {
  if (const auto missing = missing_files(files, layout); !missing.empty())
    throw_data_error(files.where(), "{}: missing {}; get {} again", layout.format,
                     comma_separated(missing), layout.archive.empty() ? "them" : layout.archive);
  Datasets datasets;
  datasets.source = files.where().string();
  datasets.format = layout.format;
  layout.read(files, layout, datasets);
  return datasets;
}

std::vector<std::string_view> known_archives() {
  std::vector<std::string_view> archives;
  for (const Layout& layout : layouts())
    if (!layout.archive.empty()) archives.push_back(layout.archive);
  return archives;
}

}  // namespace annulus
