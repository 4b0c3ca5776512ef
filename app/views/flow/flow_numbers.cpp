#include <iterator>

#include "app/state/comparison.h"
#include "app/state/flow_settings.h"
#include "app/views/flow/flow_graph_panel.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {

namespace {

constexpr float kSliderGap = 8.0F;  // from its name and to its value

std::string_view share_of(FlowMethod method) {
  if (method == FlowMethod::Routes) return kFlowShare;
  return method == FlowMethod::Rollout ? kRolloutShare : kMaximumFlow;
}

}  // namespace

Table flow_table(const Frame& frame, const FlowLayout& layout, std::uint32_t batch) {
  Table table = named_columns({"layer", "from", "from_text", "to", "to_text", "kind", "heads", "share"});
  for (const attribution::FlowEdge& edge : layout.edges) {
    std::string heads;
    for (const attribution::HeadShare& head : edge.heads) {
      heads += fmt::format("{}{}:{:.6g}", heads.empty() ? "" : " ", head.head, head.share);
    }
    table.put(frame.result.network->layer_number(edge.layer), edge.from,
              predicted_token_text(frame.result, batch, edge.from), edge.to,
              predicted_token_text(frame.result, batch, edge.to), edge.is_residual ? "residual" : "attention", heads,
              Compared<double>{.now = edge.share, .baseline = layout.baseline_share(edge)});
  }
  return table;
}

NumberRef edge_number(const Frame& frame, const Choices& choices, const FlowLayout& layout,
                      const attribution::FlowEdge& edge, std::uint32_t batch, float threshold) {
  NumberRef number{.of = std::string(share_of(choices[kFlowView.method])),
                   .block = encoder_block(frame.result.network->layer_number(edge.layer)),
                   .batch = batch,
                   .head = edge.heads.empty() ? 0 : edge.heads.front().head,
                   .row = edge.to,
                   .column = edge.from,
                   .value = edge.share,
                   .notes = {{"edge", edge.is_residual ? "the residual stream" : "attention"}}};
  std::string heads;
  for (const attribution::HeadShare& head : edge.heads) {
    heads += fmt::format("{}head {}: {:.6g}", heads.empty() ? "" : ", ", head.head, head.share);
  }
  if (!heads.empty()) number.notes.emplace_back("sum of", heads);
  const bool is_route = choices[kFlowView.method] == FlowMethod::Routes;
  number.notes.emplace_back(is_route ? "threshold" : "residual stream's weight",
                            fmt::format("{:.3g}", is_route ? threshold : choices[kFlowView.residual_weight]));
  add_baseline(number, {.now = edge.share, .baseline = layout.baseline_share(edge)});
  return number;
}

NumberRef flow_number(const Choices& choices, const PredictionPosition& position, std::uint32_t to, double value) {
  return {.of = std::string(kLargestFlow),
          .block = encoder_block(0),
          .batch = position.batch,
          .row = position.token,
          .column = to,
          .value = value,
          .notes = {{"residual stream's weight", fmt::format("{:.3g}", choices[kFlowView.residual_weight])}}};
}

std::optional<NumberRef> node_number(const EngineResult& result, const FlowNode& node, std::uint32_t batch,
                                     std::optional<double> mlp) {
  NumberRef number{.batch = batch, .row = node.token};
  if (mlp) {
    number.of = kMlpShare;
    number.block = encoder_block(result.network->layer_number(node.layer - 1));
    number.value = mlp;
    return number;
  }
  const Prediction* read =
      result.prediction({.batch = batch, .token = node.token, .layer = node.layer, .keeps_logits = true});
  if (!read || read->candidates.empty()) return std::nullopt;
  const inference::Candidate& likeliest = read->candidates.front();
  number.of = kLensProbability;
  number.block = encoder_block(0);
  number.column = likeliest.id;
  number.value = likeliest.probability;
  number.notes = {{"token", fmt::format("\u201C{}\u201D", candidate_label(result, likeliest.id))},
                  {"read after", node.layer == 0 ? "no layer: the token's vector"
                                                 : fmt::format("layer {}", result.network->layer_number(node.layer - 1))}};
  return number;
}

