#include "app/widgets/prediction_bars.h"

#include "app/engine/token_words.h"
#include "app/state/map_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/size_text.h"

namespace headlight::app {

bool rows_write_tokens(const Frame& frame) {
  const bool is_written = frame.result.model && frame.result.model->description.is_encoder_decoder;
  return is_written && frame.result.input && rows_write_tokens(*frame.result.input, frame.state.selection.block.kind);
}

std::optional<std::vector<std::string>> written_tokens(Frame& frame) {
  if (!rows_write_tokens(frame) || frame.state[kMapView.row_names] != RowNames::Written) return std::nullopt;
  const model::TokenBatch& target = *frame.result.input->target;
  const std::uint32_t batch = frame.state.selection.batch;
  if (batch >= target.texts.size() || batch >= target.lengths.size()) return std::nullopt;
  std::vector<std::string> texts = written_texts(target, batch);
  const std::uint32_t end =
      std::min<std::uint32_t>(target.start(batch) + target.lengths[batch], static_cast<std::uint32_t>(texts.size()));
  if (!frame.result.has_logits || end == 0) return texts;
  const Prediction* next = frame.ask(PredictionQuery{
      .batch = batch, .token = end - 1, .layer = predicting_layers(*frame.result.network), .keeps_logits = true});
  if (next && next->run == frame.result.run && !next->candidates.empty()) {
    texts[end - 1] = candidate_label(frame.result, next->candidates.front().id);
    frame.ui.ensure_glyphs(texts[end - 1]);
  }
  return texts;
}

std::string row_name(Frame& frame, std::uint32_t query) {
  const auto written = written_tokens(frame);
  if (written && query < written->size()) return (*written)[query];
  return frame.result.input->queries(frame.state.selection.block.kind).name(frame.state.selection.batch, query);
}

namespace {

constexpr float kPredictionHeight = 26.0F, kMaxPredictionHeight = 44.0F;
constexpr float kAxisHeight = 20.0F;
constexpr std::size_t kMaxPredictions = 20;
constexpr float kPercentRoom = 62.0F;
constexpr float kChangeRoom = 56.0F;
constexpr float kPredictionGap = 10.0F;
constexpr float kMaxPredictionLabel = 0.34F;  // of the width

struct PredictionColumns {
  float label = 0.0F;    ///< width of the labels, right-aligned
  float bar = 0.0F;      ///< width of 100 %
  float percent = 0.0F;  ///< right end of the percentages after the longest bars, from the left edge
  float change = 0.0F;   ///< right end of the changes
};

/// One bar with its labels.
struct Row {
  std::string label;
  double probability = 0.0;  ///< over the whole vocabulary
  double chance = 0.0;       ///< 0: cut off
  std::optional<double> before;

