#include <variant>

#include "app/engine/analyses/head_ranking.h"
#include "app/views/heads/find_panel.h"
#include "app/views/heads/pattern_pad.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"

namespace headlight::app {
namespace {

constexpr float kChoiceWidth = 190.0F;
constexpr float kPatternGap = 14.0F;

struct PatternText {
  const char* title;
  const char* where;  ///< which keys k, after "keys k"
  const char* typed;  ///< the same as an expression; empty: there is none
};
/// In the order of HeadPattern.
constexpr std::array<PatternText, 8> kPatterns = {{
    {"previous token", "that come right before the query, k = q \u2212 1", "k == q - 1"},
    {"the token itself", "that are the query itself, k = q", "k == q"},
    {"sink", "that begin the text, k = 0", "k == 0"},
    {"next token", "that come right after the query, k = q + 1", "k == q + 1"},
    {"duplicate token", "before the query that hold the same token", "k < q && id_k == id_q"},
    {"induction", "that come right after an earlier occurrence of the query's token", ""},
    {"uniform", "", ""},
    {"typed \u2026", "where the formula is true", "k == q - 1"},
}};

const PatternText& text_of(HeadPattern pattern) { return kPatterns[static_cast<std::size_t>(pattern)]; }

/// The list of patterns. One that is an expression is what typing begins with. Returns whether one is to be drawn.
bool choose_pattern(Frame& frame) {
  State& state = frame.state;
  const HeadPattern before = state[kHeadsView.pattern];
  ImGui::SetNextItemWidth(kChoiceWidth);
  OpenList list(frame, "heads.pattern", text_of(before).title,
                "Which keys heads are expected to attend to: heads are ranked by how much they do.",
                ImGuiComboFlags_HeightLarge);
  if (!list) return false;
  for (std::size_t i = 0; i < kPatterns.size(); ++i) {
    const auto pattern = static_cast<HeadPattern>(i);
    if (is_of_one_text(pattern) && frame.state.selection.block.kind == model::BlockKind::Cross) continue;
    const std::string help = pattern == HeadPattern::Uniform ? "All keys that a query sees, with equal weights."
                                                             : fmt::format("Keys k {}.", kPatterns[i].where);
    if (list.entry(kPatterns[i].title, std::to_string(i), pattern == before, help.c_str()))
      state.set(kHeadsView.pattern, pattern);
  }
  const bool draws = list.entry("drawn \u2026", "drawn", false, "Keys k where you draw cells; they become a formula.");
  if (draws) state.set(kHeadsView.pattern, HeadPattern::Typed);
  const HeadPattern pattern = state[kHeadsView.pattern];
  if (pattern == before) return draws;
  if (pattern == HeadPattern::Typed && state[kHeadsView.typed_pattern].empty()) {
    state.set(kHeadsView.typed_pattern, text_of(text_of(before).typed[0] != '\0' ? before : pattern).typed);
  }
  return draws;
}

class PatternPanel final : public FindPanel {
 public:
  Heading heading(const Frame& /*frame*/) override { return {.title = "Heads by a pattern"}; }

  void draw(Frame& frame) override {
    choose_kind(frame, "heads.kind");
    if (choose_pattern(frame)) draws_ = true;
    const HeadPattern pattern = frame.state[kHeadsView.pattern];
    if (pattern != HeadPattern::Uniform) check_next(frame, kHeadsView.subtracts_chance, kPatternGap);
    if (pattern == HeadPattern::Typed && !type_pattern(frame)) return;
    const AnalysisQuery query = pattern_query(frame.state.selection, pattern, accepted_);
    const auto found = ask_of_both<HeadRanking>(frame, query);
    found_ = found.now;
    collect(frame.state, found.baseline);
    const std::vector<HeadRef> known = scores_.known();
    move_through_heads(frame, known, 1);
    draw_explanation(frame, found.answer);
    draw_comparison(frame, "heads", "each head\u2019s score", found.of_baseline);
    if (known.empty()) return;
    draw_scored_heads(frame, {.name = "heads.match",
                              .scores = scores_,
                              .about = [this](const HeadRef& head, double /*value*/) { return about(head); },
                              .number = [&](const HeadRef& head) { return number_of(frame, head); }});
    found_ = nullptr;  // belongs to the frame's result
  }

