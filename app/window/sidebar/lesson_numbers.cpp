#include <fmt/ranges.h>

#include "app/lessons/printed_numbers.h"
#include "app/widgets/controls.h"
#include "app/window/sidebar/panels.h"

namespace headlight::app {
namespace {

/// Larger tables of printed numbers are only compared.
constexpr std::uint32_t kMaxShown = 12;
constexpr float kColumnGap = 10.0F;

void draw_line(Frame& frame, const std::string& text, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, color, text);
}

/// Returns the tile of the run; null: not known yet, or the run has no such numbers.
const attention::Tile* tile_of(Frame& frame, const PrintedNumbers& numbers, bool& is_there) {
  is_there = is_inside(numbers.query, frame.result.shapes);
  const EngineTile* tile = is_there ? frame.ask(numbers.query) : nullptr;
  return tile && tile->tile->values.size() == numbers.values.size() ? tile->tile.get() : nullptr;
}

/// Returns the first digit in which two texts of numbers differ.
std::size_t first_difference(const std::string& printed, const std::string& computed) {
  if (printed.size() != computed.size()) return 0;
  return static_cast<std::size_t>(std::ranges::mismatch(printed, computed).in1 - printed.begin());
}

/// Draws rows of both, in a strip that scrolls sideways where it is wider than the panel. `computed`: empty while unknown.
void draw_both(Frame& frame, const PrintedNumbers& numbers, std::span<const float> computed) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().mono_small;
  const auto text_of = [&](double value) { return fmt::format("{:.{}f}", value, numbers.decimals); };
  float step = 0.0F;
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    step = std::max(step, text_width(font, text_of(numbers.values[i])));
    if (!computed.empty()) step = std::max(step, text_width(font, text_of(computed[i])));
  }
  step += kColumnGap;
  const std::uint32_t columns = numbers.query.columns, rows = numbers.query.rows;
  const float line = font_size(font) + 1.0F, row_height = (computed.empty() ? 1.0F : 2.0F) * line + 5.0F;
  const float names = text_width(font, std::to_string(numbers.query.row + rows - 1)) + kColumnGap;
  const float width = names + static_cast<float>(columns) * step;
  const float height = static_cast<float>(rows) * row_height + line + 2.0F;
  const bool scrolls = width > ImGui::GetContentRegionAvail().x;
  ImGui::BeginChild(
      "numbers", {0.0F, height + (scrolls ? ImGui::GetStyle().ScrollbarSize : 0.0F)}, false,
      ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollWithMouse);
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
  const auto put = [&](const std::string& text, float right, float y, shell::Color color) {
    const glm::vec2 at = glm::round(glm::vec2(origin.x + right - text_width(font, text), origin.y + y));
    put_text(font, at, color, text);
  };
  for (std::uint32_t column = 0; column < columns; ++column) {
    put(std::to_string(numbers.query.column + column), names + static_cast<float>(column + 1) * step - kColumnGap, 0.0F,
        theme.text_dim);
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    const float y = line + 2.0F + static_cast<float>(row) * row_height;
    put(std::to_string(numbers.query.row + row), names - kColumnGap, y, theme.text_dim);
    for (std::uint32_t column = 0; column < columns; ++column) {
      const std::size_t i = std::size_t{row} * columns + column;
      const float right = names + static_cast<float>(column + 1) * step - kColumnGap;
      const std::string printed = text_of(numbers.values[i]);
      put(printed, right, y, theme.text);
      if (computed.empty()) continue;
      const std::string ours = text_of(computed[i]);
      const bool agrees = std::abs(double{computed[i]} - numbers.values[i]) <= numbers.tolerance();
      put(ours, right, y + line, theme.text_dim);
      const std::string differing = ours.substr(first_difference(printed, ours));
      if (!differing.empty()) put(differing, right, y + line, agrees ? theme.accent : theme.warning);
    }
  }
  ImGui::Dummy({width, height});
  ImGui::EndChild();
}

}  // namespace

void draw_lesson_numbers(Frame& frame, const PrintedNumbers& numbers, std::string_view departure, const LessonWords& words) {
  if (const inference::NotebookEdits& edits = notebook_edits(frame.state.source); !edits.is_empty()) {
    draw_line(frame, fmt::format(fmt::runtime(words["not_compared"]), fmt::join(inference::words_of(edits), " \u00B7 ")),
              frame.ui.theme().text_dim);
    frame.mark("lesson.numbers.changed", last_item_rect());
    return;
  }
  const shell::Theme& theme = frame.ui.theme();
  ImGui::Spacing();
  bool is_there = false;
  const attention::Tile* tile = tile_of(frame, numbers, is_there);
  std::span<const float> computed;
  if (tile) computed = tile->values;
  if (tile) {
    const bool agrees = agree(numbers, computed);
    draw_line(frame, verdict_of(numbers, computed, departure, words), agrees ? theme.accent : theme.warning);
    frame.mark(agrees ? "lesson.numbers.agree" : "lesson.numbers.differ", last_item_rect());
  } else {
    draw_line(frame, is_there ? words["computing"] : words["no_numbers"], theme.text_dim);
  }
  // The numbers come after the verdict, which a low panel shows without scrolling.
  if (numbers.query.columns > kMaxShown || numbers.query.rows > kMaxShown) return;
  draw_line(frame, fmt::format(fmt::runtime(tile ? words["printed_below"] : words["printed"]), numbers.source),
            theme.text_dim);
  draw_both(frame, numbers, computed);
}

}  // namespace headlight::app
