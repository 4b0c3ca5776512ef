#include "app/views/view.h"

#include "app/state/comparison.h"
#include "app/state/neuron_settings.h"
#include "app/views/neuron/neuron_pair.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/pair_choice.h"
#include "app/widgets/sentence.h"
#include "app/widgets/table_view.h"
#include "app/widgets/tile_numbers.h"
#include "chart/number_format.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

/// The numbers in the order of the pair's components.
exporting::ScoreFigure::Vector vector_of(const NeuronPair& pair, const char* title, chart::Rgb color,
                                         std::span<const float> values) {
  exporting::ScoreFigure::Vector vector{.title = title, .color = color, .values = {}};
  for (const std::size_t component : pair.order) vector.values.push_back(values[component]);
  return vector;
}

/// What a figure of a pair needs besides its numbers: kept from the last frame.
struct NeuronLook {
  std::string title, subtitle;
  std::string keys_title, keys_subtitle;  ///< of the figure of all keys
  chart::Rgb query{}, key{}, output{};    ///< the roles' colours
};

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
          .query = chart::unpack(theme.query),
          .key = chart::unpack(theme.key),
          .output = chart::unpack(theme.output)};
}

/// The pair's components with their products, in its order, and the chain from their sum to the weight.
std::unique_ptr<exporting::Drawing> make_neuron_figure(const NeuronPair& pair, const NeuronLook& look) {
  const std::vector<float> query = pair.factors(&Product::left), key = pair.factors(&Product::right);
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
                            .value = line.value ? chart::format_exact(static_cast<float>(*line.value)) : std::string(),
                            .calculation = std::move(calculation),
                            .note = line.note,
                            .is_result = line.name == "weight"});
  }
  return exporting::make_drawing(std::move(figure));
}

/// One query and all keys: kept from the last frame that showed them.
struct NeuronKeys {
  std::shared_ptr<const attention::Tile> keys, scores, weights;  ///< K, and a row of each map; null while not known
  std::vector<std::string> names;                                ///< [key] tokens; empty: too many for a figure
};

/// Asks for all keys, as many as a figure has room for.
NeuronKeys keep_keys(Frame& frame, const HeadSubject& subject, const NeuronPair& pair) {
  const inference::BlockShape& shape = subject.geometry.shape;
  NeuronKeys kept;
  if (!frame.result.input || shape.keys > exporting::kMaxProductRows) return kept;
  const model::TokenBatch& tokens = shown_keys(frame);
  for (std::uint32_t key = 0; key < shape.keys; ++key)
    kept.names.push_back(frame.ui.unshaped(token_name(frame, tokens, key)));
  const auto ask = [&](attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t columns) {
    const EngineTile* known = frame.ask(tile_of(frame, stage, {.row = row, .rows = rows, .columns = columns}));
    return known != nullptr && known->run == frame.result.run ? known->tile : nullptr;
  };
  kept.keys = ask(attention::Stage::K, 0, shape.keys, shape.d_k);
  kept.scores = ask(attention::Stage::Scaled, pair.cell.query, 1, shape.keys);
  kept.weights = ask(attention::Stage::Weights, pair.cell.query, 1, shape.keys);
  return kept;
}

