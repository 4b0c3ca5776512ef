#include <cmath>

#include "app/engine/token_words.h"
#include "app/views/steps/steps_view.h"
#include "app/widgets/controls.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kRowLine = 20.0F, kHighLine = 28.0F;
constexpr std::size_t kMaxBars = 64;

/// A number of the row, by its column.
struct RowNumber {
  std::uint32_t column = 0;
  float value = 0.0F;
};

/// Returns the numbers that a mask hasn't taken out, the one farthest from 0 first.
std::vector<RowNumber> largest_of(std::span<const float> row) {
  std::vector<RowNumber> numbers;
  for (std::uint32_t column = 0; column < row.size(); ++column) {
    if (std::isfinite(row[column]) && row[column] != 0.0F) numbers.push_back({.column = column, .value = row[column]});
  }
  const auto is_larger = [](const RowNumber& a, const RowNumber& b) {
    const float left = std::abs(a.value), right = std::abs(b.value);
    return left == right ? a.column < b.column : left > right;
  };
  std::ranges::sort(numbers, is_larger);
  return numbers;
}

}  // namespace

void draw_written_row(Frame& frame, const HeadSubject& subject, const WrittenRow& row, float height) {
  if (!frame.result.input) return;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const Selection& selection = frame.state.selection;
  const model::TokenBatch& keys = shown_keys(frame);
  const model::TokenBatch& queries = shown_queries(frame);
  const bool has_key_rows = StepMatrix(row.stage).has_key_rows(), is_map = attention::is_map(row.stage);
  const float bottom = ImGui::GetCursorScreenPos().y + height - 8.0F;
  frame.mark("steps.row", {.origin = cursor_position(), .size = {width_left(), height - 8.0F}});
  const std::string row_token =
      is_map ? row_name(frame, row.row) : token_name(frame, has_key_rows ? keys : queries, row.row);
  const std::string title = fmt::format("Row {} \u201C{}\u201D, written out", row.row, row_token);
  write_text(fonts.strong, has_key_rows ? theme.key : theme.query, fit_text(fonts.strong, title, width_left()));
  TileNumbers numbers(frame, selection.block, selection.batch, subject.geometry.head);
  if (row.stage == Stage::Weights && !subject.geometry.shape.only_weights) {
    if (const auto softmax = numbers.softmax(row.row); softmax && softmax->sum > 0.0F) {
      const std::string most = write_number(double{softmax->max});
      const auto has_room = [&] { return ImGui::GetCursorScreenPos().y + kRowLine <= bottom; };
      if (has_room()) write_pair(frame, "largest score of the row", most);
      if (has_room())
        write_pair(frame, fmt::format("sum of exp(score \u2212 {})", most), write_number(double{softmax->sum}));
    }
  }
  const NumberSource::Numbers known = numbers.row(row.stage, row.row);
  if (!known) return;
  const float left = bottom - ImGui::GetCursorScreenPos().y;
  const auto lines = static_cast<std::size_t>(std::max(left / kRowLine, 0.0F));
  std::vector<RowNumber> largest = largest_of(*known);
  if (largest.empty() || lines == 0) return;
  const std::size_t all = largest.size(), count = std::min(all <= lines ? all : lines - 1, kMaxBars);
  const float rest = count < all ? std::abs(largest[count].value) : 0.0F;  // the largest that is left out
  largest.resize(std::max<std::size_t>(count, 1));
  const float high = std::clamp(left / static_cast<float>(count + 1), kRowLine, kHighLine), drop = (high - kRowLine) * 0.5F;
  const float width = width_left(), most = std::abs(largest.front().value);
  const float names = std::min(width * 0.34F, 110.0F), digits = 60.0F, bar = std::max(width - names - digits - 12.0F, 8.0F);
  const std::vector<std::string> tokens = is_map ? telling_names(keys, selection.batch) : std::vector<std::string>();
  for (const RowNumber& number : largest) {
    const glm::vec2 at = cursor_position() + glm::vec2(0.0F, drop);
    const std::string name =
        fit_text(fonts.small, is_map ? tokens.at(number.column) : fmt::format("[{}]", number.column), names - 8.0F);
    put_text(fonts.small, {at.x + names - 8.0F - text_width(fonts.small, name), at.y}, is_map ? theme.key : theme.text_dim,
             name);
    const float length = std::max(std::round(bar * std::abs(number.value) / most), 1.0F);
    fill_rect({at.x + names, at.y + 2.0F}, {at.x + names + length, at.y + 13.0F},
              number.value < 0.0F ? theme.key : theme.query, 2.0F);
    put_text(fonts.small, {at.x + names + length + 6.0F, at.y}, theme.text, write_number(double{number.value}));
    ImGui::Dummy({width, high - ImGui::GetStyle().ItemSpacing.y});
  }
  if (count == all || count == 0) return;
  write_dim(frame, fmt::format("{} more, each {} at most", all - count, write_number(double{rest})));
  frame.mark("steps.row.rest", last_item_rect());
}

}  // namespace headlight::app
