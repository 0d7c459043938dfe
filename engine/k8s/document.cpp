// See document.h. yaml-cpp's events become values at once; its own tree of nodes is not made.
#include "engine/k8s/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "data/data_error.h"

namespace annulus::k8s {
namespace {

constexpr std::size_t kDeepest = 100;         // a pod's fields lie 20 deep
constexpr std::size_t kMostCopied = 100'000;  // values that aliases may repeat in all

constexpr const char* kFix = "mend the YAML; kubectl apply --dry-run=client -f reads it alike";

std::size_t count(const Value& value) {
  std::size_t values = 1;
  for (const Value& item : value.items) values += count(item);
  return values;
}

// `<<: *base`: the keys of the map, or of the maps in a list, that the map itself does not have.
void merge_into(Value& map) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i] != "<<") continue;
    const Value merged = std::move(map.items[i]);
    map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(i));
    map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(i));
    std::set<std::string> own(map.keys.begin(), map.keys.end());
    const auto add = [&](const Value& from) {
      for (std::size_t k = 0; k < from.keys.size(); ++k)
        if (own.insert(from.keys[k]).second) {
          map.keys.push_back(from.keys[k]);
          map.items.push_back(from.items[k]);
        }
    };
    if (merged.kind == Value::Kind::list)
      std::ranges::for_each(merged.items, add);
    else
      add(merged);
    return;
  }
}

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& name) : name_(name) {}

  std::vector<Value> documents;

  void OnDocumentStart(const YAML::Mark& mark) override {
    // Before a token that begins nothing, yaml-cpp sees empty documents for ever.
    if (mark.pos <= last_start_) fail(mark.line + 1, "what no document begins with");
    last_start_ = mark.pos;
    anchors_.clear();
    root_ = {};
  }
  void OnDocumentEnd() override {
    if (root_.there() && root_.kind != Value::Kind::null) documents.push_back(std::move(root_));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place({.kind = Value::Kind::null, .line = mark.line + 1}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(mark.line + 1, "an alias stands for a part of itself");
    copying(found->second, mark.line + 1);
    place(found->second, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool plain = tag == "?" || tag.empty();
    if (expects_key()) {
      frames_.back().key = text;
      frames_.back().key_line = mark.line + 1;
      frames_.back().has_key = true;
      if (anchor) remember({Value::Kind::scalar, mark.line + 1, text, {}, {}}, anchor);
      return;
    }
    const bool null = plain && (text.empty() || text == "~" || text == "null");
    place({null ? Value::Kind::null : Value::Kind::scalar, mark.line + 1, text, {}, {}}, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::Kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::Kind::map, mark, anchor);
  }
  void OnMapEnd() override {
    merge_into(frames_.back().value);
    close();
  }

 private:
  struct Frame {
    Value value;
    YAML::anchor_t anchor = 0;
    std::string key = {};
    int key_line = 0;
    bool has_key = false;
  };

  [[noreturn]] void fail(int line, const char* fact) const {
    throw_data_error(name_, "line {}: {}; {}", line, fact, kFix);
  }

  bool expects_key() const {
    return !frames_.empty() && frames_.back().value.kind == Value::Kind::map &&
           !frames_.back().has_key;
  }

  void open(Value::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (expects_key()) fail(mark.line + 1, "a key that is no text");
    if (frames_.size() == kDeepest) fail(mark.line + 1, "more than 100 values, one in another");
    frames_.push_back({{.kind = kind, .line = mark.line + 1}, anchor});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    place(std::move(frame.value), frame.anchor);
  }

  void place(Value value, YAML::anchor_t anchor) {
    if (anchor) remember(value, anchor);
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (expects_key()) {
      if (value.kind != Value::Kind::scalar) fail(value.line, "a key that is no text");
      frame.key = std::move(value.text);
      frame.key_line = value.line;
      frame.has_key = true;
      return;
    }
    if (frame.value.kind == Value::Kind::map) {
      value.line = frame.key_line;
      frame.value.keys.push_back(std::move(frame.key));
      frame.has_key = false;
    }
    frame.value.items.push_back(std::move(value));
  }

  void remember(const Value& value, YAML::anchor_t anchor) {
    copying(value, value.line);
    anchors_[anchor] = value;
  }

  void copying(const Value& value, int line) {
    copied_ += count(value);
    if (copied_ > kMostCopied) fail(line, "its aliases stand for more than 100,000 values");
  }

  const std::string& name_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Value> anchors_;
  Value root_;
  std::size_t copied_ = 0;
  int last_start_ = -1;  // of a document, in characters
};

// What no YAML holds: a picture, an archive, UTF-16.
bool is_text(std::string_view bytes) {
  return std::ranges::none_of(bytes, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
  });
}

}  // namespace

std::vector<Value> read_documents(const std::string& name, std::string_view bytes) {
  if (!is_text(bytes))
    throw_data_error(name, "is not text; give the YAML or JSON of Kubernetes objects");
  std::istringstream stream{std::string(bytes)};
  Builder builder(name);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw_data_error(name, "line {}: {}; {}", error.mark.line + 1, error.msg, kFix);
  }
  return std::move(builder.documents);
}

}  // namespace annulus::k8s