  bool is_cut() const { return chance <= 0.0 && probability > 0.0; }
};

/// Returns "+3.1", "−12.3": points of a hundred.
std::string points_text(double change) {
  const double points = change * 100.0;
  if (std::abs(points) < 0.05) return "0.0";
  return fmt::format("{}{:.1f}", points < 0.0 ? "−" : "+", std::abs(points));
}

void put_right(ImFont* font, ImVec2 right, shell::Color color, const std::string& text) {
  put_text(font, {std::round(right.x - text_width(font, text)), right.y}, color, text);
}

void draw_row(Frame& frame, const Row& row, const PredictionColumns& columns, const chart::Rect& box, bool is_hovered) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  if (is_hovered) fill_rect(box, theme.hover, 4.0F);
  const auto middle = [&](const ImFont* font) { return box.origin.y + text_drop(font, box.size.y); };
  const shell::Color ink = row.is_cut() ? theme.text_dim : theme.text;
  put_right(fonts.body, {box.origin.x + columns.label, middle(fonts.body)}, ink,
            fit_text(fonts.body, row.label, columns.label));
  const float left = box.origin.x + columns.label + kPredictionGap;
  const double share = row.is_cut() ? row.probability : row.chance;
  const auto end_of = [&](double part) { return left + std::max(static_cast<float>(part) * columns.bar, 1.5F); };
  const float top = box.origin.y + 5.0F;
  const float bottom = box.end().y - 5.0F;
  const shell::Color fill = row.is_cut() ? theme.border : is_hovered ? theme.accent_hover : theme.accent;
  fill_rect({left, top}, {end_of(share), bottom}, fill, 3.0F);
  // The frame of the earlier value is around the bar, so that both are visible whichever is longer.
  if (row.before) outline_rect({left - 1.0F, top - 2.0F}, {end_of(*row.before), bottom + 2.0F}, theme.text, 3.0F, 1.3F);
  put_text(fonts.small, {std::round(end_of(std::max(share, row.before.value_or(0.0)))) + 8.0F, middle(fonts.small)}, ink,
           percent_text(share));
  if (row.is_cut()) {
    put_right(fonts.small, {box.origin.x + columns.change, middle(fonts.small)}, theme.text_dim, "cut off");
  } else if (row.before) {
    put_right(fonts.small, {box.origin.x + columns.change, middle(fonts.small)}, theme.text,
              points_text(row.chance - *row.before));
  }
}

/// Draws grid lines at every quarter, which the bars cover, and their numbers below.
void draw_axis(const Frame& frame, const PredictionColumns& columns, ImVec2 origin, float height, bool has_before) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const float left = origin.x + columns.label + kPredictionGap;
  const bool has_room = columns.bar >= 150.0F;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const float x = std::round(left + columns.bar * static_cast<float>(quarter) / 4.0F) + 0.5F;
    draw_line({x, origin.y}, {x, origin.y + height + 3.0F}, theme.border);
    if (!has_room && quarter % 4 != 0) continue;
    const std::string text = quarter == 4 ? "100 %" : std::to_string(quarter * 25);
    const float shift = text_width(font, quarter == 4 ? "100" : text) * 0.5F;
    put_text(font, {std::round(x - shift), origin.y + height + 4.0F}, theme.text_dim, text);
  }
  if (!has_before) return;
  put_right(font, {origin.x + columns.change, origin.y + height + 4.0F}, theme.text_dim, "points");
}

PredictionColumns measure(const Frame& frame, std::span<const Row> rows, float width, bool has_changes) {
  PredictionColumns columns;
  for (const Row& row : rows) columns.label = std::max(columns.label, text_width(frame.ui.fonts().body, row.label));
  columns.label = std::min(std::ceil(columns.label) + 6.0F, width * kMaxPredictionLabel);
  columns.change = width - 2.0F;
  columns.percent = columns.change - (has_changes ? kChangeRoom : 0.0F);
  columns.bar = std::max(columns.percent - kPercentRoom - columns.label - kPredictionGap, 20.0F);
  return columns;
}

}  // namespace

bool is_comparing(const Frame& frame) { return frame.state.compare.baseline && frame.result.baseline_error.empty(); }

const inference::Distribution* baseline_distribution(Frame& frame, PredictionMemory& memory,
                                                     const PredictionPosition& position,
                                                     const inference::SamplingSettings& sampling) {
  const auto token = is_comparing(frame) ? frame.result.in_baseline(position.batch, position.token) : std::nullopt;
  if (!token) return nullptr;
  const Prediction* baseline = frame.ask(PredictionQuery{.batch = position.batch,
                                                         .token = *token,
                                                         .layer = predicting_layers(*frame.result.network),
                                                         .keeps_logits = true,
                                                         .is_of_baseline = true});
  const inference::Distribution* known = baseline && baseline->logits ? memory.other(baseline->logits, sampling) : nullptr;
  const std::size_t size = frame.result.network->layers->unembedding->linear.out();
  return known && known->probabilities.size() == size ? known : nullptr;
}

std::string candidate_label(const EngineResult& result, std::uint32_t id) { return predicted_label(result.model.get(), id); }

