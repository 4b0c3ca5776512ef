#include "panels/map_tooltip.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "panels/arithmetic.h"
#include "panels/ink.h"
#include "panels/mask_reason.h"
#include "panels/shown_mask.h"
#include "panels/stage_text.h"
#include "panels/thumbnail.h"
#include "panels/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kNumberColumn = 108.0F;

void draw_token(const Frame& frame, const char* role, shell::Color color, const model::TokenBatch& tokens,
                std::uint32_t index) {
  {
    const Ink ink(frame.ui.fonts().small, color);
    ImGui::Text("%s %u", role, index);
  }
  ImGui::SameLine(kNumberColumn);
  const std::uint32_t batch = frame.state.selection.batch;
  const bool is_known = batch < tokens.texts.size() && index < tokens.texts[batch].size();
  const Ink ink(frame.ui.fonts().strong, frame.ui.theme().text);
  ImGui::TextUnformatted(is_known ? tokens.texts[batch][index].c_str() : "");
}

void draw_number(const Frame& frame, const char* name, const std::string& value, ImFont* font) {
  {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
    ImGui::TextUnformatted(name);
  }
  ImGui::SameLine(kNumberColumn);
  const Ink ink(font, frame.ui.theme().text);
  ImGui::TextUnformatted(value.c_str());
}

}  // namespace

double entropy(std::span<const float> weights) {
  double sum = 0.0;
  for (const float weight : weights) {
    if (weight > 0.0F) sum -= double{weight} * std::log(double{weight});
  }
  return sum;
}

void draw_map_tooltip(Frame& frame, attention::Cell cell) {
  if (!frame.result.input) return;
  const Selection& selection = frame.state.selection;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const model::BlockKind kind = selection.block.kind;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const NumberSource::Numbers weights = numbers.row(Stage::Weights, cell.query);
  const std::optional<float> scaled = numbers.value(Stage::Scaled, cell.query, cell.key);
  const std::optional<NumberSource::Softmax> softmax = numbers.softmax(cell.query);
  const auto written = [](std::optional<float> value) { return value ? write_number(double{*value}) : std::string("…"); };

  ImGui::BeginTooltip();
  draw_token(frame, "query", theme.query, frame.result.input->queries(kind), cell.query);
  draw_token(frame, "key", theme.key, frame.result.input->keys(kind), cell.key);
  ImGui::Separator();
  const bool has_weights = !softmax || softmax->sum > 0.0F;
  const bool is_known = weights && cell.key < weights->size();
  draw_number(frame, "weight", has_weights ? written(is_known ? std::optional((*weights)[cell.key]) : std::nullopt) : "none",
              fonts.mono);
  draw_number(frame, "scaled score", written(scaled), fonts.mono);
  if (weights && has_weights) draw_number(frame, "row entropy", fmt::format("{:.3f} nats", entropy(*weights)), fonts.mono);
  const std::string reason = mask_reason(ShownMask(frame).spec(), {.layer = selection.block.layer.value,
                                                                   .batch = selection.batch,
                                                                   .head = selection.head,
                                                                   .cell = cell,
                                                                   .keys = key_range(frame, kind)});
  if (!reason.empty()) draw_number(frame, "masked by", reason, fonts.body);
  if (!has_weights) {
    const Ink ink(fonts.small, theme.warning);
    ImGui::TextUnformatted("This query sees no key: its row has no weights.");
  }
  ImGui::EndTooltip();
}

}  // namespace headlight::app
