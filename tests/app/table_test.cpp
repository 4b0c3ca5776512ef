// Tables as values: their order, CSV, words, layout without a device, and the figure.
#include "app/shapes/table_figure.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "app/shapes/head_grid.h"
#include "core/error.h"
#include "export/figure_text.h"

namespace table_test {

using namespace headlight;
using namespace headlight::app;

namespace {

constexpr std::array<CellNumber, 4> kNow = {0.5, -0.25, std::nullopt, 0.125};
constexpr std::array<CellNumber, 4> kBefore = {0.25, 0.75, 0.5, 0.125};

RowSubject head_at(std::size_t row) {
  return {.block = {.layer = {static_cast<std::uint32_t>(row / 2)}}, .head = static_cast<std::uint32_t>(row % 2)};
}

/// Four heads with a name, a number and one that is compared.
Table heads() {
  Table table{.rows = 4};
  for (std::size_t row = 0; row < table.rows; ++row) table.subjects.push_back(head_at(row));
  table.add({.title = "head", .name = "name"}, [](std::size_t row) { return fmt::format("head {}, \"{}\"", row, row); });
  table.add_subjects();
  table.add({.title = "share", .unit = "nats", .bar = BarKind::Share, .origin = NumberRef{.of = "share", .batch = 2}},
            [](std::size_t row) { return kNow[row]; });
  table.add({.title = "size", .id = "by size", .bar = BarKind::Size}, [](std::size_t row) { return kNow[row]; });
  table.columns.back().baseline.assign(kBefore.begin(), kBefore.end());
  return table;
}

float width_of(TableFont font, std::string_view text) {
  const auto letters = std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; });
  return static_cast<float>(letters) * (font == TableFont::Small ? 6.0F : 7.5F);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a table is copied with both runs and the change, nothing where a number isn't known, and quotes") {
    const Table table = heads();
    CHECK(csv(table, TableRows{1, 0}) ==
          "name,kind,layer,head,share,size,size baseline,size change\n"
          "\"head 1, \"\"1\"\"\",encoder,0,1,-0.25,-0.25,0.75,-1\n"
          "\"head 0, \"\"0\"\"\",encoder,0,0,0.5,0.5,0.25,0.25\n");
    CHECK(csv(table, TableRows{2}).ends_with("encoder,1,0,,,0.5,\n"));
    CHECK(in_words(table, TableRows{0}) ==
          "|name|share|size|size baseline|size change|\n|---|---|---|---|---|\n|head 0, \"0\"|0.5|0.5|0.25|0.25|\n\n1 rows "
          "in all\n");
  }

  TEST_CASE("rows are ordered by a column's id, changes by their size, those without a number last in both orders") {
    const Table table = heads();
    const auto by = [&](const char* column, bool lowest) { return sorted(table, all_rows(table), {column, lowest}); };
    CHECK(by("share", false) == TableRows{0, 3, 1, 2});
    CHECK(by("share", true) == TableRows{1, 3, 0, 2});
    CHECK(by("by size", false) == TableRows{1, 0, 3, 2});
    CHECK(by("by size", true) == TableRows{3, 0, 1, 2});
    CHECK(by("size", false) == all_rows(table));  // a title is no id
    CHECK(by("", true) == TableRows{3, 2, 1, 0});
  }

  TEST_CASE("a number is written with its decimals or as it fits, with a sign where it has one, and never as -0") {
    const Column fixed{.title = "x"};
    CHECK(fixed.written(0.126) == "0.13");
    CHECK(fixed.written(-0.001) == "0.00");
    CHECK(fixed.written(-0.42) == "\u22120.42");
    CHECK(fixed.written(0.42, true) == "+0.42");
    CHECK(fixed.written(0.001, true) == "0.00");
    CHECK(fixed.written({}) == "\u2013");
    CHECK(fixed.written(std::nan("")) == "\u2013");
    CHECK(Column{.title = "x", .decimals = {}}.written(1234.5678) == "1234.6");
    CHECK(heads().columns.back().text(1) == "\u22121.00");
  }

  TEST_CASE("what is asked about a cell has the row's head, the column's question and the number; nothing without one") {
    const Table table = heads();
    const Column& share = *table.find("share");
    const std::optional<NumberRef> asked = table.origin(share, 1);
    REQUIRE(asked);
    CHECK(asked->of == "share");
    CHECK(asked->batch == 2);
    CHECK(asked->head == 1);
    CHECK(*asked->value == -0.25);
    CHECK(table.origin(share, 3)->block.layer.value == 1);
    CHECK_FALSE(table.origin(share, 2));
    CHECK_FALSE(table.origin(*table.find("by size"), 0));
  }

  TEST_CASE(
      "at any width numbers are whole, texts of a line don't touch, and a point is in the column that is drawn there") {
    const Table table = heads();
    std::size_t numbers = 0;
    for (float room = 100.0F; room < 2000.0F; room += 50.0F) {
      const TableLayout layout(table, {.width = width_of, .room = room, .gutter = 20.0F});
      CHECK(layout.count() == 3);
      CHECK(layout.row_height() == 40.0F);                          // of both runs
      std::map<float, std::vector<std::pair<float, float>>> lines;  // by y: ends of texts
      for (const TableItem& item : layout.row(1, true)) {
        CHECK(item.rect.origin.x >= 0.0F);
        if (!item.text) continue;
        const float end = item.rect.origin.x + width_of(item.font, *item.text);
        const bool is_cut = item.text->find("\u2026") != std::string::npos;
        if (item.font == TableFont::Mono) CHECK_FALSE(is_cut);
        if (!is_cut) CHECK(end <= item.rect.end().x + 0.01F);
        numbers += item.font == TableFont::Mono ? 1 : 0;
        lines[item.rect.origin.y].emplace_back(item.rect.origin.x, end);
      }
      for (const auto& [y, ends] : lines) {
        for (std::size_t i = 1; i < ends.size(); ++i) CHECK(ends[i].first >= ends[i - 1].second);
      }
      CHECK(layout.column_at(19.0F) == nullptr);
      CHECK(layout.column_at(layout.width()) == nullptr);
      for (std::size_t i = 0; i < layout.count(); ++i) {
        CHECK(layout.column_at(layout.title(i).center().x) == &layout.column(i));
        CHECK(width_of(TableFont::Small, layout.column(i).title) <= layout.title(i).size.x);
      }
    }
    CHECK(numbers == 38 * 2);
  }

  TEST_CASE("numbers below 0 are whole and end where others do, without bars as well") {
    Table table{.rows = 2};
    table.add({.title = "x", .decimals = 3}, [](std::size_t row) { return CellNumber(row == 0 ? -3.053 : 0.596); });
    const TableLayout layout(table, {.width = width_of});
    std::vector<float> ends;
    for (std::size_t row = 0; row < 2; ++row) {
      const TableItem number = layout.row(row).back();
      REQUIRE(number.text);
      CHECK(*number.text == (row == 0 ? "\u22123.053" : "0.596"));
      ends.push_back(number.rect.origin.x + width_of(number.font, *number.text));
    }
    CHECK(ends[0] == ends[1]);
  }

  TEST_CASE("rows grow by half at most to fill their height") {
    Table table;
    table.columns.push_back({.title = "a", .cells = std::vector<std::string>{"x", "y"}});
    const auto row_in = [&](float height, std::size_t rows) {
      return TableLayout(table, {.width = width_of, .room = 300.0F, .height = height, .rows = rows}).row_height();
    };
    CHECK(row_in(0.0F, 10) == 24.0F);
    CHECK(row_in(100.0F, 10) == 24.0F);
    CHECK(row_in(301.0F, 10) == 30.0F);
    CHECK(row_in(900.0F, 10) == 36.0F);
  }

  TEST_CASE("a bar is a share of 1 or of the largest number, of changes from the middle, and has no length for none") {
    const Table table = heads();
    const TableLayout layout(table, {.width = width_of, .room = 2000.0F});
    const auto bars = [&](std::size_t row, TableInk ink) {
      std::vector<float> lengths;
      for (const TableItem& item : layout.row(row)) {
        if (!item.text && item.ink == ink) lengths.push_back(item.rect.size.x);
      }
      return lengths;
    };
    CHECK(bars(0, TableInk::Bar) == std::vector<float>{68.0F});   // half of 135, which a column of 150 leaves
    CHECK(bars(1, TableInk::Less) == std::vector<float>{68.0F});  // the largest change, in its half
    CHECK(bars(0, TableInk::More) == std::vector<float>{16.0F});  // a quarter of it
    for (const TableItem& bar : layout.row(0)) {  // begins where its number may, apart from the column before
      if (bar.ink == TableInk::Bar) CHECK(bar.rect.origin.x == layout.title(1).origin.x + 5.0F);
    }
    CHECK(bars(2, TableInk::Bar).empty());
    CHECK(bars(2, TableInk::More).empty());
    const auto titles = layout.header({.column = "by size", .lowest_first = true});
    CHECK(*titles.back().text == "size\u2191");
    CHECK(titles.back().ink == TableInk::Accent);
    CHECK(titles.front().ink == TableInk::Dim);
  }

  TEST_CASE("bars as high as a line have one scale across columns, whatever these are called") {
    Table table{.rows = 1};
    table.add({.title = "now", .bar = BarKind::Size, .is_wide = true}, [](std::size_t) { return CellNumber(40.0); });
    table.add({.title = "without this head", .bar = BarKind::Size, .is_wide = true},
              [](std::size_t) { return CellNumber(100.0); });
    const TableLayout layout(table, {.width = width_of, .room = 400.0F});
    std::vector<float> lengths;
    for (const TableItem& item : layout.row(0)) {
      if (item.ink == TableInk::Bar) lengths.push_back(item.rect.size.x);
    }
    REQUIRE(lengths.size() == 2);
    CHECK(lengths[0] == std::round(0.4F * lengths[1]));
    CHECK(layout.title(0).size.x == layout.title(1).size.x);
    CHECK(layout.width() <= 400.0F);
  }

  TEST_CASE("a number too small for half a pixel has no bar, and others the colour of their sign") {
    const std::array numbers = {10.0, -0.001, -5.0};
    const Table table = bar_table(
        numbers.size(), [](std::size_t) { return std::string("x"); }, [&](std::size_t row) { return numbers.at(row); });
    const TableLayout layout(table, {.width = width_of, .room = 400.0F});
    const auto count = [&](std::size_t row, TableInk ink) {
      const std::vector<TableItem> items = layout.row(row);
      return std::ranges::count_if(items, [=](const TableItem& item) { return !item.text && item.ink == ink; });
    };
    CHECK(count(0, TableInk::More) == 1);
    CHECK(count(1, TableInk::More) == 0);
    CHECK(count(1, TableInk::Less) == 0);
    CHECK(count(2, TableInk::Less) == 1);
  }

  TEST_CASE("the widest of texts that are equally long is whole") {
    const auto width = [](TableFont, std::string_view text) {
      return std::accumulate(text.begin(), text.end(), 0.0F,
                             [](float sum, char c) { return sum + (c == 'm' ? 14.0F : 4.0F); });
    };
    const Table table = bar_table(
        2, [](std::size_t row) { return std::string(row == 0 ? "iiii" : "mmmm"); }, [](std::size_t) { return 1.0; });
    const TableLayout layout(table, {.width = width, .room = 800.0F});
    CHECK(layout.row(1).front().text == "mmmm");
  }

  TEST_CASE("no bar lies over the line that says what both runs had") {
    const Table table = heads();
    const TableLayout layout(table, {.width = width_of, .room = 600.0F});
    std::size_t bars = 0;
    for (const std::size_t row : {0U, 1U, 3U}) {
      for (const TableItem& bar : layout.row(row)) {
        if (bar.text) continue;
        ++bars;
        for (const TableItem& text : layout.row(row)) {
          const bool is_of_both = text.text && text.rect.origin.y > 0.0F;
          if (is_of_both) CHECK(chart::intersection(bar.rect, text.rect).is_empty());
        }
      }
    }
    CHECK(bars >= 6);
  }

  TEST_CASE("a figure has titles, numbers in the order of its rows and the words; no row and too many are refused") {
    TableFigure figure{.title = "Four heads", .subtitle = "by hand", .table = heads(), .rows = {3, 0}};
    const auto drawing = make_drawing(figure);
    const std::string words = exporting::drawn_words(*drawing);
    CHECK(words.starts_with("Four heads\nby hand\nhead\tshare\tsize\n"));
    CHECK(words.find("head 3") < words.find("head 0"));
    CHECK(words.find("0.50") != std::string::npos);
    CHECK(drawing->text().find("|head 3, \"3\"|0.125|") != std::string::npos);
    CHECK(exporting::encode(*drawing, exporting::DrawingFormat::Svg).starts_with("<?xml"));
    figure.rows.clear();
    CHECK_THROWS_WITH_AS(make_drawing(figure), "a figure of a table needs at least one row", Error);
    figure.rows.resize(501);
    CHECK_THROWS_AS(make_drawing(figure), Error);
  }

  TEST_CASE("heads as maps: a row for each layer, hatched where a number isn't known, changes in colours of differences") {
    const Table table = heads();
    const exporting::PanelsFigure page = head_grid(table, all_rows(table), {});
    REQUIRE(page.panels.size() == 2);
    CHECK(page.panels[0].value_title == "share, nats");
    CHECK(page.panels[0].map.values == std::vector<float>{0.5F, -0.25F, 0.0F, 0.125F});
    CHECK(page.panels[0].map.masked == std::vector<std::uint8_t>{0, 0, 1, 0});
    CHECK(page.panels[0].style.scale == chart::ScaleKind::Unit);
    CHECK(page.panels[1].value_title == "change of size");
    CHECK(page.panels[1].map.values[1] == -1.0F);
    CHECK(page.panels[1].style.scale == chart::ScaleKind::Symmetric);
    CHECK(head_grid(table, TableRows{0, 3}, {}).panels[0].map.masked == std::vector<std::uint8_t>{0, 1, 1, 0});
  }
}

}  // namespace table_test
