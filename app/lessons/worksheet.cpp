#include "app/lessons/worksheet.h"

#include <cstddef>

#include "app/lessons/card_runner.h"
#include "export/drawing.h"
#include "export/text_metrics.h"

namespace headlight::app {
namespace {

using exporting::Rgb;
using exporting::TextAlign;
using exporting::TextStyle;

/// The place where the printed and the computed numbers are farthest apart.
struct FarthestNumber {
  std::size_t index = 0;
  double difference = 0.0;  ///< NaN where one of the run's numbers is
};

FarthestNumber farthest_number(const PrintedNumbers& numbers, std::span<const float> computed) {
  FarthestNumber farthest;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double difference = std::abs(double{computed[i]} - numbers.values[i]);
    if (std::isnan(difference)) return {.index = i, .difference = difference};
    if (difference > farthest.difference) farthest = {.index = i, .difference = difference};
  }
  return farthest;
}

// Sizes on A4, in units of 1/96 inch.
constexpr float kWidth = 794.0F, kHeight = 1'123.0F, kMargin = 60.0F, kText = 13.0F, kTitle = 22.0F, kCardTitle = 16.0F;
constexpr float kCellHeight = 26.0F, kLargestCell = 72.0F, kNames = 92.0F;
constexpr std::uint32_t kMaxCells = 12;
constexpr int kWeightDecimals = 3;
constexpr Rgb kInk{20, 20, 20}, kDim{120, 120, 120}, kRight{0, 110, 60};

/// A matrix that a card shows.
struct Grid {
  TileQuery query;
  std::vector<std::string> rows, columns;
  std::vector<float> values;  ///< [rows, columns]
  int decimals = kWeightDecimals;
};

/// Returns the text without the signs of bold words and formulas.
std::string plain(std::string text) {
  for (const std::string_view sign : {"**", "$", "_{", "^{", "}"}) {
    const std::string_view kept = sign == "_{" ? "_" : sign == "^{" ? "^" : "";
    for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + kept.size())) {
      text.replace(at, sign.size(), kept);
    }
  }
  return text;
}

/// Pages that are filled from above.
class Paper {
 public:
  explicit Paper(std::string title) : title_(std::move(title)) {}

  /// Begins a page where less than this is left.
  void expect(float height) {
    if (y_ + height <= kHeight - kMargin || y_ == kMargin) return;
    pages_.emplace_back();
    y_ = kMargin;
  }

  void write(const std::string& text, const TextStyle& style, float indent = 0.0F) {
    const float room = kWidth - 2.0F * kMargin - indent, line = exporting::line_height(style.size);
    for (const std::string& part : exporting::wrap(plain(text), room, metrics_.measure(style.size, style.is_bold))) {
      expect(line);
      write_at({kMargin + indent, y_ + style.size}, part, style);
      y_ += line;
    }
  }

