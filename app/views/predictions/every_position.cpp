#include "app/views/predictions/every_position.h"

#include "app/cells/provenance.h"
#include "app/exports/view_figures.h"
#include "app/shell/click_area.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

constexpr float kRowHeight = 26.0F;
constexpr float kLabelRoom = 66.0F;
constexpr float kGap = 2.0F;
constexpr std::size_t kCells = kFigureReadings;

shell::Color color_of(std::span<const std::uint32_t> colors, double probability) {
  const auto index = static_cast<std::size_t>(std::clamp(probability, 0.0, 1.0) * static_cast<double>(colors.size() - 1));
  return colors[index] | 0xFF000000U;
}

/// `reading`: of which position, after how many layers.
void draw_cell(Frame& frame, const inference::Candidate& candidate, const PredictionQuery& reading, const view::Rect& box) {
  const shell::Color ground = color_of(weight_colors(frame.state), candidate.probability);
  fill_rect(box, ground, 3.0F);
  ImFont* font = frame.ui.fonts().small;
  const std::string label = candidate_label(frame.result, candidate.id);
  frame.ui.ensure_glyphs(label);
  const std::string percent = fmt::format("{:.0f} %", candidate.probability * 100.0);
  const float percent_width = text_width(font, percent);
  constexpr float kEdge = 7.0F;
  const bool has_room = box.size.x > percent_width + 46.0F;
  const std::string text = fit_text(font, label, box.size.x - 2.0F * kEdge - (has_room ? percent_width + 6.0F : 0.0F));
  const float y = box.origin.y + text_drop(font, box.size.y);
  const shell::Color ink = readable_on(ground);
  put_text(font, {box.origin.x + kEdge, y}, ink, text);
  if (has_room) {
    put_text(font, {box.end().x - kEdge - percent_width, y}, ink, percent);
  }
  if (ImGui::IsMouseHoveringRect(box.origin, box.end()) && ImGui::IsWindowHovered()) {
    outline_rect(box, frame.ui.theme().crosshair, 3.0F, 1.5F);
    draw_candidate_tooltip(frame, candidate, box, nullptr);
    frame.transient.pointed_number =
        NumberRef{.of = std::string(kLensProbability),
                  .block = frame.state.selection.block,
                  .batch = reading.batch,
                  .row = reading.token,
                  .column = candidate.id,
                  .value = candidate.probability,
                  .notes = {{"token", fmt::format("\u201C{}\u201D", label)},
                            {"read after", reading.layer == 0 ? "no layer: the token's vector"
                                                              : fmt::format("layer {}", reading.layer - 1)}}};
  }
}

constexpr float kPositionRow = 24.0F;
constexpr std::size_t kShownCandidates = 3;

/// Left ends of the columns, in a page of this width: position, token, candidates, the text's own next token.
struct PositionColumns {
  explicit PositionColumns(float width) : token(44.0F), first(token + std::clamp(width * 0.2F, 70.0F, 220.0F)) {
    const float own_width = std::clamp(width * 0.16F, 84.0F, 160.0F);
    own = width - own_width;
    candidate = std::max((own - first) / static_cast<float>(kShownCandidates), 1.0F);
  }
  float token, first, candidate = 1.0F, own = 0.0F;
};

/// The chance of the token that follows in the text, as far as it is among those that are kept.
std::string own_chance(const Prediction& prediction, std::optional<std::uint32_t> id) {
  if (!id) return {};
  const auto found = std::ranges::find(prediction.candidates, *id, &inference::Candidate::id);
  if (found != prediction.candidates.end()) return percent_text(found->probability);
  return prediction.candidates.empty() ? "" : fmt::format("< {}", percent_text(prediction.candidates.back().probability));
}

/// The id of a token of the predicted sequence; none where it isn't known.
std::optional<std::uint32_t> id_at(const model::TokenBatch& tokens, std::uint32_t batch, std::uint32_t token) {
  const std::size_t at = std::size_t{batch} * tokens.length + token;
  return token < tokens.length && at < tokens.ids.size() ? std::optional(tokens.ids[at]) : std::nullopt;
}

class PositionTable {
 public:
  PositionTable(Frame& frame, const PredictionPosition& position)
      : frame_(frame),
        position_(position),
        columns_(ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize),
        is_next_(predicts_next(frame.result)) {}

  void draw_titles() {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const shell::Color dim = frame_.ui.theme().text_dim;
    write(at, 0.0F, columns_.token, "at", dim);
    write(at, columns_.token, columns_.first, "token", dim);
    write(at, columns_.first, columns_.own, is_next_ ? "likeliest next tokens" : "likeliest tokens in its place", dim);
    write(at, columns_.own, columns_.own + 160.0F, is_next_ ? "the text's own" : "the token itself", dim);
    ImGui::Dummy({1.0F, kPositionRow});
  }

