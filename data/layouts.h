// The layouts in which CIFAR-10, CIFAR-100, MNIST and Fashion-MNIST are downloaded: which files
// make one, and how it is read. Invariant: the same images and labels come out of every layout of a
// set, in the same order. Called by recognise.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_files.h"
#include "data/dataset.h"

namespace annulus {

using Spellings = std::vector<std::string_view>;  // a file's names, any of which will do

struct Layout {
  std::string_view format;
  std::string_view archive;      // as downloaded; empty: its files come one by one
  std::vector<Spellings> files;  // without them it is not whole; others are optional
  std::size_t enough;            // so many of the files, and it is this layout
  void (*read)(DataFiles&, const Layout&, Datasets&);
};

// The layout that the files are of, whole or not; null: none that is known.
const Layout* layout_of(const DataFiles& files);

// Fills train, test, format and source. Throws UserError(data) naming the file, the fact and the
// fix; files that are missing are listed.
Datasets read_layout(DataFiles& files, const Layout& layout);

bool is_known_file(std::string_view name);  // one that some layout has
std::vector<std::string_view> known_archives();

std::string comma_separated(const std::vector<std::string>& names);

}  // namespace annulus
