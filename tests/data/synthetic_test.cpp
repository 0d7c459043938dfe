// The synthetic set: the same bytes everywhere, balanced, equal on average over classes, and not to
// be learnt by a linear model.
#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace annulus {
namespace {

constexpr int kClasses = 10;

// Made once for all tests.
const Datasets& whole_set() {
  static const Datasets datasets = load_datasets({.spec = "synthetic"});
  return datasets;
}

std::vector<double> features(const Dataset& dataset, std::size_t image) {
  std::vector<double> x(dataset.image.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = (dataset.images[image * x.size() + i] - 127.5) / 64.0;
  return x;
}

// Softmax regression on the pixels in double precision, trained by plain SGD in mini-batches.
class LinearClassifier {
 public:
  explicit LinearClassifier(std::size_t inputs)
      : inputs_(inputs), weights_(kClasses * (inputs + 1)) {}

  void train(const Dataset& dataset, int steps, double rate) {
    constexpr std::size_t batch = 32;
    for (int step = 0; step < steps; ++step) {
      std::vector<double> gradient(weights_.size());
      for (std::size_t i = 0; i < batch; ++i) {
        const std::size_t image = (step * batch + i) % dataset.size();
        add_gradient(features(dataset, image), dataset.labels[image], gradient);
      }
      for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= rate / batch * gradient[i];
    }
  }

  double accuracy(const Dataset& dataset) const {
    std::size_t right = 0;
    for (std::size_t image = 0; image < dataset.size(); ++image) {
      const Scores scores = logits(features(dataset, image));
      right +=
          std::max_element(scores.begin(), scores.end()) - scores.begin() == dataset.labels[image];
    }
    return static_cast<double>(right) / static_cast<double>(dataset.size());
  }

 private:
  using Scores = std::array<double, kClasses>;

  Scores logits(const std::vector<double>& x) const {
    Scores scores{};
    for (std::size_t k = 0; k < kClasses; ++k) {
      const double* w = weights_.data() + k * (inputs_ + 1);
      scores[k] = w[inputs_];
      for (std::size_t i = 0; i < inputs_; ++i) scores[k] += w[i] * x[i];
    }
    return scores;
  }

  void add_gradient(const std::vector<double>& x, int label, std::vector<double>& gradient) const {
    Scores p = logits(x);
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& score : p) sum += score = std::exp(score - largest);
    for (int k = 0; k < kClasses; ++k) {
      const double error = p[k] / sum - (k == label ? 1 : 0);
      double* g = gradient.data() + k * (inputs_ + 1);
      for (std::size_t i = 0; i < inputs_; ++i) g[i] += error * x[i];
      g[inputs_] += error;
    }
  }

  std::size_t inputs_;
  std::vector<double> weights_;
};

double linear_accuracy(const Dataset& train, const Dataset& test) {
  LinearClassifier classifier(train.image.size());
  classifier.train(train, 150, 3e-3);
  return classifier.accuracy(test);
}

TEST(Synthetic, IsTheSameForASeedAndAnotherForAnother) {
  EXPECT_EQ(synthetic_images(1, 0, 20).images, synthetic_images(1, 0, 20).images);
  EXPECT_NE(synthetic_images(1, 0, 20).images, synthetic_images(2, 0, 20).images);
}

// Bytes are compared across machines and compilers by this checksum.
TEST(Synthetic, HasTheBytesItAlwaysHad) {
  EXPECT_EQ(whole_set().checksum,
            "3250774ece1e8fdcf92cc27c7c8bfa8626ec9e06c529b36da5df792fd0bbd649");
}

TEST(Synthetic, AnImageDependsOnItsIndexAlone) {
  const Dataset whole = synthetic_images(1, 0, 30), part = synthetic_images(1, 20, 10);
  EXPECT_TRUE(std::equal(part.images.begin(), part.images.end(),
                         whole.images.begin() + static_cast<long>(20 * whole.image.size())));
  EXPECT_EQ(part.labels, std::vector<std::uint8_t>(whole.labels.begin() + 20, whole.labels.end()));
}

TEST(Synthetic, ClassesAreBalancedInBothParts) {
  const Datasets& datasets = whole_set();
  for (const Dataset* dataset : {&datasets.train, &datasets.test}) {
    EXPECT_EQ(dataset->classes, kClasses);
    EXPECT_EQ(dataset->class_names.size(), std::size_t{kClasses});
    EXPECT_EQ(dataset->images.size(), dataset->size() * dataset->image.size());
    for (int k = 0; k < kClasses; ++k)
      EXPECT_EQ(std::count(dataset->labels.begin(), dataset->labels.end(), k),
                static_cast<long>(dataset->size()) / kClasses);
  }
  EXPECT_EQ(datasets.train.size(), 10000u);
  EXPECT_EQ(datasets.test.size(), 2000u);
}

// A pixel's standard deviation is about 30, so the mean of a class over 1,000 images has one of
// about 1 at a pixel and far less over all pixels.
TEST(Synthetic, ClassesHaveTheSameMeanImage) {
  const Dataset& train = whole_set().train;
  const std::size_t size = train.image.size();
  std::vector<double> sums(kClasses * size);
  for (std::size_t image = 0; image < train.size(); ++image)
    for (std::size_t i = 0; i < size; ++i)
      sums[train.labels[image] * size + i] += train.images[image * size + i];
  const double images = static_cast<double>(train.size()) / kClasses;
  double largest = 0;
  for (std::size_t i = 0; i < size; ++i) {
    double low = 255, high = 0;
    for (std::size_t k = 0; k < kClasses; ++k) {
      low = std::min(low, sums[k * size + i] / images);
      high = std::max(high, sums[k * size + i] / images);
    }
    largest = std::max(largest, high - low);
  }
  EXPECT_LT(largest, 8.0);
}

// Brightens a band of three rows that the class names: what a linear model can see.
Dataset with_bands(Dataset dataset) {
  const std::size_t band = std::size_t{3} * dataset.image.width * dataset.image.channels;
  for (std::size_t image = 0; image < dataset.size(); ++image) {
    std::uint8_t* first =
        dataset.images.data() + image * dataset.image.size() + dataset.labels[image] * band;
    std::transform(first, first + band, first, [](std::uint8_t pixel) {
      return static_cast<std::uint8_t>(std::min(pixel + 40, 255));
    });
  }
  return dataset;
}

// The same classifier in as many steps fails on the set as it is and succeeds once the classes
// differ in their means, so the failure is the set's doing.
TEST(Synthetic, ALinearModelDoesNotLearnIt) {
  const Dataset train = synthetic_images(1, 0, 1600), test = synthetic_images(1, 10000, 400);
  EXPECT_LE(linear_accuracy(train, test), 0.25);
  EXPECT_GE(linear_accuracy(with_bands(train), with_bands(test)), 0.90);
}

}  // namespace
}  // namespace annulus
