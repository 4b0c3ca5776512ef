#include <doctest/doctest.h>

#include "app/state/mask_file.h"
#include "core/error.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace mask_file_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// A .npy file of version 1.0 by hand.
std::string npy(const std::string& type, const std::string& shape, const std::string& numbers,
                const std::string& order = "False") {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + numbers;
}

/// Returns such a file of version 2.0, whose header may be long.
std::string long_npy(const std::string& type, const std::string& shape, const std::string& numbers) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  std::string file("\x93NUMPY\x02\x00", 8);
  for (unsigned shift = 0; shift < 32; shift += 8) file += static_cast<char>(header.size() >> shift & 0xffu);
  return file + header + numbers;
}

/// load_mask's message ends with this for a file that isn't read as JSON.
constexpr const char* kExpected = "; expected lists of true and false, [[true, false], [true, true]]: a row for each query";

/// Returns load_mask's message about a file of this name and content.
std::string refusal(const std::string& name, const std::string& content) {
  const TemporaryDirectory directory;
  write_file_atomically(directory.path() / name, content);
  try {
    load_mask(directory.path() / name);
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string prefix = (directory.path() / name).string() + ": ";
    REQUIRE(message.starts_with(prefix));
    REQUIRE(message.find('\n') == std::string::npos);
    return message.substr(prefix.size());
  }
  return "";
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("masks are read from JSON and NumPy files, with two to four axes") {
    const TemporaryDirectory directory;
    const auto load = [&](const char* name, const std::string& content) {
      write_file_atomically(directory.path() / name, content);
      return load_mask(directory.path() / name);
    };
    const attention::BooleanMask flat = {.batch = 1, .heads = 1, .queries = 2, .keys = 3, .keep = {1, 0, 1, 0, 1, 1}};
    CHECK(load("a.json", "[[true, false, 1], [0, 1, true]]") == flat);
    CHECK(load("b.npy", npy("|b1", "2, 3", std::string("\1\0\1\0\1\1", 6))) == flat);
    const float numbers[] = {1.0f, 0.0f, -2.5f, 0.0f, 1e-9f, 7.0f};
    CHECK(load("c.npy", npy("<f4", "2, 3", {reinterpret_cast<const char*>(numbers), sizeof(numbers)})) == flat);
    const std::int64_t integers[] = {1, 0, 1, 0, 1, 1 << 20};
    CHECK(load("d.npy", npy("<i8", "2, 3", {reinterpret_cast<const char*>(integers), sizeof(integers)})) == flat);

    CHECK(load("e.json", "[[[1, 0]], [[0, 1]]]") ==
          attention::BooleanMask{.batch = 2, .heads = 1, .queries = 1, .keys = 2, .keep = {1, 0, 0, 1}});
    CHECK(load("f.json", "[[[[1, 0]], [[0, 1]], [[1, 1]]]]") ==
          attention::BooleanMask{.batch = 1, .heads = 3, .queries = 1, .keys = 2, .keep = {1, 0, 0, 1, 1, 1}});
  }

  TEST_CASE("headers and lists that would take the stack or the memory are refused") {
    const std::string deep(200'000, '['), close(200'000, ']');
    CHECK(refusal("a.json", deep + close) == std::string("JSON nested more than 64 deep") + kExpected);
    CHECK(refusal("a.json", "[{\"a\":" + deep.substr(0, 60) + close.substr(0, 60) + "}]")
              .starts_with("a mask consists of true and false (or 1 and 0), found {\"a\":[[["));
    std::string axes = "1";
    for (int i = 0; i < 20'000; ++i) axes += ", 1";
    CHECK(refusal("a.npy", long_npy("|b1", axes, "\1")) == "the NumPy header doesn't say type and shape");
    CHECK(refusal("a.npy", long_npy(std::string(400'000, 'x'), "1, 1", "\1")).starts_with("numbers of type xxx"));
    CHECK(refusal("a.npy", long_npy("|b1", std::string(400'000, ' '), "\1")) ==
          "the NumPy header doesn't say type and shape");
    CHECK(refusal("a.npy", npy("|b1", "4294967295, 4294967295, 0", "")) == "the file ends before its last number");
  }

  TEST_CASE("a file that is no mask is refused in one line") {
    CHECK(refusal("a.json", "[[1, 0], [1]]") ==
          "a list of the mask has 2 members and another one 1; all must be equally long");
    CHECK(refusal("a.json", "[[1, 0], [1, 2]]") == "a mask consists of true and false (or 1 and 0), found 2");
    CHECK(refusal("a.json", "[[1, 0], 1]") == "the lists of the mask are nested unevenly");
    CHECK(refusal("a.json", "[1, [1, 0]]") == "the lists of the mask are nested unevenly");
    CHECK(refusal("a.json", "[[[[[1]]]]]") == "the lists of the mask are nested unevenly");
    CHECK(refusal("a.json", "[1, 0]") ==
          "the mask is [2]; expected [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys]");
    CHECK(refusal("a.json", "[]").starts_with("the mask is [0]; expected"));
    CHECK(refusal("a.json", "[[1, 0}") == std::string("not JSON (line 1, column 7)") + kExpected);
    CHECK(refusal("a.json", "").starts_with("not JSON (line 1, column 1): it is empty; expected lists of true and false"));
    CHECK(refusal("a.txt", "1 0") == "a mask is a .json or a .npy file");
    CHECK(refusal("a.npy", "text, and more of it") == "no NumPy file (it doesn't begin with \\x93NUMPY)");
    CHECK(refusal("a.npy", npy("|b1", "2, 3", "\1\1")) == "the file ends before its last number");
    CHECK(refusal("a.npy", npy("|b1", "999999999, 999999999, 999999999", "\1\1")) == "the file ends before its last number");
    CHECK(refusal("a.npy", npy("<f8", "1, 2", "\1\1")) == "the file ends before its last number");
    CHECK(refusal("a.npy", npy("<f8", "", "\1\1")) == "the file ends before its last number");
    CHECK(refusal("a.npy", npy(">f4", "1, 1", "1234")) == "numbers of type >f4 are not read; save the mask as bool");
    CHECK(refusal("a.npy", npy("|b1", "2, 1", "\1\1", "True")) ==
          "the array is stored column by column; save numpy.ascontiguousarray(mask)");
    CHECK(refusal("a.npy", npy("|b1", "2, 1", "\1\1").substr(0, 30)) == "the file ends inside its header");
    CHECK_THROWS_AS(load_mask("/nonexistent/mask.json"), Error);
    CHECK_THROWS_AS(load_mask("/dev/zero.json"), Error);
  }
}

}  // namespace mask_file_test