/// The products of the pair's query with every key, components in the pair's order. Null: they aren't all known yet. Throws
/// Error where there are more keys than a figure has room for.
std::unique_ptr<exporting::Drawing> make_keys_figure(const NeuronPair& pair, const NeuronKeys& shown,
                                                     const NeuronLook& look) {
  if (shown.names.empty()) {
    throw Error("a figure has room for the products of {} keys, and this text has more: choose \"one key\"",
                exporting::kMaxProductRows);
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

/// What the neuron view keeps from frame to frame.
struct NeuronMemory {
  PairMemory pair;
  KeyRowsMemory key_rows;
  NeuronPair shown;                      ///< the last pair whose numbers were known, shown until the next one's are
  Selection selection;                   ///< of `shown`
  std::optional<std::uint32_t> hovered;  ///< component under the pointer, in the strips or in the table
  std::optional<std::uint32_t> pointed;  ///< key whose chip or row was under the pointer in the previous frame
};

constexpr float kChainWidth = 300.0F;
constexpr float kLeastWeights = 160.0F;    // below the chain
constexpr float kMinTable = 330.0F;        // narrower: the chain goes below the table
constexpr float kRotatedColumns = 122.0F;  // two more columns, before RoPE
constexpr float kGap = 20.0F;
constexpr float kToolGap = 12.0F;
constexpr float kMinStripsRoom = 360.0F;  // lower: the table alone, whose colours say the same

/// "encoder self-attention · queries and keys of 64 numbers · K of KV head 1, which 4 heads read · RoPE".
std::string about(const Frame& frame, const HeadSubject& subject) {
  const inference::BlockShape& shape = subject.geometry.shape;
  std::string text = fmt::format("{} · d_k = {}", kind_name(frame.result, subject.block.kind), shape.d_k);
  const std::uint32_t kv_heads = std::max(shape.kv_heads, 1U);
  if (kv_heads < shape.heads) {
    text += fmt::format(" · k is of KV head {}, which {} heads share", subject.geometry.head / shape.group(),
                        shape.heads / kv_heads);
  }
  if (subject.rotary(frame)) text += " · RoPE turns q and k by their positions";
  if (subject.layer && subject.layer->weights && subject.layer->weights->query_norm) {
    text += subject.layer->weights->query_norm->spans_heads ? " · q and k are normed, all heads together"
                                                            : " · q and k are normed";
  }
  return text;
}

void draw_tools(Frame& frame) {
  const float copy = button_width(kCopyCsv);
  const float width = segmented_width(frame, option_labels(kNeuronView.form)) +
                      segmented_width(frame, option_labels(kNeuronView.order)) + copy + 2.0F * kToolGap;
  continue_line_at_right(width, kGap);
  choose(frame, kNeuronView.form);
  ImGui::SameLine(0.0F, kToolGap);
  choose(frame, kNeuronView.order);
  ImGui::SameLine(0.0F, kToolGap);
  draw_copy_button(frame, "neuron.copy", nullptr);
}

void draw_header(Frame& frame, const HeadSubject& subject) {
  draw_view_title(frame, fmt::format("Layer {} · head {}", subject.block.layer.value, subject.geometry.head));
  draw_tools(frame);
  write_note(frame, about(frame, subject));
  frame.mark("neuron.about", last_item_rect());
  place_sentence(frame);
}

/// Where there is a baseline, what the pair's score and weight changed by, or why that isn't known.
void draw_changes(Frame& frame, attention::Cell cell) {
  const CompareChoices& compare = frame.state.compare;
  if (!compare.baseline || !compare.shows_difference) return;
  std::string text = fmt::format("Changes, {} \u201C{}\u201D, of this query and key:", difference_caption(frame.state),
                                 compare.baseline->name);
  const auto add = [&](const char* name, attention::Stage stage) {
    const EngineTile* known =
        frame.ask(tile_of(frame, difference_of(stage), {.row = cell.query, .rows = 1, .column = cell.key, .columns = 1}));
    const bool is_known = known != nullptr && !known->tile->values.empty();
    text += fmt::format(" {} {}", name, is_known ? signed_text(double{known->tile->values.front()}) : "\u2026");
  };
  if (!frame.result.baseline_error.empty()) {
    text = fmt::format("This can\u2019t be compared with the baseline: {}.", frame.result.baseline_error);
  } else {
    if (!compares_capture_with_network(frame.state)) {  // else there are only weights to compare
      add("sum of the products", attention::Stage::Scores);
      text += ",";
    }
    add("weight", attention::Stage::Weights);
    text += ". All other numbers are this run\u2019s.";
  }
  frame.ui.ensure_glyphs(text);
  write_note(frame, text);
  frame.mark("neuron.compared", last_item_rect());
}

void draw_one_key(Frame& frame, const NeuronPair& pair, NeuronMemory& memory) {
  const glm::vec2 room = region_left();
  const float least = kMinTable + (pair.query_before.empty() ? 0.0F : kRotatedColumns);
  const bool is_wide = room.x >= least + kGap + kChainWidth;
  const std::optional<std::uint32_t> before = memory.hovered;
  memory.hovered.reset();
  std::optional<std::uint32_t> hovered = before;
  const glm::vec2 size = is_wide ? glm::vec2(room.x - kGap - kChainWidth, 0.0F) : glm::vec2(0.0F, room.y * 0.55F);
  ImGui::BeginChild("parts", size, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  const bool has_strips = room.y >= kMinStripsRoom;
  if (has_strips) write_note(frame, describe_products(pair.chain.products) + " Each row of colours has its own scale.");
  const std::optional<std::uint32_t> last = hovered;
  bool is_hovered = ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows);
  if (has_strips) draw_product_strips(frame, pair, hovered);
  draw_product_table(frame, pair, hovered);
  ImGui::EndChild();
  // The mark follows the pointer into the strips and the table, and goes with it.
  if (is_hovered) memory.hovered = hovered;
  if (memory.hovered != last) frame.ui.request_redraw(2);
  if (memory.hovered) {
    const std::string_view query = attention::to_string(attention::Stage::Q);
    frame.transient.pointed_number = number_of(frame, query, {.query = pair.cell.query, .key = *memory.hovered});
  }
  if (is_wide) ImGui::SameLine(0.0F, kGap);
  ImGui::BeginChild("chain", ImVec2(0.0F, 0.0F), false);
  draw_chain(frame, pair.chain);
  if (is_wide && height_left() >= kLeastWeights) draw_row_of_weights(frame, pair.cell);
  ImGui::EndChild();
}

/// Null: its numbers aren't all known yet.
std::optional<Table> table_of(Frame& frame, const HeadSubject& subject, const NeuronPair& pair) {
  if (!pair.is_known() || !pair.chain.weight) return std::nullopt;
  if (frame.state[kNeuronView.form] == NeuronForm::Pair) {
    return score_table(pair.chain, fmt::format("{} {}", pair.cell.query, pair.query_name),
                       fmt::format("{} {}", pair.cell.key, pair.key_name));
  }
  const std::uint32_t most = std::max(kMaxCopiedProducts / std::max(subject.geometry.shape.d_k, 1U), 1U);
  return key_table(frame, subject, pair.cell.query, most);
}

/// Says what the pair's products sum to, or what the component under the pointer gives to that.
Sentence pair_sentence(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t> component) {
  if (!pair.chain.lines.front().value || !pair.chain.weight) return {};
  const std::string sum = number_word(*pair.chain.lines.front().value, kWeightDigits),
                    query = query_of(frame, frame.state.selection.block.kind, pair.cell.query),
                    key = key_of(frame, frame.state.selection.block.kind, pair.cell.key);
  if (component && *component < pair.chain.products.size())
    return fmt::format("Component {} gives {} to the product of {} and {}, which is {} in all.", *component,
                       number_word(pair.chain.products[*component].value(), kWeightDigits), query, key, sum);
  const auto scale = std::ranges::find(pair.chain.lines, std::string_view("scale"), &ChainLine::name);
  const bool is_root = scale != pair.chain.lines.end() && scale->numbers.find("\u221A") != std::string::npos;
  return fmt::format("q\u00B7k of {} and {} sums to {}; {}softmax over the row makes that the weight {}.", query, key, sum,
                     is_root ? fmt::format("divided by \u221A{}, ", pair.chain.products.size()) : "",
                     number_word(*pair.chain.weight, kWeightDigits));
}

/// A pair stays on screen until the next one is known, unless the run has no such cell or its heads have another size.
bool fits(const NeuronPair& pair, const inference::BlockShape& shape) {
  return pair.chain.products.size() == shape.d_k && pair.cell.query < shape.queries && pair.cell.key < shape.keys;
}

/// The selected head's score of one query and one key, product by product, and the way from their sum to the weight; or the
/// products of one query with every key. The pair is the pinned cell; without one the last token and its strongest key.
void draw_neuron_panel(Frame& frame, NeuronMemory& memory) {
  if (!selected_shape(frame)) return;
  const HeadSubject subject = selected_subject(frame);
  if (memory.selection != frame.state.selection) memory.pointed.reset();
  const bool keeps_pair = memory.selection == frame.state.selection && fits(memory.shown, subject.geometry.shape);
  if (!keeps_pair) memory.shown = {};
  memory.selection = frame.state.selection;
  draw_header(frame, subject);
  const attention::Cell chosen = chosen_cell(frame);
  attention::Cell cell = chosen;
  const std::optional<std::uint32_t> pointed = std::exchange(memory.pointed, std::nullopt);
  if (pointed && *pointed < subject.geometry.shape.keys) cell.key = *pointed;
  if (frame.result.input) memory.pointed = choose_pair(frame, "neuron", chosen, memory.pair);
  if (memory.pointed != pointed) frame.ui.request_redraw(2);
  draw_changes(frame, cell);
  NeuronPair pair = read_pair(frame, subject, cell);
  if (frame.transient.copies == frame.state.view.tab) {
    if (const auto table = table_of(frame, subject, pair)) copy_when_asked(frame, [&] { return csv(*table); });
  }
  if (pair.is_known()) memory.shown = std::move(pair);
  frame.point_at(chosen);
  frame.transient.pointed_number = number_of(frame, attention::to_string(attention::Stage::Weights), cell);
  if (!memory.shown.is_known()) {
    write_text(frame.ui.fonts().body, frame.ui.theme().text_dim, "The query and the key are being computed.");
    return;
  }
  if (frame.state[kNeuronView.form] == NeuronForm::AllKeys) {
    const auto key = draw_key_rows(frame, subject, memory.shown, memory.key_rows);
    if (key) frame.state.view.pinned = attention::Cell{.query = memory.shown.cell.query, .key = *key};
  } else {
    draw_one_key(frame, memory.shown, memory);
  }
  frame.says = pair_sentence(frame, memory.shown, memory.hovered);
}

}  // namespace

std::unique_ptr<ViewPanel> open_neuron_view() {
  class NeuronView final : public ViewPanel {
    void draw(Frame& frame) override {
      draw_neuron_panel(frame, memory_);
      shows_keys_ = frame.state[kNeuronView.form] == NeuronForm::AllKeys;
      if (!memory_.shown.is_known()) return;
      look_ = neuron_look(frame, memory_.shown);
      if (shows_keys_) keys_ = keep_keys(frame, selected_subject(frame), memory_.shown);
    }
    std::unique_ptr<exporting::Drawing> figure() const override {
      if (!memory_.shown.is_known()) return nullptr;
      return shows_keys_ ? make_keys_figure(memory_.shown, keys_, look_) : make_neuron_figure(memory_.shown, look_);
    }

    NeuronMemory memory_;
    NeuronLook look_;
    NeuronKeys keys_;
    bool shows_keys_ = false;  ///< in the last frame
  };
  return std::make_unique<NeuronView>();
}

}  // namespace headlight::app
