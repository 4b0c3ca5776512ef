#include "model/gguf.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/file.h"
#include "model/file_bytes.h"
#include "model/safetensors.h"
#include "support/error_message.h"

namespace gguf_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

enum : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

FileBytes head(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
  return FileBytes().raw("GGUF").number(version).number(tensors).number(values);
}

FileBytes& key(FileBytes& bytes, std::string_view name, std::uint32_t type) { return bytes.text(name).number(type); }

/// A tensor's description; axes innermost first, as in the file.
FileBytes& tensor(FileBytes& bytes, std::string_view name, std::initializer_list<std::uint64_t> axes, std::uint32_t type,
                  std::uint64_t offset) {
  bytes.text(name).number(static_cast<std::uint32_t>(axes.size()));
  for (const std::uint64_t axis : axes) bytes.number(axis);
  return bytes.number(type).number(offset);
}

/// A GGUF file in a folder of its own.
struct Opened {
  explicit Opened(const FileBytes& bytes) : file(written(bytes.bytes())) {}
  GgufFile written(std::string_view bytes) const {
    write_file_atomically(path(), bytes);
    return GgufFile(path());
  }
  std::filesystem::path path() const { return folder.path() / "m.gguf"; }

  TemporaryDirectory folder;
  GgufFile file;
};

/// The error of opening these bytes, without the words that all errors share.
std::string complaint(const std::string& bytes) {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "m.gguf";
  write_file_atomically(path, bytes);
  const std::string message = error_message([&] { (void)GgufFile(path); });
  if (message.empty()) return message;
  CHECK(is_one_line(message));
  const std::string begin = path.string() + " is no usable GGUF file: ", end = "; download it again";
  if (!message.starts_with(begin) || !message.ends_with(end)) return message.substr(path.string().size());
  return message.substr(begin.size(), message.size() - begin.size() - end.size());
}
std::string complaint(const FileBytes& bytes) { return complaint(bytes.bytes()); }

