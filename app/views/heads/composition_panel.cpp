#include <set>

#include "app/analyses/head_circuits.h"
#include "app/analyses/head_metric_text.h"
#include "app/cells/provenance.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attribution::ComposedHead;

constexpr const char* kLeftOut = "Weights as they are stored, without biases, norms, rotary positions and MLPs.";

const char* reader_of(CircuitScore score) {
  switch (score) {
    case CircuitScore::QueryComposition:
      return "queries";
    case CircuitScore::KeyComposition:
      return "keys";
    case CircuitScore::ValueComposition:
      return "values";
    case CircuitScore::Copying:
      break;
  }
  return "";
}

const char* formula_of(CircuitScore score) {
  switch (score) {
    case CircuitScore::QueryComposition:
      return "|W_OV\u00B7W_QK| \u00F7 (|W_OV|\u00B7|W_QK|)";
    case CircuitScore::KeyComposition:
      return "|W_OV\u00B7W_QK\u1D40| \u00F7 (|W_OV|\u00B7|W_QK|)";
    case CircuitScore::ValueComposition:
      return "|W_OV\u00B7W_OV\u2032| \u00F7 (|W_OV|\u00B7|W_OV\u2032|)";
    case CircuitScore::Copying:
      break;
  }
  return "";
}

class CompositionPanel final : public FindPanel {
 public:
  Heading heading(const Frame& frame) override {
    const Selection& selection = frame.state.selection;
    if (frame.state.heads.circuit_score == CircuitScore::Copying) return {.title = "Heads that copy, by their weights"};
    return {.title = fmt::format("What works with {}, by weights",
                                 head_name({.block = selection.block, .head = selection.head}))};
  }

  void draw(Frame& frame) override {
    const std::vector<std::string> labels = {"queries", "keys", "values", "copying"};
    CircuitScore& score = frame.state.heads.circuit_score;
    auto chosen = static_cast<std::size_t>(score);
    if (draw_segmented(frame, "heads.circuit", labels, chosen)) score = static_cast<CircuitScore>(chosen);
    heads_.clear();
    score_ = score;
    const bool is_drawn = score == CircuitScore::Copying ? find_copying(frame) : find_composed(frame, score);
    if (!is_drawn) return;
    sort_by_value(heads_);
    move_through_heads(frame, heads_with_value(heads_), 1);
    const Selection& selection = frame.state.selection;
    const HeadRef selected{.block = selection.block, .head = selection.head};
    draw_scored_heads(frame,
                      {.name = "heads.composed",
                       .heads = heads_,
                       .about = [&](const HeadRef& head, double value) { return about(score, selected, head, value); },
                       .has_signs = score == CircuitScore::Copying,
                       .number = [&](const HeadRef& head) { return number_of(score, selected, head); }});
  }

  bool has_numbers(const Frame& /*frame*/) const override { return !heads_.empty(); }
  bool is_compared() const override { return has_differences(heads_); }
  bool shows_all_kinds() const override { return true; }
  std::string csv(const Frame& frame) const override {
    const CircuitScore score = frame.state.heads.circuit_score;
    return scored_heads_csv(heads_,
                            score == CircuitScore::Copying ? "copying" : fmt::format("composition by {}", reader_of(score)));
  }

  std::unique_ptr<exporting::Drawing> figure(const HeadMapFigure& look) const override {
    HeadMapFigure figure = look;
    figure.is_signed = score_ == CircuitScore::Copying;
    figure.value_title = figure.is_signed ? "copying" : fmt::format("composition by {}", reader_of(score_));
    return make_scored_figure(heads_, std::move(figure));
  }

 private:
  /// Null: there are no numbers, and why is drawn in their place.
  template <typename Found>
  static const Found* known(Frame& frame, const Analysed* answer) {
    if (answer && !answer->error.empty()) {
      draw_empty_note(frame, "heads.composed.none", "Nothing to say of these weights",
                      answer->error +
                          ". Open a model with queries, keys, values and an output projection (Ctrl+O), such as "
                          "captions-gpt2.");
      return nullptr;
    }
    const Found* found = answer ? answer->as<Found>() : nullptr;
    if (!found) draw_note(frame, "heads.composed.about", "computing\u2026", frame.ui.theme().text_dim);
    return found;
  }

