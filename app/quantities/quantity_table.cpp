#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "app/quantities/difference.h"
#include "app/quantities/evaluation.h"
#include "app/quantities/formulas.h"
#include "app/quantities/head_mean.h"
#include "app/quantities/quantity.h"

namespace headlight::app {
namespace {

using attention::Stage;

std::vector<Quantity> stages() {
  std::vector<Quantity> lines = {
      {.title = "residual stream",
       .symbol = "x",
       .figure_title = "residual stream x",
       .value_title = "residual stream",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::residual},
      {.title = "input",
       .symbol = "X",
       .figure_title = "input X",
       .value_title = "input",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::x},
      {.title = "queries",
       .symbol = "Q",
       .figure_title = "queries Q",
       .value_title = "query vector",
       .rows = Axis::Token,
       .width = "d_k",
       .role = Role::Query,
       .formula = formulas::q},
      {.title = "keys",
       .symbol = "K",
       .figure_title = "keys K",
       .value_title = "key vector",
       .rows = Axis::KeyToken,
       .width = "d_k",
       .role = Role::Key,
       .formula = formulas::k},
      {.title = "values",
       .symbol = "V",
       .figure_title = "values V",
       .value_title = "value vector",
       .rows = Axis::KeyToken,
       .width = "d_v",
       .role = Role::Value,
       .formula = formulas::v},
      {.title = "scores",
       .symbol = "S",
       .figure_title = "raw scores Q·Kᵀ",
       .value_title = "score q · k",
       .unit = "score",
       .formula = formulas::scores},
      {.title = "scaled scores",
       .symbol = "scaled",
       .figure_title = "scaled scores",
       .value_title = "scaled score",
       .unit = "score",
       .formula = formulas::scaled},
      {.title = "masked scores",
       .symbol = "masked",
       .figure_title = "masked scores",
       .value_title = "masked score",
       .unit = "score",
       .formula = formulas::masked},
      {.title = "attention weights",
       .symbol = "A",
       .figure_title = "attention weights",
       .value_title = "attention weight",
       .unit = "weight",
       .colors = ColorKind::Sequential,
       .formula = formulas::weights},
      {.title = "head output",
       .symbol = "H",
       .figure_title = "head's output",
       .value_title = "head output",
       .rows = Axis::Token,
       .width = "d_v",
       .formula = formulas::heads},
      {.title = "merged heads",
       .symbol = "M",
       .figure_title = "merged heads",
       .value_title = "merged heads",
       .rows = Axis::Token,
       .width = "h·d_v",
       .formula = formulas::merged},
      {.title = "output",
       .symbol = "Y",
       .figure_title = "output",
       .value_title = "output",
       .rows = Axis::Token,
       .width = "d_{model}",
       .formula = formulas::output},
      {.title = "residual + attention",
       .symbol = "r",
       .figure_title = "residual + attention r",
       .value_title = "residual + attention",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::attention_sum},
      {.title = "after attention",
       .symbol = "y",
       .figure_title = "residual stream after attention y",
       .value_title = "residual stream",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::attended},
      {.title = "feed-forward input",
       .symbol = "n",
       .figure_title = "feed-forward input n",
       .value_title = "feed-forward input",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::ffn_input},
      {.title = "gate",
       .symbol = "g",
       .figure_title = "gate before its activation g",
       .value_title = "gate",
       .rows = Axis::Token,
       .width = "d_{ff}",
       .role = Role::Output,
       .formula = formulas::ffn_gate},
      {.title = "hidden layer",
       .symbol = "h",
       .figure_title = "hidden layer before its activation h",
       .value_title = "hidden layer",
       .rows = Axis::Token,
       .width = "d_{ff}",
       .role = Role::Output,
       .formula = formulas::ffn_hidden},
      {.title = "activated",
       .symbol = "a",
       .figure_title = "hidden layer after its activation a",
       .value_title = "activated hidden layer",
       .rows = Axis::Token,
       .width = "d_{ff}",
       .role = Role::Output,
       .formula = formulas::ffn_active},
      {.title = "feed-forward output",
       .symbol = "m",
       .figure_title = "feed-forward output m",
       .value_title = "feed-forward output",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Output,
       .formula = formulas::ffn_output},
      {.title = "residual + feed-forward",
       .symbol = "s",
       .figure_title = "residual + feed-forward s",
       .value_title = "residual + feed-forward",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::ffn_sum},
      {.title = "next layer's input",
       .symbol = "x'",
       .figure_title = "next layer's input x'",
       .value_title = "residual stream",
       .rows = Axis::Token,
       .width = "d_{model}",
       .role = Role::Input,
       .formula = formulas::next},
  };
  for (std::size_t index = 0; index < lines.size(); ++index) {
    Quantity& line = lines[index];
    line.stage = static_cast<Stage>(index);
    line.id = attention::to_string(line.stage);
    line.columns = line.is_map() ? Axis::Key : Axis::Feature;
    line.scope = attention::is_per_head(line.stage) ? Scope::Head : Scope::Block;
    line.begin = begin_stage;
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
  line.begin = begin_head_mean;
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
  line.begin = begin_norms;
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
  line.begin = begin_difference;
  return line;
}

Quantity baseline(const Quantity& base, QuantityId id) {
  Quantity line = base;
  line.id = "frozen-" + base.id;
  line.title = "baseline's " + base.title;
  line.figure_title = "baseline's " + base.figure_title;
  line.base = id;
  line.is_of_baseline = true;
  line.begin = begin_baseline;
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
  const auto found = std::ranges::find(quantities(), id, &Quantity::id);
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
  constexpr std::string_view kNames[] = {"query", "key", "token", "key token", "feature"};
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
