#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "export/drawing.h"
#include "export/figure.h"
#include "export/text_metrics.h"
#include "support/occurrences.h"

namespace svg_test {

using namespace headlight::exporting;
using headlight::test::count;

namespace {

// Tags nest and are closed, attributes are quoted, text has no raw "&" or control character. "" when all is well.
std::string malformed(std::string_view xml) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < xml.size();) {
    if (xml[i] == '&') {
      const std::string_view rest = xml.substr(i, 6);
      const bool is_entity =
          rest.starts_with("&amp;") || rest.starts_with("&lt;") || rest.starts_with("&gt;") || rest.starts_with("&quot;");
      if (!is_entity) return "raw & at " + std::string(xml.substr(i, 20));
    }
    if (static_cast<unsigned char>(xml[i]) < 0x20 && xml[i] != '\n') return "control character";
    if (xml.substr(i, 3) == "\xEF\xBF\xBE" || xml.substr(i, 3) == "\xEF\xBF\xBF") return "a code point that XML has not";
    if (xml[i] != '<') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    bool is_quoted = false;
    for (; end < xml.size() && (is_quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') is_quoted = !is_quoted;
      if (xml[end] == '<') return "< inside a tag";
    }
    if (end == xml.size()) return "a tag without end";
    const std::string tag(xml.substr(i + 1, end - i - 1));
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected </" + tag.substr(1) + ">";
      open.pop_back();
    } else if (tag.front() != '?' && tag.back() != '/') {
      open.push_back(name);
    }
    i = end + 1;
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

HeatmapFigure make_figure(std::uint32_t n) {
  HeatmapFigure figure;
  figure.map.rows = figure.map.columns = n;
  for (std::uint32_t i = 0; i < n * n; ++i) figure.map.values.push_back(static_cast<float>(i % 7) / 7.0F);
  figure.rows = {"query", std::vector<std::string>(n, "a")};
  figure.columns = {"key", std::vector<std::string>(n, "b")};
  return figure;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("labels stay text and are escaped") {
    HeatmapFigure figure = make_figure(4);
    figure.title = "heads & <tails> \"quoted\"";
    figure.subtitle = "d_model 64\nsecond line";
    figure.rows.tokens = {"<pad>", "R&D", "注意力", "a\tb\xff"};
    figure.columns.tokens = {"]]>", "'", "\"", "ok"};
    figure.map.masked.assign(16, 1);
    const std::string svg = encode(figure, DrawingFormat::Svg);
    CHECK(malformed(svg) == "");
    CHECK(svg.find("<title>heads &amp; &lt;tails&gt; &quot;quoted&quot;</title>") != std::string::npos);
    for (const char* label :
         {">&lt;pad&gt;</text>", ">R&amp;D</text>", ">注意力</text>", ">a␉b\xEF\xBF\xBD</text>", ">]]&gt;</text>",
          ">second line</text>", ">query</text>", ">key</text>", ">attention weight</text>", ">masked</text>"}) {
      CAPTURE(label);
      CHECK(svg.find(label) != std::string::npos);
    }
    CHECK(svg.find("<pattern id=") != std::string::npos);
  }

  TEST_CASE("characters that XML has not are replaced, wherever a text comes from") {
    const std::string odd = "a\uFFFEb\uFFFFc\u0001d\u0085e\xFF";
    HeatmapFigure figure = make_figure(3);
    figure.title = figure.subtitle = figure.value_title = odd;
    figure.rows = {.title = odd, .tokens = {odd, odd, odd}};
    figure.columns = figure.rows;
    for (std::uint32_t i = 0; i < 3; ++i) figure.map.masked.insert(figure.map.masked.end(), {0, 0, 1});
    figure.masked_title = odd;
    std::unique_ptr<Drawing> noted = with_note(make_drawing(figure, DrawingFormat::Svg), odd, false);
    const std::string svg = encode(*noted, DrawingFormat::Svg);
    CHECK(malformed(svg) == "");
    CHECK(svg.find("\u0085") == std::string::npos);
    CHECK(svg.find("<desc>a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFD</desc>") != std::string::npos);
  }

  TEST_CASE("small maps are rectangles, large ones an image") {
    const std::string small = encode(make_figure(64), DrawingFormat::Svg),
                      large = encode(make_figure(65), DrawingFormat::Svg);
    CHECK(malformed(small) == "");
    CHECK(malformed(large) == "");
    CHECK(small.find("<image") == std::string::npos);
    CHECK(count(small, "<rect") > 64 * 60);
    CHECK(count(large, "<image") == 1);
    CHECK(count(large, "<rect") < 400);
  }

  TEST_CASE("equal neighbours are one rectangle") {
    HeatmapFigure figure = make_figure(10);
    figure.style.parts.numbers = false;
    const std::size_t different = count(encode(figure, DrawingFormat::Svg), "<rect");
    std::fill(figure.map.values.begin(), figure.map.values.end(), 0.5F);
    CHECK(count(encode(figure, DrawingFormat::Svg), "<rect") + 85 < different);
  }

  TEST_CASE("hundreds of tokens get indices at round steps") {
    HeatmapFigure figure = make_figure(400);
    const std::string svg = encode(figure, DrawingFormat::Svg);
    CHECK(svg.find(">20</text>") != std::string::npos);
    CHECK(svg.find(">21</text>") == std::string::npos);
    CHECK(svg.find(">a</text>") == std::string::npos);
  }

  TEST_CASE("long settings are wrapped to the figure") {
    const TextMetrics metrics;
    const std::string text =
        "one two three four five six seven eight\nnine averyveryverylongwordwithoutanybreakingspaceinside";
    const float width = metrics.width("one two three four", 11.0F);
    const std::vector<std::string> lines = wrap(text, width, metrics.measure(11.0F));
    CHECK(lines.size() >= 4);
    CHECK(lines[0] == "one two three four");
    CHECK(lines.back().ends_with("…"));
    for (const std::string& line : lines) CHECK(metrics.width(line, 11.0F) <= width);
    CHECK(wrap("", width, metrics.measure(11.0F)).empty());
  }
}

}  // namespace svg_test
