#include "export/page.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/half.h"
#include "export/canvas.h"
#include "export/markup.h"
#include "support/error_message.h"

namespace page_test {

using namespace headlight;
using namespace headlight::exporting;

namespace {

PageSet set_of(std::vector<std::string> tokens, std::uint32_t heads) {
  PageSet set;
  set.title = "attention";
  set.rows = set.columns = std::move(tokens);
  const std::size_t cells = set.rows.size() * set.columns.size();
  for (std::uint32_t i = 0; i < set.rows.size(); ++i) {
    set.row_positions.push_back(i);
    set.column_positions.push_back(i);
  }
  set.layers = {0};
  for (std::uint32_t head = 0; head < heads; ++head) set.heads.push_back(head);
  for (std::size_t i = 0; i < cells * heads; ++i)
    set.values.push_back(static_cast<float>(i) / static_cast<float>(cells * heads));
  set.masked.resize(set.values.size());
  return set;
}

/// The page's data, found as a browser finds it: up to the first end tag.
nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script", begin) - begin));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a page is one file that loads nothing, and no text leaves its place") {
    const std::vector<std::string> hostile = {"</script><script>alert(1)</script>",
                                              "<!--",
                                              "\"quoted\" & 'more'",
                                              "{{SCRIPT}}",
                                              std::string("\x01\x1F\0", 3),
                                              "\xFF broken",
                                              "·猫",
                                              "a\uFFFE\uFFFF\uFDD0\U0001FFFE\u0085",
                                              "\u2028]]>"};
    AttentionPage page;
    page.title = "</title><img src=x onerror=alert(1)>";
    page.subtitle = "</script><b>";
    page.made = "\"><script>";
    page.sets = {set_of(hostile, 1)};
    const std::string text = encode_page(page);
    CHECK(text.find("alert(1)</script>") == std::string::npos);
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("content=\"&quot;&gt;&lt;script&gt;\"") != std::string::npos);
    CHECK(text.find("src=\"") == std::string::npos);
    CHECK(text.find("http:") == text.find("http://www.w3.org/2000/svg"));  // the name of SVG's elements
    CHECK(text.find("default-src 'none'") != std::string::npos);
    std::size_t ends = 0;
    for (std::size_t at = text.find("</script"); at != std::string::npos; at = text.find("</script", at + 1)) ++ends;
    CHECK(ends == 2);
    CHECK(text.find("{{") == text.find("{{SCRIPT}}"));
    const nlohmann::json data = data_of(text);
    CHECK(data["title"] == page.title);
    CHECK(data["sets"][0]["rows"][0] == hostile[0]);
    CHECK(data["sets"][0]["rows"][4] == hostile[4]);
    CHECK(data["sets"][0]["rows"][5] == "\uFFFD broken");
    CHECK(data["sets"][0]["rows"][7] == hostile[7]);  // as escapes: the file itself has characters alone
    for (const char* odd : {"\uFFFE", "\uFFFF", "\uFDD0", "\U0001FFFE", "\u0085"})
      CHECK(text.find(odd) == std::string::npos);
  }

  TEST_CASE("what isn't a number keeps a value of its own, however large the page is") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const std::uint32_t heads : {1U, 66U, 440U}) {  // of 128 x 128 cells
      CAPTURE(heads);
      AttentionPage page;
      page.sets = {set_of(std::vector<std::string>(128, "t"), heads)};
      std::vector<float>& values = page.sets.front().values;
      values[3] = std::numeric_limits<float>::quiet_NaN();
      values[4] = infinity;
      values[5] = -infinity;
      values[6] = 0.0F;
      page.sets.front().masked[5] = 1;
      const nlohmann::json data = data_of(encode_page(page));
      CHECK(data["note"].get<std::string>().ends_with(" 2 cells are NaN or infinite: magenta."));
      const std::string bytes = from_base64(data["sets"][0]["data"].get<std::string>()).value();
      const auto number = [&](std::size_t at) {
        float found = 0.0F;
        const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(bytes.at(index)); };
        const PageNumbers numbers = page_numbers(values.size());
        if (numbers == PageNumbers::F32) {
          std::memcpy(&found, bytes.data() + 4 * at, sizeof(found));
          return found;
        }
        if (numbers == PageNumbers::F16) return from_half(static_cast<std::uint16_t>(byte(2 * at) | byte(2 * at + 1) << 8));
        const int step = byte(at), last = data["lastStep"];
        if (step > last) return step == last + 1 ? -infinity : step == last + 2 ? infinity : std::nanf("");
        return static_cast<float>(step) / static_cast<float>(last) * data["sets"][0]["most"][0].get<float>();
      };
      CHECK(std::isnan(number(3)));
      CHECK(number(4) == infinity);
      CHECK(number(5) == -infinity);
      CHECK(number(6) == 0.0F);
      const std::size_t largest = std::size_t{128} * 128 - 1;
      CHECK(number(largest) == doctest::Approx(values[largest]).epsilon(1e-3));
    }
  }

  TEST_CASE("numbers are exact, in float16 or in 253 steps, by how many there are") {
    CHECK(page_numbers(1U << 20) == PageNumbers::F32);
    CHECK(page_numbers((1U << 20) + 1) == PageNumbers::F16);
    CHECK(page_numbers(7'000'000) == PageNumbers::F16);
    CHECK(page_numbers(7'000'001) == PageNumbers::U8);
    for (const std::uint32_t heads : {1U, 66U, 440U}) {  // of 128 x 128 cells
      AttentionPage page;
      page.sets = {set_of(std::vector<std::string>(128, "t"), heads)};
      const PageSet& set = page.sets.front();
      const std::string text = encode_page(page);
      const nlohmann::json data = data_of(text);
      const std::string bytes = from_base64(data["sets"][0]["data"].get<std::string>()).value();
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes.at(at)); };
      const PageNumbers numbers = page_numbers(set.values.size());
      CHECK(bytes.size() == set.values.size() * (numbers == PageNumbers::F32 ? 4 : numbers == PageNumbers::F16 ? 2 : 1));
      double largest = 0.0;
      for (std::size_t i = 0; i < set.values.size(); i += 997) {
        float found = 0.0F;
        if (numbers == PageNumbers::F32) {
          std::memcpy(&found, bytes.data() + 4 * i, sizeof(found));
        } else if (numbers == PageNumbers::F16) {
          found = from_half(static_cast<std::uint16_t>(byte(2 * i) | byte(2 * i + 1) << 8));
        } else {
          found = static_cast<float>(byte(i)) / data["lastStep"].get<float>() *
                  data["sets"][0]["most"][i / (128 * 128)].get<float>();
        }
        const double difference = std::abs(static_cast<double>(found) - static_cast<double>(set.values[i]));
        largest = std::isnan(difference) ? difference : std::max(largest, difference);
      }
      CAPTURE(largest);
      CHECK(largest <= (numbers == PageNumbers::F32 ? 0.0 : numbers == PageNumbers::F16 ? 2.5e-4 : 2e-3));
      CHECK(text.size() < 14'000'000);
    }
  }

  TEST_CASE("equal masks are stored once, and say which cells are hidden") {
    AttentionPage page;
    page.sets = {set_of({"a", "b", "c"}, 3)};
    for (const std::size_t head : {0U, 2U}) page.sets[0].masked[head * 9 + 1] = page.sets[0].masked[head * 9 + 8] = 1;
    const nlohmann::json data = data_of(encode_page(page));
    CHECK(data["sets"][0]["maskOf"] == nlohmann::json({0, -1, 0}));
    CHECK(from_base64(data["sets"][0]["masks"][0].get<std::string>()) == std::string("\x02\x01"));
  }

  TEST_CASE("an image is in a page once, and sets say which tokens are its patches") {
    AttentionPage page;
    page.sets = {set_of({"[class]", "0,0", "0,1"}, 1), set_of({"a", "b", "c"}, 1)};
    page.images = {std::make_shared<const Pixels>(Pixels{.width = 2, .height = 1, .rgba = {0xFF0000FFU, 0xFF00FF00U}})};
    page.sets[0].row_patches = page.sets[0].column_patches = {{.image = 0, .rows = 1, .columns = 2, .first = 1, .step = 2}};
    const std::string text = encode_page(page);
    const nlohmann::json data = data_of(text);
    REQUIRE(data["images"].size() == 1);
    const std::string start = "data:image/png;base64,", source = data["images"][0];
    REQUIRE(source.starts_with(start));
    CHECK(from_base64(source.substr(start.size())).value().substr(1, 3) == "PNG");
    CHECK(text.find(source) == text.rfind(source));
    CHECK(data["sets"][0]["columnPatches"] ==
          nlohmann::json({{{"image", 0}, {"rows", 1}, {"columns", 2}, {"first", 1}, {"step", 2}}}));
    CHECK(data["sets"][1]["rowPatches"].is_null());
  }

  TEST_CASE("a page without cells, and one that no browser opens, are refused") {
    CHECK_FALSE(test::error_message([] { static_cast<void>(encode_page({})); }).empty());
    AttentionPage page;
    page.sets = {set_of({"a", "b"}, 1)};
    page.sets[0].values.pop_back();
    CHECK(test::error_message([&] { static_cast<void>(encode_page(page)); }).find("don't fill") != std::string::npos);
  }

  TEST_CASE("base64 and back") {
    for (const char* text : {"", "a", "ab", "abc", "abcd", "\xFF\x01z"})
      CHECK(from_base64(base64(text)) == std::string(text));
    for (const char* text : {"a", "ab", "abc", "ab!=", "=abc"}) CHECK_FALSE(from_base64(text).has_value());
  }
}

}  // namespace page_test
