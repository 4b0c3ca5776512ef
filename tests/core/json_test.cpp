#include "core/json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "support/system.h"
#include "support/temporary_directory.h"

namespace json_test {

using namespace headlight;

namespace {

std::string problem(std::string_view text, const JsonLimits& limits = {}) {
  const Result<nlohmann::json> parsed = parse_json(text, limits);
  return parsed ? "" : parsed.error();
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("values equal those of the library's own parser") {
    for (const char* text :
         {R"({"a": [1, -2, 3.5, "x\u00e9", true, false, null], "b": {"c": {}}, "a": [[]]})", "7", "\"t\"", "[]",
          " [ 1 , [ 2 , { \"k\" : [ 3 ] } ] ] ", "[18446744073709551615, -9223372036854775808, 1e300]"}) {
      const Result<nlohmann::json> parsed = parse_json(text);
      REQUIRE(parsed);
      CHECK(*parsed == nlohmann::json::parse(text));
    }
  }

  TEST_CASE("a text that isn't JSON says where") {
    CHECK(problem("") == "not JSON (line 1, column 1)");
    CHECK(problem("{\n  \"a\": 1,\n  oops\n}") == "not JSON (line 3, column 3)");
    CHECK(problem("[1, 2") == "not JSON (line 1, column 6)");
    CHECK(problem("[\"\xff\"]") == "not JSON (line 1, column 3)");
    CHECK(problem("[1e999]").starts_with("not JSON"));
  }

  TEST_CASE("depth, size and number of values are bounded") {
    CHECK(problem(nested(64)) == "");
    CHECK(problem(nested(65)) == "JSON nested more than 64 deep");
    CHECK(problem(nested(200'000)) == "JSON nested more than 64 deep");
    CHECK(problem(std::string(200'000, '[')) == "JSON nested more than 64 deep");
    std::string objects;
    for (int i = 0; i < 65; ++i) objects += "{\"a\":";
    CHECK(problem(objects + "1" + std::string(65, '}')) == "JSON nested more than 64 deep");
    CHECK(problem("[1, 2, 3]", {.values = 3}) == "JSON of more than 3 values");
    CHECK(problem("[1, 2]", {.values = 3}) == "");
    CHECK(problem("[1]   ", {.bytes = 5}) == "JSON of 6 bytes, more than 5");
    CHECK(problem("[]", {.depth = 0}) == "JSON nested more than 0 deep");
  }

  TEST_CASE("a repeated key is an error where it matters") {
    const std::string text = R"({"a": {"n\n": 1, "n\n": 2}})";
    CHECK(parse_json(text)->at("a").at("n\n") == 2);
    CHECK(problem(text, {.allows_repeated_keys = false}) == "the key 'n\\n' is there twice");
  }

  TEST_CASE("values are shown in ASCII, and only their shown part is read") {
    CHECK(shown(nlohmann::json::parse(R"({"b": [1, "\u00e9", null], "a": {}})")) == R"({"a":{},"b":[1,"\u00e9",null]})");
    CHECK(shown("x") == "\"x\"");
    CHECK(shown(2.5) == "2.5");
    CHECK(shown(nlohmann::json::array()) == "[]");
    const std::string cut = shown(nlohmann::json(std::vector<int>(1'000'000, 1)), 10);
    CHECK(cut == "[1,1,1,1,1…");
    CHECK(shown(std::string(100'000, 'a'), 5) == "\"aaaa…");
    nlohmann::json deep;  // deeper than parse_json() accepts
    for (int i = 0; i < 100'000; ++i) deep = nlohmann::json::array({std::move(deep)});
    CHECK(shown(deep, 5) == "[[[[[…");
  }

  TEST_CASE("a file is named") {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "a.json";
    write_file_atomically(path, std::string_view("{"));
    CHECK_THROWS_WITH_AS(read_json(path), (path.string() + ": not JSON (line 1, column 2)").c_str(), Error);
    CHECK_THROWS_AS(read_json(test::kDevice), Error);
  }
}

}  // namespace json_test
