// What a rule says of a manifest, and how it says it. Made by the rules (rules.h), shown by
// report.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/k8s/releases.h"
#include "engine/k8s/value.h"

namespace annulus::k8s {

struct Finding {
  std::string file;
  int line = 0;
  std::string rule, object;           // "name-length", "TrainJob cifar10"
  std::string fact, reason, fix;      // each a clause; one line together
  std::vector<std::string> releases;  // of Trainer; empty: it is not about Trainer
};

struct Words {
  std::string fact, reason, fix;
};

// Where the rules put findings: it knows which manifest is looked at, by which rule, and for which
// releases of Trainer somebody asks.
class Findings {
 public:
  explicit Findings(Releases asked) : asked_(asked) {}

  void look_at(std::string file, std::string object) {
    file_ = std::move(file);
    object_ = std::move(object);
  }
  void by(const char* rule) { rule_ = rule; }

  void add(const Value& at, Words words) { put(at, std::move(words), {}); }
  // Only in these releases of Trainer; in none of those asked for, it is no finding.
  void add(const Value& at, Releases in, Words words) {
    const Releases both = in & asked_;
    if (!both.none()) put(at, std::move(words), both.names());
  }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void put(const Value& at, Words words, std::vector<std::string> releases) {
    findings_.push_back({file_, at.line, rule_, object_, std::move(words.fact),
                         std::move(words.reason), std::move(words.fix), std::move(releases)});
  }

  Releases asked_;
  std::string file_, object_, rule_;
  std::vector<Finding> findings_;
};

}  // namespace annulus::k8s
