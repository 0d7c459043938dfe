// idx files: headers are believed only where the file's size agrees.
#include "data/idx.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

using test::Bytes;
using test::bytes_of;
using test::data_error;
using test::idx_images;
using test::idx_labels;
using test::says;

Dataset parse(const Bytes& images, const Bytes& labels) {
  Dataset dataset;
  dataset.classes = 10;
  append_idx({"images.gz", images}, {"labels", labels}, dataset);
  return dataset;
}

std::string error_of(const Bytes& images, const Bytes& labels = idx_labels({1, 2})) {
  return data_error([&] { parse(images, labels); });
}

TEST(Idx, ImagesAndLabelsPlainOrPacked) {
  const Dataset plain = parse(idx_images(2, 3, 5), idx_labels({4, 9}));
  EXPECT_EQ(plain.image.height, 3);
  EXPECT_EQ(plain.image.width, 5);
  EXPECT_EQ(plain.image.channels, 1);
  EXPECT_EQ(plain.labels, (Bytes{4, 9}));
  EXPECT_EQ(plain.images[(1 * 3 + 2) * 5 + 4], 11 + 2 * 2 + 9 * 4);
  const Dataset packed = parse(test::gzip(idx_images(2, 3, 5)), test::gzip(idx_labels({4, 9})));
  EXPECT_EQ(packed.images, plain.images);
  EXPECT_EQ(packed.labels, plain.labels);
}

// Cut or lengthened, a file is refused with both sizes.
TEST(Idx, EverySizeButTheRightOneIsRefused) {
  const Bytes whole = idx_images(2, 3, 5);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string message = error_of({whole.begin(), whole.begin() + static_cast<long>(size)});
    EXPECT_TRUE(says(message, std::to_string(size))) << message;
  }
  EXPECT_TRUE(says(error_of(test::joined({whole, {0}})),
                   "trailing data: 47 bytes, but the header's "
                   "2 images need 46"));
}

TEST(Idx, WhatIsWrongIsSaid) {
  EXPECT_TRUE(says(error_of({}), "images.gz: is empty"));
  EXPECT_TRUE(says(error_of(bytes_of("<html>moved</html>")),
                   "not gzip and not idx images: it begins "
                   "with '<html>moved<'"));
  EXPECT_TRUE(says(error_of(idx_labels({1, 2})), "0x00000801, not 0x00000803"));
  EXPECT_TRUE(says(error_of({0, 0, 8, 3, 0, 0, 0, 2}), "header is cut short: 8 bytes of 16"));
  EXPECT_TRUE(says(error_of(idx_images(0)), "holds 0 images"));
  EXPECT_TRUE(says(error_of(idx_images(2, 0, 5)), "images of 0x5 pixels"));
  EXPECT_TRUE(says(error_of(idx_images(3)), "labels: 2 labels for the 3 images in images.gz"));
  EXPECT_TRUE(says(error_of(idx_images(2), idx_labels({1, 10})), "label 10 of image 1 is above 9"));
  // 2^32 - 1 images of 4096 x 4096: counted without overflow, nothing is allocated.
  EXPECT_TRUE(says(error_of({0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 16, 0, 0, 0, 16, 0}),
                   "72057594021150736 vs 16 bytes"));
}

TEST(Idx, TestImagesHaveTheTrainingImagesShape) {
  Dataset dataset = parse(idx_images(2), idx_labels({1, 2}));
  const Bytes other = idx_images(1, 27, 28), labels = idx_labels({1});
  EXPECT_TRUE(says(data_error([&] {
                     append_idx({"t10k", other}, {"labels", labels}, dataset);
                   }),
                   "27x28 pixels, but the training images have 28x28"));
}

}  // namespace
}  // namespace annulus
