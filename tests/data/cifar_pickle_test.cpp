// CIFAR's dictionaries: read alike from every writer of pickles, refused with the numbers where
// their parts do not agree.
#include "data/cifar_pickle.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

using test::Bytes;
using test::CifarDictionary;
using test::data_error;
using test::Dialect;
using test::says;

// The pixels of `rows` records, without their labels.
Bytes planes(int rows) {
  Bytes bytes;
  for (int i = 0; i < rows; ++i) {
    const Bytes record = test::cifar_records(1, i);
    bytes.insert(bytes.end(), record.begin() + 1, record.end());
  }
  return bytes;
}

Dataset parse(const Cifar& cifar, const Bytes& bytes) {
  Dataset dataset = empty_cifar(cifar);
  append_cifar_pickle(cifar, "data_batch_1", bytes, dataset);
  return dataset;
}

std::string error_of(const Bytes& bytes, const Cifar& cifar = kCifar10) {
  return data_error([&] { parse(cifar, bytes); });
}

CifarDictionary python2() { return CifarDictionary(Dialect::python2); }

TEST(CifarPickle, EveryWriterSaysTheSame) {
  Dataset records = empty_cifar(kCifar10);
  append_cifar_records(kCifar10, "data_batch_1.bin", test::cifar_records(3), records);
  for (const Dialect dialect : test::kDialects) {
    SCOPED_TRACE(static_cast<int>(dialect));
    const Dataset read = parse(kCifar10, CifarDictionary(dialect)
                                             .labels("labels", {0, 1, 2})
                                             .array("data", 3, 3072, planes(3))
                                             .finished());
    EXPECT_EQ(read.labels, records.labels);
    EXPECT_EQ(read.images, records.images);
  }
}

TEST(CifarPickle, LabelsMayBeAnArray) {
  const Bytes labels = {7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
  const Bytes bytes =
      python2().array("labels", 2, 1, labels, "i8").array("data", 2, 3072, planes(2)).finished();
  EXPECT_EQ(parse(kCifar10, bytes).labels, (Bytes{7, 9}));
}

TEST(CifarPickle, OfCifar100TheFineLabelIsTheClass) {
  const Bytes bytes = python2()
                          .labels("fine_labels", {99, 0})
                          .labels("coarse_labels", {19, 3})
                          .array("data", 2, 3072, planes(2))
                          .finished();
  const Dataset read = parse(kCifar100, bytes);
  EXPECT_EQ(read.labels, (Bytes{99, 0}));
  EXPECT_EQ(read.coarse_labels, (Bytes{19, 3}));
  EXPECT_TRUE(says(error_of(bytes), "fine_labels (looks like CIFAR-100)"));
}

TEST(CifarPickle, Cifar10InPlaceOfCifar100IsNamed) {
  const Bytes bytes = python2().labels("labels", {1}).array("data", 1, 3072, planes(1)).finished();
  EXPECT_TRUE(says(error_of(bytes, kCifar100), "labels (looks like CIFAR-10)"));
}

TEST(CifarPickle, PartsThatDoNotAgreeAreSaidWithTheirNumbers) {
  const auto with_data = [](int rows, int columns, const Bytes& contents,
                            const char* dtype = "u1") {
    return python2()
        .labels("labels", {1, 2})
        .array("data", rows, columns, contents, dtype)
        .finished();
  };
  EXPECT_TRUE(says(error_of(with_data(3, 3072, planes(3))), "2 labels for 3 rows"));
  EXPECT_TRUE(says(error_of(with_data(1, 3072, planes(1))), "2 labels for 1 rows"));
  EXPECT_TRUE(says(error_of(with_data(2, 3072, Bytes(6143))), "6144 bytes, but holds 6143"));
  EXPECT_TRUE(says(error_of(with_data(2, 3071, planes(2))), "the shape (2, 3071)"));
  EXPECT_TRUE(says(error_of(with_data(2, 3072, planes(2), "f4")), "dtype <f4"));
  EXPECT_TRUE(says(error_of(with_data(0, 3072, {})), "no images"));
  EXPECT_TRUE(says(error_of(with_data(-1, 3072, {})), "not made of sizes"));
  EXPECT_TRUE(says(error_of(python2().labels("labels", {1}).finished()), "has no 'data'"));
  EXPECT_TRUE(
      says(error_of(python2().array("data", 1, 3072, planes(1)).finished()), "has no 'labels'"));
  EXPECT_TRUE(says(error_of(python2().labels("labels", {1}).labels("data", {1}).finished()),
                   "'data' is a list, not a numpy array"));
  EXPECT_TRUE(says(error_of({0x80, 2, 'N', '.'}), "holds None, not CIFAR's dictionary"));
}

// Columns first, the bytes are not one image after another.
TEST(CifarPickle, FortranOrderIsRefused) {
  Bytes bytes = python2().labels("labels", {1, 2}).array("data", 2, 3072, planes(2)).finished();
  const std::size_t flag = bytes.size() - planes(2).size() - 10;  // NEWFALSE, before the contents
  ASSERT_EQ(bytes[flag], 0x89);
  bytes[flag] = 0x88;
  EXPECT_TRUE(says(error_of(bytes), "'data' is stored in Fortran order"));
}

TEST(CifarPickle, ALabelThatIsNoClassIsNamedWithItsRow) {
  for (const int label : {10, -1, 1000000}) {
    const Bytes bytes =
        python2().labels("labels", {3, label}).array("data", 2, 3072, planes(2)).finished();
    EXPECT_TRUE(says(error_of(bytes), "label " + std::to_string(label) + " in row 1"));
  }
}

}  // namespace
}  // namespace annulus
