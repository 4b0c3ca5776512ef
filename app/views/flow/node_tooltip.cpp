#include "app/views/flow/flow_graph_panel.h"

#include "app/widgets/controls.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"
#include "app/widgets/table_view.h"

namespace headlight::app {
namespace {

constexpr std::size_t kTokens = 4;

const Prediction* ask(Frame& frame, std::uint32_t batch, const FlowNode& node) {
  return frame.ask(PredictionQuery{.batch = batch, .token = node.token, .layer = node.layer, .keeps_logits = true});
}

std::string quoted(Frame& frame, std::uint32_t id) {
  std::string label = fmt::format("\u201C{}\u201D", candidate_label(frame.result, id));
  frame.ui.ensure_glyphs(label);
  return label;
}

/// Returns the ids whose logits changed most, up or down.
std::string changed(Frame& frame, const std::vector<float>& before, const std::vector<float>& after, bool is_up) {
  std::vector<std::pair<float, std::uint32_t>> changes;
  for (std::uint32_t id = 0; id < after.size(); ++id) {
    changes.emplace_back(is_up ? before[id] - after[id] : after[id] - before[id], id);
  }
  const std::size_t count = std::min(kTokens, changes.size());
  std::ranges::partial_sort(changes, changes.begin() + static_cast<std::ptrdiff_t>(count));
  std::string text;
  for (const auto& [change, id] : std::span(changes).first(count)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", quoted(frame, id),
                        signed_text(static_cast<double>(is_up ? -change : change)));
  }
  return text;
}

struct Changes {
  std::string promoted, suppressed;
};

/// Returns how the layer below the node changed its logits; nullopt: there is no such layer, or it isn't known yet.
std::optional<Changes> changes_of(Frame& frame, const FlowNode& node, std::uint32_t batch) {
  if (node.layer == 0 || !frame.result.has_logits) return std::nullopt;
  const Prediction* after = ask(frame, batch, node);
  const Prediction* before = ask(frame, batch, {.layer = node.layer - 1, .token = node.token});
  const bool is_known = before && after && before->logits && after->logits;
  if (!is_known || before->logits->size() != after->logits->size()) return std::nullopt;
  return Changes{.promoted = "Promoted: " + changed(frame, *before->logits, *after->logits, true),
                 .suppressed = "Suppressed: " + changed(frame, *before->logits, *after->logits, false)};
}

/// Draws everything below the tooltip's first line.
void draw_facts(Frame& frame, const FlowNode& node, std::uint32_t batch, std::optional<double> mlp) {
  const TextStyleScope ink(frame, frame.ui.theme().text);
  if (mlp) ImGui::TextUnformatted(fmt::format("The layer's MLP is {} of this state.", percent_text(*mlp)).c_str());
  if (frame.result.has_logits) {
    const Prediction* after = ask(frame, batch, node);
    std::string read;
    for (std::size_t i = 0; after && i < std::min(kTokens, after->candidates.size()); ++i) {
      const inference::Candidate& candidate = after->candidates[i];
      read += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted(frame, candidate.id), percent_text(candidate.probability));
    }
    ImGui::TextUnformatted(fmt::format("Read as it is (logit lens): {}", after ? read : "computing\u2026").c_str());
    if (const std::optional<Changes> changes = changes_of(frame, node, batch)) {
      ImGui::TextUnformatted(changes->promoted.c_str());
      ImGui::TextUnformatted(changes->suppressed.c_str());
    }
  }
}

}  // namespace

std::string node_changes(Frame& frame, const FlowNode& node, std::uint32_t batch) {
  const std::optional<Changes> changes = changes_of(frame, node, batch);
  return changes ? fmt::format("{}. {}.", changes->promoted, changes->suppressed) : std::string();
}

void draw_node_tooltip(Frame& frame, const FlowNode& node, std::uint32_t batch, std::optional<double> mlp) {
  const std::string token = predicted_token_text(frame.result, batch, node.token);
  const Tooltip tooltip(frame, around_pointer());
  ImGui::PushTextWrapPos(420.0F);
  {
    const TextStyleScope ink(frame.ui.fonts().strong, frame.ui.theme().text);
    ImGui::TextUnformatted(fmt::format("\u201C{}\u201D, {}", token, place_of(frame, node)).c_str());
  }
  draw_facts(frame, node, batch, mlp);
  ImGui::PopTextWrapPos();
}

}  // namespace headlight::app
