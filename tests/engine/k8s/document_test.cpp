// YAML of every sort to documents: lines, anchors, merges; and what is no YAML, to one line.
#include "engine/k8s/document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/check.h"

namespace {

using annulus::k8s::read_documents;
using annulus::k8s::Value;

std::string refusal(const std::string& text) {
  try {
    read_documents("f.yaml", text);
  } catch (const annulus::UserError& error) {
    EXPECT_EQ(error.code(), annulus::ExitCode::data);
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with("f.yaml: ")) << message;
    return message;
  }
  return "read";
}

TEST(Document, LinesAreThoseOfTheFileInEachDocument) {
  const auto documents =
      read_documents("f", "# first\na: 1\nb:\n  - x\n  - y: z\n---\n---\nc:\n  d: e\n");
  ASSERT_EQ(documents.size(), 2u) << "an empty one is left out";
  EXPECT_EQ(documents[0]["b"].line, 3) << "of its key";
  EXPECT_EQ(documents[0]["b"].items[1]["y"].line, 5);
  EXPECT_EQ(documents[1]["c"]["d"].line, 9);
  EXPECT_EQ(documents[1]["c"]["d"].text, "e");
}

TEST(Document, WhatIsNotThereIsMissingAtAnyDepth) {
  const auto documents = read_documents("f", "a: [1, 02, -3, x, \"4\", 99999999999999999999, ~]");
  const Value& a = documents.at(0)["a"];
  EXPECT_FALSE(a["b"]["c"].there());
  EXPECT_EQ(a.items[0].whole(), 1);
  EXPECT_EQ(a.items[1].whole(), 2);
  EXPECT_EQ(a.items[2].whole(), -3);
  EXPECT_FALSE(a.items[3].whole());
  EXPECT_EQ(a.items[4].whole(), 4);
  EXPECT_FALSE(a.items[5].whole());
  EXPECT_EQ(a.items[6].kind, Value::Kind::null);
  EXPECT_EQ(read_documents("f", "a: 1\na: 2\n").at(0)["a"].text, "2") << "as Kubernetes reads it";
}

TEST(Document, AnchorsAndMerges) {
  const auto documents = read_documents(
      "f",
      "base: &b {x: 1, y: 2}\nfirst: *b\nsecond:\n  <<: *b\n  y: 3\nthird: {<<: [*b, {z: 4}]}\n");
  const Value& root = documents.at(0);
  EXPECT_EQ(root["first"]["x"].text, "1");
  EXPECT_EQ(root["first"].line, 2);
  EXPECT_EQ(root["second"]["x"].text, "1");
  EXPECT_EQ(root["second"]["y"].text, "3") << "its own beats the merged one";
  EXPECT_EQ(root["third"]["z"].text, "4");
}

TEST(Document, JsonIsYaml) {
  EXPECT_EQ(read_documents("f", R"({"kind": "Pod", "spec": {"n": [1]}})").at(0)["kind"].text,
            "Pod");
}

TEST(Document, WhatIsNoYamlIsRefusedInOneLine) {
  EXPECT_NE(refusal("a: [1").find("line 1"), std::string::npos);
  EXPECT_NE(refusal("a: b: c\n").find("line 1"), std::string::npos);
  EXPECT_NE(refusal("a: 1\n\tb: 2\n").find("line 2"), std::string::npos);
  EXPECT_NE(refusal("a: *nowhere\n").find("line 1"), std::string::npos);
  EXPECT_NE(refusal("? [a]\n: 1\n").find("a key that is no text"), std::string::npos);
  EXPECT_NE(refusal(std::string("\x7f"
                                "ELF\0\0",
                                6))
                .find("is not text"),
            std::string::npos);
  EXPECT_NE(refusal(std::string("a\0: 1\0", 6)).find("is not text"), std::string::npos);
  EXPECT_NE(refusal(", em'").find("begins with"), std::string::npos) << "found by fuzzing: no end";
  EXPECT_EQ(refusal(""), "read");
  EXPECT_EQ(refusal("---\n---\n\n---\n...\n---\n"), "read");
}

// Nine levels of nine: 400 million values from a few lines.
TEST(Document, AliasesThatMultiplyAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 9; ++k) bomb += fmt::format("*a{}{}", i - 1, k < 8 ? ", " : "]\n");
  }
  EXPECT_NE(refusal(bomb).find("100,000"), std::string::npos);
  EXPECT_NE(refusal("a: &a [*a]\n").find("part of itself"), std::string::npos);
}

TEST(Document, DepthIsBounded) {
  std::string lists(100'000, '['), maps = "a: 1";
  EXPECT_NE(refusal(lists), "read");
  lists += std::string(100'000, ']');
  for (int i = 0; i < 120; ++i) maps.insert(0, "{a: ").append("}");
  for (const std::string& deep : {lists, "a: " + maps})
    EXPECT_NE(refusal(deep).find("one in another"), std::string::npos) << refusal(deep);
}

}  // namespace
