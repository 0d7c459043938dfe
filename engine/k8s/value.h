// A value of a YAML document: nothing, a scalar, a list or a map, and the line that it begins in.
// Invariant: a map has as many keys as items; looking up what is not there gives a value that is
// missing, so that a path may be followed without a question at each step. Made by document.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus::k8s {

struct Value {
  enum class Kind { missing, null, scalar, list, map };

  Kind kind = Kind::missing;
  int line = 0;                   // from 1; of a map's value: the line of its key
  std::string text = {};          // of a scalar, without its quotes
  std::vector<std::string> keys;  // of a map
  std::vector<Value> items;       // of a list or a map

  bool there() const { return kind != Kind::missing; }
  // Of a map; where a key stands twice, the last, as Kubernetes reads it. Else a missing value.
  const Value& operator[](std::string_view key) const;
  bool is(std::string_view word) const { return kind == Kind::scalar && text == word; }
  // A scalar that is a whole number, as counts of GPUs and nodes are.
  std::optional<std::int64_t> whole() const;
};

}  // namespace annulus::k8s