  void draw(const Grid& grid, bool has_numbers, const std::optional<attention::Cell>& marked) {
    const auto columns = static_cast<float>(grid.columns.size()), rows = static_cast<float>(grid.rows.size());
    const float cell = std::min(kLargestCell, (kWidth - 2.0F * kMargin - kNames) / columns);
    expect((rows + 1.0F) * kCellHeight + 8.0F);
    const float left = kMargin + kNames, top = y_ + kCellHeight;
    const auto put = [&](glm::vec2 at, const std::string& text, float room, TextAlign align, Rgb color) {
      const std::string fitting = chart::shorten(exporting::printable(text), room, metrics_.measure(kSmall));
      write_at(at, fitting, {.size = kSmall, .color = color, .align = align});
    };
    for (std::size_t column = 0; column < grid.columns.size(); ++column) {
      const float middle = left + (static_cast<float>(column) + 0.5F) * cell;
      put({middle, top - 6.0F}, grid.columns[column], cell - 4.0F, TextAlign::Middle, kDim);
    }
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const float y = top + static_cast<float>(row) * kCellHeight,
                  base = y + 0.5F * kCellHeight + kSmall * exporting::kHalfCapital;
      put({left - 8.0F, base}, grid.rows[row], kNames - 12.0F, TextAlign::End, kDim);
      for (std::size_t column = 0; column < grid.columns.size(); ++column) {
        const chart::Rect box{.origin = {left + static_cast<float>(column) * cell, y}, .size = {cell, kCellHeight}};
        const bool is_marked =
            has_numbers && marked && marked->query == row + grid.query.row && marked->key == column + grid.query.column;
        pages_.back().push_back(
            [=](exporting::Canvas& canvas) { canvas.frame(box, is_marked ? kRight : kDim, is_marked ? 2.5F : 0.7F); });
        if (!has_numbers) continue;
        const float value = grid.values[row * grid.columns.size() + column];
        put({box.center().x, base}, fmt::format("{:.{}f}", value, grid.decimals), cell - 2.0F, TextAlign::Middle, kRight);
      }
    }
    y_ = top + rows * kCellHeight + 10.0F;
  }

  void skip(float height) { y_ += height; }
  std::string finish() const {
    std::vector<std::function<void(exporting::Canvas&)>> pages;
    for (const std::vector<Mark>& marks : pages_) {
      pages.emplace_back([&marks](exporting::Canvas& canvas) {
        for (const Mark& mark : marks) mark(canvas);
      });
    }
    return exporting::draw_pdf({kWidth, kHeight}, {.title = title_}, pages);
  }

 private:
  using Mark = std::function<void(exporting::Canvas&)>;

  void write_at(glm::vec2 at, const std::string& text, const TextStyle& style) {
    pages_.back().push_back([=](exporting::Canvas& canvas) { canvas.text(at, text, style); });
  }

  static constexpr float kSmall = 11.0F;
  exporting::TextMetrics metrics_;
  std::string title_;
  std::vector<std::vector<Mark>> pages_ = std::vector<std::vector<Mark>>(1);
  float y_ = kMargin;
};

std::vector<std::string> names_of(Axis axis, const EngineResult& result, const TileQuery& query, std::uint32_t first,
                                  std::uint32_t count) {
  const model::BlockKind kind = query.block.kind;
  const bool is_key = axis == Axis::Key || axis == Axis::KeyToken;
  const model::TokenBatch& tokens = is_key ? result.input->keys(kind) : result.input->queries(kind);
  std::vector<std::string> names;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const std::string* text = axis < Axis::Feature ? tokens.label(query.batch, i) : nullptr;
    names.push_back(text != nullptr ? fmt::format("{} {}", i, *text) : std::to_string(i));
  }
  return names;
}

/// Returns the grid of the printed numbers, else of the map on screen; none: the card shows another view, or the map is too
/// large.
std::optional<Grid> grid_of(CardRunner& runner) {
  const LessonCard& card = runner.card();
  const State& state = runner.state();
  Grid grid;
  if (card.numbers) {
    grid.query = card.numbers->query;
    grid.decimals = card.numbers->decimals;
  } else if (state.view.tab == kHeadView && state.selection.mean == HeadMean::None) {
    const auto shape = runner.result().shapes.find(state.selection.block);
    const auto extent =
        shape == runner.result().shapes.end() ? std::nullopt : shape->second.extent(state.view.heatmap_stage);
    if (!extent) return std::nullopt;
    grid.query = {.quantity = state.view.heatmap_stage,
                  .block = state.selection.block,
                  .batch = state.selection.batch,
                  .head = state.selection.head,
                  .rows = extent->rows,
                  .columns = extent->columns};
  }
  const bool fits = grid.query.rows > 0 && grid.query.rows <= kMaxCells && grid.query.columns <= kMaxCells;
  if (!fits || !is_inside(grid.query, runner.result().shapes)) return std::nullopt;
  runner.ask({grid.query});
  const attention::Tile* tile = runner.result().tile(grid.query);
  if (!tile) return std::nullopt;
  grid.values = tile->values;
  const Quantity& shown = quantity(grid.query.quantity);
  grid.rows = names_of(shown.rows, runner.result(), grid.query, grid.query.row, grid.query.rows);
  grid.columns = names_of(shown.columns, runner.result(), grid.query, grid.query.column, grid.query.columns);
  return grid;
}

