#include <cmath>

#include "app/state/map_settings.h"
#include "app/window/sidebar/lesson_questions.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr float kNames = 64.0F, kScores = 40.0F, kMaxCell = 28.0F;
constexpr std::uint8_t kStrengths = 4;  // above nothing

/// A small map, of which each cell can be painted.
struct PaintedGrid {
  std::size_t rows = 0, columns = 0;
  glm::vec2 origin{0.0F};
  float cell = 0.0F;

  chart::Rect rect(std::size_t at) const {
    const glm::vec2 place(at % columns, at / columns);
    return {.origin = origin + place * cell, .size = glm::vec2(cell)};
  }
};

shell::Color color_of_strength(const Frame& frame, double strength) {
  return chart::pack(chart::color(frame.state[kMapView.color_map], static_cast<float>(strength)));
}

/// Returns the height that the names of columns have, which run upwards.
float name_height(const Frame& frame, const model::TokenBatch& keys, std::size_t columns) {
  float height = 0.0F;
  for (std::uint32_t i = 0; i < columns; ++i) {
    if (const std::string* name = keys.label(frame.state.selection.batch, i)) {
      height = std::max(height, text_width(frame.ui.fonts().small, *name));
    }
  }
  return std::min(height, kNames) + 6.0F;
}

/// Writes the tokens at the left and above the map.
void write_names(const Frame& frame, const PaintedGrid& grid) {
  const model::BlockKind kind = frame.state.selection.block.kind;
  const std::uint32_t batch = frame.state.selection.batch;
  ImFont* font = frame.ui.fonts().small;
  const auto name_of = [&](const model::TokenBatch& tokens, std::size_t i) {
    const std::string* name = tokens.label(batch, static_cast<std::uint32_t>(i));
    return fit_text(font, name ? *name : std::to_string(i), kNames - 6.0F);
  };
  for (std::size_t row = 0; row < grid.rows; ++row) {
    const std::string name = name_of(frame.result.input->queries(kind), row);
    const chart::Rect cell = grid.rect(row * grid.columns);
    put_text(font, {grid.origin.x - 6.0F - text_width(font, name), cell.origin.y + text_drop(font, grid.cell)},
             frame.ui.theme().query, name);
  }
  for (std::size_t column = 0; column < grid.columns; ++column) {
    const glm::vec2 start(grid.rect(column).center().x, grid.origin.y - 4.0F);
    draw_turned_text(font, start, {0.0F, -1.0F}, frame.ui.theme().key, name_of(frame.result.input->keys(kind), column));
  }
}

/// Lets mouse and keyboard paint.
void paint_cells(const Question& question, const PaintedGrid& grid) {
  Frame& frame = question.frame;
  QuestionDraft& draft = question.draft;
  ImGui::SetCursorScreenPos(grid.origin);
  click_area(question.mark("paint").c_str(), glm::vec2(grid.columns, grid.rows) * grid.cell);
  mark_pointer_item(frame, question.mark("draw"), question.words["paint_tip"]);
  const bool is_held = ImGui::IsItemActive();
  // A fast mouse skips cells: each between its last place and this one is painted.
  const glm::vec2 end = pointer_position(), begin = is_held && draft.last ? *draft.last : end;
  draft.last = is_held ? std::optional(end) : std::nullopt;
  const int steps = static_cast<int>(glm::length(end - begin) / (0.5F * grid.cell)) + 1;
  for (int step = 0; is_held && step <= steps; ++step) {
    const glm::vec2 at = glm::mix(begin, end, static_cast<float>(step) / static_cast<float>(steps));
    for (std::size_t i = 0; i < draft.levels.size(); ++i) {
      if (grid.rect(i).contains(at)) draft.levels[i] = draft.brush;
    }
  }
  const shell::ControlGroup group(frame.ui.keyboard(), "painted");
  draft.focused.reset();
  for (std::size_t i = 0; i < draft.levels.size(); ++i) {
    const std::string name = fmt::format("{}.{}.{}", question.mark("draw"), i / grid.columns, i % grid.columns);
    if (frame.ui.keyboard().offer(ImGui::GetID(name.c_str()), grid.rect(i))) draft.levels[i] = draft.brush;
    if (frame.ui.keyboard().is_at_last()) draft.focused = i;
    frame.mark(name, grid.rect(i));
  }
}

