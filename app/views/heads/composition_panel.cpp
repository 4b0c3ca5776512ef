#include <set>

#include "app/engine/analyses/head_circuits.h"
#include "app/engine/analyses/head_metric_text.h"
#include "app/views/heads/composition_arcs.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_tools.h"

namespace headlight::app {
namespace {

using attribution::ComposedHead;

constexpr const char* kLeftOut = "Weights as they are stored, without biases, norms, rotary positions and MLPs.";

/// What the later head reads, and the ratio of norms that says how much of it the earlier one wrote; by CircuitScore.
struct Composition {
  const char *reader, *formula;
};
constexpr std::array<Composition, 4> kCompositions = {
    {{"queries", "|W_OV\u00B7W_QK| \u00F7 (|W_OV|\u00B7|W_QK|)"},
     {"keys", "|W_OV\u00B7W_QK\u1D40| \u00F7 (|W_OV|\u00B7|W_QK|)"},
     {"values", "|W_OV\u00B7W_OV\u2032| \u00F7 (|W_OV|\u00B7|W_OV\u2032|)"},
     {"", ""}}};
const char* reader_of(CircuitScore score) { return kCompositions[static_cast<std::size_t>(score)].reader; }
const char* formula_of(CircuitScore score) { return kCompositions[static_cast<std::size_t>(score)].formula; }

class CompositionPanel final : public FindPanel {
 public:
  Heading heading(const Frame& frame) override {
    const Selection& selection = frame.state.selection;
    if (frame.state[kHeadsView.circuit_score] == CircuitScore::Copying)
      return {.title = "Heads that copy, by their weights"};
    if (frame.state[kHeadsView.draws_arcs]) return {.title = "Which heads read which, by weights"};
    return {.title = fmt::format("What works with {}, by weights", head_name(selection.head_ref()))};
  }

  void draw(Frame& frame) override {
    choose(frame, kHeadsView.circuit_score);
    const CircuitScore score = frame.state[kHeadsView.circuit_score];
    scores_ = {};
    arcs_ = {};
    if (score != CircuitScore::Copying) {
      check_next(frame, kHeadsView.draws_arcs);
      if (frame.state[kHeadsView.draws_arcs]) return draw_arcs(frame, score);
    }
    const bool is_drawn = score == CircuitScore::Copying ? find_copying(frame) : find_composed(frame, score);
    if (!is_drawn) return;
    scores_.sort();
    move_through_heads(frame, scores_.known(), 1);
    const Selection& selection = frame.state.selection;
    const HeadRef selected = selection.head_ref();
    draw_scored_heads(frame,
                      {.name = "heads.composed",
                       .scores = scores_,
                       .about = [&](const HeadRef& head, double value) { return about(score, selected, head, value); },
                       .number = [&](const HeadRef& head) { return number_of(score, selected, head); }});
  }

  bool shows_all_kinds() const override { return true; }
  bool has_numbers() const override { return arcs_.rows > 0 || FindPanel::has_numbers(); }
  std::string csv() const override { return arcs_.rows == 0 ? FindPanel::csv() : app::csv(arcs_); }

 private:
  void draw_arcs(Frame& frame, CircuitScore score) {
    const auto found = ask<CompositionGraph>(frame, CompositionGraphQuestion());
    if (!found.now) return;
    draw_note(frame, "heads.composed.about",
              fmt::format("How much the {} of each head read what an earlier head writes: {}, in Frobenius norms. {}",
                          reader_of(score), formula_of(score), kLeftOut));
    arcs_ = draw_composition_arcs(frame, *found.now, static_cast<attribution::Composition>(score));
  }

  /// Asks about the baseline when the present run's answer is whole: of the same weights it is known then. Without a
  /// finding draws why in its place.
  template <typename Found>
  static ComparedFinding<Found> ask(Frame& frame, const AnalysisQuery& query) {
    const Analysed* answer = frame.ask(query);
    const bool is_whole = answer != nullptr && answer->is_done;
    ComparedFinding<Found> found(answer, is_whole ? subtractable(answer, ask_of_baseline(frame, query)) : nullptr);
    if (answer && !answer->error.empty()) {
      draw_empty_note(frame, "heads.composed.none", "Nothing to say of these weights",
                      answer->error +
                          ". Open a model with queries, keys, values and an output projection (Ctrl+O), such as "
                          "captions-gpt2.");
    } else if (!found.now) {
      draw_note(frame, "heads.composed.about", missing_text(answer));
    }
    return found;
  }

  bool find_composed(Frame& frame, CircuitScore score) {
    const auto compared = ask<HeadCompositions>(frame, composition_query(frame.state.selection));
    if (!compared.now) return false;
    const HeadCompositions& found = *compared.now;
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
    draw_note(frame, "heads.composed.about", text);
    compare(frame, fmt::format("composition by {}", reader_of(score)), compared.of_baseline, numbers,
            compared.baseline ? scores_of(*compared.baseline, kind) : HeadNumbers());
    return has_any;
  }

  bool find_copying(Frame& frame) {
    const auto compared = ask<OvCopying>(frame, OvCopyingQuestion());
    if (!compared.now) return false;
    const OvCopying& found = *compared.now;
    std::string text = fmt::format(
        "Re \u03A3\u03BB \u00F7 \u03A3|\u03BB| of the eigenvalues of W_V\u00B7W_O: 1 where a head writes back what it "
        "reads, \u22121 where it writes the opposite, about 0 otherwise. {}",
        kLeftOut);
    if (!found.is_complete()) text += fmt::format(" {} of {} heads so far.", found.heads.size(), found.all_heads);
    draw_note(frame, "heads.composed.about", text);
    compare(frame, "copying", compared.of_baseline, found.heads,
            compared.baseline ? compared.baseline->heads : HeadNumbers());
    return true;
  }

  static HeadNumbers scores_of(const HeadCompositions& found, std::size_t kind) {
    HeadNumbers scores;
    for (const ComposedHead& one : found.heads) scores[{.block = one.block, .head = one.head}] = one.scores[kind];
    return scores;
  }

  /// Subtracts the baseline's numbers, which differ only if the weights do.
  void compare(Frame& frame, const std::string& title, const Analysed* baseline, const HeadNumbers& now,
               const HeadNumbers& before) {
    const bool is_same = !before.empty() && std::ranges::all_of(now, [&](const auto& scored) {
      const auto found = before.find(scored.first);
      return scored.second == (found == before.end() ? std::nullopt : found->second);
    });
    scores_ = {title, frame.state[kHeadsView.circuit_score] == CircuitScore::Copying, now,
               before.empty() || is_same ? nullptr : &before};
    if (!is_same) return draw_comparison(frame, "heads", "each head\u2019s score", baseline);
    draw_note(
        frame, "heads.compared",
        "These are numbers of weights, the same in the baseline: texts, masks and changed heads don\u2019t change them. "
        "Two models differ in them: keep one as baseline, then open the other.");
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

  Table arcs_;  ///< what was drawn last, as CSV; empty: none
};

}  // namespace

std::unique_ptr<FindPanel> open_composition_panel() { return std::make_unique<CompositionPanel>(); }

}  // namespace headlight::app
