#include "export/figure_text.h"

#include <set>

#include <fmt/ranges.h>

#include "chart/missing_font.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
namespace {

constexpr std::uint32_t kMaxTableRows = 32, kMaxTableColumns = 16;  // of a map whose numbers are all in a table
constexpr std::size_t kMaxListed = 100, kLargestOfMap = 3;

std::string digits(float value) { return fmt::format("{:.4g}", static_cast<double>(value)); }

/// "cat (2)", or the index alone.
std::string name_of(const std::vector<std::string>& tokens, std::uint32_t index) {
  return index < tokens.size() ? fmt::format("{} ({})", printable(tokens[index]), index) : std::to_string(index);
}

/// Returns this name of an axis' token; layers and heads are called by their numbers alone.
std::string name_of(const FigureAxis& axis, std::uint32_t index) {
  const bool is_numbered = (axis.title == "layer" || axis.title == "head") && index < axis.tokens.size();
  return is_numbered ? printable(axis.tokens[index]) : name_of(axis.tokens, index);
}

/// The cells of rows [first, end) that are farthest from 0, as "0.61 of cat (2), 0.2 of a (0)"; of several rows with theirs.
std::string largest(const FigureMap& map, std::uint32_t first, std::uint32_t end, const FigureAxis& rows,
                    const FigureAxis& columns) {
  std::vector<glm::uvec2> cells;  // column, row
  for (std::uint32_t row = first; row < end; ++row) {
    for (std::uint32_t column = 0; column < map.value_columns(); ++column) {
      if (!map.is_masked(row, column)) cells.emplace_back(column, row);
    }
  }
  const std::size_t most = std::min(kLargestOfMap, cells.size());
  const auto size = [&](const glm::uvec2& at) {
    const float value = std::abs(map.at(at.y, at.x));
    return std::isnan(value) ? std::numeric_limits<float>::infinity() : value;
  };
  std::ranges::partial_sort(cells, cells.begin() + static_cast<std::ptrdiff_t>(most), std::ranges::greater(), size);
  std::vector<std::string> words;
  for (const glm::uvec2& at : std::span(cells).first(most)) {
    const std::string row = end - first > 1 ? name_of(rows, at.y * map.pool) + " → " : "";
    words.push_back(fmt::format("{} of {}{}", digits(map.at(at.y, at.x)), row, name_of(columns, at.x * map.column_pool())));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// A row for each path, a column for each x, of many as many as a table has, from the first to the last.
std::string paths_in_words(const DotsFigure& figure) {
  std::set<double> all;
  for (const DotsFigure::Path& path : figure.paths) {
    for (const glm::dvec2& point : path.points) all.insert(point.x);
  }
  const std::vector<double> places(all.begin(), all.end());
  const std::size_t columns = std::min<std::size_t>(places.size(), kMaxTableColumns);
  std::vector<double> shown;
  for (std::size_t i = 0; i < columns; ++i)
    shown.push_back(places[i * (places.size() - 1) / std::max<std::size_t>(columns - 1, 1)]);
  std::vector<std::string> cells = {figure.y_title + " \\ " + figure.x_title};
  for (const double x : shown) cells.push_back(fmt::format("{}", x));
  std::string text = table_head(cells);
  for (const DotsFigure::Path& path : std::span(figure.paths).first(std::min(figure.paths.size(), kMaxListed))) {
    cells = {path.name};
    for (const double x : shown) {
      const auto point = std::ranges::find(path.points, x, &glm::dvec2::x);
      cells.push_back(point == path.points.end() ? "" : digits(static_cast<float>(point->y)));
    }
    text += table_line(cells);
  }
  return text + fmt::format("\n{} lines of {} places in all\n", figure.paths.size(), places.size());
}

}  // namespace

std::string table_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    for (const char letter : printable(cell)) line += letter == '|' ? std::string("\\|") : std::string(1, letter);
    line += "|";
  }
  return line + "\n";
}

std::string table_head(const std::vector<std::string>& names) {
  return table_line(names) + table_line(std::vector<std::string>(names.size(), "---"));
}

std::string in_words(const HeatmapFigure& figure) {
  const FigureMap& map = figure.map;
  const std::uint32_t rows = map.value_rows(), columns = map.value_columns();
  std::string text = fmt::format("{}: {} × {} ({} × {}). {}\n\n", printable(figure.value_title), map.rows, map.columns,
                                 printable(figure.rows.title), printable(figure.columns.title), pooling_note(map));
  const bool is_table = rows <= kMaxTableRows && columns <= kMaxTableColumns;
  const auto text_of = [&](std::uint32_t row, std::uint32_t column) {
    const bool has_texts = map.is_exact() && figure.texts.size() == map.values.size();
    return has_texts ? figure.texts[std::size_t{row} * columns + column] + " " : "";
  };
  std::vector<std::string> cells = {figure.rows.title + " \\ " + figure.columns.title};
  for (std::uint32_t column = 0; column < columns; ++column)
    cells.push_back(name_of(figure.columns, column * map.column_pool()));
  if (is_table) text += table_head(cells);
  for (std::uint32_t row = 0; row < std::min<std::uint32_t>(rows, kMaxListed); ++row) {
    cells = {name_of(figure.rows, row * map.pool)};
    for (std::uint32_t column = 0; is_table && column < columns; ++column)
      cells.push_back(map.is_masked(row, column) ? figure.masked_title : text_of(row, column) + digits(map.at(row, column)));
    text += is_table ? table_line(cells)
                     : fmt::format("- {}: {}\n", cells.front(), largest(map, row, row + 1, figure.rows, figure.columns));
  }
  return rows <= kMaxListed ? text : text + fmt::format("- and {} rows more\n", rows - kMaxListed);
}

