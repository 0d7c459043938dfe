// The opcodes and globals that data files use, protocols 0 to 5 (CPython's Lib/pickletools.py), and
// the names of those that are refused. Called by the pickle machine alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace annulus {

enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kInt = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong = 'L',
  kNone = 'N',
  kReduce = 'R',
  kString = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicode = 'V',
  kBinUnicode = 'X',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kGet = 'g',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinBytes8 = 0x8e,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

constexpr int kNewestProtocol = 5;

// Only for the words of a refusal: opcodes that call, make objects or reach outside the file.
inline const char* refused_name(std::uint8_t opcode) {
  switch (opcode) {
    case 'i':
      return " (INST)";
    case 'o':
      return " (OBJ)";
    case 0x81:
      return " (NEWOBJ)";
    case 0x92:
      return " (NEWOBJ_EX)";
    case 'P':
    case 'Q':
      return " (persistent id)";
    case 0x82:
    case 0x83:
    case 0x84:
      return " (extension registry)";
    case 'F':
    case 'G':
      return " (float)";
    default:
      return "";
  }
}

// What the names on the list stand for; none of them is ever called.
enum class Known : std::uint8_t { ndarray, dtype, reconstruct, frombuffer, encode };

struct KnownGlobal {
  std::string_view module, name;
  Known what;
};

inline constexpr std::array<KnownGlobal, 7> kKnownGlobals = {{
    {"numpy", "ndarray", Known::ndarray},
    {"numpy", "dtype", Known::dtype},
    {"numpy.core.multiarray", "_reconstruct", Known::reconstruct},
    {"numpy._core.multiarray", "_reconstruct", Known::reconstruct},
    {"numpy.core.numeric", "_frombuffer", Known::frombuffer},
    {"numpy._core.numeric", "_frombuffer", Known::frombuffer},
    {"_codecs", "encode", Known::encode},
}};

}  // namespace annulus
