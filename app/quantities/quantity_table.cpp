

#include "app/quantities/evaluation.h"
#include "app/quantities/formulas.h"
#include "app/quantities/quantity.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// What is particular to each stage, in their order.
struct StageLine {
  const char *title, *symbol, *figure_title, *value_title, *unit;
  Axis rows;
  const char* width;
  Role role;
  std::string (*formula)(const FormulaSubject& subject);
};
constexpr std::array<StageLine, attention::kStages> kStageLines = {{
    {"residual stream", "x", "residual stream x", "residual stream", "", Axis::Token, "d_{model}", Role::Input,
     formulas::residual},
    {"input", "X", "input X", "input", "", Axis::Token, "d_{model}", Role::Input, formulas::x},
    {"queries", "Q", "queries Q", "query vector", "", Axis::Token, "d_k", Role::Query, formulas::q},
    {"keys", "K", "keys K", "key vector", "", Axis::KeyToken, "d_k", Role::Key, formulas::k},
    {"values", "V", "values V", "value vector", "", Axis::KeyToken, "d_v", Role::Value, formulas::v},
    {"scores", "S", "raw scores Q·Kᵀ", "score q · k", "score", Axis::Query, "", Role::Output, formulas::scores},
    {"content to position", "C", "content to position Q·r", "query · vector of the distance", "score", Axis::Query, "",
     Role::Output, formulas::content_position},
    {"position to content", "P", "position to content K·r", "key · vector of the distance", "score", Axis::Query, "",
     Role::Output, formulas::position_content},
    {"scaled scores", "scaled", "scaled scores", "scaled score", "score", Axis::Query, "", Role::Output, formulas::scaled},
    {"masked scores", "masked", "masked scores", "masked score", "score", Axis::Query, "", Role::Output, formulas::masked},
    {"attention weights", "A", "attention weights", "attention weight", "weight", Axis::Query, "", Role::Output,
     formulas::weights},
    {"head output", "H", "head's output", "head output", "", Axis::Token, "d_v", Role::Output, formulas::heads},
    {"merged heads", "M", "merged heads", "merged heads", "", Axis::Token, "h·d_v", Role::Output, formulas::merged},
    {"output", "Y", "output", "output", "", Axis::Token, "d_{model}", Role::Output, formulas::output},
    {"residual + attention", "r", "residual + attention r", "residual + attention", "", Axis::Token, "d_{model}",
     Role::Input, formulas::attention_sum},
    {"after attention", "y", "residual stream after attention y", "residual stream", "", Axis::Token, "d_{model}",
     Role::Input, formulas::attended},
    {"feed-forward input", "n", "feed-forward input n", "feed-forward input", "", Axis::Token, "d_{model}", Role::Input,
     formulas::ffn_input},
    {"router logits", "z", "router's logits z", "router logit", "", Axis::Token, "E", Role::Output, formulas::ffn_router},
    {"gates", "G", "gates of experts G", "gate of the expert", "", Axis::Token, "E", Role::Output, formulas::ffn_gates},
    {"gate", "g", "gate before its activation g", "gate", "", Axis::Token, "d_{ff}", Role::Output, formulas::ffn_gate},
    {"hidden layer", "h", "hidden layer before its activation h", "hidden layer", "", Axis::Token, "d_{ff}", Role::Output,
     formulas::ffn_hidden},
    {"activated", "a", "hidden layer after its activation a", "activated hidden layer", "", Axis::Token, "d_{ff}",
     Role::Output, formulas::ffn_active},
    {"feed-forward output", "m", "feed-forward output m", "feed-forward output", "", Axis::Token, "d_{model}", Role::Output,
     formulas::ffn_output},
    {"residual + feed-forward", "s", "residual + feed-forward s", "residual + feed-forward", "", Axis::Token, "d_{model}",
     Role::Input, formulas::ffn_sum},
    {"next layer's input", "x'", "next layer's input x'", "residual stream", "", Axis::Token, "d_{model}", Role::Input,
     formulas::next},
}};

std::vector<Quantity> stages() {
  std::vector<Quantity> lines;
  for (const StageLine& of : kStageLines) {
    Quantity& line = lines.emplace_back();
    line.stage = static_cast<Stage>(lines.size() - 1);
    line.id = attention::to_string(line.stage);
    line.title = of.title;
    line.symbol = of.symbol;
    line.figure_title = of.figure_title;
    line.value_title = of.value_title;
    line.unit = of.unit;
    line.rows = of.rows;
    const bool is_of_experts = line.stage == Stage::FfnRouter || line.stage == Stage::FfnGates;
    line.columns = line.is_map() ? Axis::Key : is_of_experts ? Axis::Expert : Axis::Feature;
    line.width = of.width;
    const bool is_share = line.stage == Stage::Weights || line.stage == Stage::FfnGates;
    line.colors = is_share ? ColorKind::Sequential : ColorKind::Diverging;
    line.role = of.role;
    line.scope = attention::is_per_head(line.stage) ? Scope::Head : Scope::Block;
    line.formula = of.formula;
    line.evaluate = stage_tile;
  }
  return lines;
}