namespace {

/// Returns numbers of two digits from kMinFlowThreshold to kMaxFlowThreshold, the least first: what is shown is what is in
/// force.
const std::vector<float>& thresholds() {
  static const std::vector<float> kThresholds = [] {
    std::vector<float> all;
    for (int i = 10; i < 100; ++i) all.push_back(static_cast<float>(i) / 10'000.0F);
    for (int i = 10; i < 100; ++i) all.push_back(static_cast<float>(i) / 1'000.0F);
    for (int i = 10; i <= 50; ++i) all.push_back(static_cast<float>(i) / 100.0F);
    return all;
  }();
  return kThresholds;
}

}  // namespace

std::uint32_t least_share(float threshold) {
  for (const std::uint32_t least : kMinShares) {
    if (threshold >= static_cast<float>(least) / 1000.0F) return least;
  }
  return kMinShares.back();
}

std::size_t attention_edges(const std::vector<attribution::FlowEdge>& edges) {
  return static_cast<std::size_t>(std::ranges::count(edges, false, &attribution::FlowEdge::is_residual));
}

float automatic_threshold(float least, const std::function<std::size_t(float threshold)>& count) {
  const auto first = std::ranges::lower_bound(thresholds(), least);
  const auto end =
      std::partition_point(first, thresholds().end(), [&](float threshold) { return count(threshold) >= kAutomaticEdges; });
  return end == first ? least : *std::prev(end);
}

void begin_slider(const Frame& frame, const char* label, float width) {
  write_label(frame.ui.fonts().small, frame.ui.theme().text, label);
  ImGui::SameLine(0.0F, kSliderGap);
  ImGui::SetNextItemWidth(std::min(width, width_left()));
}

void end_slider(const Frame& frame, const std::string& value) {
  ImGui::SameLine(0.0F, kSliderGap);
  write_label(frame.ui.fonts().small, frame.ui.theme().text, value);
}

void draw_threshold_slider(Frame& frame, float width, std::optional<float>& threshold, std::optional<float> in_force) {
  float value = threshold.value_or(in_force.value_or(kMinFlowThreshold));
  const std::string shown = threshold || in_force ? fmt::format("{:.2g}", value) : "\u2026";
  begin_slider(frame, "threshold", width);
  const bool has_moved = ImGui::SliderFloat("##flow.threshold", &value, kMinFlowThreshold, kMaxFlowThreshold, "",
                                            ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_Logarithmic);
  if (has_moved) threshold = value;
  // The slider follows the pointer for as long as the button is held, so all of the second click counts. A double click in
  // the field that Ctrl+click opens selects the number.
  const ImGuiIO& io = ImGui::GetIO();
  const bool is_double = io.MouseDown[ImGuiMouseButton_Left] && io.MouseClickedLastCount[ImGuiMouseButton_Left] >= 2;
  if (ImGui::IsItemActive() && is_double && !io.WantTextInput) threshold.reset();
  mark_last_item(
      frame, "flow.threshold",
      fmt::format("Edges with a smaller share are left out. Automatic: the largest threshold that leaves {} edges "
                  "of attention; a double click goes back to it.",
                  kAutomaticEdges)
          .c_str());
  const float step = 0.1F * value;  // the scale is logarithmic
  if (step_by_keys(frame, value, kMinFlowThreshold, kMaxFlowThreshold, step)) threshold = value;
  end_slider(frame, shown + (threshold ? "" : " (auto)"));
}

std::string change_points(double change) {
  const double points = 100.0 * change;
  return fmt::format("{}{:.{}f} pt", points < 0.0 ? "\u2212" : "+", std::abs(points), std::abs(points) < 9.95 ? 1 : 0);
}

bool assumes_residual(const Frame& frame) { return frame.state[kFlowView.method] != FlowMethod::Routes; }

std::map<std::uint32_t, std::string> token_names(const Frame& frame, const FlowLayout& layout, std::uint32_t batch) {
  std::map<std::uint32_t, std::string> names;
  std::map<std::string, int> counts;
  for (const auto& [token, column] : layout.columns)
    ++counts[names[token] = predicted_token_text(frame.result, batch, token)];
  const std::uint32_t first = prediction_position(frame.state, frame.result).first;
  for (auto& [token, name] : names) {
    if (counts[name] > 1) name += fmt::format(" {}", token - first);
  }
  return names;
}

std::string place_of(const Frame& frame, const FlowNode& node) {
  if (node.layer == 0) return "the token vector";
  return fmt::format("after layer {}", frame.result.network->layer_number(node.layer - 1));
}

Sentence edge_sentence(const Frame& frame, const FlowLayout& layout, const attribution::FlowEdge& edge, std::uint32_t batch,
                       bool is_most) {
  const std::uint32_t layer = frame.result.network->layer_number(edge.layer);
  const std::map<std::uint32_t, std::string> names = token_names(frame, layout, batch);
  const auto word = [&](std::uint32_t token, std::string (*mark)(const std::string&)) {
    const std::string text = predicted_token_text(frame.result, batch, token);
    return mark(text) + names.at(token).substr(text.size());
  };
  const std::string to = word(edge.to, query_word), share = percent_word(edge.share);
  const std::string stream = assumes_residual(frame) ? "the residual stream that is assumed" : "its own residual stream";
  const std::string source = edge.from == edge.to ? "itself" : word(edge.from, key_word);
  const std::string from = edge.is_residual       ? stream
                           : edge.from == edge.to ? "what it gives itself"
                                                  : "what " + source + " gives";
  Sentence said =
      is_most ? fmt::format("Beside {}, {} of layer {} gets most from {}: {}", stream, to, layer, source, share)
              : fmt::format("Into {} of layer {} flows {}{}: {}", to, layer, edge.share > 0.5 ? "mostly " : "", from, share);
  for (std::size_t i = 0; i < edge.heads.size(); ++i) {
    const bool is_one = edge.heads.size() == 1;  // whose share is the edge's
    said += fmt::format("{}{}", i > 0 ? ", " : is_one ? ", by head " : ", by heads ", edge.heads[i].head);
    if (!is_one) said += fmt::format(" ({})", percent_word(edge.heads[i].share));
  }
  if (const std::optional<double> before = layout.baseline_share(edge)) {
    said += fmt::format("; in {} {}, {} {}", baseline_name(frame.state), percent_word(*before),
                        difference_caption(frame.state), number_word(change_points(edge.share - *before)));
  }
  return said + ".";
}

void open_edge(Frame& frame, const attribution::FlowEdge& edge) {
  State& state = frame.state;
  const model::BlockRef block = encoder_block(frame.result.network->layer_number(edge.layer));
  select_head(state.selection, {block, edge.heads.empty() ? state.selection.head : edge.heads.front().head});
  state.selection.mean = edge.heads.empty() && !edge.is_residual ? HeadMean::Layer : HeadMean::None;
  state.view.pinned = attention::Cell{.query = edge.to, .key = edge.from};
  state.view.heatmap_stage = attention::Stage::Weights;
  state.view.weighs_values = false;
  state.view.tab = kHeadView;
}

}  // namespace headlight::app
