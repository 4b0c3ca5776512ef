#include "app/views/view.h"

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/state/comparison.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_scores.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"
#include "app/widgets/table_view.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

using ShownKnockouts = ComparedFinding<HeadKnockouts>;

constexpr std::size_t kLeastTokens = 8;  // of each pass
constexpr float kTokenRow = 32.0F;       // where there is room for more of them
constexpr double kLeastChance = 5e-5;    // is written as 0.01 %
constexpr std::size_t kSurelyShown = 5;  // tokens, however small their chances are
constexpr float kTokensWidth = 360.0F;   // of both lists, at least

/// Returns the unit: percentage points of probabilities, nats of losses; empty: logits.
std::string unit_of(KnockoutMeasure measure) {
  return measure == KnockoutMeasure::Probability ? "points" : measure == KnockoutMeasure::Loss ? "nats" : "";
}

/// Returns what knocking out each head of a kind changes; a probability's change in percentage points.
HeadNumbers changes_of(const HeadKnockouts& found, model::BlockKind kind, KnockoutMeasure measure,
                       const BlockShapes& shapes) {
  HeadNumbers changes;
  for (const HeadRef& head : heads_of_kind(shapes, kind)) {
    changes[head] = found.change(head, measure);
    if (changes[head] && measure == KnockoutMeasure::Probability) *changes[head] *= 100.0;
  }
  return changes;
}

/// Returns the heads that are known: logit and probability, or the loss, without the head and less the present ones; where
/// there is a baseline, each change there as well.
Table knockout_table(const ShownKnockouts& found, KnockoutMeasure measure) {
  std::vector<std::pair<const char*, KnockoutMeasure>> columns = {{"loss", KnockoutMeasure::Loss}};
  if (measure != KnockoutMeasure::Loss) {
    columns = {{"logit", KnockoutMeasure::Logit}, {"probability", KnockoutMeasure::Probability}};
  }
  std::vector<std::string> names = {"kind", "layer", "head"};
  for (const auto& [name, column] : columns) names.insert(names.end(), {name, fmt::format("{}_change", name)});
  Table table = named_columns(std::move(names));
  for (const auto& [head, numbers] : found.now->without) {
    table.put(model::to_string(head.block.kind), head.block.layer.value, head.head);
    for (const auto& [name, column] : columns) {
      const double value = numbers.of(column);
      table.put(value, Compared<double>{.now = value - found.now->present.of(column),
                                        .baseline = found.baseline ? found.baseline->change(head, column) : std::nullopt});
    }
  }
  return table;
}

/// Returns what is done to each head, in words.
const char* ablation_text(Ablation ablation) {
  switch (ablation) {
    case Ablation::Mean:
      return "with that head's output averaged over the text";
    case Ablation::BaselineMean:
      return "with that head's mean output over the baseline";
    case Ablation::Zero:
      break;
  }
  return "without that head";
}

/// Returns "the logit of “cat”", "“cat”", "the mean loss of the text": what is measured.
std::string measured_name(const Frame& frame, const ChosenLogit& logit) {
  const KnockoutMeasure measure = frame.state[kWhatIfView.measure];
  return measure == KnockoutMeasure::Loss    ? "the mean loss of the text"
         : measure == KnockoutMeasure::Logit ? "the " + logit_title(frame, logit)
                                             : token_word(candidate_label(frame.result, logit.token));
}
/// Returns "+13.702", "34 %", "2.418".
std::string measured_word(const Frame& frame, const PredictedNumbers& numbers) {
  const KnockoutMeasure measure = frame.state[kWhatIfView.measure];
  const double value = numbers.of(measure);
  return measure == KnockoutMeasure::Probability ? percent_word(value)
         : measure == KnockoutMeasure::Logit     ? number_word(signed_text(value))
                                                 : number_word(value, "{:.3f}");
}
/// Returns "logit of “cat” +13.702", "“cat” 34 %", "mean loss of the text 2.418": of the run as it is.
std::string present_text(const Frame& frame, const ChosenLogit& logit, const PredictedNumbers& present) {
  return plain_text(measured_name(frame, logit) + " " + measured_word(frame, present));
}

