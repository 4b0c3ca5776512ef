#include "app/views/patching/patching_parts.h"

#include "app/engine/token_words.h"
#include "app/state/comparison.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/controls.h"
#include "app/widgets/size_text.h"
#include "app/widgets/table_view.h"

namespace headlight::app {
namespace {

/// Returns a note about a part of heads, beside its name.
const char* part_note(model::Site part) {
  constexpr std::array kNotes = {" Queries change a head through its weights alone.",
                                 " Keys change a head through its weights alone; all heads that share them receive them.",
                                 " Values leave the weights as they are; all heads that share them receive them.",
                                 " The weights go to keys that the patched run\u2019s own mask shows, divided by their sum.",
                                 ""};
  return kNotes.at(static_cast<std::size_t>(part));
}

}  // namespace

std::string patched_thing(const PatchingChoices& choices) {
  constexpr std::array kNames = {"residual stream", "attention output", "MLP output", "", "paths of heads", "weight"};
  constexpr std::array kParts = {"queries", "keys", "values", "attention pattern", "output"};
  if (choices.map == PatchMap::Heads) return kParts.at(static_cast<std::size_t>(choices.part));
  return kNames.at(static_cast<std::size_t>(choices.map));
}

std::string map_title(const PatchingChoices& choices, const std::string& receiver, const std::string& measured) {
  if (choices.map == PatchMap::Paths) return fmt::format("Paths of heads to {}, {}", receiver, measured);
  if (choices.map == PatchMap::Weights) return fmt::format("Patching single weights of {}, {}", receiver, measured);
  const char* const whose = is_of_heads(choices.map) ? " of heads" : "";
  return fmt::format("Patching the {}{}, {}", patched_thing(choices), whose, measured);
}

const char* click_hint(PatchMap map) {
  if (is_of_heads(map)) return "Click: selects the head. Double click: shows its map.";
  if (map == PatchMap::Weights) return "Click: pins the cell. Double click: shows the head\u2019s map.";
  return "Click: selects the layer and the token. Double click: patches single heads there.";
}

RunNames run_names(const State& state) {
  if (!has_second_text(state)) return {};
  return {.present = "the run of the first text", .baseline = "the run of the second text"};
}

std::string target_name(const PatchingChoices& choices, const RunNames& names) {
  return choices.into_baseline ? names.baseline : names.present;
}

std::string source_name(const PatchingChoices& choices, const RunNames& names) {
  return choices.into_baseline ? names.present : names.baseline;
}

std::string cell_text(const PatchingChoices& choices, const RunNames& names, const std::string& receiver,
                      const char* where) {
  const std::string target = target_name(choices, names), source = source_name(choices, names);
  if (choices.map == PatchMap::Weights) {
    return fmt::format(
        "A cell is {} where one weight of {} is that of {}; the row\u2019s other weights stay, so that their sum changes. 0 "
        "changes nothing, 1 is {}.",
        target, receiver, source, source);
  }
  if (choices.map != PatchMap::Paths) {
    const bool is_heads = choices.map == PatchMap::Heads;
    return fmt::format("A cell is {} with the {}{} of {}{}: 0 changes nothing, 1 is {}.{}", target, patched_thing(choices),
                       is_heads ? " of one head" : "", source, is_heads ? where : " in one layer, at one token", source,
                       is_heads ? part_note(choices.part) : "");
  }
  const bool recomputes_mlps = choices.receiver.recomputes_mlps;
  return fmt::format(
      "A cell is {} where {} learn what one head gives in {}{}, through the residual stream{}: all other heads{} stay as "
      "they are. 0 changes nothing, 1 is {}.",
      target, receiver, source, where, recomputes_mlps ? " and the MLPs" : "", recomputes_mlps ? "" : " and all MLPs",
      source);
}

Sentence conclusion_sentence(const PatchedMap& found) {
  const bool is_paths = found.map == PatchMap::Paths, is_weights = found.map == PatchMap::Weights;
  const std::string into = is_paths ? fmt::format(" into {}", found.receiver) : std::string();
  std::vector<const PatchCell*> carries, opposes;
  for (const PatchCell& cell : found.strongest) {
    if (std::abs(cell.recovery) >= kVisibleRecovery) (cell.recovery > 0.0 ? carries : opposes).push_back(&cell);
  }
  const auto part = [&](const PatchCell* cell, const char* name = "") {
    return fmt::format("{} ({}{})", found.place(*cell), name, number_word(cell->recovery));
  };
  const std::string against = opposes.empty() ? "" : fmt::format("{} works against it.", part(opposes.front()));
  if (carries.empty()) {
    const char* thing = is_paths ? "path" : is_weights ? "weight" : is_of_heads(found.map) ? "head" : "place";
    Sentence said = fmt::format("No single {} carries the difference{}", thing, into);
    if (found.tried > 1) said += fmt::format(", nor into the other {} of the strongest heads", found.tried - 1);
    if (!against.empty()) return said + "; " + against;
    return said + (is_paths ? ": it comes from the tokens themselves, or in small parts by many paths." : ".");
  }
  Sentence said = fmt::format("{} carries the most of the difference{}", part(carries.front(), "recovery "), into);
  if (carries.size() > 1) said += fmt::format(", then {}", part(carries[1]));
  return said + (against.empty() ? "." : "; " + against);
}

std::string measured_text(PatchMeasure measure, const PatchedNumbers& numbers) {
  switch (measure) {
    case PatchMeasure::Probability:
      return percent_text(numbers.of(measure));
    case PatchMeasure::Loss:
      return fmt::format("{:.3f}", numbers.of(measure));
    case PatchMeasure::Logit:
      break;
  }
  return signed_text(numbers.logit);
}

std::string recovery_text(const PatchingChoices& choices, const RunNames& names, double recovery) {
  if (std::abs(recovery) < 0.0005) return "Changes nothing (0.00)";
  if (recovery < 0.0) return fmt::format("Goes {:.2f} of the way in the other direction", -recovery);
  return fmt::format("Goes {:.2f} of the way to {}", recovery, source_name(choices, names));
}

std::string scale_note(double largest) {
  constexpr double kMax = 2.0;  // times the runs' difference
  if (largest <= kMax) return {};
  return " The runs hardly differ in it, so that a patch changes it by many times their difference: choose another token, "
         "or two.";
}

std::vector<PatchCell> listed_patches(const PatchEffects& effects, PatchMeasure measure) {
  constexpr std::size_t kListed = 200, kShort = 20;
  std::vector<PatchCell> cells = strongest_patches(effects, measure, kListed);
  while (cells.size() > kShort && std::abs(cells.back().recovery) < 5e-4) cells.pop_back();
  return cells;
}

float share_of_map(const Frame& frame, const Grid& map, float most) {
  constexpr float kScale = 330.0F;
  const float room = width_left(), width = grid_width(frame, map, GridKind::TextRows, {room * most, height_left()});
  return std::min(most, std::max(width, kScale) / std::max(room, 1.0F));
}

HeadScores recoveries_of_heads(const PatchEffects& effects, PatchMeasure measure, model::BlockKind kind,
                               const BlockShapes& shapes) {
  HeadNumbers numbers;
  for (std::size_t row = 0; row < effects.layers.size(); ++row) {
    const model::BlockRef block{.kind = kind, .layer = LayerIndex{effects.layers[row]}};
    const auto shape = shapes.find(block);
    const std::size_t heads = shape == shapes.end() ? 0 : shape->second.heads;
    for (std::uint32_t head = 0; head < std::min(heads, effects.columns); ++head) {
      numbers[{.block = block, .head = head}] = effects.recovery_at(row, head, measure);
    }
  }
  HeadScores scores("recovery", true, numbers);
  scores.sort(true);
  return scores;
}

Grid recoveries_of_tokens(const PatchEffects& effects, PatchMeasure measure, const model::TokenBatch& tokens,
                          std::uint32_t batch) {
  Grid matrix{.title = "recovery"};
  matrix.rows.title = "token";
  matrix.columns.title = "layer";
  for (const std::uint32_t layer : effects.layers) matrix.columns.tokens.push_back(std::to_string(layer));
  const std::vector<std::string> names = telling_names(tokens, batch);
  for (std::size_t column = 0; column < effects.columns; ++column) {
    const auto token = effects.first + static_cast<std::uint32_t>(column);
    matrix.rows.tokens.push_back(names.at(token));
    std::vector<std::optional<double>>& cells = matrix.cells.emplace_back();
    for (std::size_t row = 0; row < effects.layers.size(); ++row) cells.push_back(effects.recovery_at(row, column, measure));
  }
  return matrix;
}

Grid recoveries_of_weights(const PatchEffects& effects, PatchMeasure measure, const model::ModelInput& input,
                           model::BlockKind kind, std::uint32_t batch) {
  Grid matrix{.title = "recovery", .hides_missing = effects.is_complete()};
  matrix.rows.title = "query";
  matrix.columns.title = "key";
  for (std::uint32_t row = 0; row < effects.rows(); ++row) {
    matrix.rows.tokens.push_back(input.queries(kind).name(batch, effects.first_query + row));
    std::vector<std::optional<double>>& cells = matrix.cells.emplace_back();
    for (std::size_t key = 0; key < effects.columns; ++key) cells.push_back(effects.recovery_at(row, key, measure));
  }
  for (std::uint32_t key = 0; key < effects.columns; ++key) {
    matrix.columns.tokens.push_back(input.keys(kind).name(batch, effects.first + key));
  }
  return matrix;
}

Table patching_table(const PatchEffects& effects, PatchMap map, const std::function<std::string(std::size_t)>& label) {
  const bool is_heads = is_of_heads(map), is_weights = map == PatchMap::Weights;
  std::vector<std::string> names = {is_weights ? "query" : "layer", is_heads ? "head" : is_weights ? "key" : "token"};
  if (!is_heads) names.emplace_back("text");
  names.insert(names.end(), {"logit", "logit_recovery", "probability", "probability_recovery", "loss", "loss_recovery"});
  Table table = named_columns(std::move(names));
  for (std::size_t row = 0; row < effects.rows(); ++row) {
    for (std::size_t column = 0; column < effects.columns; ++column) {
      const std::optional<PatchedNumbers>& numbers = effects.at(row, column);
      if (!numbers) continue;
      table.put(is_weights ? effects.first_query + row : effects.layers[row], effects.first + column);
      if (!is_heads) table.put(label(column));
      for (const PatchMeasure measure : {PatchMeasure::Logit, PatchMeasure::Probability, PatchMeasure::Loss})
        table.put(numbers->of(measure), effects.recovery_at(row, column, measure));
    }
  }
  return table;
}

}  // namespace headlight::app
