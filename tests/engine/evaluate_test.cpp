// Evaluation is exact: the mean over images whatever the batch, each image once.
#include <gtest/gtest.h>

#include "engine/evaluate.h"
#include "engine/model/models.h"
#include "tests/engine/tiny_training.h"

namespace annulus {
namespace {

TEST(Evaluate, DoesNotDependOnTheBatch) {
  const ImageShape image{8, 8, 3};
  const Dataset data = random_dataset(23, image, 5);
  TinyTraining trained(seed_cnn({.image = image, .classes = 5}), data,
                       {.samples = 23, .ranks = 1, .batch_per_rank = 8});
  trained.run(6, 0.05f);

  const ResidentData test(data, kTinyMean, kTinyStd);
  const Evaluation one_by_one =
      Evaluator(trained.model(), trained.device(), test, 1).run(trained.weights());
  EXPECT_EQ(one_by_one.samples, 23u);
  for (const int batch : {5, 8, 23, 500}) {
    const Evaluation result =
        Evaluator(trained.model(), trained.device(), test, batch).run(trained.weights());
    EXPECT_EQ(result.samples, 23u);
    EXPECT_EQ(result.accuracy, one_by_one.accuracy) << "batch " << batch;
    EXPECT_NEAR(result.loss, one_by_one.loss, 1e-5) << "batch " << batch;
  }
}

TEST(Evaluate, LeavesTheWeightsAlone) {
  const ImageShape image{8, 8, 3};
  const Dataset data = random_dataset(9, image, 5);
  TinyTraining trained(seed_cnn({.image = image, .classes = 5}), data,
                       {.samples = 9, .ranks = 1, .batch_per_rank = 9});
  trained.run(1, 0.05f);
  const auto parameters = trained.parameters(), running = trained.running();
  const ResidentData test(data, kTinyMean, kTinyStd);
  Evaluator(trained.model(), trained.device(), test, 4).run(trained.weights());
  EXPECT_EQ(trained.parameters(), parameters);
  EXPECT_EQ(trained.running(), running);
}

}  // namespace
}  // namespace annulus
