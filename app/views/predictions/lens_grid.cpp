#include "app/views/predictions/lens_grid.h"

#include <array>

#include "app/figures/view_figures.h"
#include "app/shapes/table.h"
#include "app/state/map_settings.h"
#include "app/state/predictions_settings.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

constexpr float kLensGutter = 58.0F, kLensHeader = 20.0F, kMinLensRow = 24.0F, kMaxLensRow = 40.0F, kCellGap = 1.0F;
constexpr float kMinLensCell = 66.0F, kMaxLensCell = 150.0F, kNumberRoom = 84.0F, kTwoLines = 36.0F;
constexpr float kLegendBar = 120.0F, kDetailRoom = 46.0F;

/// What colours the cells: a number of each, and the range of its colours in a vocabulary of this size.
struct Coloring {
  const char* unit;
  double (*value)(const LensCell& cell);
  chart::ValueLimits (*limits)(double vocabulary);
  std::string (*text)(const LensCell& cell);
};
/// By LensColor.
constexpr std::array<Coloring, 4> kColorings = {
    {{"probability of the likeliest token", [](const LensCell& cell) { return cell.likeliest.front().probability; },
      [](double) { return chart::ValueLimits{.low = 0.0F, .high = 1.0F}; },
      [](const LensCell& cell) { return fmt::format("{:.0f} %", cell.likeliest.front().probability * 100.0); }},
     {"\u2212log\u2081\u2080 of the rank", [](const LensCell& cell) { return -std::log10(static_cast<double>(cell.rank)); },
      [](double vocabulary) { return chart::ValueLimits{.low = -static_cast<float>(std::log10(vocabulary)), .high = 0.0F}; },
      [](const LensCell& cell) { return std::to_string(cell.rank); }},
     {"entropy, nats", [](const LensCell& cell) { return cell.entropy; },
      [](double vocabulary) { return chart::ValueLimits{.low = 0.0F, .high = static_cast<float>(std::log(vocabulary))}; },
      [](const LensCell& cell) { return fmt::format("{:.2f}", cell.entropy); }},
     {"KL(last layer \u2016 this), nats", [](const LensCell& cell) { return cell.divergence; },
      [](double vocabulary) { return chart::ValueLimits{.low = 0.0F, .high = static_cast<float>(std::log(vocabulary))}; },
      [](const LensCell& cell) { return fmt::format("{:.2f}", cell.divergence); }}}};

const Coloring& coloring(const State& state) {
  return kColorings[static_cast<std::size_t>(state[kPredictionsView.lens_color])];
}

shell::Color color_at(const Frame& frame, const Coloring& by, double value, std::uint32_t vocabulary) {
  const std::span<const std::uint32_t> colors = weight_colors(frame.state);
  const chart::ValueLimits limits = by.limits(vocabulary);
  const double share = (value - double{limits.low}) / std::max(double{limits.high} - double{limits.low}, 1e-9);
  return colors[static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(colors.size() - 1))] |
         0xFF000000U;
}

std::string quoted(const Frame& frame, std::uint32_t id) {
  return fmt::format("\u201C{}\u201D", candidate_label(frame.result, id));
}

/// "after layer 3, at 5 “dog”".
std::string place_text(const Frame& frame, const PredictionPosition& position, std::uint32_t layer, std::uint32_t layers,
                       std::uint32_t token) {
  return fmt::format("{}, {} \u201C{}\u201D", layer_label(layer, layers), token - position.first,
                     predicted_token_text(frame.result, position.batch, token));
}

/// The five likeliest, and what else is known.
std::string lens_words(const Frame& frame, const LensCell& cell) {
  std::string text;
  for (std::uint32_t i = 0; i < cell.known; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : " \u00B7 ", quoted(frame, cell.likeliest[i].id),
                        percent_text(cell.likeliest[i].probability));
  }
  return text;
}
std::string lens_numbers(const Frame& frame, const LensCell& cell) {
  return fmt::format("entropy {:.3f} nats \u00B7 KL to the last layer {:.3f} nats \u00B7 {} has rank {} ({})", cell.entropy,
                     cell.divergence, quoted(frame, cell.ranked), cell.rank, percent_text(cell.probability));
}

std::string lens_name(const State& state) { return utf8(std::filesystem::path(state[kPredictionsView.lens]).filename()); }

}  // namespace