/// Says what changes without the head under the pointer, else without the one that changes the most.
Sentence ablation_sentence(const Frame& frame, const ChosenLogit& logit, const ShownKnockouts& found, HeadScores scores) {
  scores.sort(true);
  const std::optional<NumberRef>& number = frame.transient.pointed_number;
  const bool is_pointed = number && number->of == kKnockoutChange;
  if (!is_pointed && scores.known().empty()) return {};
  const HeadRef head = is_pointed ? HeadRef{number->block, number->head} : scores.known().front();
  const auto change_in = [&](const HeadKnockouts& run) {
    const auto without = run.without.find(head);
    if (without == run.without.end()) return std::string("\u2026");
    const bool falls = run.change(head, frame.state[kWhatIfView.measure]).value_or(0.0) < 0.0;
    const std::string before = measured_word(frame, run.present), after = measured_word(frame, without->second);
    return before == after ? "stays at " + before
                           : fmt::format("{} from {} to {}", falls ? "falls" : "rises", before, after);
  };
  const bool is_out = frame.state[kWhatIfView.ablation] == Ablation::Zero;
  return fmt::format(
      "{}{}{} {}{}.", head_name(head), is_pointed ? "" : " matters most",
      is_out ? ": without it" : ": with its mean instead", measured_name(frame, logit) + " " + change_in(*found.now),
      found.baseline ? fmt::format("; in {} it {}", baseline_name(frame.state), change_in(*found.baseline)) : "");
}

/// Writes what the numbers and their colours are, and how many are known.
void draw_summary(Frame& frame, const ChosenLogit& logit, const ShownKnockouts& found) {
  const std::string unit = unit_of(frame.state[kWhatIfView.measure]);
  const HeadKnockouts& last = found.baseline ? *found.baseline : *found.now;  // which are measured after the present ones
  const std::string more = !last.is_complete()
                               ? fmt::format(" {} of {} heads measured so far\u2026", last.without.size(), last.all_heads)
                           : found.baseline ? ""
                                            : " Blue: it falls, red: it rises.";
  const std::string text =
      fmt::format("Each number: {} {}, minus now{}.{}", plain_text(measured_name(frame, logit)),
                  ablation_text(frame.state[kWhatIfView.ablation]), unit.empty() ? "" : fmt::format(" ({})", unit), more);
  write_note(frame, text, frame.ui.theme().text, "what_if.summary");
}

void select(Frame& frame, const HeadRef& head) { select_head(frame.state.selection, head); }

/// Takes the head out of the model, or puts it back, as the key K does.
void knock_out(Frame& frame, const HeadRef& head) {
  select(frame, head);
  const float gain = head_gain(frame.state, head.block, head.head);
  set_head_gain(frame.state, head.block, head.head, gain == 0.0F ? 1.0F : 0.0F);
}

/// Returns the reference to a head's change, which is known.
NumberRef number_of(const Frame& frame, const ChosenLogit& logit, const HeadKnockouts& found, const HeadRef& head) {
  const KnockoutMeasure chosen = frame.state[kWhatIfView.measure];
  const bool is_loss = chosen == KnockoutMeasure::Loss;
  const std::string token = fmt::format("\u201C{}\u201D", candidate_label(frame.result, logit.token));
  std::string measure = fmt::format("probability of {}, in points of a hundred", token);
  if (chosen == KnockoutMeasure::Logit) measure = logit_title(frame, logit);
  if (is_loss) measure = "mean loss of the text, in nats";
  NumberRef number{.of = std::string(kKnockoutChange),
                   .block = head.block,
                   .batch = logit.position.batch,
                   .head = head.head,
                   .row = logit.position.token,
                   .column = is_loss ? kNoToken : logit.token,
                   .notes = {{"measure", std::move(measure)}, {"now", fmt::format("{:.9g}", found.present.of(chosen))}}};
  const auto without = found.without.find(head);
  if (without != found.without.end()) {
    number.notes.emplace_back(frame.state[kWhatIfView.ablation] == Ablation::Zero ? "without the head" : "with its mean",
                              fmt::format("{:.9g}", without->second.of(chosen)));
  }
  return number;
}

