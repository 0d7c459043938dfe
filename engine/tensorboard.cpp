// See tensorboard.h.
#include "engine/tensorboard.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <ctime>
#include <limits>
#include <string>

#include "data/file.h"
#include "engine/metrics.h"
#include "engine/tensorboard_event.pb.h"
#include "engine/tfrecord.h"

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

// TensorBoard groups tags by what stands before the slash.
struct Tag {
  const char* tag;
  const char* field;  // of a line of metrics.jsonl, a JSON pointer
};
constexpr std::array kTags{Tag{"loss/train", "/loss"},
                           Tag{"loss/val", "/val_loss"},
                           Tag{"accuracy/train", "/accuracy"},
                           Tag{"accuracy/val", "/val_accuracy"},
                           Tag{"training/epoch", "/epoch"},
                           Tag{"training/learning_rate", "/learning_rate"},
                           Tag{"training/images_per_sec", "/images_per_sec"},
                           Tag{"communication/overlap", "/communication/overlap"},
                           Tag{"communication/step_ms", "/communication/step_ms"},
                           Tag{"communication/exposed_ms", "/communication/exposed_ms"},
                           Tag{"communication/waiting_ms", "/communication/waiting_ms"}};

constexpr const char *kBeginning = "events.out.tfevents.", *kEnding = ".annulus";

double seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

bool is_event_file(const std::filesystem::path& path) {
  return path.filename().string().starts_with(kBeginning) && path.extension() == kEnding;
}

// The one that is there, without what a kill cut off, or the name of a new one.
std::filesystem::path event_file(const std::filesystem::path& folder) {
  std::error_code error;  // a folder that cannot be read is not one that can be written
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!is_event_file(entry.path())) continue;
    const std::vector<std::uint8_t> bytes = read_file(entry.path());
    std::filesystem::resize_file(
        entry.path(), whole_tfrecords({reinterpret_cast<const char*>(bytes.data()), bytes.size()}),
        error);
    return entry.path();
  }
  return folder / fmt::format("{}{}{}", kBeginning, std::time(nullptr), kEnding);
}

std::string record(const tensorboard::Event& event) { return tfrecord(event.SerializeAsString()); }

// What a start writes: the format's version, and that nothing read before counts.
std::string start() {
  tensorboard::Event version, start;
  version.set_wall_time(seconds(std::chrono::system_clock::now()));
  start.set_wall_time(version.wall_time());
  version.set_file_version("brain.Event:2");
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  return record(version) + record(start);
}

}  // namespace

TensorBoardFile::TensorBoardFile(const std::filesystem::path& folder)
    : file_(event_file(folder), RecordFile::Earlier::stays, "leave out --tensorboard") {
  file_.append(start());
}

void TensorBoardFile::add(const Json& epoch) {
  tensorboard::Event event;
  event.set_wall_time(seconds(*parse_timestamp(epoch.at("time").get<std::string>())));
  event.set_step(epoch.value("updates", std::int64_t{0}));
  for (const auto& [tag, field] : kTags) {
    const Json::json_pointer pointer(field);
    if (!epoch.contains(pointer)) continue;
    const Json& number = epoch.at(pointer);
    tensorboard::Scalars::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(tag);
    value.set_simple_value(number.is_number() ? number.get<float>()
                                              : std::numeric_limits<float>::quiet_NaN());
  }
  file_.append(record(event));
}

}  // namespace annulus
