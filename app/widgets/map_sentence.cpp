#include "app/engine/analyses/head_metric_text.h"
#include "app/shapes/quantities/stage_words.h"
#include "app/state/comparison.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

/// Says what a number of a matrix is that is no map: of a token's vector, or of a weight.
Sentence number_sentence(const Frame& frame, const NumberRef& number, const std::optional<QuantityId>& id) {
  if (!number.value) return {};
  const std::string value = number_word(chart::format_number(static_cast<float>(*number.value), 6));
  if (!id) return fmt::format("Row {}, column {}: {}.", number.row, number.column, value);
  const Quantity& of = quantity(*id);
  // Of a vector: the token that is read there, whatever a map's row is called.
  const bool is_key = of.rows == Axis::KeyToken;
  const model::BlockKind kind = number.block.kind;
  const std::string token =
      (is_key ? frame.result.input->keys(kind) : frame.result.input->queries(kind)).name(number.batch, number.row);
  return fmt::format("Of the {} of {}, {} {} is {}. {}", of.title, is_key ? key_word(token) : query_word(token),
                     to_string(of.columns), number.column, value, words_of(of.stage).explanation);
}

/// Puts "row" or "column" after a word, or before its position.
std::string on_axis(std::string word, const char* axis) {
  if (!word.ends_with(')')) return fmt::format("{} ({})", word, axis);
  return word.insert(word.rfind('(') + 1, fmt::format("{} ", axis));
}

/// Says what the head does, where that is clear, of weights that were trained.
Sentence role_sentence(Frame& frame, const HeadRef& head) {
  const evaluation::HeadMetrics* known = are_trained(frame.state) ? role_metrics(frame).of(head) : nullptr;
  if (!known || badge_text(*known).empty()) return {};
  const evaluation::HeadMetric role = *strongest_metric(*known);
  return fmt::format(" This head {}: {} on average.", text_of(role).sentence, number_word(*known->value(role)));
}

}  // namespace

std::string position_among(const std::vector<std::string>* names, std::uint32_t token) {
  if (!names || token >= names->size() || std::ranges::count(*names, (*names)[token]) < 2) return {};
  return fmt::format(" ({})", token);
}

std::string query_of(Frame& frame, model::BlockKind kind, std::uint32_t token) {
  const auto written = kind == frame.state.selection.block.kind ? written_tokens(frame) : std::nullopt;
  const model::TokenBatch& read = frame.result.input->queries(kind);
  const std::uint32_t batch = frame.state.selection.batch;
  if (!written || token >= written->size())
    return query_word(read.name(batch, token)) + position_among(read.labels(batch), token);
  return query_word((*written)[token]) + position_among(&*written, token);
}
std::string key_of(const Frame& frame, model::BlockKind kind, std::uint32_t token) {
  const model::TokenBatch& keys = frame.result.input->keys(kind);
  const std::uint32_t batch = frame.state.selection.batch;
  return key_word(keys.name(batch, token)) + position_among(keys.labels(batch), token);
}

Sentence look_sentence(const std::string& query, std::span<const float> weights, std::optional<std::uint32_t> key,
                       const std::function<std::string(std::uint32_t)>& word_of, bool has_axes) {
  const auto largest = static_cast<std::uint32_t>(std::ranges::max_element(weights) - weights.begin());
  const std::uint32_t at = key.value_or(largest);
  const char* const most = weights[largest] >= 0.5F ? "mostly at" : "most at";
  const Sentence said =
      fmt::format("{} looks {} {}: {}", has_axes ? on_axis(query, "row") : query, at == largest ? most : "at",
                  has_axes ? on_axis(word_of(at), "column") : word_of(at), number_word(weights[at], kWeightDigits));
  if (at == largest) return said + ".";
  return fmt::format("{}, {} {}: {}.", said, most, word_of(largest), number_word(weights[largest], kWeightDigits));
}

std::optional<attention::Cell> told_cell(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const std::uint32_t query = std::max(query_range(frame).end, 1U) - 1;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head, attention::Stage::Weights);
  const std::optional<TileNumbers::WeightsRow> row = numbers.weights_row(query);
  if (!row || !row->statistics.key) return std::nullopt;
  return attention::Cell{.query = query, .key = *row->statistics.key};
}

Sentence map_sentence(Frame& frame, const SaidOfMap& how) {
  const Selection& selection = frame.state.selection;
  const Transient& transient = frame.transient;
  if (!selected_shape(frame) || !frame.result.input) return {};
  const model::BlockKind kind = selection.block.kind;
  QuantityId shown = attention::Stage::Weights;
  HeadRef head = selection.head_ref();
  std::optional<std::uint32_t> query = transient.pointed.query, key = transient.pointed.key;
  const std::optional<NumberRef>& number = transient.pointed_number;
  if (query == key) key.reset();  // a chip of a text that looks at itself is its row
  if (number && (transient.hovered || !query)) {
    const std::optional<QuantityId> id = find_quantity(number->of);
    if (!id || !quantity(*id).is_map()) return number_sentence(frame, *number, id);
    shown = quantity(*id).base.value_or(*id);
    head = {number->block, number->head};
    query = number->row;
    key = number->column;
  }
  if (!query && !key) {
    query = chosen_token(frame.state.view, MapSide::Query);
    key = chosen_token(frame.state.view, MapSide::Key);
  }
  if (!query) query = std::max(query_range(frame).end, 1U) - 1;
  const bool is_of_head = quantity(shown).scope == Scope::Head;
  Sentence said =
      is_of_head && (how.names_head || head != selection.head_ref()) ? fmt::format("In {} ", head_name(head)) : "";
  const TileQuery mean = shown_map(selection, frame.result.shapes, tile_of(frame, shown_stage(frame.state)));
  TileNumbers numbers(frame, is_of_head ? head.block : mean.block, selection.batch, head.head,
                      is_of_head ? attention::Stage::Weights : mean.quantity);
  const auto word_of = [&](std::uint32_t token) { return key_of(frame, kind, token); };
  said += query_of(frame, kind, *query);
  if (!query_range(frame).holds(*query)) return said + " is padding: it only fills the line up.";
  const std::optional<TileNumbers::WeightsRow> row = numbers.weights_row(*query);
  if (!row || key.value_or(0) >= row->weights.size()) return {};
  if (!row->statistics.key) return said + " looks at nothing: its row has no weights that are numbers.";
  const std::uint32_t at = key.value_or(*row->statistics.key);
  if (row->hides(at)) return fmt::format("{} can\u2019t look at {}: the mask hides it.", said, word_of(at));
  said = look_sentence(said, row->weights, key, word_of, how.has_axes);
  const auto add = [&](const std::string& what, QuantityId of) {
    const std::optional<float> value = numbers.value(of, *query, at);
    if (value && std::isfinite(*value)) said += fmt::format(" {}: {}.", what, number_word(*value, "{:+.2f}"));
  };
  // Norms and scores are said beside the weights.
  if (quantity(shown).unit != "weight") add(quantity(shown).value_title, shown);
  if (shows_difference_of(frame, shown)) add(difference_caption(frame.state), difference_of(shown));
  return is_of_head ? said + role_sentence(frame, head) : said;
}

}  // namespace headlight::app
