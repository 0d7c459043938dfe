// The pickle machine, cut down to what data files use: a stack, marks, a memo, and nodes that
// containers point to. A container in the memo is a reference, as in Python: what is appended later
// is seen through it.
#include "data/pickle.h"

#include <array>
#include <unordered_map>
#include <utility>

#include "data/pickle_cursor.h"
#include "data/pickle_opcodes.h"
#include "data/printable.h"

namespace annulus {
namespace {

using Nodes = std::vector<std::vector<PickleValue>>;

class Machine : PickleCursor {
 public:
  using PickleCursor::PickleCursor;

  // Runs to STOP and gives the value that is then on the stack.
  PickleValue run() {
    check_is_pickle();
    while (step(take_opcode())) {
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("ends with {} values", stack_.size());
    if (left() > 0) fail("{} more bytes follow the pickle's end", left());
    return stack_.back();
  }

  Nodes take_nodes() { return std::move(nodes_); }

 private:
  bool step(std::uint8_t opcode) {
    switch (opcode) {
      case kStop:
        return false;
      case kProto:
        if (const int protocol = take(1)[0]; protocol > kNewestProtocol)
          fail("protocol {} is not known (newest: {})", protocol, kNewestProtocol);
        break;
      case kFrame:
        if (const std::uint64_t size = little_endian(8); size > left()) fail_truncated(size);
        break;
      case kMark:
        marks_.push_back(stack_.size());
        count_value();
        break;
      case kNone:
        push({});
        break;
      case kNewTrue:
      case kNewFalse:
        push({.kind = PickleKind::boolean, .number = opcode == kNewTrue ? 1 : 0});
        break;
      case kInt:
      case kLong:
        push_decimal(take_line());
        break;
      case kBinInt:
        push_integer(static_cast<std::int32_t>(little_endian(4)));
        break;
      case kBinInt1:
        push_integer(static_cast<std::int64_t>(little_endian(1)));
        break;
      case kBinInt2:
        push_integer(static_cast<std::int64_t>(little_endian(2)));
        break;
      case kLong1:
        push_long(take(1)[0]);
        break;
      case kString:
        push_quoted(take_line());
        break;
      case kUnicode:
        push_text(take_line(), PickleWriting::raw_unicode);
        break;
      case kShortBinString:
      case kShortBinBytes:
      case kShortBinUnicode:
        push_text(take(little_endian(1)));
        break;
      case kBinString:
      case kBinBytes:
      case kBinUnicode:
        push_text(take(little_endian(4)));
        break;
      case kBinBytes8:
      case kByteArray8:
        push_text(take(little_endian(8)));
        break;
      case kEmptyList:
        push_node(PickleKind::list, {});
        break;
      case kEmptyDict:
        push_node(PickleKind::dict, {});
        break;
      case kEmptyTuple:
        push_node(PickleKind::tuple, {});
        break;
      case kList:
        push_node(PickleKind::list, pop_to_mark());
        break;
      case kTuple:
        push_node(PickleKind::tuple, pop_to_mark());
        break;
      case kDict:
        push_node(PickleKind::dict, pairs(pop_to_mark()));
        break;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_node(PickleKind::tuple, pop_last(opcode - kTuple1 + 1u));
        break;
      case kAppend:
        extend(PickleKind::list, pop_last(1));
        break;
      case kAppends:
        extend(PickleKind::list, pop_to_mark());
        break;
      case kSetItem:
        extend(PickleKind::dict, pop_last(2));
        break;
      case kSetItems:
        extend(PickleKind::dict, pairs(pop_to_mark()));
        break;
      case kPut:
        remember(decimal(take_line()));
        break;
      case kBinPut:
        remember(static_cast<std::int64_t>(little_endian(1)));
        break;
      case kLongBinPut:
        remember(static_cast<std::int64_t>(little_endian(4)));
        break;
      case kMemoize:
        remember(static_cast<std::int64_t>(memo_.size()));
        break;
      case kGet:
        push_remembered(decimal(take_line()));
        break;
      case kBinGet:
        push_remembered(static_cast<std::int64_t>(little_endian(1)));
        break;
      case kLongBinGet:
        push_remembered(static_cast<std::int64_t>(little_endian(4)));
        break;
      case kGlobal: {
        const std::string_view module = as_text(take_line());
        push_global(module, as_text(take_line()));
        break;
      }
      case kStackGlobal: {
        const std::vector<PickleValue> names = pop_last(2);
        push_global(as_text(names[0].written), as_text(names[1].written));
        break;
      }
      case kReduce:
        reduce();
        break;
      case kBuild:
        build();
        break;
      default:
        fail("opcode 0x{:02x}{} is not allowed", opcode, refused_name(opcode));
    }
    return true;
  }

  // --- the stack ---

  void count_value() {
    if (++values_ > kMostPickleValues)
      fail("more than {} values: not a file of images", kMostPickleValues);
  }

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

  void remember(std::int64_t index) {
    count_value();
    memo_[index] = top();
  }

  void push_remembered(std::int64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("nothing was remembered as number {}", index);
    push(found->second);
  }

  // Values below the latest mark belong to what the mark's items go into.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

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

  // --- containers, arrays ---

  std::vector<PickleValue>& node(const PickleValue& value) {
    return nodes_[static_cast<std::size_t>(value.number)];
  }

  void extend(PickleKind kind, const std::vector<PickleValue>& items) {
    if (top().kind != kind) fail("{} where {} should be", name_of(top().kind), name_of(kind));
    std::vector<PickleValue>& held = node(top());
    held.insert(held.end(), items.begin(), items.end());
  }

  void push_global(std::string_view module, std::string_view name) {
    for (const KnownGlobal& known : kKnownGlobals)
      if (known.module == module && known.name == name)
        return push({.kind = PickleKind::global, .number = static_cast<std::int64_t>(known.what)});
    fail("{}.{} is not allowed", printable(module), printable(name));
  }

  std::span<const PickleValue> tuple_of(const PickleValue& value, std::size_t at_least) {
    if (value.kind != PickleKind::tuple || node(value).size() < at_least)
      fail("an object is not described as numpy does");
    return node(value);
  }

  // Callable and arguments become what the call would make: a dtype, an array, a byte string.
  void reduce() {
    const std::vector<PickleValue> call = pop_last(2);
    if (call[0].kind != PickleKind::global) fail("{} cannot be called", name_of(call[0].kind));
    const std::span<const PickleValue> arguments = tuple_of(call[1], 1);
    switch (static_cast<Known>(call[0].number)) {
      case Known::dtype:
        return push_node(PickleKind::dtype, {arguments[0]});
      case Known::reconstruct:
        return push_node(PickleKind::array, {});
      case Known::frombuffer: {  // (contents, dtype, shape, "C" or "F")
        tuple_of(call[1], 4);
        const bool columns_first = as_text(arguments[3].written) == "F";
        return push_node(PickleKind::array,
                         {arguments[2],
                          arguments[1],
                          arguments[0],
                          {.kind = PickleKind::boolean, .number = columns_first}});
      }
      case Known::encode: {  // (str, "latin1")
        PickleValue text = arguments[0];
        if (text.kind != PickleKind::text) fail("{} is no string", name_of(text.kind));
        if (text.writing == PickleWriting::plain) text.writing = PickleWriting::latin1_as_utf8;
        return push(text);
      }
      case Known::ndarray:
        fail("numpy.ndarray is made by _reconstruct alone");
    }
  }

  void build() {
    const PickleValue state = pop_last(1)[0];
    switch (top().kind) {
      case PickleKind::dtype: {  // (version, byte order, …)
        const PickleValue order = tuple_of(state, 2)[1];
        node(top()) = {node(top())[0], order};
        break;
      }
      case PickleKind::array: {  // (version, shape, dtype, columns first, contents)
        const std::span<const PickleValue> parts = tuple_of(state, 5);
        node(top()) = {parts[1], parts[2], parts[4], parts[3]};
        break;
      }
      default:
        fail("{} cannot be given a state", name_of(top().kind));
    }
  }

  std::size_t values_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::int64_t, PickleValue> memo_;
  Nodes nodes_;
};

}  // namespace

Pickle::Pickle(std::filesystem::path path, std::span<const std::uint8_t> bytes)
    : path_(std::move(path)) {
  Machine machine(path_, bytes);
  root_ = machine.run();
  nodes_ = machine.take_nodes();
}

std::span<const PickleValue> Pickle::items(const PickleValue& value) const {
  switch (value.kind) {
    case PickleKind::list:
    case PickleKind::tuple:
    case PickleKind::dict:
    case PickleKind::dtype:
    case PickleKind::array:
      return nodes_[static_cast<std::size_t>(value.number)];
    default:
      return {};
  }
}

const char* name_of(PickleKind kind) {
  constexpr std::array names = {"None",    "a boolean",    "a number", "a string", "a list",
                                "a tuple", "a dictionary", "a dtype",  "an array", "a global"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace annulus
