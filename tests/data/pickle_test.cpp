// The pickle reader: plain values come out, whatever else a pickle may ask for is refused by name.
#include "data/pickle.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

using test::Bytes;
using test::bytes_of;
using test::data_error;
using test::says;

// Protocol 2's first bytes before the opcodes, STOP after them.
Bytes pickled(std::string_view opcodes) {
  return test::joined({{0x80, 2}, bytes_of(opcodes), {'.'}});
}

std::string error_of(const Bytes& bytes) {
  return data_error([&] { Pickle("data_batch_1", bytes); });
}

void expect_integer(std::string_view opcodes, std::int64_t value) {
  const Bytes bytes = pickled(opcodes);
  const Pickle pickle("data_batch_1", bytes);
  EXPECT_EQ(pickle.root().kind, PickleKind::integer);
  EXPECT_EQ(pickle.root().number, value);
}

std::string text_of(std::string_view opcodes) {
  const Bytes bytes = pickled(opcodes);
  const Pickle pickle("data_batch_1", bytes);
  EXPECT_EQ(pickle.root().kind, PickleKind::text);
  return pickle.string_of(pickle.root());
}

TEST(Pickle, Integers) {
  expect_integer("K\xff", 255);
  expect_integer(std::string_view("M\x00\x01", 3), 256);
  expect_integer("J\xfe\xff\xff\xff", -2);
  expect_integer("I-17\n", -17);
  expect_integer("L17L\n", 17);
  expect_integer(std::string_view("\x8a\x00", 2), 0);
  expect_integer("\x8a\x01\xff", -1);
  expect_integer(std::string_view("\x8a\x02\xff\x00", 4), 255);
  EXPECT_TRUE(says(error_of(pickled("\x8a\x09"
                                    "123456789")),
                   "9 bytes is too large"));
  EXPECT_TRUE(says(error_of(pickled("I1x\n")), "'1x' is not a number"));
}

TEST(Pickle, TextInEveryWriting) {
  EXPECT_EQ(text_of("U\x02hi"), "hi");
  EXPECT_EQ(text_of(std::string_view("T\x02\0\0\0hi", 7)), "hi");
  EXPECT_EQ(text_of(std::string_view("X\x02\0\0\0hi", 7)), "hi");
  EXPECT_EQ(text_of("C\x02hi"), "hi");
  EXPECT_EQ(text_of(std::string_view("\x8e\x02\0\0\0\0\0\0\0hi", 11)), "hi");
  EXPECT_EQ(text_of("S'a\\n\\t\\r\\x41\\\\\\'\\\"'\n"), "a\n\t\rA\\'\"");
  EXPECT_EQ(text_of("Va\\u00e9\\b\n"), "a\xe9\\b");
  EXPECT_EQ(text_of(std::string_view("c_codecs\nencode\n(X\x03\0\0\0a\xc3\xa9U\x06latin1tR", 35)),
            "a\xe9");
  for (const char* wrong : {"S'a\n", "Sa\n", "S'\\q'\n", "S'\\x4'\n"}) {
    const Bytes bytes = pickled(wrong);
    EXPECT_NE(data_error([&] {
                const Pickle pickle("data_batch_1", bytes);
                pickle.string_of(pickle.root());
              }),
              "")
        << wrong;
  }
}

TEST(Pickle, ContainersAndWhatTheMemoRefersTo) {
  // A list that is remembered before it is filled: {"a": [1, 2], "b": that list}.
  const Bytes bytes = pickled(
      "}(U\x01"
      "a]q\x05(K\x01K\x02"
      "eU\x01"
      "bh\x05u");
  const Pickle pickle("data_batch_1", bytes);
  ASSERT_EQ(pickle.root().kind, PickleKind::dict);
  for (const char* key : {"a", "b"}) {
    const PickleValue* list = pickle.find(pickle.root(), key);
    ASSERT_NE(list, nullptr);
    ASSERT_EQ(pickle.items(*list).size(), 2u);
    EXPECT_EQ(pickle.items(*list)[1].number, 2);
  }
  EXPECT_EQ(pickle.find(pickle.root(), "c"), nullptr);
}

TEST(Pickle, TheLastOfTwoEqualKeysWins) {
  const Bytes bytes = pickled(
      "}(U\x01"
      "aK\x01U\x01"
      "aK\x02u");
  const Pickle pickle("data_batch_1", bytes);
  EXPECT_EQ(pickle.find(pickle.root(), "a")->number, 2);
}

TEST(Pickle, AListMayHoldItself) {
  const Bytes bytes = pickled(
      "]q\x01h\x01"
      "a");
  const Pickle pickle("data_batch_1", bytes);
  EXPECT_EQ(pickle.items(pickle.root())[0].number, pickle.root().number);
}

