// Properties of figures besides their cells: formats, grounds, parts, letters, and the session that they carry.
#include <array>
#include <ctime>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/error.h"
#include "export/decoded_png.h"
#include "export/figure.h"
#include "export/figure_session.h"
#include "export/figures.h"
#include "export/heatmap_figure.h"

namespace figure_output_test {

using namespace headlight;
using namespace headlight::exporting;

namespace {

HeatmapFigure small_figure() {
  HeatmapFigure figure;
  figure.title = "Title of it";
  figure.subtitle = "settings of it";
  figure.map = {.rows = 2, .columns = 2, .values = {1.0F, 0.0F, 0.25F, 0.75F}, .masked = {0, 1, 0, 0}};
  figure.rows = {.title = "query", .tokens = {"the", "·cat"}};
  figure.columns = {.title = "key", .tokens = {"the", "·cat"}};
  return figure;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr std::array kAllFormats = {DrawingFormat::Png, DrawingFormat::Svg, DrawingFormat::Pdf};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a figure is the same file each time, in every format, and carries its session") {
    HeatmapFigure figure = small_figure();
    for (const DrawingFormat format : kAllFormats) {
      figure.session.clear();
      CHECK_FALSE(session_of_figure(encode(figure, format)).has_value());
      figure.session = R"({"headlight": 1, "state": {"text": "<&>\" ü )" + std::string(100'000, 'x') + "\"}}";
      const std::string file = encode(figure, format);
      CHECK(session_of_figure(file) == figure.session);
      CHECK(file == encode(figure, format));
    }
  }

  TEST_CASE("a PNG says how large it is on paper") {
    HeatmapFigure figure = small_figure();
    figure.style.png_scale = 300.0 / 96.0;
    for (const char* const session : {"", "{}"}) {
      figure.session = session;
      const std::string png = encode(figure, DrawingFormat::Png);
      // 300 dots an inch are 11,811 a metre, in both directions; before the pixels.
      const std::size_t at = png.find(std::string("pHYs\x00\x00\x2E\x23\x00\x00\x2E\x23\x01", 13));
      REQUIRE(at != std::string::npos);
      CHECK(at < png.find("IDAT"));
    }
  }

  TEST_CASE("a figure that is laid out on another page is the one that is made for it; its colours and its title stay") {
    HeatmapFigure figure = small_figure();
    figure.style.color_map = chart::ColorMap::Magma;
    figure.style.limits = {.low = -1.0F, .high = 2.0F};
    const auto drawing = make_drawing(figure, DrawingFormat::Svg);
    FigureStyle page{.is_dark = true, .font = FigureFont::Serif, .png_scale = 3.0, .map_edge = 90.0F, .width = 300.0F};
    page.parts.bar = page.parts.settings = page.parts.word_marks = false;
    HeatmapFigure other = figure;
    other.style = page;
    other.style.color_map = figure.style.color_map;
    other.style.limits = figure.style.limits;
    other.rows.tokens[1] = other.columns.tokens[1] = "cat";
    for (const DrawingFormat format : kAllFormats) {
      CHECK(encode(*drawing->on_page(page, ""), format) == encode(*make_drawing(other, DrawingFormat::Svg), format));
      CHECK(encode(*drawing->on_page(figure.style, ""), format) == encode(*drawing, format));
    }
    CHECK(has(encode(*drawing->on_page(page, "Mine"), DrawingFormat::Svg), ">Mine<"));
    // A note below it, and the maps of a page of several.
    PanelsFigure panels{.title = "All", .subtitle = {}, .panels = {figure, figure}};
    const auto noted = with_note(make_drawing(panels), "a note", false)->on_page(page, "");
    const std::string svg = encode(*noted, DrawingFormat::Svg);
    CHECK(has(svg, "fill=\"#14161a\""));
    CHECK(count_of(svg, ">a note<") == 1);  // settings are left out: in the metadata alone
    CHECK(count_of(svg, ">attention weight<") == 0);
    CHECK(count_of(svg, ">cat<") == 4);
    page.parts.settings = true;
    const auto shown = with_note(make_drawing(panels), "a note", false)->on_page(page, "");
    CHECK(count_of(encode(*shown, DrawingFormat::Svg), ">a note<") == 2);
  }

  TEST_CASE("what is painted for a screen is what the PNG has; squares show through where there is no ground") {
    for (const bool is_transparent : {false, true}) {
      HeatmapFigure figure = small_figure();
      figure.style.is_transparent = is_transparent;
      const auto drawing = make_drawing(figure, DrawingFormat::Png);
      const Pixels painted = draw_pixels(drawing->size(), drawing->output(), [&](Canvas& canvas) { drawing->draw(canvas); });
      const DecodedPng png(encode(*drawing, DrawingFormat::Png));
      REQUIRE(png.width == static_cast<int>(painted.width));
      REQUIRE(png.height == static_cast<int>(painted.height));
      std::size_t same = 0;
      for (std::size_t i = 0; i < png.pixels.size(); ++i) same += chart::pack(png.pixels[i]) == painted.rgba[i] ? 1U : 0U;
      CHECK((same == png.pixels.size()) == !is_transparent);
      CHECK(same > png.pixels.size() / 50);  // the cells
      CHECK((painted.rgba.front() & 0xFF'FFFFU) == (is_transparent ? 0xEB'EBEBU : 0xFF'FFFFU));
    }
  }

  TEST_CASE("damaged figures have no session") {
    HeatmapFigure figure = small_figure();
    figure.session = "{\"headlight\": 1}";
    const std::string png = encode(figure, DrawingFormat::Png), svg = encode(figure, DrawingFormat::Svg);
    for (std::size_t length = 0; length < 80; ++length) CHECK_FALSE(session_of_figure(png.substr(0, length)).has_value());
    std::string changed = png;
    changed[changed.find("headlight-session") + 20] ^= 1;  // the check sum doesn't fit any more
    CHECK_FALSE(session_of_figure(changed).has_value());
    CHECK_FALSE(session_of_figure("headlight-session:!!!!:").has_value());
    CHECK_FALSE(session_of_figure("headlight-session:e30=").has_value());
    CHECK_FALSE(session_of_figure("").has_value());
    CHECK_FALSE(session_of_figure("%PDF-1.7\nstream\nnothing\nendstream").has_value());
    // Each byte is searched once: quadratic, 2 MB of streams that don't end, or end at the last byte, take minutes.
    std::string streams = "%PDF-1.5\n";
    for (int stream = 0; stream < 300'000; ++stream) streams += "stream\n";
    const std::clock_t begin = std::clock();
    CHECK_FALSE(session_of_figure(streams).has_value());
    CHECK_FALSE(session_of_figure(streams + "endstream").has_value());
    CHECK(std::clock() - begin < 2 * CLOCKS_PER_SEC);
    CHECK(session_of_figure(svg) == figure.session);
    CHECK_THROWS_AS(static_cast<void>(png_with_session("GIF89a", "{}")), Error);
  }

  TEST_CASE("each part can be left out, and the map keeps its cells") {
    HeatmapFigure figure = small_figure();
    const std::string whole = encode(figure, DrawingFormat::Svg);
    const float width = HeatmapDrawing(figure, 2000).size().x;
    for (const char* part : {">Title of it<", ">settings of it<", ">query<", ">the<", ">attention weight<", ">masked<"}) {
      CAPTURE(part);
      CHECK(has(whole, part));
    }
    figure.style.parts = {
        .title = false, .settings = false, .labels = false, .bar = false, .legend = false, .numbers = false};
    const std::string bare = encode(figure, DrawingFormat::Svg);
    CHECK(has(bare, "<title>Title of it</title>"));  // for screen readers
    CHECK_FALSE(has(bare, "<text"));
    const HeatmapDrawing drawing(figure, 2000);
    CHECK(drawing.size().x < width);
    CHECK(drawing.size().x == drawing.grid().area.size.x + 40.0F);
  }

  TEST_CASE("patches of an image stand between their labels and the cells, on whichever axis they are") {
    HeatmapFigure figure = small_figure();
    const float width = HeatmapDrawing(figure, 2000).size().x, height = HeatmapDrawing(figure, 2000).size().y;
    constexpr std::uint32_t kRed = 0xFF0000FFU, kBlue = 0xFFFF0000U;
    figure.columns.thumbnails = {{}, {.width = 1, .height = 1, .rgba = {kRed}}};
    const std::string columns = encode(figure, DrawingFormat::Svg);
    CHECK(count_of(columns, "<image") == 1);  // the first token is none
    CHECK(HeatmapDrawing(figure, 2000).size().x == width);
    CHECK(HeatmapDrawing(figure, 2000).size().y == height + 30.0F);
    figure.rows.thumbnails = {{.width = 1, .height = 1, .rgba = {kBlue}}, {.width = 1, .height = 1, .rgba = {kBlue}}};
    CHECK(count_of(encode(figure, DrawingFormat::Svg), "<image") == 3);
    const HeatmapDrawing drawing(figure, 2000);
    CHECK(drawing.size().x == width + 30.0F);
    // Pixels of the PNG, two a unit: the middles of both rows' patches and of the second column's.
    const DecodedPng png(encode(figure, DrawingFormat::Png));
    const auto color_at = [&](glm::vec2 unit) {
      return png.at(static_cast<double>(unit.x) * 2.0, static_cast<double>(unit.y) * 2.0);
    };
    const chart::Rect area = drawing.grid().area;
    const glm::vec2 cell = drawing.grid().value;
    CHECK(color_at({area.origin.x - 6.0F - 12.0F, area.origin.y + cell.y * 0.5F}) == Rgb{0, 0, 255});
    CHECK(color_at({area.origin.x - 6.0F - 12.0F, area.origin.y + cell.y * 1.5F}) == Rgb{0, 0, 255});
    CHECK(color_at({area.origin.x + cell.x * 1.5F, area.origin.y - 6.0F - 12.0F}) == Rgb{255, 0, 0});
    CHECK(color_at({area.origin.x + cell.x * 0.5F, area.origin.y - 6.0F - 12.0F}) == Rgb{255, 255, 255});
    figure.style.map_edge = 12.0F;  // cells of 6: labels are indices two apart, which leaves room
    CHECK(count_of(encode(figure, DrawingFormat::Svg), "<image") > 0);
    figure.style.parts.labels = false;
    CHECK(count_of(encode(figure, DrawingFormat::Svg), "<image") == 0);
  }

  TEST_CASE("without a ground the margin is transparent, and cells are not") {
    HeatmapFigure figure = small_figure();
    CHECK(has(encode(figure, DrawingFormat::Svg), "fill=\"#ffffff\""));
    figure.style.is_transparent = true;
    CHECK_FALSE(has(encode(figure, DrawingFormat::Svg), "fill=\"#ffffff\" shape"));
    const std::string png = encode(figure, DrawingFormat::Png);
    constexpr std::size_t kColorType = 25;  // in the header
    CHECK(png[kColorType] == 6);            // with alpha
    figure.style.is_transparent = false;
    CHECK(encode(figure, DrawingFormat::Png)[kColorType] == 2);
  }

  TEST_CASE("a PDF has its text as text, in the chosen letters") {
    HeatmapFigure figure = small_figure();
    const std::string sans = encode(figure, DrawingFormat::Pdf);
    REQUIRE(sans.starts_with("%PDF-"));
    CHECK(has(sans, "/FontName"));
    figure.style.font = FigureFont::Serif;
    CHECK(encode(figure, DrawingFormat::Pdf) != sans);
    CHECK(has(encode(figure, DrawingFormat::Svg), "Latin Modern Roman"));
  }

  TEST_CASE("several maps on one page keep their own titles, and each has its place") {
    PanelsFigure figure{
        .title = "Both", .subtitle = "of one run", .panels = {small_figure(), small_figure(), small_figure()}};
    figure.panels[1].title = "Second";
    figure.panels[2].title = "Third";
    const std::unique_ptr<Drawing> drawing = make_drawing(figure);
    const glm::vec2 one(HeatmapDrawing(figure.panels[0], 512).size().x, HeatmapDrawing(figure.panels[0], 512).size().y);
    CHECK(drawing->size().x >= 2.0F * one.x);
    CHECK(drawing->size().y >= 2.0F * one.y);
    const std::string svg = encode(*drawing, DrawingFormat::Svg);
    for (const char* text : {">Both<", ">of one run<", ">Title of it<", ">Second<", ">Third<"}) {
      CAPTURE(text);
      CHECK(has(svg, text));
    }
    CHECK_THROWS_AS(static_cast<void>(make_drawing(PanelsFigure{})), Error);
    figure.panels.resize(400, small_figure());
    CHECK_THROWS_AS(static_cast<void>(make_drawing(figure)), Error);
  }
}

}  // namespace figure_output_test