  /// Returns whether it was clicked.
  bool draw_row(std::uint32_t token, float y) {
    const shell::Theme& theme = frame_.ui.theme();
    const ImVec2 at(ImGui::GetCursorScreenPos().x, y);
    const float width = ImGui::GetContentRegionAvail().x;
    const std::string name = fmt::format("prediction.position.{}", token);
    ImGui::SetCursorScreenPos(at);
    const bool is_clicked = click_area(name.c_str(), {width, kPositionRow});
    mark_last_item(frame_, name, "Shows this position with all its bars and layers.");
    const bool is_shown = token == position_.token;
    if (is_shown || ImGui::IsItemHovered()) {
      fill_rect(to_glm(at), {at.x + width, at.y + kPositionRow}, is_shown ? theme.active : theme.hover, 3.0F);
    }
    write(at, 0.0F, columns_.token, std::to_string(token - position_.first), theme.text_dim);
    write(at, columns_.token, columns_.first, predicted_token_text(frame_.result, position_.batch, token), theme.text);
    const Prediction* known = frame_.ask(
        PredictionQuery{.batch = position_.batch, .token = token, .layer = predicting_layers(*frame_.result.network)});
    if (!known) {
      write(at, columns_.first, columns_.own, "\u2026", theme.text_dim);
      return is_clicked;
    }
    const std::uint32_t own = is_next_ ? token + 1 : token;
    const std::optional<std::uint32_t> id =
        own < position_.end ? id_at(predicted_tokens(frame_.result), position_.batch, own) : std::nullopt;
    for (std::size_t i = 0; i < std::min(kShownCandidates, known->candidates.size()); ++i) {
      const inference::Candidate& candidate = known->candidates[i];
      const float left = columns_.first + static_cast<float>(i) * columns_.candidate;
      const std::string text =
          fmt::format("{}  {}", candidate_label(frame_.result, candidate.id), percent_text(candidate.probability));
      write(at, left, left + columns_.candidate, text, id == candidate.id ? theme.accent : theme.text);
    }
    write(at, columns_.own, width, own_chance(*known, id), theme.text);
    return is_clicked;
  }

 private:
  void write(ImVec2 at, float left, float right, const std::string& text, shell::Color color) {
    ImFont* font = frame_.ui.fonts().small;
    frame_.ui.ensure_glyphs(text);
    put_text(font, {at.x + left, at.y + text_drop(font, kPositionRow)}, color,
             fit_text(font, text, std::max(right - left - 8.0F, 1.0F)));
  }

  Frame& frame_;
  const PredictionPosition& position_;
  PositionColumns columns_;
  bool is_next_;
};

}  // namespace

std::optional<std::uint32_t> draw_every_position(Frame& frame, const PredictionPosition& position) {
  PositionTable table(frame, position);
  table.draw_titles();
  ImGui::BeginChild("positions");
  const shell::ControlGroup group(frame.ui.keyboard(), "positions");
  std::optional<std::uint32_t> clicked;
  draw_rows(position.end - position.first, kPositionRow, 1.0F, [&](std::size_t row, float y) {
    const std::uint32_t token = position.first + static_cast<std::uint32_t>(row);
    if (table.draw_row(token, y)) clicked = token;
  });
  ImGui::EndChild();
  return clicked;
}

void draw_logit_lens(Frame& frame, const PredictionPosition& position) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const std::uint32_t layers = predicting_layers(*frame.result.network);
  ImGui::BeginChild("lens");
  const float left = ImGui::GetCursorScreenPos().x;
  const float width = ImGui::GetContentRegionAvail().x;
  const float cell = (width - kLabelRoom - kGap * static_cast<float>(kCells - 1)) / static_cast<float>(kCells);
  draw_rows(layers + std::size_t{1}, kRowHeight, 1.0F, [&](std::size_t row, float y) {
    const std::uint32_t layer = layers - static_cast<std::uint32_t>(row);
    put_text(font, {left, y + text_drop(font, kRowHeight - kGap)}, theme.text_dim, layer_label(layer, layers));
    frame.mark(fmt::format("lens.{}", layer), {.origin = {left, y}, .size = {width, kRowHeight - kGap}});
    // The bars beside it need the logits of the output.
    const PredictionQuery reading{
        .batch = position.batch, .token = position.token, .layer = layer, .keeps_logits = layer == layers};
    const Prediction* prediction = frame.ask(reading);
    for (std::size_t i = 0; i < kCells; ++i) {
      const view::Rect box{.origin = {left + kLabelRoom + static_cast<float>(i) * (cell + kGap), y},
                           .size = {cell, kRowHeight - kGap}};
      if (prediction && i < prediction->candidates.size()) {
        draw_cell(frame, prediction->candidates[i], reading, box);
      } else {
        fill_rect(box, theme.missing, 3.0F);
      }
    }
  });
  ImGui::EndChild();
}

}  // namespace headlight::app