  bool find_composed(Frame& frame, CircuitScore score) {
    const AnalysisQuery query = composition_query(frame.state.selection);
    const Analysed* answer = frame.ask(query);
    const auto* known_yet = known<HeadCompositions>(frame, answer);
    if (!known_yet) return false;
    const HeadCompositions& found = *known_yet;
    const auto kind = static_cast<std::size_t>(score);
    // All heads of kinds that have a score have a place in the maps, also those that don't compose with it.
    std::set<model::BlockKind> kinds = {found.head.block.kind};
    for (const ComposedHead& composed : found.heads) {
      if (composed.scores[kind]) kinds.insert(composed.block.kind);
    }
    HeadNumbers numbers;
    for (const auto& [block, shape] : frame.result.shapes) {
      if (!kinds.contains(block.kind)) continue;
      for (std::uint32_t head = 0; head < shape.heads; ++head) numbers[{.block = block, .head = head}] = std::nullopt;
    }
    for (const auto& [head, value] : scores_of(found, kind)) {
      if (const auto at = numbers.find(head); at != numbers.end()) at->second = value;
    }
    const bool has_any =
        std::ranges::any_of(found.heads, [&](const ComposedHead& head) { return head.scores[kind].has_value(); });
    const std::string name = head_name(found.head);
    const double width = frame.result.network->layer(found.head.block).weights->query.in();
    std::string text = fmt::format(
        "How much the {} of {} read what an earlier head writes, and those of later heads what it writes: {}, in Frobenius "
        "norms. About {:.3f} where weights have nothing to do with each other. {}",
        reader_of(score), name, formula_of(score), 1.0 / std::sqrt(width), kLeftOut);
    if (!found.is_complete()) text += fmt::format(" {} of {} heads so far.", found.heads.size(), found.all_heads);
    if (found.is_complete() && !has_any) {
      text = found.all_heads == 0
                 ? "There is one layer only, so no head reads what another one writes."
                 : fmt::format("Nothing comes before or after {} that it works with by {}.", name, reader_of(score));
    }
    draw_note(frame, "heads.composed.about", text, frame.ui.theme().text_dim);
    const Analysed* baseline = answer_of_baseline(frame, query, answer);
    const auto* before = baseline ? baseline->as<HeadCompositions>() : nullptr;
    compare(frame, baseline, numbers, before ? scores_of(*before, kind) : HeadNumbers());
    return has_any;
  }

  bool find_copying(Frame& frame) {
    const AnalysisQuery query = OvCopyingQuestion();
    const Analysed* answer = frame.ask(query);
    const auto* known_yet = known<OvCopying>(frame, answer);
    if (!known_yet) return false;
    const OvCopying& found = *known_yet;
    std::string text = fmt::format(
        "Re \u03A3\u03BB \u00F7 \u03A3|\u03BB| of the eigenvalues of W_V\u00B7W_O: 1 where a head writes back what it "
        "reads, \u22121 where it writes the opposite, about 0 otherwise. {}",
        kLeftOut);
    if (!found.is_complete()) text += fmt::format(" {} of {} heads so far.", found.heads.size(), found.all_heads);
    draw_note(frame, "heads.composed.about", text, frame.ui.theme().text_dim);
    const Analysed* baseline = answer_of_baseline(frame, query, answer);
    const auto* before = baseline ? baseline->as<OvCopying>() : nullptr;
    compare(frame, baseline, found.heads, before ? before->heads : HeadNumbers());
    return true;
  }

  /// Asked when the present run's answer is whole: of the same weights it is known then.
  static const Analysed* answer_of_baseline(Frame& frame, const AnalysisQuery& query, const Analysed* now) {
    const bool is_whole = now != nullptr && now->is_done;
    return is_whole ? subtractable(now, ask_of_baseline(frame, query)) : nullptr;
  }

  static HeadNumbers scores_of(const HeadCompositions& found, std::size_t kind) {
    HeadNumbers scores;
    for (const ComposedHead& one : found.heads) scores[{.block = one.block, .head = one.head}] = one.scores[kind];
    return scores;
  }

  /// Subtracts the baseline's numbers, which differ only if the weights do.
  void compare(Frame& frame, const Analysed* baseline, const HeadNumbers& now, const HeadNumbers& before) {
    const bool is_same = !before.empty() && std::ranges::all_of(now, [&](const auto& scored) {
      const auto found = before.find(scored.first);
      return scored.second == (found == before.end() ? std::nullopt : found->second);
    });
    heads_ = score_heads(now, before.empty() || is_same ? nullptr : &before);
    if (!is_same) return draw_comparison(frame, "heads", "each head\u2019s score", baseline);
    draw_note(
        frame, "heads.compared",
        "These are numbers of weights, the same in the baseline: texts, masks and changed heads don\u2019t change them. "
        "Two models differ in them: keep one as baseline, then open the other.",
        frame.ui.theme().text_dim);
  }

  static NumberRef number_of(CircuitScore score, const HeadRef& selected, const HeadRef& head) {
    const bool is_copying = score == CircuitScore::Copying;
    NumberRef number{.of = std::string(is_copying ? kCopying : kComposition), .block = head.block, .head = head.head};
    if (!is_copying) {
      number.notes = {{"with", head_name(selected)},
                      {"by", fmt::format("the {} of the later head", reader_of(score))},
                      {"formula", formula_of(score)}};
    }
    return number;
  }

  static std::string about(CircuitScore score, const HeadRef& selected, const HeadRef& head, double value) {
    const char* clicks = "Click: selects the head. Double click: opens it.";
    if (score == CircuitScore::Copying) return fmt::format("{}: {:+.4f}. {}", head_name(head), value, clicks);
    return fmt::format("{} and {}, by the {} of the later one: {:.4f}. {}", head_name(selected), head_name(head),
                       reader_of(score), value, clicks);
  }

  std::vector<ScoredHead> heads_;  ///< drawn last
  CircuitScore score_ = CircuitScore::QueryComposition;
};

}  // namespace

std::unique_ptr<FindPanel> open_composition_panel() { return std::make_unique<CompositionPanel>(); }

}  // namespace headlight::app