  bool is_compared() const override { return is_compared_; }
  std::string csv() const override {
    Table table = named_columns({"kind", "layer", "head", "mass", "chance", "queries", "score"});
    for (const auto& [head, score] : scores_.heads) {
      const auto match = matches_.find(head), before = baseline_matches_.find(head);
      const auto number = [&](const auto& of) {
        return Compared<double>{
            .now = of(match->second),
            .baseline = before == baseline_matches_.end() ? CellNumber() : CellNumber(of(before->second))};
      };
      table.put(model::to_string(head.block.kind), head.block.layer.value, head.head);
      if (match == matches_.end()) {
        table.put(CellNumber(), CellNumber(), CellNumber(), CellNumber());
        continue;
      }
      table.put(number([](const auto& of) { return of.mass; }), number([](const auto& of) { return of.chance; }),
                number([](const auto& of) { return double(of.queries); }), *score);
    }
    return app::csv(table);
  }

 private:
  /// The field with a pad to draw on, and below it why its text is no pattern. Returns whether there is one: the last that
  /// could be accepted.
  bool type_pattern(Frame& frame) {
    std::string text = frame.state[kHeadsView.typed_pattern];
    constexpr const char* kDraw = "Draw";
    const float button = button_width(kDraw);
    {
      const TextStyleScope ink(frame.ui.fonts().mono, frame.ui.theme().text);
      const float width = width_left() - button - ImGui::GetStyle().ItemSpacing.x;
      frame.ui.text_field("##typed", text, {.width = width, .hint = "k == q - 1", .limit = attention::Expression::kLongest});
      frame.state.set(kHeadsView.typed_pattern, text);
    }
    mark_last_item(
        frame, "heads.typed",
        "Which keys k of a query q count, in GLSL as in the mask's formula: q, k, n_q, n_k, head, layer, n_heads, "
        "n_layers, id_q, id_k, type_q, type_k, segment_q, segment_k.");
    if (text != parsed_) {
      parsed_ = text;
      error_.clear();
      const auto result = attention::parse_expression(text, attention::ExpressionUse::Mask);
      if (const auto* error = std::get_if<attention::ExpressionError>(&result)) {
        error_ = to_string(*error);
      } else if (std::get<attention::Expression>(result)) {
        accepted_ = text;
      } else {
        error_ = "Type which keys count, such as k == q - 1 or q - k < 4, or draw them.";
        accepted_.clear();
      }
    }
    ImGui::SameLine();
    if (draw_button(frame, "heads.draw", kDraw, "A pad to draw the pattern on, which also shows what is typed.")) {
      draws_ = !draws_;
    }
    if (draws_) {
      if (const auto drawn = pad_.draw(frame, accepted_)) frame.state.set(kHeadsView.typed_pattern, *drawn);
    }
    if (!error_.empty()) draw_note(frame, "heads.typed.error", error_, frame.ui.theme().warning);
    return !accepted_.empty();
  }

  using Matches = std::map<HeadRef, evaluation::PatternMatch>;

  static bool subtracts(const Choices& choices) {
    return choices[kHeadsView.subtracts_chance] && choices[kHeadsView.pattern] != HeadPattern::Uniform;
  }

  static Matches matches_of(const HeadRanking* ranking) {
    Matches matches;
    if (!ranking) return matches;
    for (const auto& [head, match] : ranking->heads) {
      if (match) matches.emplace(head, *match);
    }
    return matches;
  }

  /// `baseline`: null where nothing is compared.
  void collect(const Choices& choices, const HeadRanking* baseline) {
    scores_ = {};
    matches_ = matches_of(found_);
    baseline_matches_ = matches_of(baseline);
    is_compared_ = found_ != nullptr && baseline != nullptr;
    is_hidden_ = std::ranges::all_of(matches_, [](const auto& match) { return match.second.chance == 0.0; });
    if (!found_ || is_hidden_) return;
    const auto score = [&](const evaluation::PatternMatch& match) {
      return match.mass - (subtracts(choices) ? match.chance : 0.0);
    };
    const auto scores_of = [&](const HeadRanking& ranking) {
      HeadNumbers scores;
      for (const auto& [head, match] : ranking.heads) scores[head] = match ? std::optional(score(*match)) : std::nullopt;
      return scores;
    };
    const HeadNumbers before = is_compared_ ? scores_of(*baseline) : HeadNumbers();
    scores_ = {"match", subtracts(choices), scores_of(*found_), is_compared_ ? &before : nullptr};
    scores_.sort();
  }