/// A mean over heads has the numbers of weights, from several heads.
Quantity mean(const Quantity& weights, Scope scope) {
  const bool is_of_block = scope == Scope::Block;
  Quantity line = weights;
  line.id = is_of_block ? "mean-layer" : "mean-all";
  line.title = is_of_block ? "mean weights of the layer's heads" : "mean weights of all heads";
  line.formula = formulas::mean;
  line.scope = scope;
  line.evaluate = head_mean_tile;
  return line;
}

/// What a weight adds to the residual stream, of the weights or of a mean of them.
Quantity norms(const Quantity& weights) {
  Quantity line = weights;
  line.id = weights.scope == Scope::Head ? "norms" : weights.scope == Scope::Block ? "norms-layer" : "norms-all";
  line.title = weights.scope == Scope::Head    ? "norms of weighted values"
               : weights.scope == Scope::Block ? "mean norms of the layer's heads"
                                               : "mean norms of all heads";
  line.symbol = std::string("N");  // GCC 12 warns of a bound that the short literal does not have
  line.figure_title = "norms ‖α·v·W_O‖";
  line.value_title = "norm of what the key adds";
  line.unit = "norm";
  line.formula = weights.scope == Scope::Head ? formulas::norms : formulas::mean_of_norms;
  line.evaluate = norms_tile;
  return line;
}

Quantity difference(const Quantity& base, QuantityId id) {
  Quantity line = base;
  line.id = "difference-" + base.id;
  line.title = "difference of " + base.title;
  line.symbol = "Δ" + base.symbol;
  line.figure_title = "difference of " + base.figure_title;
  line.value_title = "difference of " + base.value_title;
  line.colors = ColorKind::Diverging;
  line.base = id;
  line.formula = [](const FormulaSubject& /*subject*/) { return std::string("this run − the baseline"); };
  line.evaluate = difference_tile;
  return line;
}

Quantity baseline(const Quantity& base, QuantityId id) {
  Quantity line = base;
  line.id = "baseline-" + base.id;
  line.title = "baseline's " + base.title;
  line.figure_title = "baseline's " + base.figure_title;
  line.base = id;
  line.is_of_baseline = true;
  line.evaluate = baseline_tile;
  return line;
}

std::vector<Quantity> all() {
  std::vector<Quantity> lines = stages();
  const Quantity weights = lines[static_cast<std::size_t>(Stage::Weights)];
  lines.push_back(mean(weights, Scope::Block));
  lines.push_back(mean(weights, Scope::Kind));
  lines.push_back(norms(weights));
  lines.push_back(norms(lines[kMeanOfLayer.index()]));
  lines.push_back(norms(lines[kMeanOfKind.index()]));
  const std::size_t of_one_run = lines.size();
  for (std::size_t index = 0; index < of_one_run; ++index) lines.push_back(difference(lines[index], QuantityId(index)));
  for (const QuantityId id : {QuantityId(Stage::Weights), kMeanOfLayer, kMeanOfKind}) {
    lines.push_back(baseline(lines[id.index()], id));
  }
  return lines;
}

}  // namespace

std::span<const Quantity> quantities() {
  static const std::vector<Quantity> kAll = all();
  return kAll;
}

const Quantity& quantity(QuantityId id) { return quantities()[id.index()]; }

std::optional<QuantityId> find_quantity(std::string_view id) {
  constexpr std::string_view kFormer = "frozen-";  // as lessons for earlier versions call those of the baseline
  const std::string present =
      id.starts_with(kFormer) ? "baseline-" + std::string(id.substr(kFormer.size())) : std::string(id);
  const auto found = std::ranges::find(quantities(), present, &Quantity::id);
  if (found == quantities().end()) return std::nullopt;
  return QuantityId(static_cast<std::size_t>(found - quantities().begin()));
}

QuantityId difference_of(QuantityId id) {
  const auto found = std::ranges::find(quantities(), std::optional(id), &Quantity::base);
  return QuantityId(static_cast<std::size_t>(found - quantities().begin()));
}

QuantityId baseline_of(QuantityId id) {
  const auto found =
      std::ranges::find_if(quantities(), [id](const Quantity& line) { return line.is_of_baseline && line.base == id; });
  return QuantityId(static_cast<std::size_t>(found - quantities().begin()));
}

std::string_view to_string(Axis axis) {
  constexpr std::string_view kNames[] = {"query", "key", "token", "key token", "feature", "expert"};
  return kNames[static_cast<std::size_t>(axis)];
}

std::string space_of(const Quantity& quantity, const inference::BlockShape& shape, model::BlockKind kind) {
  const bool has_two_lengths = kind == model::BlockKind::Cross || shape.queries != shape.keys;
  const bool has_key_rows = quantity.rows == Axis::KeyToken;
  const std::string rows = !has_two_lengths ? "n" : has_key_rows ? "n_k" : "n_q";
  const std::string keys = has_two_lengths ? "n_k" : "n";
  const std::string& columns = quantity.columns == Axis::Key ? keys : quantity.width;
  return fmt::format("ℝ^{{{}×{}}}", rows, columns);
}

}  // namespace headlight::app
