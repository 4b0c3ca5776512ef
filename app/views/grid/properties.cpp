#include "app/views/grid/properties.h"

#include <cmath>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/token_losses.h"
#include "app/state/run_interventions.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::size_t kMaxMetrics = 6;

/// Draws a heading of strong words in their colours: {"Cell: ", text}, {"rides", query}, …, cut at the edge.
void draw_heading(Frame& frame, const std::string& name, std::initializer_list<std::pair<std::string, shell::Color>> words) {
  ImFont* font = frame.ui.fonts().strong;
  glm::vec2 at = cursor_position() + glm::vec2(0.0F, 6.0F);
  const glm::vec2 start = at;
  const float end = at.x + width_left();
  for (const auto& [word, color] : words) {
    const std::string shown = fit_text(font, word, std::max(end - at.x, 0.0F));
    put_text(font, at, color, shown);
    at.x += text_width(font, shown);
  }
  ImGui::Dummy({end - start.x, font_size(font) + 8.0F});
  frame.mark("properties." + name, {.origin = start, .size = {end - start.x, font_size(font)}});
}

/// Draws buttons that start commands, as many on a line as fit.
struct CommandButton {
  const char *label, *command, *help;
};
void draw_commands(Frame& frame, std::initializer_list<CommandButton> buttons) {
  const TextStyleScope ink(frame, frame.ui.theme().text);
  bool is_first = true;
  for (const auto& [label, command, help] : buttons) {
    if (!std::exchange(is_first, false)) continue_line(button_width(label), 6.0F);
    if (draw_button(frame, fmt::format("properties.{}", command), label, help)) frame.start_command(command);
  }
}

/// Draws the pinned cell: its weight, its score, and how one becomes the other.
void draw_cell(Frame& frame, attention::Cell cell) {
  const Selection& selection = frame.state.selection;
  const shell::Theme& theme = frame.ui.theme();
  const inference::BlockShape& shape = *selected_shape(frame);
  if (cell.query >= shape.queries || cell.key >= shape.keys) return;
  draw_heading(frame, "cell",
               {{"Cell: ", theme.text},
                {token_name(frame, shown_queries(frame), cell.query), theme.query},
                {" attends to ", theme.text},
                {token_name(frame, shown_keys(frame), cell.key), theme.key}});
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const auto number = [](const std::optional<float>& value) { return value ? write_number(double{*value}) : "\u2026"; };
  write_pair(frame, "weight", number(numbers.value(Stage::Weights, cell.query, cell.key)));
  if (!shape.only_weights) {
    write_pair(frame, "scaled score", number(numbers.value(Stage::Scaled, cell.query, cell.key)));
    const HeadSubject subject = selected_subject(frame);
    const Arithmetic sum = explain_cell(question_about(frame, subject, Stage::Weights, cell), numbers);
    write_pair(frame, "written out", sum.numbers);
    if (!sum.note.empty()) write_wrapped(frame.ui.fonts().small, theme.text_dim, sum.note);
    draw_commands(frame, {{"In Neuron", "view.neuron", "Takes the score of this cell apart, product by product."},
                          {"In Steps", "view.steps", "Shows this cell in the head\u2019s whole calculation."}});
  }
}

/// Returns the token to describe: the locked one, else the pinned query.
std::optional<LockedToken> selected_token(const Frame& frame) {
  const ViewChoices& view = frame.state.view;
  if (view.locked) return view.locked;
  return view.pinned ? std::optional(LockedToken{MapSide::Query, view.pinned->query}) : std::nullopt;
}

/// Writes how well a token of the text is predicted from those before it.
void write_surprise(Frame& frame, std::uint32_t token) {
  if (!predicts_next(frame.result)) return;
  const Analysed* answer = frame.ask(TokenLossesQuestion{.batch = frame.state.selection.batch});
  const auto* found = answer ? answer->as<TokenLosses>() : nullptr;
  if (!found || token < found->first || token - found->first >= found->losses.size()) return;
  const double loss = found->losses[token - found->first];
  write_pair(frame, "expected, of what comes before it", fmt::format("{:.3g} %", 100.0 * std::exp(-loss)));
  write_pair(frame, "surprise: \u2212ln of that", fmt::format("{:.3g} nats", loss));
  const model::TokenBatch& tokens = predicted_tokens(*frame.result.input);
  const std::size_t at = std::size_t{frame.state.selection.batch} * tokens.length + token;
  if (token == 0 || at >= tokens.ids.size() || !frame.result.network) return;
  const Prediction* before = frame.ask(PredictionQuery{.batch = frame.state.selection.batch,
                                                       .token = token - 1,
                                                       .layer = predicting_layers(*frame.result.network),
                                                       .keeps_logits = true});
  if (before && before->logits && tokens.ids[at] < before->logits->size())
    write_pair(frame, "its logit there", write_number(double{(*before->logits)[tokens.ids[at]]}));
}