// Each of these runs something, or reaches outside the file, in Python.
TEST(Pickle, WhateverWouldRunIsRefusedByName) {
  EXPECT_TRUE(says(error_of(pickled("cos\nsystem\nU\x02ls\x85R")), "os.system is not allowed"));
  EXPECT_TRUE(
      says(error_of(pickled("\x8c\x05posix\x8c\x06system\x93")), "posix.system is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("cnumpy\nload\n")), "numpy.load is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("c__builtin__\neval\n")), "__builtin__.eval is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("\x8c\x02"
                                    "o\n\x8c\x01"
                                    "f\x93")),
                   "o?.f is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("(ios\nsystem\n")), "opcode 0x69 (INST) is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("(o")), "opcode 0x6f (OBJ) is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("))\x81")), "opcode 0x81 (NEWOBJ) is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("Pid\n")), "opcode 0x50 (persistent id) is not allowed"));
  EXPECT_TRUE(says(error_of(pickled("\x82\x01")), "opcode 0x82 (extension registry)"));
  EXPECT_TRUE(says(error_of(pickled("cnumpy\nndarray\n)R")), "not described as numpy does"));
  EXPECT_TRUE(says(error_of(pickled("cnumpy\nndarray\nN\x85R")), "_reconstruct alone"));
  EXPECT_TRUE(says(error_of(pickled("K\x01K\x01\x85R")), "a number cannot be called"));
  EXPECT_TRUE(says(error_of(pickled("]Nb")), "a list cannot be given a state"));
}

// Cut anywhere it is an error, and the offset is within the file.
TEST(Pickle, CutAnywhereItIsTruncated) {
  const Bytes whole = test::CifarDictionary(test::Dialect::protocol4)
                          .labels("labels", {1, 2})
                          .array("data", 2, 3, {1, 2, 3, 4, 5, 6})
                          .finished();
  const Pickle read("data_batch_1", whole);
  EXPECT_EQ(read.root().kind, PickleKind::dict);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string message = error_of({whole.begin(), whole.begin() + static_cast<long>(size)});
    EXPECT_TRUE(says(message, "truncated or unexpected end at offset ")) << size << message;
  }
}

TEST(Pickle, WhatIsNoPickleIsSaid) {
  EXPECT_TRUE(says(error_of({}), "is empty"));
  EXPECT_TRUE(says(error_of({0x01, 0x02}), "not a pickle (first byte 0x01)"));
  EXPECT_TRUE(says(error_of(test::gzip({1})), "gzip"));
  EXPECT_TRUE(says(error_of({0x80, 6}), "protocol 6 is not known"));
  EXPECT_TRUE(says(error_of(test::joined({pickled("N"), {1, 2}})), "2 more bytes follow"));
  EXPECT_TRUE(says(error_of(pickled("")), "ends with 0 values"));
  EXPECT_TRUE(says(error_of(pickled("a")), "a value is missing"));
  EXPECT_TRUE(says(error_of(pickled("(a")), "a value is missing"));
  EXPECT_TRUE(says(error_of(pickled("K\x01K\x02"
                                    "a")),
                   "a number where a list should be"));
  EXPECT_TRUE(says(error_of(pickled("}(Nu")), "a key without a value"));
  EXPECT_TRUE(says(error_of(pickled("h\x07")), "nothing was remembered as number 7"));
  EXPECT_TRUE(says(error_of(pickled("t")), "a mark is missing"));
}

// A few bytes cannot make the reader fill memory: lengths are compared with the file, values
// counted.
TEST(Pickle, NoSmallFileTakesMuchMemory) {
  EXPECT_TRUE(says(error_of(pickled("T\xff\xff\xff\x7f")), "2147483647 bytes wanted"));
  EXPECT_TRUE(says(error_of(pickled("\x8e\xff\xff\xff\xff\xff\xff\xff\xff")), "truncated"));
  EXPECT_EQ(text_of("U\x02hir\xff\xff\xff\xff"), "hi");  // a memo of one entry
  EXPECT_TRUE(says(error_of(pickled(std::string(kMostPickleValues + 1, 'N'))), "values"));
  EXPECT_TRUE(says(error_of(pickled(std::string(kMostPickleValues + 1, '('))), "values"));
  EXPECT_TRUE(says(error_of(pickled("N" + std::string(kMostPickleValues, '\x94'))), "values"));
}

// Nesting costs no stack of ours.
TEST(Pickle, DeepNestingIsRead) {
  const std::size_t depth = kMostPickleValues / 2;
  const Bytes bytes = pickled(std::string(depth, ']') + std::string(depth - 1, 'a'));
  EXPECT_EQ(Pickle("data_batch_1", bytes).root().kind, PickleKind::list);
}

}  // namespace
}  // namespace annulus
