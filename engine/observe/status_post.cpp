// See status_post.h. Each POST has a connection of its own: five seconds are longer than a
// connection is worth keeping, and a new CA then counts at once.
#include "engine/observe/status_post.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

namespace annulus {
namespace {

constexpr std::size_t kMostOfFile = 1 << 20;  // of a token or a CA: the end of a run waits for it
constexpr std::size_t kMostOfAnswer = 16384;  // is read; the rest is not waited for
constexpr std::size_t kMostOfMessage = 200;   // is said

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

std::string text_of(const std::string& path, const char* what) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (exists(status) && !is_regular_file(status))  // a pipe or a device may never end
    throw std::runtime_error(fmt::format("{} {} is no file", what, path));
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostOfFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.empty())
    throw std::runtime_error(fmt::format("{} {} cannot be read", what, path));
  if (text.size() > kMostOfFile)
    throw std::runtime_error(fmt::format("{} {} is longer than 1 MiB", what, path));
  return text;
}

std::string token_of(const std::string& path) {
  std::string token = text_of(path, "the token");
  token.erase(token.find_last_not_of(" \r\n\t") + 1);
  if (token.empty() || token.find_first_of(" \r\n\t") != token.npos)
    throw std::runtime_error(fmt::format("{} is no token", path));
  return token;
}

// libcurl's callbacks.
std::size_t take_answer(const char* data, std::size_t, std::size_t bytes, void* answer) {
  auto& text = *static_cast<std::string*>(answer);
  if (text.size() + bytes > kMostOfAnswer) return 0;
  text.append(data, bytes);
  return bytes;
}

int is_cancelled(void* cancelled, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(cancelled)->load() ? 1 : 0;
}

template <class Value>
void set(const Handle& handle, CURLoption option, Value value) {
  if (const CURLcode code = curl_easy_setopt(handle.get(), option, value); code != CURLE_OK)
    throw std::runtime_error(fmt::format("libcurl: {}", curl_easy_strerror(code)));
}

// What the server's metav1.Status says.
std::string message_of(const std::string& answer) {
  const auto status = nlohmann::json::parse(answer, nullptr, false);
  if (!status.is_object() || !status.contains("message") || !status["message"].is_string())
    return "";
  std::string message = status["message"].get<std::string>().substr(0, kMostOfMessage);
  std::ranges::replace_if(
      message, [](unsigned char c) { return std::isprint(c) == 0; }, '?');
  return message;
}

PostAnswer answer_of(const Handle& handle, CURLcode result, const char* error,
                     const std::string& text) {
  PostAnswer answer;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answer.code);
  if (answer.code == 0 ||
      (answer.code == 200 && result != CURLE_OK && result != CURLE_WRITE_ERROR)) {
    answer.code = 0;
    answer.reason = *error ? error : curl_easy_strerror(result);
  } else if (answer.code != 200) {
    const std::string message = message_of(text);
    answer.reason = fmt::format("HTTP {}{}{}", answer.code, message.empty() ? "" : ": ", message);
  }
  return answer;
}

PostAnswer post(const StatusServer& server, const std::string& body,
                std::chrono::milliseconds time_limit, const std::atomic<bool>& cancelled) {
  const std::string token = token_of(server.token_file);
  std::string ca = text_of(server.ca_file, "the CA's certificate"), text;
  const Handle handle(curl_easy_init(), &curl_easy_cleanup);
  Headers headers(nullptr, &curl_slist_free_all);
  for (const std::string& header :
       {"Authorization: Bearer " + token, std::string("Content-Type: application/json"),
        std::string("Expect:")}) {
    curl_slist* longer = curl_slist_append(headers.get(), header.c_str());
    if (!handle || !longer) throw std::runtime_error("libcurl: out of memory");
    static_cast<void>(headers.release());  // the list has grown, or moved
    headers.reset(longer);
  }
  curl_blob authority{ca.data(), ca.size(), CURL_BLOB_NOCOPY};
  std::array<char, CURL_ERROR_SIZE> error{};
  set(handle, CURLOPT_ERRORBUFFER, error.data());
  set(handle, CURLOPT_URL, server.url.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "https");
  set(handle, CURLOPT_PROXY, "");
  set(handle, CURLOPT_CAINFO_BLOB, &authority);
  set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // the system's CAs do not count
  set(handle, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  set(handle, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  set(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  set(handle, CURLOPT_POSTFIELDS, body.c_str());
  set(handle, CURLOPT_WRITEFUNCTION, &take_answer);
  set(handle, CURLOPT_WRITEDATA, static_cast<void*>(&text));
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_QUICK_EXIT, 1L);  // a resolver that hangs is not waited for
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(time_limit.count()));
  set(handle, CURLOPT_NOPROGRESS, 0L);
  set(handle, CURLOPT_XFERINFOFUNCTION, &is_cancelled);
  set(handle, CURLOPT_XFERINFODATA, static_cast<const void*>(&cancelled));
  const CURLcode result = curl_easy_perform(handle.get());
  return answer_of(handle, result, error.data(), text);
}

}  // namespace

PostAnswer post_status(const StatusServer& server, const std::string& body,
                       std::chrono::milliseconds time_limit,
                       const std::atomic<bool>& cancelled) try {
  return post(server, body, time_limit, cancelled);
} catch (const std::exception& error) {
  return {.reason = error.what(), .sent = false};
}

}  // namespace annulus