void LensGrid::draw_controls(Frame& frame, const PredictionPosition& position) {
  State& state = frame.state;
  choose(frame, kPredictionsView.lens_color);
  constexpr float kListRoom = 200.0F;
  if (state[kPredictionsView.lens_color] == LensColor::Rank) {
    continue_line(kListRoom, 12.0F);
    ImGui::SetNextItemWidth(kListRoom);
    const std::string automatic = "of the last layer\u2019s likeliest";
    const std::string shown = question_.ranked ? fmt::format("of {}", quoted(frame, *question_.ranked)) : automatic;
    constexpr const char* kHelp =
        "The token whose rank is shown: the one that the last layer finds likeliest at each position, or one of the chosen "
        "position's likeliest. Shift and a click on a cell take that cell's.";
    frame.ui.ensure_glyphs(shown);
    if (OpenList list(frame, "lens.ranked", shown.c_str(), kHelp); list) {
      if (list.entry(automatic.c_str(), "none", !question_.ranked, kHelp)) state.set(kPredictionsView.ranked, {});
      const Prediction* known =
          frame.ask(PredictionQuery{.batch = position.batch, .token = position.token, .layer = layers_});
      for (std::size_t i = 0; known && i < known->candidates.size(); ++i) {
        const std::uint32_t id = known->candidates[i].id;
        const std::string entry = fmt::format("{}###{}", quoted(frame, id), i);
        frame.ui.ensure_glyphs(entry);
        if (list.entry(entry.c_str(), std::to_string(i), state[kPredictionsView.ranked] == id, kHelp))
          state.set(kPredictionsView.ranked, id);
      }
    }
  }
  constexpr const char *kOpen = "Linear lens\u2026", *kLeave = "Logit lens";
  continue_line(button_width(kOpen), 12.0F);
  if (draw_button(frame, "lens.open", kOpen)) frame.start_command("file.open_lens");
  if (state[kPredictionsView.lens].empty()) return;
  continue_line(button_width(kLeave), 8.0F);
  if (draw_button(frame, "lens.leave", kLeave)) state.set(kPredictionsView.lens, {});
}

void LensGrid::draw_legend(Frame& frame) const {
  const Coloring& by = coloring(frame.state);
  const chart::ValueLimits limits = by.limits(vocabulary_);
  const bool is_rank = frame.state[kPredictionsView.lens_color] == LensColor::Rank;
  const bool is_share = frame.state[kPredictionsView.lens_color] == LensColor::Probability;
  const std::string low = is_rank ? std::to_string(vocabulary_) : "0";
  const char* bound =
      frame.state[kPredictionsView.lens_color] == LensColor::Divergence ? "\u2265 " : "";  // it has no largest number
  const std::string high = is_rank ? "1" : is_share ? "100 %" : fmt::format("{}{:.1f} nats", bound, limits.high);
  const std::string lens =
      frame.state[kPredictionsView.lens].empty()
          ? "Each state through the final norm and the unembedding"
          : fmt::format("Linear lens {}: each state h is read as h + W\u00B7h + b", lens_name(frame.state));
  ImFont* font = frame.ui.fonts().small;
  const shell::Theme& theme = frame.ui.theme();
  const glm::vec2 at = to_glm(ImGui::GetCursorScreenPos());
  put_text(font, at, theme.text_dim, low);
  const float left = at.x + text_width(font, low) + 6.0F, step = kLegendBar / 32.0F;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const double value = double{limits.low} + (double{limits.high} - double{limits.low}) * (i + 0.5) / 32.0;
    const float x = left + static_cast<float>(i) * step;
    fill_rect({x, at.y + 2.0F}, {x + step, at.y + font_size(font)}, color_at(frame, by, value, vocabulary_));
  }
  put_text(font, {left + kLegendBar + 6.0F, at.y}, theme.text_dim, high);
  const float used = left + kLegendBar + text_width(font, high) + 24.0F - at.x;
  ImGui::Dummy({used, font_size(font)});
  continue_line(text_width(font, lens), 0.0F);
  write_note(frame, lens, {}, "lens.about");
}