void draw_candidate_tooltip(Frame& frame, const inference::Candidate& candidate, const chart::Rect& box, const char* hint) {
  const Tooltip tooltip(frame, box);
  write_strong(frame, candidate_label(frame.result, candidate.id));
  {
    const TextStyleScope ink(frame);
    ImGui::Text("probability %.6g", candidate.probability);
    ImGui::Text("logit %.5g", double{candidate.logit});
    ImGui::Text("id %u", candidate.id);
    if (hint) ImGui::TextUnformatted(hint);
  }
}

std::optional<std::uint32_t> draw_prediction_bars(Frame& frame, const PredictionBars& bars, float height) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const float width = width_left();
  const auto fitting =
      static_cast<std::size_t>(std::max((height - kPredictionHeight - kAxisHeight) / kPredictionHeight, 1.0F));
  const std::size_t count = std::min({fitting, kMaxPredictions, bars.candidates.size()});
  if (count == 0) return std::nullopt;
  const float row_height = std::clamp(std::floor((height - kAxisHeight) / static_cast<float>(count + 1)), kPredictionHeight,
                                      kMaxPredictionHeight);
  std::vector<Row> rows;
  for (const inference::Candidate& candidate : bars.candidates.first(count)) {
    Row& row = rows.emplace_back();
    row.label = candidate_label(frame.result, candidate.id);
    frame.ui.ensure_glyphs(row.label);
    row.probability = bars.now.probabilities.at(candidate.id);
    row.chance = bars.now.chances.at(candidate.id);
    if (bars.before) row.before = bars.before->chances.at(candidate.id);
  }
  const bool has_changes = bars.before || std::ranges::any_of(rows, &Row::is_cut);
  const PredictionColumns columns = measure(frame, rows, width, has_changes);

  std::optional<std::uint32_t> clicked;
  double shown = 0.0;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float rows_height = static_cast<float>(count) * row_height;
  draw_axis(frame, columns, origin, rows_height, bars.before != nullptr);
  const shell::ControlGroup group(frame.ui.keyboard(), "candidates");
  for (std::size_t i = 0; i < count; ++i) {
    const inference::Candidate& candidate = bars.candidates[i];
    const chart::Rect box{.origin = {origin.x, origin.y + static_cast<float>(i) * row_height}, .size = {width, row_height}};
    ImGui::SetCursorScreenPos(box.origin);
    ImGui::PushID(static_cast<int>(i));
    // Ctrl and a click ask where the number is from.
    if (click_area("candidate", box.size) && !ImGui::GetIO().KeyCtrl) clicked = candidate.id;
    ImGui::PopID();
    const bool is_hovered = ImGui::IsItemHovered();
    frame.ui.keyboard().offer_last_item();
    frame.mark(fmt::format("prediction.{}", i), box);
    const float bar_left = box.origin.x + columns.label + kPredictionGap;
    frame.mark(fmt::format("prediction.{}.axis", i),
               {.origin = {bar_left, box.origin.y}, .size = {columns.bar, box.size.y}});
    draw_row(frame, rows[i], columns, box, is_hovered);
    if (is_hovered) {
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      inference::Candidate under_settings = candidate;
      under_settings.probability = rows[i].probability;
      draw_candidate_tooltip(frame, under_settings, box, bars.hint);
      if (bars.point) bars.point(candidate.id, rows[i].is_cut() ? rows[i].probability : rows[i].chance, rows[i].is_cut());
    }
    shown += rows[i].chance;
  }
  const std::string rest = fmt::format("all others {}", percent_text(std::max(1.0 - shown, 0.0)));
  const float y = origin.y + rows_height + kAxisHeight;
  put_text(fonts.small, {origin.x + columns.label + kPredictionGap, y + text_drop(fonts.small, kPredictionHeight)},
           frame.ui.theme().text_dim, rest);
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({width, rows_height + kAxisHeight + kPredictionHeight});
  return clicked;
}

}  // namespace headlight::app