HeadScores scores_of(const Frame& frame, const ShownKnockouts& found) {
  const KnockoutMeasure measure = frame.state[kWhatIfView.measure];
  const auto changes = [&](const HeadKnockouts& of) {
    return changes_of(of, frame.state.selection.block.kind, measure, frame.result.shapes);
  };
  const std::string unit = unit_of(measure);
  const HeadNumbers before = found.baseline ? changes(*found.baseline) : HeadNumbers();
  HeadScores scores(unit.empty() ? "change of the logit" : fmt::format("change, {}", unit), true, changes(*found.now),
                    found.baseline ? &before : nullptr);
  if (frame.state[kWhatIfView.is_sorted]) scores.sort(true);
  return scores;
}

/// Returns the `most` likeliest tokens of both, those of the present first, with their chances in per cent as far as they
/// are known; behind the first few none that has hardly a chance in either.
Table next_tokens(const Frame& frame, const PredictedNumbers& now, const PredictedNumbers& without, const HeadRef& head,
                  std::size_t most) {
  std::vector<std::uint32_t> ids;
  for (const auto* likeliest : {&now.likeliest, &without.likeliest}) {
    for (std::size_t i = 0; i < std::min(most, likeliest->size()); ++i) {
      const inference::Candidate& one = likeliest->at(i);
      if (one.probability < kLeastChance && i >= kSurelyShown) break;
      if (std::ranges::find(ids, one.id) == ids.end()) ids.push_back(one.id);
    }
  }
  const auto chance = [&](const PredictedNumbers& of) {
    return [&](std::size_t row) {
      const auto found = std::ranges::find(of.likeliest, ids[row], &inference::Candidate::id);
      return found == of.likeliest.end() ? CellNumber() : 100.0 * found->probability;
    };
  };
  const bool is_out = frame.state[kWhatIfView.ablation] == Ablation::Zero;
  Table table{.rows = ids.size()};
  table.add({.title = "next token"}, [&](std::size_t row) { return candidate_label(frame.result, ids[row]); });
  table.add({.title = "now, %", .bar = BarKind::Size, .least_end = 100.0, .is_wide = true}, chance(now));
  table.add(
      {.title = fmt::format("{} L{} H{}, %", is_out ? "without" : "with the mean of", head.block.layer.value, head.head),
       .bar = BarKind::Size,
       .least_end = 100.0,
       .is_wide = true},
      chance(without));
  return table;
}

/// Draws the map and the list, and below the map the tokens that are predicted without a head.
void draw_heads(Frame& frame, const ChosenLogit& logit, const HeadKnockouts& found, const HeadScores& scores,
                TableView& tokens, const HeadRef& head) {
  const std::string unit = unit_of(frame.state[kWhatIfView.measure]);
  const auto without = found.without.find(head);
  std::function<void()> below;
  if (without != found.without.end() && !without->second.likeliest.empty()) {
    below = [&] {
      ImGui::Spacing();
      const auto rows = static_cast<std::size_t>(std::max(height_left() / kTokenRow, 0.0F));
      tokens.show(next_tokens(frame, found.present, without->second, head, std::max(rows, kLeastTokens)));
      TableOrder order;
      tokens.draw(frame, {}, order);
    };
  }
  draw_scored_heads(
      frame, {.name = "what_if",
              .cells = "what_if.head",
              .scores = scores,
              .about =
                  [&](const HeadRef& about, double value) {
                    return fmt::format("Layer {}, head {}: {}{}{}. Click: selects the head. Double click: knocks it out.",
                                       about.block.layer.value, about.head, signed_text(value), unit.empty() ? "" : " ",
                                       unit);
                  },
              .number = [&](const HeadRef& asked) { return number_of(frame, logit, found, asked); },
              .click = [&](const HeadRef& clicked,
                           bool is_double) { is_double ? knock_out(frame, clicked) : select(frame, clicked); },
              .remark = [&](const HeadRef& of) { return head_gain(frame.state, of.block, of.head) == 0.0F ? " (out)" : ""; },
              .choose_order = [&] { choose(frame, kWhatIfView.is_sorted); },
              .below = below});
}

