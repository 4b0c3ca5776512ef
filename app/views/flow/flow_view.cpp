#include "app/views/view.h"

#include "app/engine/analyses/token_flow.h"
#include "app/state/comparison.h"
#include "app/views/flow/flow_graph_panel.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/tile_numbers.h"
#include "attribution/additive_stack.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

constexpr float kSlider = 110.0F, kGap = 12.0F;
constexpr float kThresholdWords = 156.0F, kResidualWords = 96.0F;  // beside their sliders
constexpr float kSearchStart = static_cast<float>(kMinShares.front()) / 1000.0F;

/// Returns the question. `least`: of routes, the least share that is followed.
FlowQuestion question(const State& state, const PredictionPosition& position, std::uint32_t least) {
  FlowQuestion asked{.method = state[kFlowView.method], .batch = position.batch, .position = position.token};
  if (asked.method == FlowMethod::Routes) {
    asked.least = least;
    return asked;
  }
  asked.residual_weight = static_cast<std::uint32_t>(std::lround(state[kFlowView.residual_weight] * 1000.0F));
  if (asked.method != FlowMethod::MaximumFlow) return asked;
  const std::uint32_t key = state.view.pinned ? state.view.pinned->key : position.first;
  asked.source = key < position.end ? key : position.first;
  return asked;
}

const char* about(FlowMethod method) {
  switch (method) {
    case FlowMethod::Routes:
      return "An edge is the share of a token's state after a layer that one token's state before it gives (Ferrando & "
             "Voita "
             "2024).";
    case FlowMethod::Rollout:
      return "A heuristic: the heads' mean weights, mixed with a residual stream layer by layer (Abnar & Zuidema 2020).";
    case FlowMethod::MaximumFlow:
      return "A heuristic: the largest flow to the pinned key, else the first token, by mean weights (Abnar & Zuidema "
             "2020).";
  }
  return "";
}

/// Draws the view's choices. `in_force`: the threshold of what is on screen. Returns whether a method was clicked.
bool choose(Frame& frame, std::optional<float> in_force) {
  State& state = frame.state;
  const bool is_clicked = choose(frame, kFlowView.method);
  continue_line(kSlider + kThresholdWords, kGap);
  draw_threshold_slider(frame, kSlider, state.edit(kFlowView.threshold), in_force);
  if (state[kFlowView.method] == FlowMethod::Routes) return is_clicked;
  continue_line(kSlider + kResidualWords, kGap);
  begin_slider(frame, "residual", kSlider);
  float weight = state[kFlowView.residual_weight];
  ImGui::SliderFloat("##flow.residual", &weight, 0.0F, 1.0F, "", ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame, "flow.residual", "The residual stream's share of every layer; heads have the rest.");
  step_by_keys(frame, weight, 0.0F, 1.0F, 0.01F);
  end_slider(frame, fmt::format("{:.2f}", weight));
  state.set(kFlowView.residual_weight, weight);
  return is_clicked;
}

/// Returns why routes can't be followed in this run; empty: they can.
std::string why_no_routes(const Frame& frame) {
  if (frame.result.capture) return "they need the network's weights, which a capture lacks";
  return attribution::why_not_additive(*frame.result.network);
}