  std::string about(const HeadRef& head) const {
    const auto match = matches_.find(head);
    if (match == matches_.end()) return {};
    return fmt::format(
        "Layer {}, head {}: {:.3f} of its attention; spread evenly it would be {:.3f}. Of {} queries. Click: "
        "selects the head. Double click: opens it.",
        head.block.layer.value, head.head, match->second.mass, match->second.chance, match->second.queries);
  }

  NumberRef number_of(const Frame& frame, const HeadRef& head) const {
    const HeadPattern pattern = frame.state[kHeadsView.pattern];
    const bool is_typed = pattern == HeadPattern::Typed;
    NumberRef number{.of = std::string(kPatternMatch),
                     .block = head.block,
                     .batch = frame.state.selection.batch,
                     .head = head.head,
                     .notes = {{"pattern", is_typed ? accepted_ : text_of(pattern).title}}};
    const auto match = matches_.find(head);
    if (match != matches_.end()) {
      number.notes.emplace_back("attention",
                                fmt::format("{:.9g}, of {} queries", match->second.mass, match->second.queries));
      number.notes.emplace_back(subtracts(frame.state) ? "chance, subtracted" : "chance",
                                fmt::format("{:.9g}", match->second.chance));
    }
    if (found_ && found_->is_sampled) {
      number.notes.emplace_back(kSampledNote, fmt::format("{} of {} queries", found_->ranked_queries, found_->queries));
    }
    return number;
  }

  void draw_explanation(Frame& frame, const Analysed* answer) const {
    const HeadPattern pattern = frame.state[kHeadsView.pattern];
    const shell::Theme& theme = frame.ui.theme();
    const auto draw = [&](const std::string& text, shell::Color color) {
      draw_note(frame, "heads.match.about", text, color);
    };
    const bool is_refused = answer && !answer->error.empty();
    if (!found_) return draw(missing_text(answer), is_refused ? theme.warning : theme.text_dim);
    if (matches_.empty()) {
      return draw("This text has no key of this pattern. Try another pattern, or a text that repeats itself.", theme.text);
    }
    if (is_compared_ && baseline_matches_.empty()) {
      return draw("The baseline's text has no key of this pattern: there is nothing to subtract.", theme.text);
    }
    if (is_hidden_) return draw("The mask hides every key of this pattern: all scores are 0.", theme.text);
    const bool is_even = pattern == HeadPattern::Uniform;
    std::string text = is_even
                           ? "Score: the mean over queries of \u03A3 min(\u03B1[q][k], 1 \u00F7 visible keys): 1 where a "
                             "head attends to all keys alike."
                           : fmt::format(
                                 "Score: \u03A3 of \u03B1[q][k] over the keys k {}, averaged over the queries that "
                                 "have such a key{}.",
                                 text_of(pattern).where,
                                 frame.state[kHeadsView.subtracts_chance] ? ", minus their share of the visible keys" : "");
    if (found_->is_sampled || found_->ranked_queries < found_->queries) {
      text += fmt::format(" {} of {} queries so far{}.", found_->ranked_queries, found_->queries,
                          found_->is_sampled ? "; of a long text strips of rows are read" : "");
    }
    draw(text, theme.text_dim);
  }

  std::string parsed_, error_;  ///< the text that was looked at last, and what is wrong with it
  PatternPad pad_;
  bool draws_ = false;                  ///< the pad is open
  std::string accepted_;                ///< the last one that is an expression
  const HeadRanking* found_ = nullptr;  ///< in draw() only
  Matches matches_, baseline_matches_;
  bool is_hidden_ = false;    ///< the mask hides all cells of the pattern
  bool is_compared_ = false;  ///< numbers drawn last are differences to the baseline
};

}  // namespace

std::unique_ptr<FindPanel> open_pattern_panel() { return std::make_unique<PatternPanel>(); }

}  // namespace headlight::app