/// Draws a button that keeps the selected head's output averaged over the text in all views, or brings the head back.
void draw_average_button(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const std::string head = fmt::format("L{} H{}", selection.block.layer.value, selection.head);
  const inference::Intervention average{.site = model::Site::HeadOutput,
                                        .scope = inference::scope_of(selection.block, selection.head),
                                        .operation = inference::Average{}};
  KeptChanges& changes = frame.state.changes;
  const auto kept = std::ranges::find_if(changes, [&](const KeptChange& change) { return *change.intervention == average; });
  const bool is_kept = kept != changes.end();
  ImGui::SameLine();
  ImGui::BeginDisabled(!is_kept && changes.size() >= kMaxKeptChanges);
  const char* const explanation =
      is_kept ? "The selected head gives again what it computes."
              : "Mean ablation: the selected head gives the mean of its output over the text at every token, in all "
                "views, until it is stopped.";
  const bool is_clicked =
      draw_button(frame, "what_if.average",
                  fmt::format("{} {}###average", is_kept ? "Stop averaging" : "Average", head).c_str(), explanation);
  ImGui::EndDisabled();
  if (is_clicked && is_kept) changes.erase(kept);
  if (is_clicked && !is_kept) changes.push_back({.name = "mean output of " + head, .intervention = average});
}

/// Buttons: the selected head in or out or averaged.
void draw_buttons(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const bool is_out = head_gain(frame.state, selection.block, selection.head) == 0.0F;
  const std::string label =
      fmt::format("{} L{} H{}###knock", is_out ? "Bring back" : "Knock out", selection.block.layer.value, selection.head);
  const char* const explanation =
      is_out ? "Brings the selected head back (K)." : "Takes the selected head out of the model (K).";
  if (draw_button(frame, "what_if.knock_out", label.c_str(), explanation)) frame.start_command("head.knock_out");
  draw_average_button(frame);
}

/// Draws what is done to heads. Means of the baseline are dim as long as there is none, and say how to make one.
void choose_ablation(Frame& frame) {
  const std::string of_baseline = fmt::format("mean of {}", baseline_name(frame.state));
  const bool is_offered = frame.state.compare.baseline || frame.state[kWhatIfView.ablation] == Ablation::BaselineMean;
  std::vector<std::string> labels = {"knocked out", "mean of the text"};
  if (is_offered) labels.push_back(of_baseline);
  choose_next(frame, kWhatIfView.ablation, labels);
  if (is_offered) return;
  constexpr const char* kNeeds = "mean of a baseline (Ctrl+D)";
  continue_line(button_width(kNeeds), ImGui::GetStyle().ItemSpacing.x);
  ImGui::BeginDisabled();
  draw_button(frame, "what_if.ablation.2", kNeeds,
              "There is no baseline: Ctrl+D keeps this text as one, whose means heads of another text can give.");
  ImGui::EndDisabled();
}

/// Is there a baseline where its means are what heads give? Else says in words that there is none.
bool can_ablate(Frame& frame) {
  if (frame.state[kWhatIfView.ablation] != Ablation::BaselineMean) return true;
  const SharedValue<BaselineRun>& baseline = frame.state.compare.baseline;
  const std::string refusal =
      baseline && is_capture(baseline->inputs.source) ? "it is a capture" : frame.result.baseline_error;
  if (baseline && refusal.empty()) return true;
  write_note(frame,
             refusal.empty() || !frame.state.compare.baseline
                 ? "There is no baseline. Show the text whose means heads should give, keep it as baseline (Ctrl+D), and "
                   "come back to this one."
                 : fmt::format("Heads can't give the baseline's means: {}.", refusal),
             frame.ui.theme().warning, "what_if.no_baseline");
  return false;
}