void draw_cells_of(const Question& question, const PaintedGrid& grid, const json& computed) {
  const Frame& frame = question.frame;
  const shell::Theme& theme = frame.ui.theme();
  for (std::size_t i = 0; i < question.draft.levels.size(); ++i) {
    const chart::Rect cell = grid.rect(i);
    const double painted = question.draft.levels[i] / double{kStrengths};
    const bool is_shown = question.player.is_card_done();
    const double around = is_shown ? computed[i / grid.columns][i % grid.columns].get<double>() : painted;
    fill_rect(cell, color_of_strength(frame, around));
    outline_rect(cell, theme.border);
    if (!is_shown) continue;
    const chart::Rect inner{.origin = cell.origin + 0.32F * grid.cell, .size = glm::vec2(0.36F * grid.cell)};
    fill_rect(inner, color_of_strength(frame, painted));
    outline_rect(inner, theme.text);
  }
}

json painted_map(const QuestionDraft& draft, std::size_t columns) {
  json rows = json::array();
  for (std::size_t i = 0; i < draft.levels.size(); ++i) {
    if (i % columns == 0) rows.push_back(json::array());
    rows.back().push_back(draft.levels[i] / double{kStrengths});
  }
  return rows;
}

// The plane of arrows: UI units a side at most, and steps of the ends.
constexpr float kPlane = 230.0F, kStep = 0.1F, kMaxReach = 6.0F;

glm::vec2 on_step(glm::vec2 end, float reach) { return glm::clamp(glm::round(end / kStep) * kStep, -reach, reach); }

}  // namespace

void draw_map_to_paint(const Question& question) {
  Frame& frame = question.frame;
  const shell::Theme& theme = frame.ui.theme();
  QuestionDraft& draft = question.draft;
  const json& computed = question.standing().observed.wanted;
  if (!computed.is_array() || !frame.result.input) return question.write_note(question.words["computing"]);
  PaintedGrid grid{.rows = computed.size(), .columns = computed.front().size()};
  draft.levels.resize(grid.rows * grid.columns);
  const bool is_done = question.player.is_card_done();
  if (!is_done) {
    question.write_note(question.words["paint"]);
    constexpr std::array<const char*, kStrengths + 1> kLabels = {"0", "\u00BC", "\u00BD", "\u00BE", "1"};
    write_label(frame.ui.fonts().small, theme.text_dim, question.words["strength"]);
    for (std::uint8_t level = 0; level <= kStrengths; ++level) {
      const bool is_chosen = draft.brush == level;
      ImGui::SameLine();
      if (is_chosen) ImGui::PushStyleColor(ImGuiCol_Button, theme.active);
      const std::string name = fmt::format("{}.{}", question.mark("strength"), level);
      if (draw_button(frame, name, kLabels.at(level), question.words["paint_tip"])) draft.brush = level;
      if (is_chosen) ImGui::PopStyleColor();
    }
  }
  grid.cell = std::floor(std::min((width_left() - kNames - kScores) / static_cast<float>(grid.columns), kMaxCell));
  const float names = name_height(frame, frame.result.input->keys(frame.state.selection.block.kind), grid.columns);
  const glm::vec2 at = cursor_position();
  grid.origin = at + glm::vec2(kNames, names);
  write_names(frame, grid);
  if (!is_done) paint_cells(question, grid);
  draw_cells_of(question, grid, computed);
  const json& answered = question.standing().answer;
  const std::vector<double> rows = answered.is_array() ? overlaps(answered, computed) : std::vector<double>();
  double sum = 0.0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const chart::Rect cell = grid.rect(row * grid.columns + grid.columns - 1);
    put_text(frame.ui.fonts().small, {cell.end().x + 6.0F, cell.origin.y + text_drop(frame.ui.fonts().small, grid.cell)},
             theme.text_dim, fmt::format("{:.2f}", rows[row]));
    sum += rows[row];
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({1.0F, names + static_cast<float>(grid.rows) * grid.cell + 4.0F});
  if (!rows.empty()) {
    const double mean = sum / static_cast<double>(rows.size()), wanted = question.condition().value.get<double>();
    question.write(fmt::format(fmt::runtime(question.words["overlap"]), mean, wanted),
                   is_done ? theme.accent : theme.warning);
    frame.mark("lesson.overlap", last_item_rect());
  }
  if (is_done) return question.write_note(question.words["painted"]);
  if (question.draw_check()) question.answer(painted_map(draft, grid.columns));
}