/// A small file with everything in it.
FileBytes whole_file() {
  FileBytes bytes = head(2, 4);
  key(bytes, "general.architecture", kString).text("llama");
  key(bytes, "tokens", kArray).number(kString).number(std::uint64_t{3}).text("a").text("").text("ç");
  key(bytes, "scores", kArray).number(kF32).number(std::uint64_t{2}).number(0.5f).number(-1.0f);
  key(bytes, "block_count", kU32).number(2u);
  tensor(bytes, "w", {3, 2}, 0, 0);
  tensor(bytes, "b", {2}, 1, 32);
  bytes.pad_to(32);
  for (int i = 0; i < 6; ++i) bytes.number(static_cast<float>(i));
  return bytes.pad_to(32).number(std::uint16_t{0x3c00}).number(std::uint16_t{0x4000});
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("metadata of every type is read with its value") {
    FileBytes bytes = head(0, 13, 2);
    key(bytes, "u8", kU8).number(std::uint8_t{200});
    key(bytes, "i8", kI8).number(std::int8_t{-100});
    key(bytes, "u16", kU16).number(std::uint16_t{60000});
    key(bytes, "i16", kI16).number(std::int16_t{-30000});
    key(bytes, "u32", kU32).number(std::uint32_t{4000000000});
    key(bytes, "i32", kI32).number(std::int32_t{-2000000000});
    key(bytes, "u64", kU64).number(std::numeric_limits<std::uint64_t>::max());
    key(bytes, "i64", kI64).number(std::numeric_limits<std::int64_t>::min());
    key(bytes, "f32", kF32).number(0.25f);
    key(bytes, "f64", kF64).number(1e300);
    key(bytes, "bool", kBool).number(std::uint8_t{1});
    key(bytes, "bools", kArray).number(kBool).number(std::uint64_t{3}).raw(std::string_view("\1\0\1", 3));
    key(bytes, "nested", kArray).number(kArray).number(std::uint64_t{2});
    bytes.number(kU8).number(std::uint64_t{1}).number(std::uint8_t{7});
    bytes.number(kString).number(std::uint64_t{1}).text("x");

    const Opened opened(bytes);
    const GgufFile& file = opened.file;
    CHECK(file.version() == 2);
    CHECK(file.keys().size() == 13);
    CHECK(file.integer("u8") == 200);
    CHECK(file.integer("i8") == -100);
    CHECK(file.integer("u16") == 60000);
    CHECK(file.integer("i16") == -30000);
    CHECK(file.integer("u32") == 4000000000);
    CHECK(file.integer("i32") == -2000000000);
    CHECK(file.integer("i64") == std::numeric_limits<std::int64_t>::min());
    CHECK(file.number("u64") == 0x1p64);
    CHECK(file.number("f32") == 0.25);
    CHECK(file.number("f64") == 1e300);
    CHECK(file.number("i8") == -100.0);
    CHECK(file.boolean("bool"));
    CHECK(file.value("bools").booleans() == std::vector<bool>{true, false, true});
    CHECK(file.integers("u8") == std::vector<std::int64_t>{200});
    CHECK(file.integer_or("none", 5) == 5);
    CHECK(file.integer_or("u8", 5) == 200);
    CHECK(file.boolean_or("none", true));
    CHECK(file.text_or("none", "x") == "x");

    // A wrong type or a missing key names key and file.
    const std::string path = opened.path().string();
    const auto says = [&](const std::function<void()>& act) { return error_message(act); };
    CHECK(says([&] { (void)file.integer("none"); }) ==
          path + " has no metadata under 'none': choose a GGUF file made by a newer converter");
    CHECK(says([&] { (void)file.integer("f32"); }) == path + ": 'f32' is f32, but an integer is expected");
    CHECK(says([&] { (void)file.integer("u64"); }) == path + ": 'u64' is u64, but an integer is expected");
    CHECK(says([&] { (void)file.integer("bools"); }) ==
          path + ": 'bools' is a list of 3 × bool, but an integer is expected");
    CHECK(says([&] { (void)file.number("bool"); }) == path + ": 'bool' is bool, but a number is expected");
    CHECK(says([&] { (void)file.boolean("u8"); }) == path + ": 'u8' is u8, but a bool is expected");
    CHECK(says([&] { (void)file.text("u8"); }) == path + ": 'u8' is u8, but a string is expected");
    CHECK(says([&] { (void)file.texts("nested"); }) ==
          path + ": 'nested' is a list of 2 × array, but a list of strings is expected");
    CHECK(says([&] { (void)file.integers("f64"); }) == path + ": 'f64' is f64, but a list of integers is expected");
    CHECK(says([&] { (void)file.numbers("bools"); }) ==
          path + ": 'bools' is a list of 3 × bool, but a list of numbers is expected");
    CHECK(says([&] { (void)file.boolean_or("u8", false); }).find("a bool is expected") != std::string::npos);
  }

  TEST_CASE("tensors have their axes reversed, lists their elements") {
    const Opened opened(whole_file());
    const GgufFile& file = opened.file;
    CHECK(file.text("general.architecture") == "llama");
    CHECK(file.texts("tokens") == std::vector<std::string>{"a", "", "ç"});
    CHECK(file.numbers("scores") == std::vector<double>{0.5, -1.0});
    const StoredTensor* weight = file.tensors().find("w");
    REQUIRE(weight != nullptr);
    CHECK(weight->shape == Shape{2, 3});
    CHECK(weight->parameter().tensor().values == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(file.tensors().find("b")->tensor().values == std::vector<float>{1.0f, 2.0f});
    CHECK(GgufFile::is_gguf(opened.path()));
    CHECK_FALSE(GgufFile::is_gguf(opened.folder.path()));
  }

  TEST_CASE("a file truncated anywhere is refused, and so is one with any length made huge") {
    const std::string bytes = whole_file().bytes();
    CHECK(complaint(bytes).empty());
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      CAPTURE(size);
      CHECK_FALSE(complaint(bytes.substr(0, size)).empty());
    }
    // Eight bytes of ones are put wherever the header may hold a length: an error or a file, never a crash.
    for (std::size_t at = 8; at + 8 < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged.replace(at, 8, 8, '\xff');
      CAPTURE(at);
      (void)complaint(damaged);
    }
  }

  TEST_CASE("errors name the violation of the format") {
    CHECK(complaint("GGML1234") == "it doesn't begin with 'GGUF'");
    CHECK(complaint("GG") == "it doesn't begin with 'GGUF'");
    CHECK(complaint(head(0, 0, 1)) == "it has version 1, but only 2 and 3 are supported");
    CHECK(complaint(head(0, 0, 9)) ==
          " has GGUF version 9, which is newer than 3, the last that this Headlight reads: look for a newer Headlight");
    CHECK(complaint(head(0, 0, 0x03000000)) == "its numbers are big-endian, which isn't supported");
    CHECK(complaint(head(0, 0)).empty());
    CHECK(complaint(head(0, 1)) == "it ends inside a key, which takes 8 bytes from byte 24 on");

    const auto value = [](const std::function<void(FileBytes&)>& add) {
      FileBytes bytes = head(0, 1);
      add(bytes);
      return complaint(bytes.zeros(4));
    };
    CHECK(value([](FileBytes& b) { key(b, "k", 13); }) == "the value of 'k' has the unknown type 13");
    CHECK(value([](FileBytes& b) { key(b, "k", kArray).number(kU32).number(~std::uint64_t{0}); }) ==
          "it ends inside the value of 'k', a list of 18446744073709551615 values");
    CHECK(value([](FileBytes& b) { key(b, "k", kString).number(std::uint64_t{99}); }) ==
          "it ends inside the value of 'k', which takes 99 bytes from byte 45 on");
    CHECK(value([](FileBytes& b) {
            key(b, "k", kArray);
            for (int i = 0; i < 5; ++i) b.number(kArray).number(std::uint64_t{1});
            b.number(kU8).number(std::uint64_t{1}).number(std::uint8_t{1});
          }) == "the value of 'k' holds lists more than 4 deep");
    FileBytes twice = head(0, 2);
    key(key(twice, "k", kU8).number(std::uint8_t{1}), "k", kU8).number(std::uint8_t{1});
    CHECK(complaint(twice) == "the key 'k' is there twice");
    for (const std::uint32_t alignment : {0u, 24u, 1u << 30}) {
      FileBytes bytes = head(0, 1);
      CHECK(complaint(key(bytes, "general.alignment", kU32).number(alignment)) ==
            "its general.alignment is not a power of two");
    }
  }

  TEST_CASE("a tensor that is described wrongly is named") {
    const auto described = [](const std::function<void(FileBytes&)>& add, std::uint64_t count = 1) {
      FileBytes bytes = head(count, 0);
      add(bytes);
      return complaint(bytes.pad_to(32).zeros(64));
    };
    CHECK(described([](FileBytes& b) { tensor(b, "t", {16}, 0, 0); }).empty());
    CHECK(described([](FileBytes& b) { tensor(b, "t", {17}, 0, 0); }) ==
          "tensor 't' should be 68 bytes at 0, but only 64 bytes of numbers are there");
    CHECK(described([](FileBytes& b) { tensor(b, "t", {1}, 0, 96); }) ==
          "tensor 't' should be 4 bytes at 96, but only 64 bytes of numbers are there");
    CHECK(described([](FileBytes& b) { tensor(b, "t", {1}, 0, ~std::uint64_t{31}); }).find("should be 4 bytes") !=
          std::string::npos);
    CHECK(described([](FileBytes& b) { tensor(b, "t", {1}, 0, 8); }) == "tensor 't' begins at 8, no multiple of 32");
    CHECK(described([](FileBytes& b) { tensor(b, "t", {1, 1, 1, 1, 1}, 0, 0); }) == "tensor 't' has 5 axes, more than 4");
    CHECK(described([](FileBytes& b) { tensor(b, "t", {1ull << 32}, 0, 0); }) == "tensor 't' has the axis 4294967296");
    CHECK(described([](FileBytes& b) { tensor(b, "t", {1}, 99, 0); }) == "tensor 't' has the unknown ggml type 99");
    CHECK(described([](FileBytes& b) { tensor(b, "t", {16}, 8, 0); }) == "tensor 't' of shape [16] can't be stored as Q8_0");
    CHECK(described([](FileBytes& b) {
            tensor(b, "t", {0xffffffff, 0xffffffff, 0xffffffff}, 0, 0);
          }).find("can't be stored as F32") != std::string::npos);
    CHECK(described([](FileBytes& b) { tensor(tensor(b, "t", {9}, 0, 0), "u", {1}, 0, 32); }, 2) ==
          ": tensors 't' and 'u' share bytes: the file is damaged, download it again");
    CHECK(described([](FileBytes& b) { tensor(tensor(b, "t", {1}, 0, 0), "t", {1}, 0, 32); }, 2) ==
          ": there are two tensors named 't': the file is damaged, download it again");
  }

  TEST_CASE("types of ggml that aren't decoded are listed and refused by name") {
    FileBytes bytes = head(2, 0);
    tensor(tensor(bytes, "t", {32, 2}, 9, 0), "v", {32}, 8, 96).pad_to(32).zeros(130);
    const Opened opened(bytes);
    CHECK(opened.file.tensors().find("t")->type == "Q8_1");
    CHECK(opened.file.tensors().find("t")->bytes.size() == 80);
    CHECK(error_message([&] { (void)opened.file.tensors().find("t")->parameter(); }) ==
          opened.path().string() +
              ": tensor 't' is stored as Q8_1, which can't be read as weights: choose a file in F32, F16 or "
              "BF16 or any of GGUF's quantised types");
    CHECK(error_message([&] { (void)opened.file.tensors().find("v")->parameter(); }) ==
          opened.path().string() + ": tensor 'v' of shape [32] can't be Q8_0, which stores 32 numbers of a row together");
  }

  TEST_CASE("quantised blocks decode to the numbers of the Python package gguf, bit for bit") {
    const SafetensorsFile golden(HEADLIGHT_GOLDEN_DIR "/formats/quantised.safetensors");
    for (auto each = static_cast<std::size_t>(ElementType::Q8_0); each < kElementTypes; ++each) {
      const auto type = static_cast<ElementType>(each);
      CAPTURE(to_string(type));
      const StoredTensor* blocks = golden.tensors().find(std::string(to_string(type)) + ".blocks");
      REQUIRE(blocks != nullptr);
      CHECK(blocks->shape[1] == block_bytes(type));
      const Tensor expected = golden.tensor(std::string(to_string(type)) + ".numbers");
      REQUIRE(expected.values.size() == std::size_t{blocks->shape[0]} * block_numbers(type));
      std::vector<float> numbers(expected.values.size());
      decode(type, blocks->bytes.data(), numbers.size(), numbers.data());
      const auto bits = [](float number) { return std::bit_cast<std::uint32_t>(number); };
      CHECK(std::ranges::equal(numbers, expected.values, {}, bits, bits));
    }
  }

  TEST_CASE("files of the package gguf open") {
    const std::string folder = HEADLIGHT_GOLDEN_DIR "/models/gguf/";
    const GgufFile mixed(folder + "llama-mixed-k.gguf");
    CHECK(mixed.text("general.architecture") == "llama");
    CHECK(static_cast<std::int64_t>(mixed.texts("tokenizer.ggml.tokens").size()) == mixed.integer("llama.vocab_size"));
    CHECK(mixed.tensors().find("token_embd.weight")->type == "Q4_K");
    CHECK(mixed.tensors().find("output.weight")->type == "Q6_K");
    for (const StoredTensor& stored : mixed.tensors().all()) {
      // Weights of a random network: small, and not all equal.
      const Tensor numbers = stored.parameter().tensor();
      CHECK(std::ranges::all_of(numbers.values, [](float value) { return std::abs(value) < 10.0f; }));
      CHECK(std::ranges::max(numbers.values) > std::ranges::min(numbers.values));
    }
  }
}

}  // namespace gguf_test
