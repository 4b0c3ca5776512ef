#include "model/safetensors.h"

#include <doctest/doctest.h>

#include <string>

#include "core/error.h"
#include "core/file.h"
#include "model/file_bytes.h"
#include "support/error_message.h"
#include "support/system.h"

namespace safetensors_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

/// The error of opening these bytes, without the file's name.
std::string complaint(std::string_view bytes) {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "m.safetensors";
  write_file_atomically(path, bytes);
  const std::string message = error_message([&] { (void)SafetensorsFile(path); });
  if (message.empty()) return message;
  CHECK(is_one_line(message));
  const std::string start = path.string();
  REQUIRE(message.starts_with(start));
  return message.substr(start.size());
}

/// Returns the error about a file's content without the words that all such errors share.
std::string content_complaint(std::string_view header, std::string_view data) {
  const std::string message = complaint(safetensors(header, data));
  const std::string begin = " is no usable safetensors file: ", end = "; download it again";
  if (!message.starts_with(begin) || !message.ends_with(end)) return message;
  return message.substr(begin.size(), message.size() - begin.size() - end.size());
}

const std::string kEight(8, 'x');

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("tensors, scalars, empty tensors and metadata are read as written") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    FileBytes data;
    data.number(1.5f)
        .number(-2.0f)
        .number(std::int32_t{-3})
        .number(std::int32_t{7})
        .number(std::uint16_t{0x3c00})
        .number(0.5f);
    write_file_atomically(path, safetensors(R"({"__metadata__":{"format":"pt"},
      "b":{"dtype":"I32","shape":[2],"data_offsets":[8,16]},
      "a":{"dtype":"F32","shape":[1,2,1],"data_offsets":[0,8]},
      "half":{"dtype":"BF16","shape":[1],"data_offsets":[16,18]},
      "scalar":{"dtype":"F32","shape":[],"data_offsets":[18,22]},
      "none":{"dtype":"F32","shape":[0,4294967295],"data_offsets":[22,22]}}   )",
                                            data.bytes()));
    const SafetensorsFile file(path);
    CHECK(file.metadata().at("format") == "pt");
    CHECK(file.tensors().all().size() == 5);
    CHECK(file.tensors().all().front().name == "a");
    CHECK(file.shape("a") == Shape{1, 2, 1});
    CHECK(file.tensor("a").values == std::vector<float>{1.5f, -2.0f});
    CHECK(file.integers("b") == std::vector<std::int64_t>{-3, 7});
    CHECK(file.parameter("half").tensor().values == std::vector<float>{0.0078125f});
    CHECK(file.parameter("scalar").tensor().values == std::vector<float>{0.5f});
    CHECK(file.tensor("none").values.empty());
    CHECK_FALSE(file.has("c"));

    CHECK_THROWS_WITH_AS(file.tensor("c"), (path.string() + " has no tensor 'c'").c_str(), Error);
    CHECK_THROWS_WITH_AS(file.integers("a"),
                         (path.string() + ": tensor 'a' is stored as F32, but integers are expected").c_str(), Error);
    CHECK_THROWS_WITH_AS(
        file.parameter("b"),
        (path.string() + ": tensor 'b' is stored as I32, which can't be read as weights: choose a file in F32, F16 or BF16")
            .c_str(),
        Error);
    CHECK_THROWS_WITH_AS(file.parameter("a"),
                         (path.string() + ": tensor 'a' has shape [1, 2, 1], but weights have one or two axes").c_str(),
                         Error);
  }

  TEST_CASE("a parameter keeps its file mapped, even when the file is deleted") {
    Parameter parameter;
    {
      const TemporaryDirectory folder;
      write_file_atomically(folder.path() / "m.safetensors",
                            safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                        FileBytes().number(4.0f).number(5.0f).bytes()));
      parameter = SafetensorsFile(folder.path() / "m.safetensors").parameter("a");
    }
    CHECK(parameter.tensor().values == std::vector<float>{4.0f, 5.0f});
  }

  TEST_CASE("every integer type is read with its sign") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    FileBytes data;
    data.number(std::int64_t{-5}).number(std::uint32_t{4000000000u}).number(std::int16_t{-2}).number(std::uint16_t{65535});
    data.number(std::int8_t{-1}).number(std::uint8_t{255}).number(std::uint8_t{1}).number(std::uint64_t{9});
    write_file_atomically(path, safetensors(R"({"i64":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},
      "u32":{"dtype":"U32","shape":[1],"data_offsets":[8,12]},"i16":{"dtype":"I16","shape":[1],"data_offsets":[12,14]},
      "u16":{"dtype":"U16","shape":[1],"data_offsets":[14,16]},"i8":{"dtype":"I8","shape":[1],"data_offsets":[16,17]},
      "u8":{"dtype":"U8","shape":[1],"data_offsets":[17,18]},"bool":{"dtype":"BOOL","shape":[1],"data_offsets":[18,19]},
      "u64":{"dtype":"U64","shape":[1],"data_offsets":[19,27]}})",
                                            data.bytes()));
    const SafetensorsFile file(path);
    const std::pair<const char*, std::int64_t> expected[] = {{"i64", -5}, {"u32", 4000000000}, {"i16", -2}, {"u16", 65535},
                                                             {"i8", -1},  {"u8", 255},         {"bool", 1}, {"u64", 9}};
    for (const auto& [name, value] : expected) CHECK(file.integers(name) == std::vector<std::int64_t>{value});
  }

  TEST_CASE("a file that isn't safetensors is refused in one line with the reason") {
    CHECK(complaint("") == " is empty: download it again");
    CHECK(complaint("1234567") ==
          " is no usable safetensors file: it has 7 bytes, fewer than its header's length takes; download it again");
    CHECK(complaint(FileBytes().number(std::uint64_t{100}).raw("{}").bytes()) ==
          " is no usable safetensors file: its header should have 100 bytes, but the whole file has 10; download it again");
    CHECK(complaint(FileBytes().number(~std::uint64_t{0}).raw("{}").bytes()).find("18446744073709551615") !=
          std::string::npos);
    CHECK(content_complaint("{", "") == "its header: not JSON (line 1, column 2)");
    CHECK(content_complaint("", "") == "its header: not JSON (line 1, column 1)");
    CHECK(content_complaint("{\"a\xff\":1}", "") == "its header: not JSON (line 1, column 4)");
    CHECK(content_complaint(std::string(100000, '['), "") == "its header: JSON nested more than 8 deep");
    CHECK(content_complaint("[]", "") == "its header is not a JSON object");
    CHECK(content_complaint(R"({"__metadata__":[]})", "") == "'__metadata__' is not an object");
    CHECK(content_complaint(R"({"__metadata__":{"a":1}})", "") == "'__metadata__' holds something else than text under 'a'");
    CHECK(content_complaint("{}", "").empty());

    const TemporaryDirectory folder;
    const std::filesystem::path none = folder.path() / "none";
    CHECK(error_message([&] { (void)SafetensorsFile(none); }) ==
          "can't open " + none.string() + ": " + reason_against(none));
    CHECK(error_message([&] { (void)SafetensorsFile(folder.path()); }) ==
          "can't open " + folder.path().string() + ": it is not a file");
  }

  TEST_CASE("a tensor that is described wrongly is named") {
    const auto entry = [](std::string_view content) { return content_complaint(content, kEight); };
    CHECK(entry(R"({"a":7})") == "tensor 'a' has no dtype");
    CHECK(entry(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})") == "tensor 'a' has no shape");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[2]}})") == "tensor 'a' has no data_offsets");
    CHECK(entry(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})") == "tensor 'a' has the unknown dtype \"F33\"");
    CHECK(entry(R"({"a":{"dtype":3,"shape":[2],"data_offsets":[0,8]}})") == "tensor 'a' has the unknown dtype 3");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})") == "the shape of tensor 'a' is not a list");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})") == "tensor 'a' has the axis -2");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[4294967296],"data_offsets":[0,8]}})") ==
          "tensor 'a' has the axis 4294967296");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})") == "tensor 'a' has no two data_offsets");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-1,7]}})") == "tensor 'a' has no two data_offsets");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})") ==
          "tensor 'a' should be bytes 1 to 9, but 8 bytes follow the header");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})") ==
          "tensor 'a' should be bytes 8 to 0, but 8 bytes follow the header");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})") ==
          "tensor 'a' of shape [3] in F32 doesn't fit its 8 bytes");
    CHECK(entry(R"({"a":{"dtype":"F32","shape":[4294967295,4294967295,4294967295],"data_offsets":[0,8]}})") ==
          "tensor 'a' of shape [4294967295, 4294967295, 4294967295] in F32 doesn't fit its 8 bytes");
    CHECK(
        entry(
            R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"a":{"dtype":"F16","shape":[2],"data_offsets":[4,8]}})") ==
        "its header: the key 'a' is there twice");
    CHECK(entry(R"({"a\nb":{"dtype":"F16","shape":[3],"data_offsets":[0,4]}})") ==
          "tensor 'a\\nb' of shape [3] in F16 doesn't fit its 4 bytes");
    CHECK(
        complaint(safetensors(
            R"({"a":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},"b":{"dtype":"F16","shape":[2],"data_offsets":[4,8]}})",
            kEight)) == ": tensors 'a' and 'b' share bytes: the file is damaged, download it again");
  }
}

}  // namespace safetensors_test