void draw_arrows(const Question& question) {
  Frame& frame = question.frame;
  const shell::Theme& theme = frame.ui.theme();
  std::array<glm::vec2, 2>& ends = question.draft.ends;
  if (std::exchange(question.draft.has_begun, true) == false) ends = {question.subject().q, question.subject().k};
  const bool is_done = question.player.is_card_done();
  if (!is_done) question.write_note(question.words["arrows"]);
  const glm::vec2 furthest = glm::max(glm::abs(question.subject().q), glm::abs(question.subject().k));
  const float reach = std::clamp(std::ceil(std::max(furthest.x, furthest.y)) + 1.0F, 3.0F, kMaxReach);
  const float side = std::floor(std::min(width_left(), kPlane)), unit = 0.5F * side / reach;
  const glm::vec2 at = cursor_position(), middle = at + 0.5F * side;
  fill_rect({.origin = at, .size = glm::vec2(side)}, theme.field, 4.0F);
  frame.mark(question.mark("plane"), {.origin = at, .size = glm::vec2(side)});
  for (float line = -reach; line <= reach; line += 1.0F) {
    const shell::Color color = line == 0.0F ? theme.text_dim : theme.border;
    const glm::vec2 across(middle.x + line * unit, middle.y + line * unit);
    draw_line({across.x, at.y}, {across.x, at.y + side}, color);
    draw_line({at.x, across.y}, {at.x + side, across.y}, color);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    constexpr float kGrip = 22.0F, kHead = 11.0F;
    const char* name = i == 0 ? "q" : "k";
    glm::vec2 tip = middle + ends.at(i) * glm::vec2(unit, -unit);
    if (!is_done) {
      ImGui::PushID(name);
      ImGui::SetCursorScreenPos(tip - 0.5F * kGrip);
      click_area("##end", glm::vec2(kGrip));
      mark_last_item(frame, fmt::format("{}.{}", question.mark("arrow"), name), question.words["arrow_tip"]);
      const glm::ivec2 keys = frame.ui.keyboard().moves_of_last();
      if (keys != glm::ivec2(0)) ends.at(i) = on_step(ends.at(i) + glm::vec2(keys.x, -keys.y) * kStep, reach);
      if (ImGui::IsItemActive()) ends.at(i) = on_step((pointer_position() - middle) / glm::vec2(unit, -unit), reach);
      ImGui::PopID();
      tip = middle + ends.at(i) * glm::vec2(unit, -unit);
    }
    const shell::Color color = i == 0 ? theme.query : theme.key;
    draw_line(middle, tip, color, 2.5F);
    const glm::vec2 along = tip - middle;
    const float length = glm::length(along);
    if (length > 1.0F) {
      const glm::vec2 unit_along = along / length, aside(-unit_along.y, unit_along.x), base = tip - unit_along * kHead;
      ImGui::GetWindowDrawList()->AddTriangleFilled(tip, base + aside * 5.0F, base - aside * 5.0F, color);
    }
    put_text(frame.ui.fonts().strong, tip + glm::vec2(8.0F, -18.0F), color, name);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(glm::vec2(side));
  const glm::vec2 q = ends[0], k = ends[1];
  draw_rich_text(
      frame,
      fmt::format("$q·k$ = {:.1f} · {:.1f} + {:.1f} · {:.1f} = **{:.2f}**", q.x, k.x, q.y, k.y, q.x * k.x + q.y * k.y),
      ImGui::GetFont(), theme.text);
  if (is_done || !question.draw_check()) return;
  question.answer({{q.x, q.y}, {k.x, k.y}});
}

}  // namespace headlight::app
