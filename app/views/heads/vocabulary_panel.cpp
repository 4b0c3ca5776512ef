#include <array>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/vocabulary_tokens.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/table_view.h"
#include "app/widgets/token_chips.h"

namespace headlight::app {
namespace {

using attribution::TokenCircuit;

/// Four lists of tokens, by one chosen token.
struct TokenList {
  const char *id, *title, *unit;
  TokenCircuit circuit;
  bool is_lowest;
};
constexpr std::array<TokenList, 4> kTokenLists = {
    {{"promotes", "Reading it, promotes", "logit, but for the final norm\u2019s division", TokenCircuit::Written, false},
     {"suppresses", "Reading it, suppresses", "logit, but for the final norm\u2019s division", TokenCircuit::Written, true},
     {"seeks", "As a query, seeks keys", "score, scaled", TokenCircuit::Keys, false},
     {"sought", "As a key, sought by queries", "score, scaled", TokenCircuit::Queries, false}}};

constexpr float kListWidth = 190.0F, kListHeight = 170.0F, kListGap = 16.0F;

class VocabularyPanel final : public FindPanel {
 public:
  Heading heading(const Frame& frame) override {
    const Selection& selection = frame.state.selection;
    return {.title = fmt::format("{} over the vocabulary, by weights", head_name(selection.head_ref()))};
  }

  void draw(Frame& frame) override {
    table_ = named_columns({"list", "token", "id", "value"});
    move_heads(frame);
    draw_head_controls(frame);
    const std::optional<std::uint32_t> token = choose_token(frame);
    if (!token) {
      return draw_empty_note(frame, "heads.vocabulary.none", "No tokens to ask about",
                             "This input is vectors without a vocabulary. Open a language model (Ctrl+O), such as "
                             "captions-gpt2.");
    }
    choose_distance(frame);
    draw_note(frame, "heads.vocabulary.about", about_text(frame, *token));
    draw_lists(frame, *token);
    if (table_.rows > 0 && table_.columns[0].text(0) == kTokenLists[0].id)
      frame.says =
          fmt::format("{}, where it reads {}, promotes {} the most: {}.", head_name(frame.state.selection.head_ref()),
                      key_word(label(frame, TokenCircuit::Keys, *token)), token_word(table_.columns[1].text(0)),
                      number_word(signed_text(*table_.columns[3].number(0))));
  }

  bool shows_all_kinds() const override { return true; }
  bool has_numbers() const override { return table_.rows > 0; }
  std::string csv() const override { return app::csv(table_); }

 private:
  static void move_heads(Frame& frame) {
    std::vector<HeadRef> heads;
    const auto& [kind, layer] = frame.state.selection.block;
    for (const auto& [block, shape] : frame.result.shapes) {
      for (std::uint32_t head = 0; block.kind == kind && head < shape.heads; ++head) heads.push_back({block, head});
    }
    const inference::BlockShape* shape = selected_shape(frame);
    move_through_heads(frame, heads, shape ? shape->heads : 1);
  }

  /// Tokens as the list's side has them: of an encoder those that it reads.
  static std::string label(const Frame& frame, TokenCircuit circuit, std::uint32_t id) {
    const inference::LanguageModel* model = frame.result.model.get();
    const bool is_source = circuit != TokenCircuit::Written && model && model->tokenizer &&
                           frame.state.selection.block.kind == model::BlockKind::EncoderSelf;
    const std::string text = is_source ? model->tokenizer->label(id) : predicted_label(model, id);
    return text.empty() ? fmt::format("id {}", id) : text;
  }

  /// Chips of the text; a click reads that token. None: the input has no ids.
  std::optional<std::uint32_t> choose_token(Frame& frame) {
    const Selection& selection = frame.state.selection;
    const model::TokenBatch& tokens = shown_keys(frame);
    const std::size_t line = std::size_t{selection.batch} * tokens.length;
    if (tokens.ids.size() < line + tokens.length || tokens.length == 0) return std::nullopt;
    const auto id_at = [&](std::uint32_t at) { return tokens.ids[line + std::min(at, tokens.length - 1)]; };
    std::optional<std::uint32_t> read = frame.state[kHeadsView.read_token];
    const auto& embedding = selection.block.kind == model::BlockKind::EncoderSelf ? frame.result.network->source_embedding
                                                                                  : frame.result.network->target_embedding;
    const bool is_other_models = read && embedding && *read >= embedding->table.axis(0);
    if (!read && frame.state.view.pinned) chosen_ = frame.state.view.pinned->query;
    chosen_ = std::min(chosen_, tokens.start(selection.batch) + std::max(tokens.lengths[selection.batch], 1U) - 1);
    if (read && id_at(chosen_) != *read) {
      for (std::uint32_t at = 0; at < tokens.length && id_at(chosen_) != *read; ++at) {
        if (id_at(at) == *read) chosen_ = at;
      }
    }
    const shell::Theme& theme = frame.ui.theme();
    const TokenLineEvents events =
        draw_token_line(frame,
                        {.name = "heads.vocabulary.token",
                         .title = "token",
                         .explanation = "The token that the lists are about. A click on a token of a "
                                        "list chooses that one.",
                         .tokens = &tokens,
                         .item = selection.batch,
                         .chosen = chosen_,
                         .color = theme.key,
                         .fill = theme.key_fill},
                        line_);
    if (events.chosen) {
      chosen_ = *events.chosen;
      read = id_at(chosen_);
      frame.state.set(kHeadsView.read_token, read);
    }
    return is_other_models && !events.chosen ? id_at(chosen_) : read.value_or(id_at(chosen_));
  }

