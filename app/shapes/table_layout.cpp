#include "app/shapes/table_layout.h"

#include <cmath>

#include "chart/ellipsis.h"

namespace headlight::app {
namespace {

constexpr float kIndent = 5.0F, kNumberGap = 10.0F, kWideGap = 21.0F, kBarHeight = 3.0F, kMostText = 260.0F,
                kMostShare = 0.42F;
constexpr std::size_t kMostMeasured = 64;
/// What is right of a column's numbers: after bars as high as a line the next column's bars begin at once.
float gap_of(const Column& column) { return column.is_wide ? kWideGap : kNumberGap; }
constexpr const char* kBothNumbers = "8.88 \u2192 8.88";

}  // namespace

TableLayout::TableLayout(const Table& table, TableLook look) : look_(std::move(look)), compares_(table.is_compared()) {
  constexpr float kGrowth = 1.5F;
  if (look_.height > 0.0F && look_.rows > 0) {
    const float row = std::floor((look_.height - 1.0F) / static_cast<float>(look_.rows)) - (compares_ ? look_.second : 0.0F);
    look_.line = std::clamp(row, look_.line, kGrowth * look_.line);
  }
  const auto is_wide = [](const Column& column) { return column.is_shown && column.is_wide; };
  const bool has_wide = std::ranges::any_of(table.columns, is_wide);
  const auto takes_spare = [=](const Column& column) { return has_wide ? column.is_wide : column.has_numbers(); };
  float all = look_.gutter, sharing = 0.0F;
  std::vector<float> widths;
  for (const Column& column : table.columns) {
    if (!column.is_shown) continue;
    const float title = std::ceil(look_.width(TableFont::Small, column.title + "\u2193")) + kIndent + 2.0F;
    float slot = 0.0F, least = 0.0F, most = look_.room > 0.0F ? std::min(kMostText, kMostShare * look_.room) : kMostText;
    columns_.push_back({&column, {}});
    if (const auto* texts = std::get_if<1>(&column.cells)) {
      const auto longest = std::ranges::max_element(*texts, {}, &std::string::size);
      std::size_t measured = 0;  // of those as long: some are wider
      for (auto text = longest; text != texts->end() && !column.is_wide && measured < kMostMeasured; ++text) {
        if (text->size() < longest->size()) continue;
        slot = std::max(slot, look_.width(TableFont::Strong, *text));
        ++measured;
      }
    } else {
      const auto [low, high] = columns_.back().second = column.ends();
      const bool has_less = std::ranges::any_of(std::get<0>(column.cells), [](CellNumber one) { return one && *one < 0.0; });
      for (const double end : {low, high, has_less && !column.is_wide ? -high : high})
        slot = std::max(slot, look_.width(TableFont::Mono, column.written(end, column.has_signs())));
      least = look_.least + (column.is_compared() ? 14.0F : 0.0F);
      most = most_of(column);
    }
    sharing += takes_spare(column) ? 1.0F : 0.0F;
    slots_.push_back(std::ceil(slot));
    widths.push_back(std::max({title, least, std::min(slots_.back() + gap_of(column), most)}));
  }
  // Bars as high as a line are compared across columns: these have one width, one room for numbers and one scale.
  const auto has_bars = [&](std::size_t i) { return column(i).is_wide && column(i).has_numbers(); };
  float bars_width = 0.0F, bars_slot = 0.0F;
  std::pair<double, double> bars_ends;
  for (std::size_t i = 0; i < count(); ++i) {
    if (!has_bars(i)) continue;
    const auto& [low, high] = columns_[i].second;
    bars_width = std::max(bars_width, widths[i]);
    bars_slot = std::max(bars_slot, slots_[i]);
    bars_ends = {std::min(bars_ends.first, low), std::max(bars_ends.second, high)};
  }
  for (std::size_t i = 0; i < count(); ++i) {
    if (has_bars(i)) {
      widths[i] = bars_width;
      slots_[i] = bars_slot;
      columns_[i].second = bars_ends;
    }
    all += widths[i];
  }
  const float spare = std::floor(std::max(look_.room - all, 0.0F) / std::max(sharing, 1.0F));
  edges_.push_back(look_.gutter);
  for (std::size_t i = 0; i < count(); ++i) {
    const float more = takes_spare(column(i)) ? std::min(spare, std::max(most_of(column(i)) - widths[i], 0.0F)) : 0.0F;
    edges_.push_back(edges_.back() + widths[i] + more);
    const bool is_share = column(i).bar == BarKind::Share && !column(i).has_signs();
    if (is_share) share_ = share_ > 0.0F ? std::min(share_, widths[i] + more) : widths[i] + more;
  }
}

float TableLayout::end_in(float x) const {
  const auto next = static_cast<std::size_t>(std::ranges::upper_bound(edges_, x + kNumberGap) - edges_.begin());
  if (next < 2 || next > count()) return x;
  return column(next - 1).has_numbers() && !column(next - 1).is_wide ? edges_[next - 1] : x;
}

const Column* TableLayout::column_at(float x) const {
  const auto next = static_cast<std::size_t>(std::ranges::upper_bound(edges_, x) - edges_.begin());
  return next == 0 || next > count() ? nullptr : columns_[next - 1].first;
}

std::vector<TableItem> TableLayout::header(const TableOrder& order) const {
  std::vector<TableItem> items;
  for (std::size_t i = 0; i < count(); ++i) {
    const bool is_order = column(i).has_numbers() ? column(i).key() == order.column : i == 0 && order.column.empty();
    const char* arrow = !is_order || !column(i).has_numbers() ? "" : order.lowest_first ? "\u2191" : "\u2193";
    write(items, i, edges_[i], {0.0F, header_height()}, column(i).title + arrow, TableFont::Small,
          is_order ? TableInk::Accent : TableInk::Dim);
  }
  return items;
}

std::vector<TableItem> TableLayout::row(std::size_t row, bool is_chosen, bool is_hovered) const {
  std::vector<TableItem> items;
  if (is_chosen || is_hovered) {
    items.push_back(
        {.rect = {{0.0F, 0.0F}, {width(), row_height()}}, .ink = is_chosen ? TableInk::Chosen : TableInk::Hovered});
  }
  for (std::size_t i = 0; i < count(); ++i) {
    const TableFont font = i > 0 ? TableFont::Small : is_chosen ? TableFont::Strong : TableFont::Body;
    if (column(i).has_numbers()) {
      put_number(items, i, row);
    } else {
      const std::vector<bool>& quiet = column(i).is_quiet;
      write(items, i, edges_[i], {0.0F, row_height()}, column(i).text(row), font,
            (quiet.empty() ? i > 0 : quiet[row]) ? TableInk::Dim : TableInk::Text);
    }
  }
  return items;
}

void TableLayout::write(std::vector<TableItem>& items, std::size_t i, float x, glm::vec2 y_and_height,
                        const std::string& text, TableFont font, TableInk ink) const {
  const chart::Rect rect{{x + kIndent, y_and_height.x}, {edges_[i + 1] - x - kIndent, y_and_height.y}};
  const auto measure = [&](std::string_view part) { return look_.width(font, part); };
  items.push_back({rect, ink, chart::shorten(text, rect.size.x, measure), font});
}

void TableLayout::put_number(std::vector<TableItem>& items, std::size_t i, std::size_t row) const {
  const auto& [of, ends] = columns_[i];
  const float x = edges_[i], width = edges_[i + 1] - x, slot = slots_[i];
  const bool has_signs = of->has_signs(), compares = of->is_compared(), is_wide = of->is_wide;
  const CellNumber number = of->shown_number(row);
  const bool is_known = number && std::isfinite(*number);
  if (is_known && (compares || of->bar != BarKind::None)) {
    const float whole = of->bar == BarKind::Share && !has_signs ? share_ : width;
    const float room = whole - gap_of(*of) - kIndent - (is_wide ? slot : 0.0F), left = x + (is_wide ? 0.0F : kIndent);
    const auto place = [&, low = ends.first, high = ends.second](double at) {
      return left + std::round(room * static_cast<float>((std::clamp(at, low, high) - low) / (high - low)));
    };
    const float zero = place(0.0), end = place(has_signs ? *number : std::abs(*number));
    // Below the number: it would end within a digit.
    const chart::Rect line = is_wide ? chart::Rect{{zero, 4.0F}, {1.0F, look_.line - 8.0F}}
                                     : chart::Rect{{zero, look_.line - kBarHeight - 1.0F}, {1.0F, kBarHeight}};
    const float length = has_signs || is_wide ? std::abs(end - zero) : std::max(end - zero, 2.0F);
    const TableInk ink = !has_signs ? TableInk::Bar : *number < 0.0 ? TableInk::Less : TableInk::More;
    if (length > 0.0F) items.push_back({{{std::min(zero, end), line.origin.y}, {length, line.size.y}}, ink});
    if (has_signs)
      items.push_back(
          {.rect = {line.origin - glm::vec2(0.0F, 1.0F), line.size + glm::vec2(0.0F, 2.0F)}, .ink = TableInk::Line});
  }
  const bool is_quiet = !is_known || (!compares && !of->is_quiet.empty() && of->is_quiet[row]);
  const std::string text = of->text(row);  // ends where the widest number does, so that decimals are in a line
  const float before =
      std::max(slot - look_.width(TableFont::Mono, text), 0.0F) + (is_wide ? width - slot - kWideGap : 0.0F);
  write(items, i, x + before, {0.0F, look_.line}, text, TableFont::Mono, is_quiet ? TableInk::Dim : TableInk::Text);
  if (!compares) return;
  const std::string now = of->written(of->number(row)), then = of->written(of->baseline[row]);
  // In a narrow column what it was alone: the change above it says the rest.
  const bool has_room = look_.width(TableFont::Small, kBothNumbers) <= width - kIndent;
  write(items, i, x, {look_.line, look_.second}, has_room ? then + " \u2192 " + now : "was " + then, TableFont::Small,
        TableInk::Dim);
}

}  // namespace headlight::app