void LensGrid::draw_cell(Frame& frame, const PredictionPosition& position, std::uint32_t layer, std::uint32_t token,
                         const LensCell* cell, const chart::Rect& box) {
  const std::string name = fmt::format("lens.cell.{}.{}", layer, token);
  ImGui::SetCursorScreenPos(to_imgui(box.origin));
  State& state = frame.state;
  const bool is_clicked = click_area(name.c_str(), to_imgui(box.size)) && !ImGui::GetIO().KeyCtrl;
  const bool is_hovered = ImGui::IsItemHovered();
  const bool is_chosen = token == position.token && layer == std::min(state.selection.block.layer.value + 1, layers_);
  std::string words;
  if (cell && (is_hovered || frame.tips != nullptr)) {
    words = fmt::format("{}: {}; entropy {:.2f}, KL {:.2f} nats, {} rank {}.",
                        place_text(frame, position, layer, layers_, token), lens_words(frame, *cell), cell->entropy,
                        cell->divergence, quoted(frame, cell->ranked), cell->rank);
    frame.ui.ensure_glyphs(words);
  }
  mark_last_item(frame, name, cell ? words.c_str() : trouble_.empty() ? "Being computed." : trouble_.c_str());
  if (is_chosen) frame.ui.keyboard().prefer_last();
  if (is_clicked && ImGui::GetIO().KeyShift && cell && cell->known > 0) {
    state.set(kPredictionsView.ranked, cell->likeliest.front().id);
    state.set(kPredictionsView.lens_color, LensColor::Rank);
  } else if (is_clicked) {
    is_opened_ = is_chosen && frame.ui.keyboard().is_active();
    choose_position(frame, token);
    state.selection.block.layer.value = std::max(layer, 1U) - 1;
    shown_token_ = token;
  }
  if (is_hovered && is_chosen && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) is_opened_ = true;
  const shell::Theme& theme = frame.ui.theme();
  if (!cell || cell->known == 0) return fill_rect(box, theme.missing, 2.0F);
  const Coloring& by = coloring(state);
  const shell::Color ground = color_at(frame, by, by.value(*cell), vocabulary_), ink = readable_on(ground);
  fill_rect(box, ground, 2.0F);
  ImFont* font = frame.ui.fonts().small;
  const std::string label = candidate_label(frame.result, cell->likeliest.front().id), number = by.text(*cell);
  frame.ui.ensure_glyphs(label);
  constexpr float kEdge = 5.0F;
  const bool is_high = box.size.y + kCellGap >= kTwoLines, has_number = is_high || box.size.x >= kNumberRoom;
  const float number_room = has_number && !is_high ? text_width(font, number) + kEdge : 0.0F;
  const float high = is_high ? 2.0F * font_size(font) : font_size(font);
  const float y = box.origin.y + std::round((box.size.y - high) * 0.5F);
  put_text(font, {box.origin.x + kEdge, y}, ink, fit_text(font, label, box.size.x - 2.0F * kEdge - number_room));
  if (is_high) put_text(font, {box.origin.x + kEdge, y + font_size(font)}, ink, number);
  if (number_room > 0.0F) put_text(font, {box.end().x - number_room, y}, ink, number);
  if (is_chosen || is_hovered) outline_rect(box, is_chosen ? theme.accent : theme.crosshair, 2.0F, 2.0F);
  if (is_hovered || (is_chosen && !is_hovered_)) {
    detail_ = place_text(frame, position, layer, layers_, token) + ":  " + lens_words(frame, *cell) + "\n" +
              lens_numbers(frame, *cell);
  }
  is_hovered_ |= is_hovered;
  if (!is_hovered) return;
  const inference::Candidate& likeliest = cell->likeliest.front();
  frame.transient.pointed_number =
      NumberRef{.of = std::string(kLensProbability),
                .block = state.selection.block,
                .batch = position.batch,
                .row = token,
                .column = likeliest.id,
                .value = likeliest.probability,
                .notes = {{"token", quoted(frame, likeliest.id)}, {"read after", layer_label(layer, layers_)}}};
  if (!state[kPredictionsView.lens].empty())
    frame.transient.pointed_number->notes.emplace_back("lens", state[kPredictionsView.lens]);
}

void LensGrid::keep_cell(const Frame& frame, std::uint32_t layer, std::uint32_t token, const LensCell* cell) {
  const std::size_t at = std::size_t{layers_ - layer - visible_.first_row} * kept_.map.columns + token;
  if (!cell || cell->known == 0) return;
  kept_.map.values[at] = static_cast<float>(coloring(frame.state).value(*cell));
  kept_.map.masked[at] = 0;
  kept_.texts[at] = candidate_label(frame.result, cell->likeliest.front().id);
}

void LensGrid::draw_names(Frame& frame, const PredictionPosition& position, glm::vec2 corner, glm::vec2 room) const {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  ImGui::PushClipRect({corner.x, corner.y + kLensHeader}, {corner.x + kLensGutter, corner.y + room.y}, true);
  for (std::uint32_t row = visible_.first_row; row < visible_.end_row; ++row) {
    const float y = origin_.y + static_cast<float>(row) * cell_size_.y + text_drop(font, cell_size_.y);
    put_text(font, {corner.x, y}, theme.text_dim, layer_label(layers_ - row, layers_));
  }
  ImGui::PopClipRect();
  ImGui::PushClipRect({corner.x + kLensGutter, corner.y}, {corner.x + room.x, corner.y + kLensHeader}, true);
  for (std::uint32_t column = visible_.first_column; column < visible_.end_column; ++column) {
    const std::uint32_t token = position.first + column;
    const std::string name = predicted_token_text(frame.result, position.batch, token);
    frame.ui.ensure_glyphs(name);
    put_text(font, {origin_.x + static_cast<float>(column) * cell_size_.x + 5.0F, corner.y},
             token == position.token ? theme.accent : theme.text, fit_text(font, name, cell_size_.x - 10.0F));
  }
  ImGui::PopClipRect();
}

