// The pickle machine, cut down to the opcodes that data files use. A call becomes the plain value
// that it would make; nothing is called.
#include "data/pickle.h"

#include <array>
#include <utility>

#include "data/pickle_opcodes.h"
#include "data/pickle_stack.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

class Machine : PickleStack {
 public:
  using PickleStack::PickleStack;
  using PickleStack::take_nodes;

  // Runs to STOP and gives the value that is then on the stack.
  PickleValue run() {
    check_is_pickle();
    while (step(take_opcode())) {
    }
    if (left() > 0) fail("{} more bytes follow the pickle's end", left());
    return only_value();
  }

 private:
  // One opcode with what belongs to it; false at STOP.
  bool step(std::uint8_t opcode) {
    if (opcode == kStop) return false;
    const bool known = run_framing(opcode) || run_number(opcode) || run_text(opcode) ||
                       run_container(opcode) || run_filling(opcode) || run_memo(opcode) ||
                       run_object(opcode);
    if (!known) fail("opcode 0x{:02x}{} is not allowed", opcode, refused_name(opcode));
    return true;
  }

  // --- opcodes: each of these does the work of those it knows ---

  bool run_framing(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
        if (const int protocol = take(1)[0]; protocol > kNewestProtocol)
          fail("protocol {} is not known (newest: {})", protocol, kNewestProtocol);
        return true;
      case kFrame:
        if (const std::uint64_t size = little_endian(8); size > left()) fail_truncated(size);
        return true;
      default:
        return false;
    }
  }

  bool run_number(std::uint8_t opcode) {
    switch (opcode) {
      case kNone:
        push({});
        return true;
      case kNewTrue:
      case kNewFalse:
        push({.kind = PickleKind::boolean, .number = opcode == kNewTrue ? 1 : 0});
        return true;
      case kInt:
      case kLong:
        push_decimal(take_line());
        return true;
      case kBinInt:
        push_integer(static_cast<std::int32_t>(little_endian(4)));
        return true;
      case kBinInt1:
        push_integer(static_cast<std::int64_t>(little_endian(1)));
        return true;
      case kBinInt2:
        push_integer(static_cast<std::int64_t>(little_endian(2)));
        return true;
      case kLong1:
        push_long(take(1)[0]);
        return true;
      default:
        return false;
    }
  }

  bool run_text(std::uint8_t opcode) {
    switch (opcode) {
      case kString:
        push_quoted(take_line());
        return true;
      case kUnicode:
        push_text(take_line(), PickleWriting::raw_unicode);
        return true;
      case kShortBinString:
      case kShortBinBytes:
      case kShortBinUnicode:
        push_text(take(little_endian(1)));
        return true;
      case kBinString:
      case kBinBytes:
      case kBinUnicode:
        push_text(take(little_endian(4)));
        return true;
      case kBinBytes8:
      case kByteArray8:
        push_text(take(little_endian(8)));
        return true;
      default:
        return false;
    }
  }

  bool run_container(std::uint8_t opcode) {
    switch (opcode) {
      case kEmptyList:
        push_node(PickleKind::list, {});
        return true;
      case kEmptyDict:
        push_node(PickleKind::dict, {});
        return true;
      case kEmptyTuple:
        push_node(PickleKind::tuple, {});
        return true;
      case kList:
        push_node(PickleKind::list, pop_to_mark());
        return true;
      case kDict:
        push_node(PickleKind::dict, pairs(pop_to_mark()));
        return true;
      case kTuple:
        push_node(PickleKind::tuple, pop_to_mark());
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_node(PickleKind::tuple, pop_last(opcode - kTuple1 + 1u));
        return true;
      default:
        return false;
    }
  }

  bool run_filling(std::uint8_t opcode) {
    switch (opcode) {
      case kMark:
        push_mark();
        return true;
      case kAppend:
        extend(PickleKind::list, pop_last(1));
        return true;
      case kAppends:
        extend(PickleKind::list, pop_to_mark());
        return true;
      case kSetItem:
        extend(PickleKind::dict, pop_last(2));
        return true;
      case kSetItems:
        extend(PickleKind::dict, pairs(pop_to_mark()));
        return true;
      default:
        return false;
    }
  }

  bool run_memo(std::uint8_t opcode) {
    switch (opcode) {
      case kPut:
        remember(decimal(take_line()));
        return true;
      case kBinPut:
        remember(static_cast<std::int64_t>(little_endian(1)));
        return true;
      case kLongBinPut:
        remember(static_cast<std::int64_t>(little_endian(4)));
        return true;
      case kMemoize:
        remember_as_next();
        return true;
      case kGet:
        push_remembered(decimal(take_line()));
        return true;
      case kBinGet:
        push_remembered(static_cast<std::int64_t>(little_endian(1)));
        return true;
      case kLongBinGet:
        push_remembered(static_cast<std::int64_t>(little_endian(4)));
        return true;
      default:
        return false;
    }
  }

  bool run_object(std::uint8_t opcode) {
    switch (opcode) {
      case kGlobal: {
        const std::string_view module = as_text(take_line());
        push_global(module, as_text(take_line()));
        return true;
      }
      case kStackGlobal: {
        const std::vector<PickleValue> names = pop_last(2);
        push_global(as_text(names[0].written), as_text(names[1].written));
        return true;
      }
      case kReduce:
        reduce();
        return true;
      case kBuild:
        build();
        return true;
      default:
        return false;
    }
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
