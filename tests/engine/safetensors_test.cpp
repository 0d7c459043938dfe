// The container: what is written is read back; a header that lies, nests or overlaps is one error
// that names the tensor, found before anything is allocated by its word.
#include "engine/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "kernels/check.h"

namespace annulus {
namespace {

std::vector<std::uint8_t> file_of(const std::string& header, std::size_t values) {
  const std::uint64_t size = header.size();
  std::vector<std::uint8_t> bytes(sizeof size + header.size() + values, 7);
  std::memcpy(bytes.data(), &size, sizeof size);
  std::memcpy(bytes.data() + sizeof size, header.data(), header.size());
  return bytes;
}

std::string error_of(const std::vector<std::uint8_t>& bytes) {
  try {
    parse_tensor_file("some.safetensors", bytes);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    return error.what();
  }
  return "no error";
}

TEST(Safetensors, RoundTrip) {
  const std::vector<float> weights{1, -2, 0.5f, 3, 4, 5};
  const std::vector<std::uint8_t> digest{1, 2, 3};
  const TensorFile file = parse_tensor_file(
      "some.safetensors",
      tensor_file_bytes({{"model", "mlp"}, {"step", "12"}},
                        {float_tensor("weight", {2, 3}, weights),
                         float_tensor("none", {0}, {}),
                         {.name = "digest", .type = "U8", .shape = {3}, .bytes = digest}}));
  EXPECT_EQ(file.metadata, (TensorMetadata{{"model", "mlp"}, {"step", "12"}}));
  ASSERT_EQ(file.tensors.size(), 3u);
  ASSERT_NE(file.find("weight"), nullptr);
  EXPECT_EQ(float_values("some.safetensors", *file.find("weight"), {2, 3}), weights);
  EXPECT_EQ(file.tensors.back().bytes[2], 3);
  EXPECT_EQ(file.find("bias"), nullptr);
}

TEST(Safetensors, AnotherShapeOrTypeIsNamedWithBoth) {
  const std::vector<float> values(6);
  const Tensor tensor = float_tensor("conv1.weight", {2, 3}, values);
  try {
    float_values("some.safetensors", tensor, {3, 2});
    FAIL() << "no error";
  } catch (const UserError& error) {
    const std::string text = error.what();
    for (const char* part : {"conv1.weight", "[2,3]", "[3,2]"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Safetensors, DamageIsNamed) {
  const auto one = [](const std::string& type, const std::string& shape,
                      const std::string& offsets) {
    return R"({"w":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
           "}}";
  };
  EXPECT_EQ(error_of(file_of(one("F32", "[2]", "[0,8]"), 8)), "no error");
  const struct {
    std::string header;
    std::size_t values;
    const char* named;
  } cases[] = {
      {one("F32", "[2]", "[0,8]"), 7, "lies at bytes 0 to 8 of 7"},
      {one("F32", "[2]", "[0,8]"), 9, "1 bytes after its last tensor"},
      {one("F32", "[2]", "[4,12]"), 12, "leaves a hole"},
      {one("F32", "[3]", "[0,8]"), 8, "F32 [3], but has 8 bytes"},
      {one("F32", "[4611686018427387904,4]", "[0,0]"), 0, "but has 0 bytes"},
      {one("F32", "[-1]", "[0,8]"), 8, "[-1]"},
      {one("F31", "[2]", "[0,8]"), 8, "unknown type F31"},
      {one("F32", "[2]", "[8,0]"), 8, "lies at bytes 8 to 0"},
      {one("F32", "[2]", "[0]"), 8, "damaged header"},
      {one("F32", "[[2]]", "[0,8]"), 8, "nests too deep"},
      {one("F32", "[2]", "[1e99,8]"), 8, "1e+99, which is no size"},
      {one("F32", "[18446744073709551616]", "[0,8]"), 8, "which is no size"},
      {R"({"\u001b[2J":{}})", 0, "tensor ?[2J has a damaged header"},
      {R"({"w":3})", 0, "damaged header"},
      {R"({"__metadata__":{"a":1}})", 0, "no text"},
      {"[]", 0, "not JSON"},
      {"{\"w\"", 0, "not JSON"},
  };
  for (const auto& [header, values, named] : cases)
    EXPECT_NE(error_of(file_of(header, values)).find(named), std::string::npos)
        << header << ": " << error_of(file_of(header, values));
}

TEST(Safetensors, LengthsThatLieCostNothing) {
  std::vector<std::uint8_t> bytes = file_of("{}", 0);
  bytes[7] = 0x3f;  // a header of 2^62 bytes
  EXPECT_NE(error_of(bytes).find("but the file has 10"), std::string::npos);
  EXPECT_NE(error_of({1, 2, 3}).find("3 bytes are too short"), std::string::npos);
  EXPECT_NE(error_of(file_of(std::string(2 << 20, '['), 0)).find("larger than"), std::string::npos);
  EXPECT_NE(error_of(file_of(std::string(1 << 20, '['), 0)).find("nests too deep"),
            std::string::npos);
}

}  // namespace
}  // namespace annulus