  /// Sets positions_.
  void choose_distance(Frame& frame) {
    State& state = frame.state;
    const model::Network& network = *frame.result.network;
    const model::BlockRef block = frame.state.selection.block;
    positions_.reset();
    if (!attribution::has_circuit_positions(network, block)) return;
    check_next(frame, kHeadsView.has_distance);
    if (!state[kHeadsView.has_distance]) return;
    const auto& embedding =
        block.kind == model::BlockKind::EncoderSelf ? network.source_embedding : network.target_embedding;
    const bool is_learned = embedding && !embedding->positions.is_empty();
    const std::uint32_t last =
        is_learned ? embedding->positions.axis(0) - embedding->position_offset - 1 : kMaxCircuitDistance;
    continue_line(160.0F, kListGap);
    ImGui::SetNextItemWidth(160.0F);
    int distance = static_cast<int>(std::min(state[kHeadsView.distance], last));  // which another model may have more of
    const int most = static_cast<int>(std::min(last, std::max(frame.result.input->keys(block.kind).length, 64U)));
    bool is_changed = ImGui::SliderInt("##distance", &distance, 0, most, "distance %d", ImGuiSliderFlags_AlwaysClamp);
    mark_last_item(frame, "heads.vocabulary.distance", "Tokens from the query back to the key.");
    is_changed |= step_by_keys(frame, distance, 0, most, 1);
    const auto back = static_cast<std::uint32_t>(distance);
    if (is_changed) state.set(kHeadsView.distance, back);
    const std::uint32_t query = std::min(std::max(chosen_, back), last);
    positions_ = {.query = query, .key = query - back};
  }

  std::string about_text(const Frame& frame, std::uint32_t token) const {
    const model::Network& network = *frame.result.network;
    const bool has_norm = network.layer(frame.state.selection.block).norms.before.has_value();
    return fmt::format(
        "About \u201C{}\u201D, id {}: x is its vector{}, as if nothing before this head had written. Promotes and "
        "suppresses: "
        "W_U\u00B7W_O\u00B7(W_V\u00B7x + b_V) with the final norm\u2019s gain{}; its division and bias, b_O and the "
        "unembedding\u2019s bias are left out. Queries and keys: their scaled score with biases and norms of both, {}.",
        label(frame, TokenCircuit::Keys, token), token, has_norm ? " through the layer\u2019s norm" : "",
        network.layers->encoder_norm && network.layers->encoder_norm->kind == model::Norm::Kind::Layer ? " and centring"
                                                                                                       : "",
        positions_ ? fmt::format("the query at position {}, the key at {}", positions_->query, positions_->key)
                   : "without positions");
  }

  void draw_lists(Frame& frame, std::uint32_t token) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const auto across = static_cast<std::size_t>(
        std::clamp(std::floor((room.x + kListGap) / (kListWidth + kListGap)), 1.0F, static_cast<float>(kTokenLists.size())));
    const std::size_t columns = across == 3 ? 2 : across, lines = kTokenLists.size() / columns;
    const float width = std::floor((room.x - static_cast<float>(columns - 1) * kListGap) / static_cast<float>(columns));
    const float height = std::max(std::floor(room.y / static_cast<float>(lines)) - 6.0F, kListHeight);
    for (std::size_t i = 0; i < kTokenLists.size(); ++i) {
      if (i % columns != 0) ImGui::SameLine(0.0F, kListGap);
      ImGui::BeginChild(kTokenLists[i].id, {width, height}, false, ImGuiWindowFlags_NoScrollbar);
      draw_list(frame, kTokenLists[i], token);
      ImGui::EndChild();
    }
  }

  void draw_list(Frame& frame, const TokenList& list, std::uint32_t token) {
    const Selection& selection = frame.state.selection;
    const bool has_positions = list.circuit != TokenCircuit::Written;
    const Analysed* answer = frame.ask(VocabularyQuestion{.head = selection.head_ref(),
                                                          .circuit = list.circuit,
                                                          .token = token,
                                                          .positions = has_positions ? positions_ : std::nullopt});
    write_strong(frame, list.title);
    frame.mark(fmt::format("heads.vocabulary.{}", list.id), last_item_rect());
    const auto* found = answer ? answer->as<VocabularyTokens>() : nullptr;
    if (!found) return write_missing(frame, answer);
    write_note(frame, found->is_complete() ? list.unit : fmt::format("{} of {} tokens so far", found->known, found->all));
    const std::vector<VocabularyTokens::Entry>& entries = list.is_lowest ? found->lowest : found->highest;
    for (const VocabularyTokens::Entry& entry : entries) {
      table_.put(list.id, label(frame, list.circuit, entry.id), entry.id, entry.value);
    }
    const std::string own = found->own ? fmt::format(" The token itself: {}.", signed_text(*found->own)) : std::string();
    ImGui::BeginChild("bars");
    const TableEvents events =
        draw_bars(frame, fmt::format("heads.vocabulary.{}", list.id),
                  bar_table(
                      entries.size(), [&](std::size_t at) { return label(frame, list.circuit, entries[at].id); },
                      [&](std::size_t at) { return entries[at].value; }),
                  {.about = [&](std::size_t at) {
                    return fmt::format("\u201C{}\u201D, id {}: {}.{} Click: the lists are about this token.",
                                       label(frame, list.circuit, entries[at].id), entries[at].id,
                                       signed_text(entries[at].value), own);
                  }});
    ImGui::EndChild();
    if (events.clicked) frame.state.set(kHeadsView.read_token, entries[*events.clicked].id);
  }

  std::uint32_t chosen_ = 0;  ///< place in the text
  TokenLineMemory line_;
  std::optional<attribution::CircuitPositions> positions_;
  Table table_;  ///< of the lists, as far as they are known
};

}  // namespace

std::unique_ptr<FindPanel> open_vocabulary_panel() { return std::make_unique<VocabularyPanel>(); }

}  // namespace headlight::app
