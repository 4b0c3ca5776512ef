#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <span>

#include "core/error.h"
#include "core/file.h"
#include "export/csv.h"

namespace table_test {

using namespace headlight;
using namespace headlight::exporting;

std::string csv_of(std::string_view corner, std::span<const std::string> rows, std::span<const std::string> columns,
                   std::span<const float> values) {
  std::string text;
  CsvWriter writer([&](std::string_view bytes) { text += bytes; }, corner, columns);
  for (std::size_t row = 0; row < rows.size(); ++row)
    writer.append_row(rows[row], values.subspan(row * columns.size(), columns.size()));
  return text;
}

TEST_SUITE("cpu") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();

  TEST_CASE("numbers read back as the same float32") {
    std::mt19937 random(11);
    std::uniform_real_distribution<float> exponent(-38.0F, 38.0F), mantissa(-9.9F, 9.9F);
    for (int i = 0; i < 2000; ++i) {
      const float value = mantissa(random) * std::pow(10.0F, exponent(random) * 0.98F);
      CHECK(std::strtof(table_number(double{value}).c_str(), nullptr) == value);
    }
    CHECK(table_number(double{0.1F}) == "0.1");
    CHECK(table_number(1e5) == "100000");
    CHECK(table_number(double{-kInfinity}) == "-inf");
  }

  TEST_CASE("what isn't a number has no sign") {
    // Processors make NaN with the sign bit set, which "%g" writes.
    for (const float none : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()})
      CHECK(table_number(double{none}) == "nan");
    CHECK(table_number(0.1) == "0.1");
    CHECK(table_number(1.0 / 3.0) == "0.333333333");
  }

  TEST_CASE("a CSV names rows and columns and quotes what needs quotes") {
    const std::vector<std::string> rows = {"say \"hi\"", "b"}, columns = {"x,y", "注意", "line\nbreak"};
    const std::vector<float> values = {0.1F, 1.0F, -kInfinity, -1e9F, 1e-7F, 0.0F};
    CHECK(csv_of("query \\ key", rows, columns, values) ==
          "query \\ key,\"x,y\",注意,\"line\nbreak\"\n"
          "\"say \"\"hi\"\"\",0.1,1,-inf\n"
          "b,-1e+09,1e-07,0\n");
    CHECK(index_names(3) == std::vector<std::string>{"0", "1", "2"});
  }

  TEST_CASE("what a spreadsheet would compute is text in it; numbers stay numbers") {
    for (const char* text : {"=1+1", "@SUM(A1)", "+cmd", "-1+1", "--", "\t=1", "\r=1", "\n=1", "＝1+1", "-inf", "+ 1"}) {
      CAPTURE(text);
      CHECK(tab_field(text).starts_with('\''));
      CHECK(csv_field(text).find('\'') <= 1);
    }
    CHECK(csv_field("=1,\"a\"") == "\"'=1,\"\"a\"\"\"");
    CHECK(csv_field("@a") == "'@a");
    CHECK(tab_field("=a\tb") == "'=a b");
    for (const char* text : {"-5", "+5", "-0.25", "-1e-9", "5", "-", "=", "a=b", " =1", "", "·+", "L0 H1"}) {
      CAPTURE(text);
      CHECK(csv_field(text) == text);
      CHECK(tab_field(text) == text);
    }
    const std::vector<std::string> rows = {"=1+1"}, columns = {"-", "+cmd"};
    CHECK(csv_of("@", rows, columns, std::vector<float>{-1.0F, 2.0F}) == "@,-,'+cmd\n'=1+1,-1,2\n");
  }

  TEST_CASE("a folder that can't be written is refused in one line") {
    const std::vector<std::string> names = {"a"};
    const std::vector<float> values = {1.0F};
    CHECK_THROWS_WITH_AS(
        AtomicFile("/nonexistent/folder/map.csv"),
        "can't write /nonexistent/folder/map.csv: No such file or directory; choose another folder or free some space",
        Error);
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "headlight-table-test.csv";
    AtomicFile file(path);
    CsvWriter(sink_of(file), "", names).append_row("a", values);
    file.finish();
    CHECK(read_file(path) == ",a\na,1\n");
    std::filesystem::remove(path);
  }
}

}  // namespace table_test