class FlowView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    is_drawn_ = false;
    if (!frame.result.input || !frame.result.network) return;
    State& state = frame.state;
    const FlowMethod chosen = state[kFlowView.method];
    const std::string why = chosen == FlowMethod::Routes ? why_no_routes(frame) : std::string();
    // Where the chosen method doesn't apply, the next one is shown and stays unchosen until it is clicked.
    if (!why.empty()) state.set(kFlowView.method, FlowMethod::Rollout);
    draw_method(frame, why.empty() ? std::string() : fmt::format("Routes can't be followed here: {}. ", why));
    if (!why.empty() && !is_method_clicked_) state.set(kFlowView.method, chosen);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (!is_drawn_ || layout_.edges.empty()) return nullptr;
    const double reach = std::max(layout_.largest_change(), 1e-6);
    exporting::FlowFigure figure{
        .title = title_, .subtitle = subtitle_, .layers = layout_.layers, .tokens = tokens_, .edges = {}, .style = {}};
    figure.layer_numbers = layer_numbers_;
    for (const attribution::FlowEdge& edge : layout_.edges) {
      figure.edges.push_back({.layer = edge.layer,
                              .from = layout_.columns.at(edge.from),
                              .to = layout_.columns.at(edge.to),
                              .share = static_cast<float>(edge.share),
                              .is_residual = edge.is_residual,
                              .head = main_head(edge)});
      const std::optional<double> before = layout_.baseline_share(edge);
      if (!before) continue;
      exporting::FlowFigure::Edge& drawn = figure.edges.back();
      drawn.share = static_cast<float>(std::max(edge.share, *before));
      drawn.change = static_cast<float>(edge.share - *before);
    }
    if (layout_.baseline) figure.reach = static_cast<float>(reach);
    return exporting::make_drawing(std::move(figure));
  }

 private:
  /// `note`: written before what the method is.
  void draw_method(Frame& frame, const std::string& note) {
    const PredictionPosition position = prediction_position(frame.state, frame.result);
    draw_position_header(frame, "flow",
                         frame.result.has_logits ? "What flows into this prediction" : "What flows into this token",
                         position, "Copies the edges on screen and their heads as CSV.");
    Asked asked = ask(frame, position);
    const Choices before = frame.state;
    is_method_clicked_ = choose(frame, asked.found ? std::optional(threshold_) : std::nullopt);
    if (before != frame.state) asked = ask(frame, position);
    if (asked.found) copy_when_asked(frame, [&] { return csv(flow_table(frame, layout_, position.batch)); });
    write_note(frame, note + about(frame.state[kFlowView.method]));
    if (asked.answer && !asked.answer->error.empty()) {
      return draw_empty_note(frame, "flow.none", "This can't be computed here", asked.answer->error + ".");
    }
    if (!asked.found) return write_note(frame, "computing\u2026");
    draw_comparison(frame, "flow", "each edge\u2019s share", asked.baseline);
    draw_graph(frame, position, asked);
    keep_words(frame, position);
    is_drawn_ = true;
  }

  /// Keeps the words beside the figure's graph.
  void keep_words(const Frame& frame, const PredictionPosition& position) {
    layer_numbers_ = frame.result.network->layer_numbers;
    title_ = fmt::format("What flows into \u201C{}\u201D, token {}",
                         predicted_token_text(frame.result, position.batch, position.token), position.token);
    subtitle_ = fmt::format(
        "{} Threshold {:.2g}; grey: the residual stream{}.", about(choices_[kFlowView.method]), threshold_,
        choices_[kFlowView.method] == FlowMethod::Routes ? "; colours: the head that gives most of an edge" : "");
    if (layout_.baseline) {
      subtitle_ = fmt::format("{} Threshold {:.2g}. Colours: the share, {} (\u201C{}\u201D); widths: the larger share.",
                              about(choices_[kFlowView.method]), threshold_, difference_caption(frame.state),
                              frame.ui.unshaped(frame.state.compare.baseline->name));
    }
    tokens_.assign(layout_.columns.size(), {});
    for (const auto& [token, column] : layout_.columns) {
      tokens_[column] = frame.ui.unshaped(predicted_token_text(frame.result, position.batch, token));
    }
  }

  /// The question and the answers that the graph is drawn from.
  struct Asked {
    FlowQuestion query;
    const Analysed* answer = nullptr;
    const TokenFlowFound* found = nullptr;
    const Analysed* baseline = nullptr;  ///< of the baseline, where the two are compared
  };

  static std::vector<attribution::FlowEdge> edges_of(FlowMethod method, const TokenFlowFound& run, float threshold) {
    return method == FlowMethod::Routes ? attribution::routes(run.shares, run.start, static_cast<double>(threshold))
                                        : connected(run.edges, run.layers, run.start, static_cast<double>(threshold));
  }

  /// Returns the baseline's edges by the run's own tokens, without those of tokens that it has no counterpart of.
  static std::vector<attribution::FlowEdge> of_counterparts(const EngineResult& result, std::uint32_t batch,
                                                            const std::vector<attribution::FlowEdge>& baseline) {
    std::vector<attribution::FlowEdge> edges;
    for (attribution::FlowEdge edge : baseline) {
      const auto from = result.from_baseline(batch, edge.from), to = result.from_baseline(batch, edge.to);
      if (!from || !to) continue;
      edge.from = *from;
      edge.to = *to;
      edges.push_back(std::move(edge));
    }
    return edges;
  }

  /// Asks for what the threshold needs, and lays it out. An automatic one begins where little is computed, and goes on while
  /// too few edges are found.
  Asked ask(Frame& frame, const PredictionPosition& position) {
    const std::optional<float> threshold = frame.state[kFlowView.threshold];
    const bool is_searching = frame.state[kFlowView.method] == FlowMethod::Routes && !threshold;
    Asked asked = ask(frame, position, least_share(threshold.value_or(kSearchStart)));
    for (std::size_t i = 0; is_searching && asked.found && !has_enough(i, asked.answer->result);) {
      if (++i == kMinShares.size()) break;
      const Asked more = ask(frame, position, kMinShares[i]);
      if (!more.found && (!more.answer || more.answer->error.empty())) break;  // what is there is shown until then
      asked = more;
    }
    if (!asked.found) return asked;
    asked.baseline = ask_of_counterpart(frame, asked.query);
    lay_out(frame, asked);
    return asked;
  }

  static Asked ask(Frame& frame, const PredictionPosition& position, std::uint32_t least) {
    Asked asked{.query = question(frame.state, position, least)};
    asked.answer = frame.ask(asked.query);
    asked.found = asked.answer && asked.answer->error.empty() ? asked.answer->as<TokenFlowFound>() : nullptr;
    return asked;
  }

  /// Does a finding of routes have enough edges for an automatic threshold? Counted once for each.
  bool has_enough(std::size_t least, const std::shared_ptr<const AnalysisResult>& result) {
    auto& [of, is_enough] = enough_[least];
    if (of == result) return is_enough;
    of = result;
    const auto& found = dynamic_cast<const TokenFlowFound&>(*result);
    const float threshold = static_cast<float>(kMinShares[least]) / 1000.0F;
    is_enough = attention_edges(edges_of(FlowMethod::Routes, found, threshold)) >= kAutomaticEdges;
    return is_enough;
  }

  void lay_out(const Frame& frame, const Asked& asked) {
    const std::shared_ptr<const AnalysisResult> baseline =
        asked.baseline && asked.baseline->is_done ? asked.baseline->result : nullptr;
    if (of_ == asked.answer->result && of_baseline_ == baseline && choices_ == frame.state) return;
    of_ = asked.answer->result;
    of_baseline_ = baseline;
    choices_ = frame.state;
    const FlowMethod method = choices_[kFlowView.method];
    const TokenFlowFound& found = *asked.found;
    const auto count = [&](float threshold) { return attention_edges(edges_of(method, found, threshold)); };
    const bool is_route = method == FlowMethod::Routes;
    const float least = is_route ? static_cast<float>(asked.query.least) / 1000.0F : kMinFlowThreshold;
    const std::optional<float> chosen = choices_[kFlowView.threshold];
    threshold_ = chosen ? *chosen : automatic_threshold(least, count);
    const auto* before = dynamic_cast<const TokenFlowFound*>(baseline.get());
    const std::uint32_t batch = asked.query.batch;
    const bool is_compared =
        before && before->layers == found.layers && frame.result.from_baseline(batch, before->start) == found.start;
    std::vector<attribution::FlowEdge> edges = edges_of(method, found, threshold_);
    layout_ = is_compared
                  ? FlowLayout(std::move(edges), of_counterparts(frame.result, batch, edges_of(method, *before, threshold_)),
                               found.layers, found.start)
                  : FlowLayout(std::move(edges), found.layers, found.start);
  }

  void draw_graph(Frame& frame, const PredictionPosition& position, const Asked& from) {
    const TokenFlowFound& found = *from.found;
    const FlowQuestion& asked = from.query;
    const auto gone = static_cast<std::size_t>(
        std::ranges::count_if(layout_.edges, [](const attribution::FlowEdge& edge) { return edge.share == 0.0; }));
    const std::size_t edges = layout_.edges.size() - gone, tokens = position.end - position.first;
    std::string summary = fmt::format("{} edge{}, {} of {} token{}", edges, edges == 1 ? "" : "s", layout_.columns.size(),
                                      tokens, tokens == 1 ? "" : "s");
    if (gone > 0)
      summary += fmt::format("; {} {} of {} alone (dashed)", gone, gone == 1 ? "edge" : "edges", baseline_name(frame.state));
    if (frame.state[kFlowView.method] == FlowMethod::MaximumFlow && asked.source < found.inputs.size()) {
      summary += fmt::format("; largest flow to \u201C{}\u201D: {:.3f}",
                             predicted_token_text(frame.result, position.batch, asked.source), found.inputs[asked.source]);
    }
    const bool has_heads = frame.state[kFlowView.method] == FlowMethod::Routes && !layout_.baseline;
    if (has_heads) summary += ". An edge has a head's colour where that head gives more than half of it";
    write_note(frame, summary + ". A click opens an edge's head.", {}, "flow.summary");
    if (frame.state[kFlowView.method] == FlowMethod::MaximumFlow && asked.source < found.inputs.size()) {
      frame.transient.pointed_number = flow_number(choices_, position, asked.source, found.inputs[asked.source]);
    }
    if (!layout_.baseline) draw_flow_legend(frame, layout_);
    std::optional<FlowNode> revealed = move_on(frame) ? chosen_ : std::nullopt;
    // The predicted token, on the right, is where everything flows to: a graph that is too wide begins with it.
    const std::tuple shown(layout_.start, layout_.columns.size(), width_left());
    if (!revealed && std::exchange(shown_, shown) != shown) {
      revealed = {.layer = layout_.layers, .token = layout_.start};
    }
    draw_chosen(frame, position.batch);
    if (const auto edge = chosen_ ? told_edge_into(layout_, *chosen_) : std::nullopt) {
      frame.transient.pointed_number =
          edge_number(frame, choices_, layout_, layout_.edges[*edge], position.batch, threshold_);
    }
    ImGui::BeginChild("flow", {0.0F, 0.0F}, false, ImGuiWindowFlags_HorizontalScrollbar);
    const FlowEvents events = draw_flow_graph(frame, layout_, position.batch, chosen_, revealed);
    if (events.told_edge) {
      const attribution::FlowEdge& told = layout_.edges[*events.told_edge];
      frame.says = edge_sentence(frame, layout_, told, position.batch, !events.hovered_edge && !told.is_residual);
    }
    if (events.hovered_edge) {
      frame.transient.pointed_number =
          edge_number(frame, choices_, layout_, layout_.edges[*events.hovered_edge], position.batch, threshold_);
    }
    if (events.hovered_node) {
      const std::optional<double> mlp = mlp_of(found, *events.hovered_node);
      draw_node_tooltip(frame, *events.hovered_node, position.batch, mlp);
      if (const auto number = node_number(frame.result, *events.hovered_node, position.batch, mlp))
        frame.transient.pointed_number = number;
    }
    ImGui::EndChild();
    if (events.clicked_edge) open_edge(frame, layout_.edges[*events.clicked_edge]);
  }

  /// Lets the arrow keys walk along edges and layers, Enter opens the strongest edge into the node. Returns whether they
  /// did.
  bool move_on(Frame& frame) {
    using shell::Key;
    constexpr std::array kMoves = {std::pair(Key::Down, FlowMove::Back), std::pair(Key::Up, FlowMove::Forward),
                                   std::pair(Key::Left, FlowMove::Left), std::pair(Key::Right, FlowMove::Right)};
    if (chosen_ && !layout_.nodes.contains(*chosen_)) chosen_.reset();
    bool has_moved = false;
    for (const auto& [key, move] : kMoves) {
      if (!frame.ui.is_pressed(key)) continue;
      chosen_ = chosen_ ? moved(layout_, *chosen_, move) : FlowNode{.layer = layout_.layers, .token = layout_.start};
      has_moved = true;
    }
    const std::optional<std::size_t> edge = chosen_ ? told_edge_into(layout_, *chosen_) : std::nullopt;
    if (edge && frame.ui.is_pressed(Key::Enter)) open_edge(frame, layout_.edges[*edge]);
    return has_moved;
  }

  /// Describes the node that the keyboard has come to, in words.
  void draw_chosen(Frame& frame, std::uint32_t batch) const {
    if (!chosen_) return;
    const std::string token = predicted_token_text(frame.result, batch, chosen_->token);
    std::string text = fmt::format("\u201C{}\u201D, {}", token, place_of(frame, *chosen_));
    if (strongest_into(layout_, *chosen_)) text += ". Enter opens the head that most of it is from.";
    if (const std::string changes = node_changes(frame, *chosen_, batch); !changes.empty()) text += " " + changes;
    frame.ui.ensure_glyphs(text);
    write_note(frame, text, frame.ui.theme().text);
    frame.mark("flow.chosen_text", last_item_rect());
  }

  static std::optional<double> mlp_of(const TokenFlowFound& found, const FlowNode& node) {
    if (node.layer == 0 || node.layer > found.shares.size()) return std::nullopt;
    const std::vector<attribution::TokenShares>& layer = found.shares[node.layer - 1];
    const auto token = std::ranges::find(layer, node.token, &attribution::TokenShares::token);
    return token == layer.end() ? std::nullopt : std::optional(token->mlp);
  }

  std::shared_ptr<const AnalysisResult> of_, of_baseline_;  ///< what `layout_` shows
  Choices choices_;
  float threshold_ = kMinFlowThreshold;  ///< in force: the chosen or the automatic one
  FlowLayout layout_;
  /// has_enough() of the last finding, by the place of its share in kMinShares.
  std::array<std::pair<std::shared_ptr<const AnalysisResult>, bool>, kMinShares.size()> enough_;
  std::string title_, subtitle_;              ///< of the figure
  std::vector<std::uint32_t> layer_numbers_;  ///< of the figure: model::Network::layer_numbers
  std::vector<std::string> tokens_;           ///< [column]
  bool is_drawn_ = false;                     ///< in the last frame
  bool is_method_clicked_ = false;            ///< in the last frame
  std::optional<FlowNode> chosen_;            ///< by the keyboard
  /// The graph's token, columns and width that its start was revealed for.
  std::optional<std::tuple<std::uint32_t, std::size_t, float>> shown_;
};

}  // namespace

std::unique_ptr<ViewPanel> open_flow_view() { return std::make_unique<FlowView>(); }

}  // namespace headlight::app
