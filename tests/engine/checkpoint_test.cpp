// Checkpoint files: every bit survives, any change of the file shows, and what is wrong with the
// newest costs no more than the newest.
#include "engine/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "data/file_writer.h"
#include "engine/checkpoint_folder.h"
#include "engine/model/models.h"
#include "kernels/philox.h"
#include "tests/data/data_files.h"
#include "tests/engine/files.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;
using test::says;

constexpr std::size_t kMoments = 2;

std::vector<float> noise(std::size_t count, std::uint32_t stream) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = uniform(philox(3, stream, 0, 0, static_cast<std::uint32_t>(i)).x) - 0.5f;
  return values;
}

// The padding between parameters is no number of the run: it is 0 before and after.
void blank_padding(const Model& model, std::vector<float>& flat) {
  std::vector<float> kept(flat.size(), 0.f);
  for (const Parameter* p : model.parameters())
    std::memcpy(&kept[p->slice.offset], &flat[p->slice.offset], p->count() * sizeof(float));
  flat = kept;
}

class Checkpoints : public testing::Test {
 protected:
  Snapshot snapshot(std::size_t updates) const {
    const GradientLayout& layout = model_.layout();
    Snapshot s{.state = {.updates = updates,
                         .epoch = 3,
                         .samples = 77,
                         .global_batch = 40,
                         .trained = 70,
                         .loss = 1. / 3,
                         .hits = 12,
                         .seconds = 0.1,
                         .schedule_begin = 5,
                         .schedule_progress = 0.7,
                         .rate_batch = 80,
                         .model = "seed-cnn",
                         .optimizer = "adam",
                         .data_checksum = "abc",
                         .seed = 18446744073709551615u},
               .parameters = noise(layout.parameters, 1),
               .running = noise(layout.statistics, 2),
               .moments = {noise(layout.parameters, 3), noise(layout.parameters, 4)}};
    for (std::vector<float>* flat : {&s.parameters, &s.moments[0], &s.moments[1]})
      blank_padding(model_, *flat);
    return s;
  }
  fs::path write(std::size_t updates) const {
    fs::path path = folder_.path() / ("step-" + std::to_string(updates) + ".safetensors");
    write_file(path, checkpoint_bytes(model_, snapshot(updates)));
    return path;
  }
  std::string newest() const {
    const std::optional<CheckpointFile> found = newest_checkpoint(folder_.path());
    return found ? found->path.filename().string() : "none";
  }

  test::TemporaryFolder folder_;
  Model model_ = seed_cnn({.image = {8, 8, 3}, .classes = 4});
};

TEST_F(Checkpoints, RoundTripKeepsEveryBit) {
  const Snapshot saved = snapshot(12);
  const CheckpointFile file = parse_checkpoint("some", checkpoint_bytes(model_, saved));
  EXPECT_EQ(file.state, saved.state);
  const Snapshot loaded = snapshot_of(file, model_, kMoments);
  EXPECT_EQ(loaded.parameters, saved.parameters);
  EXPECT_EQ(loaded.running, saved.running);
  EXPECT_EQ(loaded.moments, saved.moments);
}

// Case C06 and its kind: cut anywhere, longer, a bit turned anywhere, a hole, lengths that lie.
TEST_F(Checkpoints, AnyDamageIsAnError) {
  const std::vector<std::uint8_t> good = checkpoint_bytes(model_, snapshot(12));
  const auto error_after = [&](const std::function<void(std::vector<std::uint8_t>&)>& damage) {
    std::vector<std::uint8_t> bytes = good;
    damage(bytes);
    return test::data_error([&] { parse_checkpoint("some", bytes); });
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8},
                                 good.size() / 2, good.size() - 1})
    error_after([&](auto& bytes) { bytes.resize(size); });
  for (const std::size_t more : {1, 4096})
    error_after([&](auto& bytes) { bytes.resize(bytes.size() + more); });
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::size_t at = philox(5, 0, 0, 0, i).x % good.size();
    error_after([&](auto& bytes) { bytes[at] ^= 1u << i % 8; });
  }
  EXPECT_TRUE(says(error_after([](auto& bytes) {
                     std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
                                 4096, 0);
                   }),
                   "SHA-256"));
  for (std::size_t word = 0; word < 256; word += 8)
    error_after([&](auto& bytes) {
      const std::uint64_t huge = std::uint64_t{1} << 62;
      std::memcpy(bytes.data() + word, &huge, sizeof huge);
    });
}

