// See comm/resolv_conf.h.
#include "comm/resolv_conf.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <utility>

namespace annulus {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

// The words of a line, up to a comment.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    if (line.front() == '#' || line.front() == ';') return words;
    const std::size_t end = std::min(line.find_first_of(blanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// Lower case, without the dot that makes it absolute.
std::string domain_name(std::string_view text) {
  while (text.ends_with('.')) text.remove_suffix(1);
  std::string name(text);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::vector<std::string> domain_names(const std::vector<std::string_view>& words) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (std::string name = domain_name(words[i]); !name.empty()) names.push_back(std::move(name));
  return names;
}

std::optional<ClusterNames> as_cluster(std::string_view domain) {
  constexpr std::string_view service = ".svc.";
  const std::size_t dot = domain.find('.');
  if (dot == 0 || dot == std::string_view::npos) return std::nullopt;
  const std::string_view rest = domain.substr(dot);
  if (!rest.starts_with(service) || rest.size() == service.size()) return std::nullopt;
  return ClusterNames{std::string(domain.substr(0, dot)), std::string(rest.substr(service.size()))};
}

bool ends_with_domain(const std::string& host, const std::string& domain) {
  return host.ends_with("." + domain);
}

}  // namespace

std::optional<ClusterNames> ResolvConf::cluster() const {
  for (const std::string& domain : search)
    if (auto names = as_cluster(domain)) return names;
  return std::nullopt;
}

ResolvConf parse_resolv_conf(std::string_view text) {
  ResolvConf conf;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.size() < 2) continue;
    // The last of all "search" and "domain" lines counts, as in the C library.
    if (words[0] == "search" || words[0] == "domain") conf.search = domain_names(words);
    if (words[0] == "nameserver") conf.nameservers.emplace_back(words[1]);
  }
  return conf;
}

ResolvConf read_resolv_conf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return parse_resolv_conf(text.str());
}

std::vector<std::string> absolute_names(const std::string& host, const ClusterNames& cluster) {
  const std::string name = domain_name(host);
  if (host.ends_with('.') || ends_with_domain(name, cluster.domain)) return {name};
  if (name.ends_with(".svc")) return {name + "." + cluster.domain, name};
  const std::string services = "svc." + cluster.domain;
  std::vector<std::string> names = {name + "." + cluster.kubernetes_namespace + "." + services};
  if (name.find('.') != std::string::npos) names.push_back(name + "." + services);
  names.push_back(name);
  return names;
}

}  // namespace annulus
