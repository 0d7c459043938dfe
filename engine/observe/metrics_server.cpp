// See metrics_server.h. Served by civetweb, as prometheus-cpp's own Exposer is, which knows no page
// but metrics.
#include "engine/observe/metrics_server.h"

#include <civetweb.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "comm/console.h"
#include "comm/socket.h"
#include "engine/observe/metrics_page.h"
#include "engine/observe/quiet_thread.h"

namespace annulus {
namespace {

constexpr std::chrono::milliseconds kBetweenKnocks{5};

struct Page {
  int code = 200;
  const char* type = "text/plain; charset=utf-8";
  std::string text;
};

Page page_of(std::string_view path, const LiveRun& run) {
  const RunSnapshot snapshot = run.snapshot();
  if (path == "/metrics")
    return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_page(snapshot)};
  if (path == "/healthz") return {.text = "ok\n"};
  if (path == "/readyz") {
    if (snapshot.ready()) return {.text = "ok\n"};
    return {.code = 503, .text = "looks for the other nodes\n"};
  }
  return {.code = 404, .text = "there are /metrics, /healthz and /readyz\n"};
}

const char* words_of(int code) {
  return code == 200   ? "OK"
         : code == 503 ? "Service Unavailable"
         : code == 404 ? "Not Found"
                       : "Method Not Allowed";
}

int answer(mg_connection* connection) {
  const mg_request_info& request = *mg_get_request_info(connection);
  const auto& run = *static_cast<const LiveRun*>(request.user_data);
  const std::string_view method = request.request_method;
  Page page{.code = 405, .text = "only GET\n"};
  if (method == "GET" || method == "HEAD")
    page = page_of(request.local_uri ? request.local_uri : "", run);
  const std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
      page.code, words_of(page.code), page.type, page.text.size());
  mg_write(connection, head.data(), head.size());
  if (method != "HEAD") mg_write(connection, page.text.data(), page.text.size());
  return page.code;
}

// civetweb's own words would go to stderr, a line for each client that hangs up.
int say_nothing(const mg_connection*, const char*) { return 1; }

// civetweb tells only that it cannot; the system's reason comes from trying once more.
std::string why_not(int port) try {
  listen_on("", static_cast<std::uint16_t>(port));
  return "the port cannot be had";
} catch (const NetError& error) {
  return error.what();
}

class CivetServer : public MetricsServer {
 public:
  CivetServer(mg_context* context, int port) : context_(context), port_(port) {}
  ~CivetServer() override;
  CivetServer(const CivetServer&) = delete;
  CivetServer& operator=(const CivetServer&) = delete;

 private:
  mg_context* context_;
  const int port_;
};

// civetweb looks every two seconds whether it is to stop, and whenever somebody connects: a run's
// end does not wait so long.
CivetServer::~CivetServer() {
  std::atomic<bool> stopped{false};
  std::thread stops = quiet_thread("annulus-metrics", [this, &stopped] {
    mg_stop(context_);
    stopped = true;
  });
  while (!stopped) try {
      connect_to("127.0.0.1", static_cast<std::uint16_t>(port_), after(kBetweenKnocks));
      std::this_thread::sleep_for(kBetweenKnocks);
    } catch (const NetError&) {  // it listens no more
      std::this_thread::sleep_for(kBetweenKnocks);
    }
  stops.join();
}

}  // namespace

std::unique_ptr<MetricsServer> MetricsServer::start(int port, const LiveRun& run) {
  const std::string both_families = fmt::format("+{}", port), ipv4 = std::to_string(port);
  mg_callbacks callbacks{};
  callbacks.log_message = &say_nothing;
  callbacks.begin_request = &answer;
  const SignalsBlocked blocked;
  // A client that is slow holds a thread, and probes must not queue behind it. A machine without
  // IPv6 has no socket for both.
  for (const std::string& ports : {both_families, ipv4}) {
    const std::array<const char*, 9> options{
        "listening_ports",   ports.c_str(), "num_threads", "16", "request_timeout_ms", "5000",
        "enable_keep_alive", "no",          nullptr};
    mg_context* context =
        mg_start(&callbacks, const_cast<LiveRun*>(&run), const_cast<const char**>(options.data()));
    if (context) return std::make_unique<CivetServer>(context, port);
  }
  note(
      fmt::format("annulus: --metrics-port {}: {}; no metrics are served, training goes on; choose "
                  "another port, above 1023 if you are not root, or end the program that has it\n",
                  port, why_not(port)));
  return nullptr;
}

bool serves_metrics(const Identity& identity) {
  if (identity.nodes) return identity.rank % identity.ranks_a_node() == 0;
  return identity.local_rank == 0;
}

}  // namespace annulus
