// See status_reporter.h.
#include "engine/observe/status_reporter.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "engine/observe/quiet_thread.h"
#include "engine/observe/status_body.h"
#include "kernels/environment.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

constexpr const char* kUrl = "KUBEFLOW_TRAINER_SERVER_URL";
constexpr const char* kCaFile = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
constexpr const char* kTokenFile = "KUBEFLOW_TRAINER_SERVER_TOKEN";

const DeclaredEnvironment kDeclared(
    "Status of a Kubeflow TrainJob (rank 0 reports where all three are set)",
    {{kUrl, "", "set by Kubeflow Trainer", "where progress and metrics are sent"},
     {kCaFile, "", "set by Kubeflow Trainer", "file of the CA that signed for that server"},
     {kTokenFile, "", "set by Kubeflow Trainer", "file of the token that the server asks for"}});

// A URL may hold a password, which is for no log.
std::string shown(const std::string& url) {
  const auto begin = url.find("://");
  if (begin == url.npos) return printable(url);
  const auto host = begin + 3, at = url.find_last_of('@', url.find('/', host));
  if (at == url.npos || at < host) return printable(url);
  return printable(url.substr(0, host) + url.substr(at + 1));
}

const char* fix_for(const PostAnswer& answer) {
  if (!answer.sent)
    return "KUBEFLOW_TRAINER_SERVER_TOKEN and _CA_CERT must name the files that the controller "
           "mounts";
  switch (answer.code) {
    case 0:
      return "is the controller up, is the mounted CA its own, and does a NetworkPolicy let port "
             "10443 through?";
    case 403:
      return "its token was not accepted; is this pod of the TrainJob that the URL names?";
    case 404:
      return "the TrainJob is gone, or its controller serves no status (gate TrainJobStatus)";
    case 413:
    case 422:
      return "its controller wants another form; which release is it?";
    default:
      return "look at the log of Trainer's controller";
  }
}

}  // namespace

std::optional<StatusServer> status_server_of(const Environment& environment,
                                             const std::function<void(const std::string&)>& warn) {
  const auto text = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value ? value : "");
  };
  StatusServer server{text(kUrl), text(kCaFile), text(kTokenFile)};
  if (server.url.empty() && server.ca_file.empty() && server.token_file.empty())
    return std::nullopt;
  for (const auto& [name, value] : {std::pair{kUrl, server.url}, std::pair{kCaFile, server.ca_file},
                                    std::pair{kTokenFile, server.token_file}})
    if (value.empty()) {
      warn(
          fmt::format("the TrainJob's status is not reported: {} is not set beside the others; "
                      "Kubeflow Trainer sets all three",
                      name));
      return std::nullopt;
    }
  if (!server.url.starts_with("https://")) {
    warn(
        fmt::format("the TrainJob's status is not reported: {} '{}' is not https, and the token "
                    "would be seen; unset it",
                    kUrl, shown(server.url)));
    return std::nullopt;
  }
  return server;
}

StatusReporter::StatusReporter(StatusServer server, const LiveRun& run, Warn warn, Pace pace)
    : server_(std::move(server)),
      run_(run),
      warn_(std::move(warn)),
      pace_(pace),
      gap_(pace.gap),
      next_(Clock::now() + pace.gap) {
  thread_ = quiet_thread("annulus-status", [this] { this->run(); });
}

StatusReporter::~StatusReporter() {
  if (!thread_.joinable()) return;
  cancelled_ = true;
  {
    const std::lock_guard lock(mutex_);
    wish_ = Wish::stop;
  }
  changed_.notify_all();
  thread_.join();
}

void StatusReporter::finish() {
  {
    const std::lock_guard lock(mutex_);
    wish_ = Wish::finish;
  }
  changed_.notify_all();
  thread_.join();
}

void StatusReporter::run() try {
  while (wait()) {
    const RunSnapshot snapshot = run_.snapshot();
    if (has_news(snapshot))
      post(snapshot);
    else
      next_ = Clock::now() + pace_.gap / 5;
  }
  if (const std::lock_guard lock(mutex_); wish_ != Wish::finish) return;
  post(run_.snapshot());
} catch (const std::exception& error) {  // memory
  warn_once({.reason = error.what(), .sent = false});
}

// False where no further regular POST is to come: at once to stop, in its time to finish.
bool StatusReporter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, next_, [this] { return wish_ != Wish::go_on; });
  if (wish_ == Wish::finish && last_post_)
    changed_.wait_until(lock, *last_post_ + pace_.gap, [this] { return wish_ == Wish::stop; });
  return wish_ == Wish::go_on;
}

bool StatusReporter::has_news(const RunSnapshot& snapshot) const {
  return !last_was_taken_ || progress_percentage(snapshot) != last_percentage_ ||
         snapshot.epochs != last_epochs_ || Clock::now() >= *last_post_ + pace_.unchanged;
}

void StatusReporter::post(const RunSnapshot& snapshot) {
  last_post_ = Clock::now();
  const PostAnswer answer =
      post_status(server_, status_body(snapshot, std::chrono::system_clock::now()),
                  pace_.time_limit, cancelled_);
  last_was_taken_ = answer.taken();
  gap_ = answer.taken() ? pace_.gap : std::min(pace_.most, 2 * gap_);
  next_ = *last_post_ + gap_;
  if (answer.taken()) {
    last_percentage_ = progress_percentage(snapshot);
    last_epochs_ = snapshot.epochs;
  } else {
    warn_once(answer);
  }
}

void StatusReporter::warn_once(const PostAnswer& answer) {
  if (warned_ || cancelled_) return;
  warned_ = true;
  warn_(
      fmt::format("the TrainJob's status is not reported: {}: {}; {}; training goes on, and so "
                  "do the tries",
                  shown(server_.url), answer.reason, fix_for(answer)));
}

}  // namespace annulus
