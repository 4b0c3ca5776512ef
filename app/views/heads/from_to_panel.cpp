#include "app/engine/analyses/head_ranking.h"
#include "app/state/transient.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/token_chips.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

/// What the numbers are of: the range that is dragged over the map, else the chosen query and key, of which the last token
/// and the first take the place where none is chosen.
CellRange shown_range(const Frame& frame, const inference::BlockShape& shape) {
  const std::optional<CellRange>& range = frame.transient.range;
  if (range && range->last.query < shape.queries && range->last.key < shape.keys) return *range;
  const Selection& selection = frame.state.selection;
  const model::TokenBatch& tokens = shown_queries(frame);
  const bool has_lengths = selection.batch < tokens.lengths.size() && tokens.lengths[selection.batch] > 0;
  const std::uint32_t end = has_lengths ? tokens.start(selection.batch) + tokens.lengths[selection.batch] : shape.queries;
  const attention::Cell cell{
      .query = std::min(chosen_token(frame.state.view, MapSide::Query).value_or(end - 1), shape.queries - 1),
      .key = std::min(chosen_token(frame.state.view, MapSide::Key).value_or(0), shape.keys - 1)};
  return {.first = cell, .last = cell};
}

/// "“cat”", or "“cat” … “mat”" of several tokens.
std::string names_of(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t first, std::uint32_t last) {
  const std::string name = fmt::format("\u201C{}\u201D", token_name(frame, tokens, first));
  return first == last ? name : fmt::format("{} \u2026 \u201C{}\u201D", name, token_name(frame, tokens, last));
}

class FromToPanel final : public FindPanel {
 public:
  Heading heading(const Frame& frame) override {
    const inference::BlockShape* shape = selected_shape(frame);
    if (!shape || !frame.result.input) return {.title = "Who looks from here to there?"};
    const CellRange range = shown_range(frame, *shape);
    return {.title = fmt::format("Who looks from {} to {}?",
                                 names_of(frame, shown_queries(frame), range.first.query, range.last.query),
                                 names_of(frame, shown_keys(frame), range.first.key, range.last.key))};
  }

  void draw(Frame& frame) override {
    choose_kind(frame, "heads.kind");
    const inference::BlockShape* shape = selected_shape(frame);
    if (!shape || !frame.result.input) return;
    const CellRange range = shown_range(frame, *shape);
    choose_tokens(frame, range);
    const FromToQuestion query = from_to_query(frame.state.selection, range);
    const Analysed* answer = frame.ask(query);
    const ComparedFinding<HeadRanking> found(answer, subtractable(answer, ask_of_same_tokens(frame, query)));
    const HeadNumbers before = found.baseline ? masses_of(*found.baseline) : HeadNumbers();
    scores_ = {"weight", false, found.now ? masses_of(*found.now) : HeadNumbers(), found.baseline ? &before : nullptr};
    scores_.sort();
    move_through_heads(frame, scores_.known(), 1);
    draw_explanation(frame, range, found);
    draw_comparison(frame, "heads", "how each head looks there", found.of_baseline);
    if (scores_.heads.empty()) return;
    draw_scored_heads(frame, {.name = "heads.from_to",
                              .scores = scores_,
                              .about =
                                  [](const HeadRef& head, double value) {
                                    return fmt::format(
                                        "Layer {}, head {}: {}. Click: selects the head. Double click: opens it.",
                                        head.block.layer.value, head.head,
                                        chart::format_fixed(static_cast<float>(value), 4));
                                  },
                              .number = [&](const HeadRef& head) { return number_of(frame, head, range, found.now); }});
  }

 private:
  static HeadNumbers masses_of(const HeadRanking& ranking) {
    HeadNumbers masses;
    for (const auto& [head, match] : ranking.heads) masses[head] = match ? std::optional(match->mass) : std::nullopt;
    return masses;
  }

  static NumberRef number_of(const Frame& frame, const HeadRef& head, const CellRange& range, const HeadRanking* found) {
    const auto tokens = [](std::uint32_t first, std::uint32_t last) {
      return first == last ? std::to_string(first) : fmt::format("{} \u2026 {}", first, last);
    };
    NumberRef number{.of = std::string(kAttentionMass),
                     .block = head.block,
                     .batch = frame.state.selection.batch,
                     .head = head.head,
                     .row = range.first.query,
                     .column = range.first.key,
                     .notes = {{"queries", tokens(range.first.query, range.last.query)},
                               {"keys", tokens(range.first.key, range.last.key)}}};
    if (found && found->is_sampled) {
      number.notes.emplace_back(kSampledNote, fmt::format("{} of {} queries", found->ranked_queries, found->queries));
    }
    return number;
  }

  void choose_tokens(Frame& frame, const CellRange& range) {
    const shell::Theme& theme = frame.ui.theme();
    const Selection& selection = frame.state.selection;
    const TokenLine from{.name = "heads.from",
                         .title = "from",
                         .explanation = "The token that looks: its row of each head's map.",
                         .tokens = &shown_queries(frame),
                         .item = selection.batch,
                         .chosen = range.first.query,
                         .color = theme.query,
                         .fill = theme.query_fill};
    const TokenLineEvents queries = draw_token_line(frame, from, queries_);
    const TokenLine to{.name = "heads.to",
                       .title = "to",
                       .explanation = "The token that is attended to: its column of each head's map.",
                       .tokens = &shown_keys(frame),
                       .item = selection.batch,
                       .chosen = range.first.key,
                       .color = theme.key,
                       .fill = theme.key_fill};
    const TokenLineEvents keys = draw_token_line(frame, to, keys_);
    if (!queries.chosen && !keys.chosen) return;
    frame.state.view.locked.reset();
    frame.state.view.pinned =
        attention::Cell{.query = queries.chosen.value_or(range.first.query), .key = keys.chosen.value_or(range.first.key)};
    frame.transient.range.reset();
  }

  void draw_explanation(Frame& frame, const CellRange& range, const ComparedFinding<HeadRanking>& found) const {
    if (!found.now) return draw_note(frame, "heads.from_to.about", missing_text(found.answer));
    const bool is_cell = range.first == range.last;
    std::string text =
        is_cell
            ? "Each number: the weight \u03B1[q][k] that this query gives to this key. Drag over a head's map to ask about "
              "several tokens."
            : fmt::format(
                  "Each number: the mean over queries {} \u2026 {} of the weight that keys {} \u2026 {} get together. "
                  "A click on a token asks about one pair.",
                  range.first.query, range.last.query, range.first.key, range.last.key);
    if (found.now->is_sampled) {
      text += fmt::format(" Sampled: {} of {} queries.", found.now->ranked_queries, found.now->queries);
    }
    const bool looks =
        std::ranges::any_of(scores_.heads, [](const ScoredHead& head) { return head.value().value_or(0.0) > 0.0; });
    if (!scores_.heads.empty() && !looks && !found.baseline) {
      text = "No head looks there: the mask hides these keys from these queries.";
    }
    draw_note(frame, "heads.from_to.about", text);
  }

  TokenLineMemory queries_, keys_;
};

}  // namespace

std::unique_ptr<FindPanel> open_from_to_panel() { return std::make_unique<FromToPanel>(); }

}  // namespace headlight::app