void LensGrid::draw_cells(Frame& frame, const PredictionPosition& position, float height) {
  const std::uint32_t rows = layers_ + 1, columns = position.end - position.first;
  const glm::vec2 corner = to_glm(ImGui::GetCursorScreenPos());
  const glm::vec2 room(ImGui::GetContentRegionAvail().x, height);
  const float inside = room.x - kLensGutter - ImGui::GetStyle().ScrollbarSize;
  const float width = std::floor(inside / static_cast<float>(std::max(columns, 1U)));
  const float high = std::floor((height - kLensHeader - ImGui::GetStyle().ScrollbarSize) / static_cast<float>(rows));
  cell_size_ = {std::clamp(width, kMinLensCell, kMaxLensCell), std::clamp(high, kMinLensRow, kMaxLensRow)};
  ImGui::SetCursorScreenPos({corner.x + kLensGutter, corner.y + kLensHeader});
  ImGui::BeginChild("cells", {room.x - kLensGutter, room.y - kLensHeader}, false, ImGuiWindowFlags_HorizontalScrollbar);
  if (shown_token_ != position.token) {  // moved by the arrows above, or from another view
    shown_token_ = position.token;
    const float left = static_cast<float>(position.token - position.first) * cell_size_.x;
    const bool is_seen = left >= ImGui::GetScrollX() && left + cell_size_.x <= ImGui::GetScrollX() + ImGui::GetWindowWidth();
    if (!is_seen) ImGui::SetScrollX(std::max(left - 0.5F * ImGui::GetWindowWidth(), 0.0F));
  }
  origin_ = to_glm(ImGui::GetCursorScreenPos());
  const glm::vec2 scrolled = glm::max(to_glm(ImGui::GetWindowPos()) - origin_, 0.0F);
  const glm::vec2 end = scrolled + to_glm(ImGui::GetWindowSize());
  const auto index = [](float at, float size) { return static_cast<std::uint32_t>(std::max(at, 0.0F) / size); };
  visible_ = {.first_row = std::min(index(scrolled.y, cell_size_.y), rows),
              .end_row = std::min(index(end.y, cell_size_.y) + 1, rows),
              .first_column = std::min(index(scrolled.x, cell_size_.x), columns),
              .end_column = std::min(index(end.x, cell_size_.x) + 1, columns)};
  const std::uint32_t shown_rows = visible_.end_row - visible_.first_row,
                      shown_columns = visible_.end_column - visible_.first_column;
  kept_.map.rows = shown_rows;
  kept_.map.columns = shown_columns;
  kept_.map.values.assign(std::size_t{shown_rows} * shown_columns, 0.0F);
  kept_.map.masked.assign(kept_.map.values.size(), 1);
  kept_.texts.assign(kept_.map.values.size(), "");
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "lens grid");
    for (std::uint32_t row = visible_.first_row; row < visible_.end_row; ++row) {
      const std::uint32_t layer = layers_ - row;
      question_.first = layer - layer % kLensLayers;
      for (std::uint32_t column = visible_.first_column; column < visible_.end_column; ++column) {
        question_.token = position.first + column;
        const bool is_asked = row > visible_.first_row && question_.first + kLensLayers - 1 != layer;
        const Analysed* answer = is_asked ? frame.result.analysed(question_) : frame.ask(question_);
        if (answer && !answer->error.empty()) trouble_ = answer->error;
        const LensCells* cells = answer ? answer->as<LensCells>() : nullptr;
        const LensCell* cell =
            cells && layer - question_.first < cells->layers.size() ? &cells->layers[layer - question_.first] : nullptr;
        const chart::Rect box{.origin = origin_ + glm::vec2(column, row) * cell_size_, .size = cell_size_ - kCellGap};
        draw_cell(frame, position, layer, question_.token, cell, box);
        keep_cell(frame, layer, column - visible_.first_column, cell);
      }
    }
  }
  ImGui::SetCursorScreenPos(to_imgui(origin_));
  ImGui::Dummy(to_imgui(glm::vec2(columns, rows) * cell_size_));
  ImGui::EndChild();
  draw_names(frame, position, corner, room);
}