std::string in_words(const ContactSheet& sheet) {
  std::string text = fmt::format("{}, {} → {}, the largest of each map:\n\n", printable(sheet.value_title),
                                 printable(sheet.row_title), printable(sheet.column_title));
  for (const ContactSheet::Panel& panel : sheet.panels)
    text += fmt::format("- {}: {}\n", printable(panel.title), largest(panel.map, 0, panel.map.value_rows(), {}, {}));
  return text;
}

std::string in_words(const PanelsFigure& figure) {
  std::string text;
  for (const HeatmapFigure& panel : figure.panels)
    text += fmt::format("### {}\n\n{}\n", printable(panel.title), in_words(panel));
  return text;
}

std::string in_words(const LinesFigure& figure) {
  std::string text = table_head({"head", figure.query_title, figure.key_title, figure.is_difference ? "change" : "weight"});
  std::size_t left = kMaxListed;
  for (auto line = figure.lines.rbegin(); line != figure.lines.rend() && left > 0; ++line, --left) {
    text += table_line({std::to_string(line->head), name_of(figure.queries, line->query), name_of(figure.keys, line->key),
                        digits(line->weight)});
  }
  return text + fmt::format("\n{} lines in all\n", figure.lines.size());
}

std::string in_words(const FlowFigure& figure) {
  std::vector<FlowFigure::Edge> edges = figure.edges;
  std::ranges::stable_sort(edges, std::ranges::greater(), &FlowFigure::Edge::share);
  std::string text = table_head({"layer", "from", "to", "by", "share", "change"});
  for (const FlowFigure::Edge& edge : std::span(edges).first(std::min(edges.size(), kMaxListed))) {
    const std::string by = edge.is_residual ? "residual stream" : edge.head ? fmt::format("head {}", *edge.head) : "heads";
    text += table_line({std::to_string(figure.layer_number(edge.layer)), name_of(figure.tokens, edge.from),
                        name_of(figure.tokens, edge.to), by, digits(edge.share), figure.reach ? digits(edge.change) : ""});
  }
  return text + fmt::format("\n{} edges in all\n", edges.size());
}

std::string in_words(const DotsFigure& figure) {
  if (!figure.paths.empty()) return paths_in_words(figure);
  std::string text = table_head({"name", figure.x_title, figure.y_title, figure.color_title});
  for (const DotsFigure::Dot& dot : std::span(figure.dots).first(std::min(figure.dots.size(), kMaxListed))) {
    text += table_line(
        {dot.name, digits(static_cast<float>(dot.at.x)), digits(static_cast<float>(dot.at.y)), digits(dot.color)});
  }
  return text + fmt::format("\n{} dots in all\n", figure.dots.size());
}

std::string drawn_words(const Drawing& drawing) {
  struct Words final : Canvas {
    void fill(Rect, Rgb) override {}
    void frame(Rect, Rgb, float) override {}
    void line(glm::vec2, glm::vec2, Rgb, float) override {}
    void hatch(std::span<const Rect>, Rgb) override {}
    void image(Rect, const Pixels&) override {}
    void text(glm::vec2 at, std::string_view words, const TextStyle&) override {
      if (!words.empty()) found.emplace_back(at, words);
    }
    std::vector<std::pair<glm::vec2, std::string>> found;
  } words;
  drawing.draw(words);
  constexpr float kLine = 0.5F * kTextSize;
  std::ranges::stable_sort(words.found, {}, [](const auto& one) { return one.first.y; });
  std::string text;
  for (auto first = words.found.begin(); first != words.found.end();) {
    const auto end =
        std::find_if(first, words.found.end(), [&](const auto& one) { return one.first.y > first->first.y + kLine; });
    std::sort(first, end, [](const auto& left, const auto& right) { return left.first.x < right.first.x; });
    for (; first != end; ++first) text += first->second + (first + 1 == end ? "\n" : "\t");
  }
  return text;
}

std::vector<std::string> notes_of(const Drawing& drawing) {
  std::vector<std::string> notes;
  if (std::string note = drawing.note(); !note.empty()) notes.push_back(std::move(note));
  const std::vector<std::uint32_t> missing = TextMetrics(drawing.output().font).without_font(drawn_words(drawing));
  if (!missing.empty()) notes.push_back(chart::missing_font_text(missing));
  return notes;
}

}  // namespace headlight::exporting
