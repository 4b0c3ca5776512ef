#include "app/views/predictions/every_position.h"

#include "app/figures/view_figures.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

constexpr float kMinLensRow = 26.0F, kMaxLensRow = 200.0F;
constexpr float kLabelGap = 12.0F;
constexpr float kGap = 2.0F;
constexpr float kMinCell = 84.0F, kMinLowCell = 120.0F, kTwoLines = 34.0F;
constexpr std::size_t kMaxLensCells = 6;

/// Returns "69.6 %", as the bars do, and "< 0.5 %".
std::string cell_percent(double probability) { return probability < 0.005 ? "< 0.5 %" : percent_text(probability); }

/// `reading`: of which position, after how many layers.
void draw_cell(Frame& frame, const inference::Candidate& candidate, const PredictionQuery& reading, const chart::Rect& box) {
  const std::string label = candidate_label(frame.result, candidate.id);
  draw_map_cell(frame, {.box = box,
                        .ground = color_in(weight_colors(frame.state), candidate.probability),
                        .text = fmt::format("{}\n{}", label, cell_percent(candidate.probability))});
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

constexpr std::size_t kShownCandidates = 3;

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

}  // namespace

void EveryPosition::show(const Frame& frame, const PredictionPosition& position) {
  const bool is_same = input_ == frame.result.input && of_.batch == position.batch && of_.first == position.first &&
                       of_.end == position.end && of_.kind == position.kind;
  if (is_same) return;
  input_ = frame.result.input;
  of_ = position;
  const bool is_next = predicts_next(frame.result);
  Table table =
      named_columns({"at", "token", "likeliest", "second", "third", is_next ? "the text's own" : "the token itself"});
  const std::size_t rows = position.end - position.first;
  table.columns[1].is_quiet.resize(rows, false);
  for (std::size_t i = 0; i < kShownCandidates; ++i) {
    table.columns[2 + i].is_quiet.resize(rows, true);
    table.columns[2 + i].is_wide = true;  // whatever comes into view
  }
  for (std::uint32_t token = position.first; token < position.end; ++token)
    table.put(std::to_string(token - position.first), predicted_token_text(frame.result, position.batch, token), "", "", "",
              "");
  view_.show(std::move(table));
}

void EveryPosition::fill(Frame& frame, std::size_t row) {
  const std::uint32_t token = of_.first + static_cast<std::uint32_t>(row);
  const Prediction* known =
      frame.ask(PredictionQuery{.batch = of_.batch, .token = token, .layer = predicting_layers(*frame.result.network)});
  const std::uint32_t own = predicts_next(frame.result) ? token + 1 : token;
  const std::optional<std::uint32_t> id =
      own < of_.end ? id_at(predicted_tokens(frame.result), of_.batch, own) : std::nullopt;
  std::vector<Column>& columns = view_.asked_cells();
  for (std::size_t i = 0; i < kShownCandidates; ++i) {
    const inference::Candidate* one = known && i < known->candidates.size() ? &known->candidates[i] : nullptr;
    columns[2 + i].is_quiet[row] = one == nullptr || id != one->id;
    std::get<1>(columns[2 + i].cells)[row] =
        one ? fmt::format("{}  {}", candidate_label(frame.result, one->id), percent_text(one->probability))
            : std::string(known ? "" : "\u2026");
  }
  std::get<1>(columns.back().cells)[row] = known ? own_chance(*known, id) : std::string();
}

std::optional<std::uint32_t> EveryPosition::draw(Frame& frame, const PredictionPosition& position) {
  show(frame, position);
  TableOrder order;
  const TableEvents events =
      view_.draw(frame,
                 {.chosen = position.token - position.first,
                  .about = [](std::size_t) { return "Shows this position with all its bars and layers."; },
                  .fill = [&](std::size_t row) { fill(frame, row); }},
                 order);
  return events.clicked ? std::optional(position.first + static_cast<std::uint32_t>(*events.clicked)) : std::nullopt;
}

void draw_logit_lens(Frame& frame, const PredictionPosition& position) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const std::uint32_t layers = predicting_layers(*frame.result.network);
  ImGui::BeginChild("lens");
  const float left = ImGui::GetCursorScreenPos().x;
  const float width = width_left();
  const auto label_of = [=](std::uint32_t layer) {
    const std::string label = layer_label(layer, layers);
    return layer == layers && layer > 0 ? fmt::format("layer {} = {}", layer - 1, label) : label;
  };
  const float labels = text_width(font, label_of(layers)) + kLabelGap;
  const float height = std::clamp(std::floor(height_left() / static_cast<float>(layers + 1)), kMinLensRow, kMaxLensRow);
  const float least = height >= kTwoLines ? kMinCell : kMinLowCell;  // the chance is below the token, or beside it
  const float fitting = std::floor((width - labels) / least);
  const auto count =
      static_cast<std::size_t>(std::clamp(fitting, static_cast<float>(kFigureReadings), static_cast<float>(kMaxLensCells)));
  const auto cells = static_cast<float>(count);
  const float cell = std::floor((width - labels - kGap * (cells - 1.0F)) / cells);
  draw_rows(layers + std::size_t{1}, height, 1.0F, [&](std::size_t row, float y) {
    const std::uint32_t layer = layers - static_cast<std::uint32_t>(row);
    put_text(font, {left, y + text_drop(font, height - kGap)}, theme.text_dim, label_of(layer));
    frame.mark(fmt::format("lens.{}", layer), {.origin = {left, y}, .size = {width, height - kGap}});
    // The bars beside it need the logits of the output.
    const PredictionQuery reading{
        .batch = position.batch, .token = position.token, .layer = layer, .keeps_logits = layer == layers};
    const Prediction* prediction = frame.ask(reading);
    for (std::size_t i = 0; i < count; ++i) {
      const chart::Rect box{.origin = {left + labels + static_cast<float>(i) * (cell + kGap), y},
                            .size = {cell, height - kGap}};
      frame.mark(fmt::format("lens.{}.{}", layer, i), box);
      if (prediction && i < prediction->candidates.size()) {
        draw_cell(frame, prediction->candidates[i], reading, box);
      } else {
        draw_map_cell(frame, {.box = box});
      }
    }
  });
  ImGui::EndChild();
}

}  // namespace headlight::app