void write_question(Paper& paper, const LessonCondition& condition, const nlohmann::json& right, bool has_answers) {
  const LessonSubject& subject = condition.subject;
  if (!subject.observation->is_answer) return;
  for (std::size_t i = 0; i < subject.choices.size(); ++i) {
    const bool is_right = has_answers && right == i;
    paper.write(fmt::format("{} {}", is_right ? "\u25CF" : "\u25CB", subject.choices[i]),
                {.size = kText, .is_bold = is_right, .color = is_right ? kRight : kInk}, 16.0F);
  }
  if (subject.label.empty() || subject.observation->name != "number") return;
  const std::string value = has_answers && right.is_number() ? fmt::format("{:.4g}", right.get<double>()) : "______________";
  paper.write(fmt::format("{}: {}", subject.label, value), {.size = kText, .color = has_answers ? kRight : kInk}, 16.0F);
}

}  // namespace

std::string worksheet_pdf(const Lesson& lesson, EngineOptions options, bool has_answers) {
  Paper paper(lesson.title);
  paper.write(has_answers ? lesson.title + " \u2013 answers" : lesson.title,
              {.size = kTitle, .is_bold = true, .color = kInk});
  paper.write(lesson.summary, {.size = kText, .color = kDim});
  CardRunner runner(lesson, std::move(options));
  for (std::size_t i = 0; i < lesson.cards.size(); ++i) {
    runner.open_next();
    const LessonCard& card = lesson.cards[i];
    const std::vector<ObservedCondition> conditions = runner.observe_conditions(runner.card().done);
    const std::optional<Grid> grid = grid_of(runner);
    paper.skip(18.0F);
    paper.expect(5.0F * kCellHeight);
    paper.write(fmt::format("{}  {}", i + 1, card.title), {.size = kCardTitle, .is_bold = true, .color = kInk});
    paper.skip(4.0F);
    for (const std::string& paragraph : card.paragraphs) paper.write(paragraph, {.size = kText, .color = kInk});
    if (!card.task.empty()) {
      paper.skip(6.0F);
      paper.write("\u2192 " + card.task, {.size = kText, .is_bold = true, .color = kInk});
    }
    std::optional<attention::Cell> marked;
    for (std::size_t condition = 0; condition < conditions.size(); ++condition) {
      const nlohmann::json& right = conditions[condition].wanted;
      write_question(paper, card.done[condition], right, has_answers);
      const bool is_cell =
          card.done[condition].subject.observation->name == "click" && right.is_array() && right.size() == 2;
      if (is_cell) marked = attention::Cell{.query = right[0].get<std::uint32_t>(), .key = right[1].get<std::uint32_t>()};
    }
    if (has_answers) {
      for (const std::string& paragraph : card.reveal) paper.write(paragraph, {.size = kText, .color = kRight}, 16.0F);
    }
    paper.skip(6.0F);
    if (grid) paper.draw(*grid, has_answers, marked);
  }
  return paper.finish();
}

double PrintedNumbers::tolerance() const {
  if (within) return *within;
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  // Half of the last printed decimal, and the rounding of float32, in which both programs compute.
  return 0.5 * std::pow(10.0, -decimals) + 1e-6 * std::max(largest, 1.0);
}

bool agree(const PrintedNumbers& numbers, std::span<const float> computed) {
  return farthest_number(numbers, computed).difference <= numbers.tolerance();
}

std::string verdict_of(const PrintedNumbers& numbers, std::span<const float> computed, std::string_view departure) {
  const auto [index, difference] = farthest_number(numbers, computed);
  if (difference <= numbers.tolerance()) {
    const bool is_rounding = !numbers.within && difference > 0.5 * std::pow(10.0, -numbers.decimals);
    return fmt::format(
        "\u2713 The printed numbers and Headlight's agree: the largest difference is {:.1e}, printed were {} "
        "decimals.{}",
        difference, numbers.decimals, is_rounding ? " This device computes in float32, which has some seven digits." : "");
  }
  if (!departure.empty()) {
    return fmt::format("The printed numbers and Headlight's differ by {:.3g}: {}. Again opens the card as it was.",
                       difference, departure);
  }
  const auto columns = std::size_t{numbers.query.columns};
  return fmt::format(
      "Row {}, column {}: printed is {:.{}f}, computed is {:.{}f}. The run is the card's, so the printed number "
      "is of something else.",
      numbers.query.row + index / columns, numbers.query.column + index % columns, numbers.values[index], numbers.decimals,
      computed[index], numbers.decimals);
}

}  // namespace headlight::app
