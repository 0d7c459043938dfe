// A pickle's values while it is read: the stack, the marks on it, the memo, and the nodes that
// containers point to. A container in the memo is a reference, as in Python: what is appended later
// is seen through it. Invariant: at most kMostPickleValues values, marks and memo entries are ever
// made. Called by the pickle machine alone.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/pickle.h"
#include "data/pickle_cursor.h"

namespace annulus {

class PickleStack : protected PickleCursor {
 public:
  using PickleCursor::PickleCursor;

  std::vector<std::vector<PickleValue>> take_nodes() { return std::move(nodes_); }

 protected:
  void push(const PickleValue& value) {
    count_value();
    stack_.push_back(value);
  }

  void push_integer(std::int64_t value) { push({.kind = PickleKind::integer, .number = value}); }

  // Protocol 0 writes False and True as the numbers 00 and 01.
  void push_decimal(std::span<const std::uint8_t> line) {
    if (!line.empty() && line.back() == 'L') line = line.first(line.size() - 1);
    if (as_text(line) == "00" || as_text(line) == "01")
      return push({.kind = PickleKind::boolean, .number = line[1] - '0'});
    push_integer(decimal(line));
  }

  void push_long(std::size_t size) {
    if (size > 8) fail("a whole number of {} bytes is too large", size);
    const std::uint64_t value = little_endian(size);
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    push_integer(size == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused);
  }

  void push_text(std::span<const std::uint8_t> written,
                 PickleWriting writing = PickleWriting::plain) {
    push({.kind = PickleKind::text, .writing = writing, .written = written});
  }

  void push_quoted(std::span<const std::uint8_t> line) {
    if (line.size() < 2 || line.front() != line.back() ||
        (line.front() != '\'' && line.front() != '"'))
      fail("a string without quotes");
    push_text(line.subspan(1, line.size() - 2), PickleWriting::quoted);
  }

  void push_node(PickleKind kind, std::vector<PickleValue> items) {
    push({.kind = kind, .number = static_cast<std::int64_t>(nodes_.size())});
    nodes_.push_back(std::move(items));
  }

  void push_mark() {
    count_value();
    marks_.push_back(stack_.size());
  }

  void remember(std::int64_t index) {
    count_value();
    memo_[index] = top();
  }

  void remember_as_next() { remember(static_cast<std::int64_t>(memo_.size())); }

  void push_remembered(std::int64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("nothing was remembered as number {}", index);
    push(found->second);
  }

  PickleValue& top() {
    if (stack_.size() <= floor()) fail("a value is missing on the stack");
    return stack_.back();
  }

  std::vector<PickleValue> pop_last(std::size_t count) {
    if (stack_.size() < floor() + count) fail("a value is missing on the stack");
    std::vector<PickleValue> last(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return last;
  }

  std::vector<PickleValue> pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing on the stack");
    std::vector<PickleValue> items = pop_last(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  std::vector<PickleValue> pairs(std::vector<PickleValue> items) const {
    if (items.size() % 2 != 0) fail("a key without a value");
    return items;
  }

  std::vector<PickleValue>& node(const PickleValue& value) {
    return nodes_[static_cast<std::size_t>(value.number)];
  }

  void extend(PickleKind kind, const std::vector<PickleValue>& items) {
    if (top().kind != kind) fail("{} where {} should be", name_of(top().kind), name_of(kind));
    std::vector<PickleValue>& held = node(top());
    held.insert(held.end(), items.begin(), items.end());
  }

  // What a pickle leaves behind.
  const PickleValue& only_value() const {
    if (stack_.size() != 1 || !marks_.empty()) fail("ends with {} values", stack_.size());
    return stack_.back();
  }

 private:
  void count_value() {
    if (++values_ > kMostPickleValues)
      fail("more than {} values: not a file of images", kMostPickleValues);
  }

  // Values below the latest mark belong to what the mark's items go into.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::size_t values_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::int64_t, PickleValue> memo_;
  std::vector<std::vector<PickleValue>> nodes_;
};

}  // namespace annulus
