#include "app/views/neuron/neuron_figure.h"

#include "app/cells/stage_text.h"
#include "app/widgets/shown_tile.h"
#include "core/error.h"
#include "export/products_figure.h"
#include "export/score_figure.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

/// The numbers in the order of the pair's components.
exporting::ScoreFigure::Vector vector_of(const NeuronPair& pair, const char* title, view::Rgb color,
                                         std::span<const float> values) {
  exporting::ScoreFigure::Vector vector{.title = title, .color = color, .values = {}};
  for (const std::size_t component : pair.order) vector.values.push_back(values[component]);
  return vector;
}

}  // namespace

std::string compare_with_device(const ScoreChain& chain, bool is_captured) {
  if (!chain.score || !chain.evaluated || !chain.weight || !chain.evaluated_weight) return {};
  const double score = std::abs(*chain.score - double{*chain.evaluated});
  const double weight = std::abs(*chain.weight - double{*chain.evaluated_weight});
  return fmt::format("On the {}: score {}, weight {}. What the parts add up to differs by {} and {}.",
                     is_captured ? "map" : "device", view::format_exact(*chain.evaluated),
                     view::format_exact(*chain.evaluated_weight), view::format_scientific(static_cast<float>(score), 0),
                     view::format_scientific(static_cast<float>(weight), 0));
}

NeuronLook neuron_look(const Frame& frame, const NeuronPair& pair) {
  const Selection& selection = frame.state.selection;
  const shell::Theme& theme = shell::theme_of(shell::ThemeKind::Light);  // the paper is white
  return {.title = fmt::format("Layer {}, head {}: query {} \u201C{}\u201D and key {} \u201C{}\u201D",
                               selection.block.layer.value, selection.head, pair.cell.query,
                               frame.ui.unshaped(pair.query_name), pair.cell.key, frame.ui.unshaped(pair.key_name)),
          .subtitle = fmt::format("{}, d_k = {}. {}", kind_name(frame.result, selection.block.kind),
                                  pair.chain.products.size(), compare_with_device(pair.chain, pair.is_captured)),
          .keys_title = fmt::format("Layer {}, head {}: query {} \u201C{}\u201D and all keys", selection.block.layer.value,
                                    selection.head, pair.cell.query, frame.ui.unshaped(pair.query_name)),
          .keys_subtitle = fmt::format("{}, d_k = {}; each score as it enters the mask",
                                       kind_name(frame.result, selection.block.kind), pair.chain.products.size()),
          .query = view::unpack(theme.query),
          .key = view::unpack(theme.key),
          .output = view::unpack(theme.output)};
}

std::unique_ptr<exporting::Drawing> make_neuron_figure(const NeuronPair& pair, const NeuronLook& look) {
  std::vector<float> query, key;
  for (const Product& product : pair.chain.products) {
    query.push_back(product.left);
    key.push_back(product.right);
  }
  exporting::ScoreFigure figure{.title = look.title,
                                .subtitle = look.subtitle,
                                .components = {},
                                .vectors = {},
                                .products = {},
                                .product_title = "product q\u00B7k",
                                .lines = {},
                                .output_color = look.output,
                                .style = {}};
  for (const std::size_t component : pair.order) {
    figure.components.push_back(fmt::format("{}", component));
    figure.products.push_back(pair.chain.products[component].value());
  }
  const bool is_rotated = !pair.query_before.empty();
  if (is_rotated) figure.vectors.push_back(vector_of(pair, "q before", look.query, pair.query_before));
  figure.vectors.push_back(vector_of(pair, is_rotated ? "q, RoPE" : "q", look.query, query));
  if (is_rotated) figure.vectors.push_back(vector_of(pair, "k before", look.key, pair.key_before));
  figure.vectors.push_back(vector_of(pair, is_rotated ? "k, RoPE" : "k", look.key, key));
  for (const ChainLine& line : pair.chain.lines) {
    std::string calculation = line.formula;
    if (!line.numbers.empty()) calculation += " = " + line.numbers;
    figure.lines.push_back({.name = line.name,
                            .value = line.value ? view::format_exact(static_cast<float>(*line.value)) : std::string(),
                            .calculation = std::move(calculation),
                            .note = line.note,
                            .is_result = line.name == "weight"});
  }
  return exporting::make_drawing(std::move(figure));
}

NeuronKeys keep_keys(Frame& frame, const HeadSubject& subject, const NeuronPair& pair) {
  const inference::BlockShape& shape = subject.geometry.shape;
  NeuronKeys kept;
  if (!frame.result.input || shape.keys > exporting::kMostProductRows) return kept;
  const model::TokenBatch& tokens = frame.result.input->keys(subject.block.kind);
  for (std::uint32_t key = 0; key < shape.keys; ++key)
    kept.names.push_back(frame.ui.unshaped(token_name(frame, tokens, key)));
  const auto ask = [&](attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t columns) {
    const EngineTile* known = frame.ask(selected_tile(frame, stage, {.row = row, .rows = rows, .columns = columns}));
    return known != nullptr && known->run == frame.result.run ? known->tile : nullptr;
  };
  kept.keys = ask(attention::Stage::K, 0, shape.keys, shape.d_k);
  kept.scores = ask(attention::Stage::Scaled, pair.cell.query, 1, shape.keys);
  kept.weights = ask(attention::Stage::Weights, pair.cell.query, 1, shape.keys);
  return kept;
}

std::unique_ptr<exporting::Drawing> make_keys_figure(const NeuronPair& pair, const NeuronKeys& shown,
                                                     const NeuronLook& look) {
  if (shown.names.empty()) {
    throw Error("a figure has room for the products of {} keys, and this text has more: choose \"one key\"",
                exporting::kMostProductRows);
  }
  if (!shown.keys || !shown.scores || !shown.weights || shown.keys->request.columns != pair.order.size()) return nullptr;
  exporting::ProductsFigure figure{.title = look.keys_title,
                                   .subtitle = look.keys_subtitle,
                                   .components = {},
                                   .rows = {},
                                   .key_color = look.key,
                                   .output_color = look.output,
                                   .style = {}};
  for (const std::size_t component : pair.order) figure.components.push_back(fmt::format("{}", component));
  for (std::uint32_t key = 0; key < shown.names.size(); ++key) {
    exporting::ProductsFigure::Row& row = figure.rows.emplace_back();
    row.index = fmt::format("{}", key);
    row.name = shown.names[key];
    for (const std::size_t component : pair.order) {
      const auto column = static_cast<std::uint32_t>(component);
      row.products.push_back(pair.chain.products[component].left * shown.keys->at(key, column));
    }
    row.score = shown.scores->at(0, key);
    row.weight = shown.weights->at(0, key);
    row.is_masked = shown.weights->is_masked(0, key);
  }
  return exporting::make_drawing(std::move(figure));
}

}  // namespace headlight::app