// Case C08: nothing is loaded in part.
// A fraction, or a number too large to be one, where a whole number belongs.
TEST(RunStateText, IsReadOnlyAsItIsWritten) {
  const RunState good{.global_batch = 1, .rate_batch = 1};
  const std::string text = text_of(good);
  EXPECT_EQ(run_state_of(text, "file"), good);
  for (const char* wrong : {"1.5", "1e99", "-1", "true", "\"1\"", "[1]"}) {
    std::string changed = text;
    const std::string field = "\"updates\":";
    changed.replace(changed.find(field) + field.size(), 1, wrong);
    EXPECT_THROW(run_state_of(changed, "file"), UserError) << changed;
  }
}

// A checksum says that a file is whole, not that a run wrote it.
TEST(RunStateText, NumbersThatNoRunHasAreRefused) {
  const RunState good{.updates = 9, .global_batch = 1, .trained = 5, .rate_batch = 1};
  EXPECT_NO_THROW(run_state_of(text_of(good), "file"));
  std::vector<RunState> wrong(11, good);
  wrong[0].global_batch = 0;
  wrong[1].rate_batch = std::size_t{1} << 63;
  wrong[2].updates = std::size_t{1} << 63;
  wrong[3].schedule_begin = 10;
  wrong[4].schedule_progress = 1.5;
  wrong[5].hits = 6;
  wrong[6].samples = std::size_t{1} << 40;
  wrong[7].loss_scale = 3.3;  // no power of two
  wrong[8].loss_scale = 0x1p25;
  wrong[9].skipped = 10;
  wrong[10].skipped_before = 1;
  for (const RunState& state : wrong)
    EXPECT_THROW(run_state_of(text_of(state), "file"), UserError) << text_of(state);
}

TEST_F(Checkpoints, AnotherModelsCheckpointNamesTheTensorAndBothShapes) {
  const CheckpointFile file = parse_checkpoint("some", checkpoint_bytes(model_, snapshot(12)));
  const Model wider = seed_cnn({.image = {8, 8, 3}, .classes = 7});
  const std::string error = test::data_error([&] { snapshot_of(file, wider, kMoments); });
  for (const char* part : {"dense2.weight", "[4,128]", "[7,128]"})
    EXPECT_TRUE(says(error, part)) << error;
  const std::string missing = test::data_error([&] { snapshot_of(file, model_, 3); });
  EXPECT_TRUE(says(missing, "moment3")) << missing;
}

// Cases C02 and C04.
TEST_F(Checkpoints, TheNewestGoodOneIsTaken) {
  EXPECT_EQ(newest(), "none");
  for (const char* name : {"step_999.tmp", "step-000000050.safetensors.77.tmp", "step-.safetensors",
                           "step-5x.safetensors", "step-000000040"})
    write_file(folder_.path() / name, std::string_view("garbage"));
  EXPECT_EQ(newest(), "none");
  write(9);
  write(10);
  EXPECT_EQ(newest(), "step-10.safetensors");
  write_file(folder_.path() / "step-11.safetensors", std::string_view(""));
  testing::internal::CaptureStderr();
  EXPECT_EQ(newest(), "step-10.safetensors");
  EXPECT_TRUE(says(testing::internal::GetCapturedStderr(), "warning: "));
  fs::resize_file(folder_.path() / "step-10.safetensors", 5000);
  EXPECT_EQ(newest(), "step-9.safetensors");
  fs::resize_file(folder_.path() / "step-9.safetensors", 5000);
  const std::string error = test::data_error([&] { newest(); });
  EXPECT_TRUE(says(error, "none of its 3 checkpoints")) << error;
}

TEST_F(Checkpoints, TheWriterKeepsTheLastAndClearsWhatIsNotOfThisRun) {
  const fs::path folder = folder_.path() / "checkpoints";
  CheckpointWriter writer(model_, folder, 2, kMoments);
  write_file(folder / "step-000000001.safetensors.77.tmp", std::string_view("left by a kill"));
  write_file(folder / "step-000000999.safetensors", std::string_view("damaged"));
  for (const std::size_t updates : {10, 20, 30}) writer.save(snapshot(updates));
  writer.wait();
  EXPECT_EQ(writer.last().filename(), "step-000000030.safetensors");
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names,
            (std::vector<std::string>{"step-000000020.safetensors", "step-000000030.safetensors"}));
}

TEST_F(Checkpoints, WeightsThatAreNotFiniteAreNeverSaved) {
  CheckpointWriter writer(model_, folder_.path(), 2, kMoments);
  writer.save(snapshot(10));
  Snapshot bad = snapshot(20);
  bad.moments[1][3] = NAN;
  writer.save(bad);
  try {
    writer.wait();
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::diverged);
    EXPECT_TRUE(says(error.what(), "after update 20"));
  }
  EXPECT_EQ(newest(), "step-000000010.safetensors");
}

}  // namespace
}  // namespace annulus