/// Draws a token: what its row attends to, what its column receives, and how much it surprises.
void draw_token(Frame& frame, const LockedToken& token) {
  const Selection& selection = frame.state.selection;
  const shell::Theme& theme = frame.ui.theme();
  const model::TokenBatch& queries = shown_queries(frame);
  const model::TokenBatch& keys = shown_keys(frame);
  const inference::BlockShape& shape = *selected_shape(frame);
  const bool is_query = token.side == MapSide::Query;
  if (token.token >= (is_query ? shape.queries : shape.keys)) return;
  draw_heading(frame, "token",
               {{fmt::format("Token {}: ", token.token), theme.text},
                {token_name(frame, is_query ? queries : keys, token.token), is_query ? theme.query : theme.key}});
  const bool is_self = selection.block.kind != model::BlockKind::Cross;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  if (is_query || is_self) {
    if (const auto row = numbers.weights_row(token.token); row && !row->weights.empty()) {
      const auto most = std::ranges::max_element(row->weights);
      const auto key = static_cast<std::uint32_t>(most - row->weights.begin());
      write_pair(frame, fmt::format("its row: most to {}", token_name(frame, keys, key)), fmt::format("{:.3f}", *most));
    }
  }
  if (!is_query || is_self) {
    if (const std::optional<float> received = numbers.received(token.token)) {
      write_pair(frame, "its column: all queries together", fmt::format("{:.3f}", *received));
    }
  }
  if (&predicted_tokens(*frame.result.input) == &(is_query ? queries : keys)) write_surprise(frame, token.token);
}

/// Draws the head: what it does, its metrics, its gain.
void draw_head(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const shell::Theme& theme = frame.ui.theme();
  const HeadRef head = selection.head_ref();
  const ShownMetrics shown = ask_cheap_metrics(frame);
  const evaluation::HeadMetrics* metrics = shown.of(head);
  const auto role = metrics && are_trained(frame.state) ? strongest_metric(*metrics) : std::nullopt;
  draw_heading(frame, "head", {{fmt::format("Head {}", head_name(head)), theme.text}});
  if (role) write_wrapped(frame.ui.fonts().small, theme.text_dim, fmt::format("It {}.", text_of(*role).sentence));
  std::size_t written = 0;
  for (std::size_t i = 0; metrics && i < evaluation::kHeadMetrics && written < kMaxMetrics; ++i) {
    const auto metric = static_cast<evaluation::HeadMetric>(i);
    const std::optional<double> value = metrics->value(metric);
    if (!value) continue;
    write_pair(frame, std::string(evaluation::metric_name(metric)), metric_number(metric, value) + text_of(metric).unit);
    mark_pointer_item(frame, fmt::format("properties.metric.{}", i), text_of(metric).help);
    ++written;
  }
  const std::string coverage = frame.transient.aim.is_nameless ? std::string() : coverage_text(shown);
  if (!coverage.empty()) {
    write_dim(frame, fit_text(frame.ui.fonts().small, coverage, width_left()));
  }
  if (selected_shape(frame)->d_output == 0) return;  // a gain would change nothing
  const float gain = head_gain(frame.state, selection.block, selection.head);
  if (gain != 1.0F) write_pair(frame, "gain: a factor of what it adds", fmt::format("\u00D7 {:.3g}", gain));
  draw_commands(frame, {{gain == 0.0F ? "Restore" : "Knock out", "head.knock_out",
                         "The rest of the model goes on as if this head added nothing (K)."},
                        {gain == 0.5F ? "Whole" : "Half", "head.halve", "Halves what this head adds."}});
}

}  // namespace

void draw_properties(Frame& frame) {
  if (!frame.result.input || !selected_shape(frame)) return;
  frame.mark("properties", window_rect());
  const glm::vec2 at = cursor_position();
  draw_line(at, at + glm::vec2(width_left(), 0.0F), frame.ui.theme().border);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 4.0F));
  if (const auto& pinned = frame.state.view.pinned) draw_cell(frame, *pinned);
  if (const std::optional<LockedToken> token = selected_token(frame)) draw_token(frame, *token);
  draw_head(frame);
  ImGui::PopStyleVar();
}

}  // namespace headlight::app
