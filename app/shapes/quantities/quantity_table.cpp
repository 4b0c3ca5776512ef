#include "app/shapes/quantities/evaluation.h"
#include "app/shapes/quantities/formulas.h"
#include "app/shapes/quantities/quantity.h"
#include "app/shapes/quantities/stage_words.h"

namespace headlight::app {
namespace {

using attention::Stage;

template <std::size_t kStage>
std::string stage_formula(const FormulaSubject& subject) {
  return formulas::formula(static_cast<Stage>(kStage), subject);
}

template <std::size_t... kStages>
constexpr auto stage_formulas(std::index_sequence<kStages...> /*stages*/) {
  return std::array{&stage_formula<kStages>...};
}
constexpr auto kStageFormulas = stage_formulas(std::make_index_sequence<attention::kStages>());

std::vector<Quantity> stages() {
  std::vector<Quantity> lines;
  for (const auto formula : kStageFormulas) {
    Quantity& line = lines.emplace_back();
    line.stage = static_cast<Stage>(lines.size() - 1);
    const StageWords& of = words_of(line.stage);
    line.id = attention::to_string(line.stage);
    line.title = of.title;
    line.symbol = of.symbol;
    line.figure_title = of.figure_title.empty() ? fmt::format("{} {}", of.title, of.symbol) : std::string(of.figure_title);
    line.value_title = of.value_title.empty() ? of.title : of.value_title;
    const bool is_map = line.is_map(), is_of_keys = attention::is_of_keys(line.stage);
    if (is_map) line.unit = line.stage == Stage::Weights ? "weight" : "score";
    line.rows = is_map ? Axis::Query : is_of_keys ? Axis::KeyToken : Axis::Token;
    line.columns = is_map ? Axis::Key : of.width == "E" ? Axis::Expert : Axis::Feature;
    if (!is_map) line.width = of.width;
    const bool is_share = line.stage == Stage::Weights || line.stage == Stage::FfnGates;
    line.colors = is_share ? ColorKind::Sequential : ColorKind::Diverging;
    line.role = of.role;
    line.scope = attention::is_per_head(line.stage) ? Scope::Head : Scope::Block;
    line.formula = formula;
    line.evaluate = stage_tile;
  }
  return lines;
}

/// Returns a mean over heads, which has the numbers of weights, from several heads.
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

/// Returns the norms of the vectors that weights, or a mean of them, add to the residual stream.
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
