// See start_log.h.
#include "engine/start_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/metrics.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

// As long as the ranks of a launcher that was killed a moment ago may take to end.
constexpr std::chrono::seconds kGrace{3};

// False where another process holds the lock and keeps it. A file system without locks is no reason
// not to train.
bool lock_within(int descriptor, std::chrono::seconds grace) {
  const auto deadline = steady_clock::now() + grace;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Json line_of(const char* event, std::size_t updates) {
  return {{"time", timestamp(std::chrono::system_clock::now())},
          {"event", event},
          {"updates", updates}};
}

bool says(const std::string& text, const char* event) {
  const Json line = Json::parse(text, nullptr, false);
  return line.is_object() && line.contains("event") && line["event"] == event;
}

bool is_start_from(const std::string& text, std::size_t updates) try {
  return says(text, "start") && Json::parse(text).at("updates") == updates;
} catch (const Json::exception&) {
  return false;
}

}  // namespace

StartLog::StartLog(const std::filesystem::path& file)
    : file_(file), descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  const int open_error = errno;
  if (descriptor_ < 0)
    throw UserError(ExitCode::storage,
                    fmt::format("{}: cannot be opened: {}; choose another folder with --out",
                                file.string(), std::strerror(open_error)));
  if (!lock_within(descriptor_, kGrace)) {
    close(descriptor_);
    throw UserError(ExitCode::refused,
                    fmt::format("{}: another process trains in this folder; wait for its end, or "
                                "choose another folder with --out",
                                file.parent_path().string()));
  }
}

StartLog::~StartLog() { close(descriptor_); }

void StartLog::expect_progress(std::size_t updates, std::size_t most) const {
  if (most && starts_in_a_row(updates) >= most)
    throw UserError(
        ExitCode::stuck,
        fmt::format("{}: {} starts after update {} came to no further checkpoint; look at their "
                    "last words, then raise --starts-per-update or remove this file to try again",
                    file_.string(), most, updates));
}

void StartLog::started(const RunState& state, const std::vector<std::string>& command) {
  Json line = line_of("start", state.updates);
  line["global_batch"] = state.global_batch;
  line["command"] = command;
  append(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void StartLog::ended(const char* how, std::size_t updates) { append(line_of(how, updates).dump()); }

void StartLog::failed(const std::string& reason) noexcept try {
  append(Json{{"time", timestamp(std::chrono::system_clock::now())},
              {"event", "failed"},
              {"reason", reason}}
             .dump(-1, ' ', false, Json::error_handler_t::replace));
} catch (...) {  // the failure that is under way counts more
}

// The file's last lines, as long as they are starts from there.
std::size_t StartLog::starts_in_a_row(std::size_t updates) const {
  std::size_t count = 0;
  std::ifstream stream(file_);
  for (std::string text; std::getline(stream, text);) {
    if (!says(text, "failed")) count = is_start_from(text, updates) ? count + 1 : 0;
  }
  return count;
}

void StartLog::append(const std::string& line) const {
  const std::string text = line + '\n';
  if (write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw UserError(ExitCode::storage, fmt::format("{}: cannot be written: {}; free space there",
                                                   file_.string(), std::strerror(errno)));
}

}  // namespace annulus