void LensGrid::draw(Frame& frame, const PredictionPosition& position) {
  layers_ = predicting_layers(*frame.result.network);
  vocabulary_ = frame.result.network->layers->unembedding->linear.out();
  const std::optional<std::uint32_t> ranked = frame.state[kPredictionsView.ranked];
  // A token that this model doesn't have is none.
  question_ = {.batch = position.batch,
               .ranked = ranked && *ranked < vocabulary_ ? ranked : std::nullopt,
               .lens = frame.state[kPredictionsView.lens]};
  is_hovered_ = is_opened_ = false;
  draw_controls(frame, position);
  draw_legend(frame);
  ImGui::Spacing();
  if (frame.transient.copies == frame.state.view.tab) copy_csv(frame, position);
  const std::string trouble = std::exchange(trouble_, {});
  if (!trouble.empty()) write_note(frame, trouble + ".", frame.ui.theme().warning, "lens.trouble");
  const float height = ImGui::GetContentRegionAvail().y - kDetailRoom;
  detail_.clear();
  draw_cells(frame, position, std::max(height, 2.0F * kMinLensRow + kLensHeader));
  if (trouble_ != trouble) frame.ui.request_redraw(2);
  frame.ui.ensure_glyphs(detail_);
  write_note(frame, detail_, frame.ui.theme().text, "lens.detail");
  const Coloring& by = coloring(frame.state);
  kept_.rows = {.title = "layer", .tokens = {}};
  kept_.columns = {.title = "token", .tokens = {}};
  for (std::uint32_t row = visible_.first_row; row < visible_.end_row; ++row)
    kept_.rows.tokens.push_back(layer_label(layers_ - row, layers_));
  for (std::uint32_t column = visible_.first_column; column < visible_.end_column; ++column)
    kept_.columns.tokens.push_back(predicted_token_text(frame.result, position.batch, position.first + column));
  kept_.title =
      frame.state[kPredictionsView.lens].empty() ? "Logit lens" : fmt::format("Linear lens {}", lens_name(frame.state));
  kept_.value_title = by.unit;
  kept_.masked_title = "not computed";
  kept_.subtitle = fmt::format("the likeliest token that each layer's state is read as{}",
                               frame.state[kPredictionsView.lens_color] != LensColor::Rank ? ""
                               : question_.ranked ? fmt::format("; rank of {}", quoted(frame, *question_.ranked))
                                                  : "; rank of the last layer's likeliest");
  kept_.marks_empty_rows = false;
  kept_.style.limits = by.limits(vocabulary_);
  kept_.style.color_map = frame.state[kMapView.color_map];
}

void LensGrid::copy_csv(Frame& frame, const PredictionPosition& position) {
  const Analysed* answer = frame.ask(LensTableQuestion{question_});
  const LensTable* table = answer && answer->is_done && answer->run == frame.result.run ? answer->as<LensTable>() : nullptr;
  if (answer && !answer->error.empty()) frame.transient.copies.clear();
  if (!table) return write_note(frame, "computing all cells for the clipboard\u2026", {}, "lens.copying");
  std::vector<std::string> names = {"layers", "position", "token"};
  for (std::size_t i = 1; i <= kLensTokens; ++i)
    names.insert(names.end(), {fmt::format("likeliest {}", i), fmt::format("probability {}", i)});
  names.insert(names.end(), {"entropy (nats)", "KL to the last layer (nats)", "ranked token", "rank", "probability"});
  Table numbers = named_columns(std::move(names));
  for (std::uint32_t at = 0; at < table->positions.size(); ++at) {
    for (std::size_t layer = 0; layer < table->positions[at].size(); ++layer) {
      const LensCell& cell = table->positions[at][layer];
      numbers.put(layer, at, predicted_token_text(frame.result, position.batch, position.first + at));
      for (std::uint32_t i = 0; i < kLensTokens; ++i) {
        const inference::Candidate& one = cell.likeliest[i];
        i < cell.known ? numbers.put(candidate_label(frame.result, one.id), one.probability) : numbers.put("", CellNumber());
      }
      numbers.put(cell.entropy, cell.divergence, candidate_label(frame.result, cell.ranked), cell.rank, cell.probability);
    }
  }
  copy_when_asked(frame, [&] { return csv(numbers); });
}

std::unique_ptr<exporting::Drawing> LensGrid::figure() const {
  const bool has_any = std::ranges::find(kept_.map.masked, 0) != kept_.map.masked.end();
  return has_any ? exporting::make_drawing(kept_, exporting::DrawingFormat::Svg) : nullptr;
}

}  // namespace headlight::app
