#include "panels/prediction_bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "panels/ink.h"
#include "panels/label_text.h"
#include "panels/size_text.h"

namespace headlight::app {
namespace {

constexpr float kRowHeight = 26.0F;
constexpr std::size_t kMostRows = 20;
constexpr float kPercentRoom = 72.0F;
constexpr float kGap = 10.0F;
constexpr float kMostLabelShare = 0.34F;  // of the width

struct Columns {
  float label = 0.0F;  ///< width of the labels, right-aligned
  float bar = 0.0F;    ///< width of the longest bar
};

void draw_row(Frame& frame, const inference::Candidate& candidate, const std::string& label, double largest,
              const Columns& columns, const shell::UiRect& row, bool is_hovered) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (is_hovered) {
    list->AddRectFilled({row.x, row.y}, {row.x + row.width, row.y + row.height}, theme.hover, 4.0F);
  }
  const auto middle = [&](const ImFont* font) { return row.y + std::round((row.height - font_size(font)) * 0.5F); };
  const std::string text = fit_text(fonts.body, label, columns.label);
  list->AddText(fonts.body, font_size(fonts.body),
                {row.x + columns.label - text_width(fonts.body, text), middle(fonts.body)}, theme.text, text.c_str());
  const float left = row.x + columns.label + kGap;
  const float length = std::max(static_cast<float>(candidate.probability / largest) * columns.bar, 1.5F);
  list->AddRectFilled({left, row.y + 5.0F}, {left + length, row.y + row.height - 5.0F},
                      is_hovered ? theme.accent_hover : theme.accent, 3.0F);
  const std::string percent = percent_text(candidate.probability);
  list->AddText(fonts.small, font_size(fonts.small), {left + length + 8.0F, middle(fonts.small)}, theme.text_dim,
                percent.c_str());
}

}  // namespace

std::string candidate_label(const EngineResult& result, std::uint32_t id) {
  std::string label = result.model && result.model->predicted_tokenizer() != nullptr
                          ? result.model->predicted_tokenizer()->label(id)
                          : std::string();
  return label.empty() ? fmt::format("id {}", id) : label;
}

void draw_candidate_tooltip(Frame& frame, const inference::Candidate& candidate, const char* hint) {
  ImGui::BeginTooltip();
  {
    const Ink ink(frame.ui.fonts().strong, frame.ui.theme().text);
    ImGui::TextUnformatted(candidate_label(frame.result, candidate.id).c_str());
  }
  {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
    ImGui::Text("probability %.6g", candidate.probability);
    ImGui::Text("logit %.5g", double{candidate.logit});
    ImGui::Text("id %u", candidate.id);
    if (hint) ImGui::TextUnformatted(hint);
  }
  ImGui::EndTooltip();
}

std::optional<std::uint32_t> draw_prediction_bars(Frame& frame, const Prediction& prediction, float height,
                                                  const char* hint) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const float width = ImGui::GetContentRegionAvail().x;
  const auto fitting = static_cast<std::size_t>(std::max((height - kRowHeight) / kRowHeight, 1.0F));
  const std::size_t count = std::min({fitting, kMostRows, prediction.candidates.size()});
  if (count == 0) return std::nullopt;
  Columns columns;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < count; ++i) {
    labels.push_back(candidate_label(frame.result, prediction.candidates[i].id));
    frame.ui.ensure_glyphs(labels.back());
    columns.label = std::max(columns.label, text_width(fonts.body, labels.back()));
  }
  columns.label = std::min(std::ceil(columns.label) + 6.0F, width * kMostLabelShare);
  columns.bar = std::max(width - columns.label - kGap - kPercentRoom, 20.0F);

  std::optional<std::uint32_t> clicked;
  double shown = 0.0;
  const double largest = std::max(prediction.candidates.front().probability, 1e-30);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  for (std::size_t i = 0; i < count; ++i) {
    const inference::Candidate& candidate = prediction.candidates[i];
    const shell::UiRect row{
        .x = origin.x, .y = origin.y + static_cast<float>(i) * kRowHeight, .width = width, .height = kRowHeight};
    ImGui::SetCursorScreenPos({row.x, row.y});
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::InvisibleButton("candidate", {row.width, row.height})) clicked = candidate.id;
    ImGui::PopID();
    const bool is_hovered = ImGui::IsItemHovered();
    frame.mark(fmt::format("prediction.{}", i), row);
    draw_row(frame, candidate, labels[i], largest, columns, row, is_hovered);
    if (is_hovered) {
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      draw_candidate_tooltip(frame, candidate, hint);
    }
    shown += candidate.probability;
  }
  const std::string rest = fmt::format("all others {}", percent_text(std::max(1.0 - shown, 0.0)));
  const float y = origin.y + static_cast<float>(count) * kRowHeight;
  ImGui::GetWindowDrawList()->AddText(
      fonts.small, font_size(fonts.small),
      {origin.x + columns.label + kGap, y + std::round((kRowHeight - font_size(fonts.small)) * 0.5F)}, theme.text_dim,
      rest.c_str());
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({width, static_cast<float>(count + 1) * kRowHeight});
  return clicked;
}

}  // namespace headlight::app