/// Shows what knocking out each head changes: a map of layers and heads, and a list.
class WhatIfView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    scores_ = {};
    const EngineResult& result = frame.result;
    if (!result.input || !result.network) return;
    const std::optional<ChosenLogit> logit = chosen_logit(frame);
    if (!logit) return write_missing(frame, nullptr);
    const KnockoutMeasure measure = frame.state[kWhatIfView.measure];
    draw_position_header(frame, "what_if", "What if a head were gone?", logit->position,
                         "Copies every number of this view as CSV.");
    choose(frame, kWhatIfView.measure);
    choose_ablation(frame);
    if (measure != KnockoutMeasure::Loss) {
      continue_line(kTokensWidth, kControlGap);
      choose_tokens(frame, *logit, "what_if");
    }
    choose_kind(frame, "what_if.kind");
    if (measure == KnockoutMeasure::Loss && !predicts_next(result)) {
      return write_note(frame,
                        "This model fills in masks and doesn't predict a next token: its text has no such loss. Choose the "
                        "logit or the probability.",
                        frame.ui.theme().warning);
    }
    if (!can_ablate(frame)) return;
    const KnockoutsQuestion query =
        knockout_query(frame.state, logit->position.batch, logit->position.token, logit->token, logit->other);
    const ShownKnockouts found(frame.ask(query), measure == KnockoutMeasure::Loss ? ask_of_baseline(frame, query)
                                                                                  : ask_of_counterpart(frame, query));
    if (!found.now) return write_missing(frame, found.answer);
    draw_comparison(frame, "what_if", "what each head changes", found.of_baseline);
    copy_when_asked(frame, [&] { return csv(knockout_table(found, measure)); });
    draw_summary(frame, *logit, found);
    scores_ = scores_of(frame, found);
    ImGui::BeginChild("heads", {0.0F, height_left() - ImGui::GetFrameHeightWithSpacing()});
    const std::optional<HeadRef> before = pointed_;
    draw_heads(frame, *logit, *found.now, scores_, tokens_, before.value_or(frame.state.selection.head_ref()));
    ImGui::EndChild();
    draw_buttons(frame);
    const std::optional<NumberRef>& number = frame.transient.pointed_number;
    pointed_.reset();
    if (number && number->of == kKnockoutChange) pointed_ = HeadRef{number->block, number->head};
    if (pointed_ != before) frame.ui.request_redraw(2);
    frame.says = ablation_sentence(frame, *logit, found, scores_);
    words_.title = "What if a head were gone?";
    words_.subtitle =
        fmt::format("{}; {}; each number: {}, minus now.", kind_name(frame.result, frame.state.selection.block.kind),
                    present_text(frame, *logit, found.now->present), ablation_text(frame.state[kWhatIfView.ablation]));
    if (found.baseline) {
      words_.title += fmt::format(" {}", difference_caption(frame.state));
      words_.subtitle += fmt::format(" In {} (\u201C{}\u201D): {}; what each head changes there is subtracted.",
                                     baseline_name(frame.state), frame.ui.unshaped(frame.state.compare.baseline->name),
                                     present_text(frame, *logit, found.baseline->present));
    }
    compared_ = difference_caption(frame.state);
  }

  std::unique_ptr<exporting::Drawing> figure() const override { return scores_.figure(words_, compared_); }

 private:
  TableView tokens_{"what_if.next"};
  std::optional<HeadRef> pointed_;  ///< in the last frame, as what follows
  HeadScores scores_;               ///< of the last frame
  FigureWords words_;               ///< of their figure
  std::string compared_;            ///< what differences are
};

}  // namespace

std::unique_ptr<ViewPanel> open_what_if_view() { return std::make_unique<WhatIfView>(); }

}  // namespace headlight::app
