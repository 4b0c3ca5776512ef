#include "app/views/view.h"

#include <numeric>

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/views/logits/explained_logit.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/table_view.h"

namespace headlight::app {
namespace {

constexpr float kListRow = 24.0F;       // of a token, at least
constexpr float kHighRow = 37.0F;       // of a component, at most, with a share of the last one's end
constexpr float kMaxHeadsShare = 0.5F;  // of the right column's height
constexpr float kLeastComponents = 60.0F;
constexpr double kLeastBias = 5e-4;  // what is written has three decimals

void draw_heading(Frame& frame, const char* text) {
  const TextStyleScope ink(frame.ui.fonts().strong, frame.ui.theme().text);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text);
}

/// Writes that the parts sum to the logit, or by how much they miss it; where runs are compared, to its change. Then what
/// the parts are.
void draw_sum(Frame& frame, const Compared<LogitAttribution>& found) {
  const LogitAttribution shown = found.shown();
  const double off = std::abs(shown.sum() - shown.logit), size = std::max(std::abs(found.now.logit), 1.0);
  const bool is_right = off <= 1e-3 * size;  // NaN isn't
  const std::string of = found.baseline ? fmt::format("{} now, {} in {}. ", signed_text(found.now.logit),
                                                      signed_text(found.baseline->logit), baseline_name(frame.state))
                                        : "";
  const char* whole = found.baseline ? "change" : "logit";
  const std::string text =
      of + (is_right ? fmt::format("All parts sum to the {} {} (error {:.0e}).", whole, signed_text(shown.logit), off)
                     : fmt::format("The {} is {}, but the parts sum to {}.", whole, signed_text(shown.logit),
                                   signed_text(shown.sum())));
  write_note(frame, text, is_right ? frame.ui.theme().text_dim : frame.ui.theme().warning, "logits.sum");
  write_note(
      frame,
      "Direct logit attribution: what each part writes into the residual stream, times the final norm's scale and the "
      "token's row of the unembedding.");
}

void draw_components(Frame& frame, const ChosenLogit& logit, const Compared<LogitAttribution>& found) {
  const std::vector<LogitComponent> components = components_of(found);
  const TableEvents events =
      draw_bars(frame, "logits.part",
                bar_table(
                    components.size(), [&](std::size_t row) { return components[row].title; },
                    [&](std::size_t row) { return components[row].value.shown(); }),
                {.about = [&](std::size_t row) {
                  const LogitComponent& part = components[row];
                  return fmt::format("{}: {} of the logit {}.{}", part.title, change_text(part.value),
                                     signed_text(found.now.logit), part.layer ? " Click: selects the layer." : "");
                }});
  if (events.hovered) {
    const LogitComponent& part = components[*events.hovered];
    NumberRef number = number_of(frame, logit, part.layer ? kLogitPart : kLogitOther, part.value);
    if (part.layer) number.block.layer = LayerIndex{*part.layer};
    frame.transient.pointed_number = std::move(number);
  }
  if (events.clicked && components[*events.clicked].layer) {
    select_head(frame.state.selection, {encoder_block(*components[*events.clicked].layer), frame.state.selection.head});
    clamp_selection(frame.state, frame.result.shapes);
  }
}

void choose_source_heads(Frame& frame) {
  const Selection& selection = frame.state.selection;
  ImGui::SameLine(0.0F, 12.0F);
  choose(frame, kLogitsView.sums_heads, {"all heads", fmt::format("L{} H{}", selection.block.layer.value, selection.head)});
}

void draw_sources(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& explained) {
  draw_heading(frame, "By source token");
  choose_source_heads(frame);
  if (explained.awaits_sources()) return write_missing(frame, nullptr);
  const Compared<LogitSources>& found = *explained.sources;
  const LogitSources shown = found.shown();
  const PredictionPosition& position = logit.position;
  const std::size_t first = position.first;
  const std::size_t end = std::min<std::size_t>(shown.tokens.size(), position.end);
  if (first >= end) return;
  std::vector<std::size_t> places(end - first);  // [row] from the first token on
  std::iota(places.begin(), places.end(), std::size_t{0});
  const bool scrolls = static_cast<float>(places.size()) * kListRow > height_left();
  const std::string order = fmt::format("{} {}", places.size(), scrolls ? "by size" : "in order");
  continue_line(text_width(frame.ui.fonts().small, order), kControlGap);
  write_label(frame.ui.fonts().small, frame.ui.theme().text_dim, order);
  if (frame.result.pairs && explained.parts.baseline) {
    write_note(frame,
               fmt::format("Tokens of the second text alone gave {} there.", signed_text(explained.baseline_elsewhere)));
  }
  const auto size = [&](std::size_t place) { return std::abs(shown.tokens[first + place]); };
  if (scrolls) std::ranges::stable_sort(places, std::ranges::greater(), size);
  const auto token_of = [&](std::size_t row) {
    return predicted_token_text(frame.result, position.batch, static_cast<std::uint32_t>(first + places[row]));
  };
  const auto number = [&](std::size_t row) {
    return found.part([at = first + places[row]](const LogitSources& of) { return of.tokens[at]; });
  };
  const TableEvents events =
      draw_bars(frame, "logits.source",
                bar_table(
                    places.size(), [&](std::size_t row) { return fmt::format("{}  {}", token_of(row), places[row]); },
                    [&](std::size_t row) { return shown.tokens[first + places[row]]; }),
                {.about = [&](std::size_t row) {
                  return fmt::format("What the heads bring from \u201C{}\u201D (token {}): {}. Click: pins this key.",
                                     token_of(row), places[row], change_text(number(row)));
                }});
  if (const auto row = events.hovered) {
    NumberRef asked = number_of(frame, logit, kLogitSource, number(*row));
    asked.notes.insert(asked.notes.begin(),
                       {"source token", fmt::format("token {} \u201C{}\u201D", places[*row], token_of(*row))});
    frame.transient.pointed_number = std::move(asked);
  }
  if (events.clicked) {
    frame.state.view.pinned =
        attention::Cell{.query = position.token, .key = static_cast<std::uint32_t>(first + places[*events.clicked])};
  }
}

/// Says what the logit is, and which part gives the most of it, or of its change, if not the part that is pointed at.
Sentence logit_sentence(const Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found) {
  const std::vector<LogitComponent> components = components_of(found.parts);
  if (components.empty()) return {};
  const auto size = [](const LogitComponent& part) { return std::abs(part.value.shown()); };
  const LogitComponent& most = *std::ranges::max_element(components, {}, size);
  const NumberRef& asked = *frame.transient.pointed_number;
  const bool is_head = asked.of == kLogitHead && asked.value;
  return fmt::format("The {}{} is {}; {} {} of it.",
                     found.parts.baseline ? fmt::format("change ({}) of the ", difference_caption(frame.state)) : "",
                     logit_title(frame, logit), number_word(signed_text(found.parts.shown().logit)),
                     is_head ? head_name({asked.block, asked.head}) + " gives" : most.title + " gives the most,",
                     number_word(signed_text(is_head ? *asked.value : most.value.shown())));
}

std::string numbers_of(const Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found) {
  const auto& texts = predicted_tokens(frame.result).texts;
  return csv(
      logit_table(found, logit.position.batch < texts.size() ? texts[logit.position.batch] : std::vector<std::string>()));
}

/// Writes what the heads of the map lack to the attention components: biases after W_O, which belong to no head.
void draw_biases(Frame& frame, const LogitAttribution& shown) {
  double heads = 0.0, biases = 0.0;
  for (const auto& layer : shown.layers) {
    biases += layer.attention_bias;
    heads = std::accumulate(layer.heads.begin(), layer.heads.end(), heads);
  }
  if (std::abs(biases) < kLeastBias) return;
  write_note(frame,
             fmt::format("All heads {}, with the biases of attention {}: {}, as the layers' attention on the left.",
                         signed_text(heads), signed_text(biases), signed_text(heads + biases)),
             {}, "logits.biases");
}

void draw_heads(Frame& frame, const ChosenLogit& logit, const HeadScores& scores, float max_height) {
  draw_heading(frame, "By head");
  const auto about = [](const HeadRef& head, double value) {
    return fmt::format("Layer {}, head {}: {}. Click: its source tokens. Double click: its map.", head.block.layer.value,
                       head.head, signed_text(value));
  };
  const auto number = [&](const HeadRef& head) {
    NumberRef asked = number_of(frame, logit, kLogitHead, {});
    asked.block = head.block;
    asked.head = head.head;
    return asked;
  };
  const auto click = [&](const HeadRef& head, bool is_double) {
    select_head(frame.state.selection, head);
    frame.state.set(kLogitsView.sums_heads, false);
    if (is_double) frame.state.view.tab = kHeadView;
  };
  const float all = score_maps_height(scores, width_left());
  ImGui::BeginChild("heads", {0.0F, std::min(all, max_height)}, false);
  draw_score_maps(
      frame, {.name = "logits", .cells = "logits.head", .scores = scores, .about = about, .number = number, .click = click});
  ImGui::EndChild();
}

void draw_columns(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found, const HeadScores& scores) {
  ColumnPair{.share = 0.46F, .least = 600.0F}.draw(
      [&] {
        draw_heading(frame, "By component");
        const float notes = 4.0F * (font_size(frame.ui.fonts().small) + ImGui::GetStyle().ItemSpacing.y);
        const float rows = static_cast<float>(components_of(found.parts).size()) * kHighRow;
        ImGui::BeginChild("components", {0.0F, std::min(std::max(height_left() - notes, kLeastComponents), rows)});
        draw_components(frame, logit, found.parts);
        ImGui::EndChild();
        draw_sum(frame, found.parts);
      },
      [&] {
        draw_heads(frame, logit, scores, std::floor(height_left() * kMaxHeadsShare));
        draw_biases(frame, found.parts.shown());
        ImGui::Spacing();
        draw_sources(frame, logit, found);
      },
      std::floor(height_left() * 0.4F));
}

/// Explains what the logit of the next token is made of: bars of embedding, attention, MLPs and biases, a map of all heads,
/// and the source tokens of the heads. The parts sum to the logit, which is shown and compared.
class LogitsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    scores_ = {};
    const EngineResult& result = frame.result;
    if (!result.input || !result.network) return;
    const std::optional<ChosenLogit> logit = chosen_logit(frame);
    if (!logit) return write_missing(frame, nullptr);
    const std::string token = candidate_label(result, logit->token);
    frame.ui.ensure_glyphs(token);
    draw_position_header(frame, "logits", fmt::format("Why \u201C{}\u201D?", token), logit->position,
                         "Copies every number of this view as CSV: parts, heads and source tokens.");
    choose_tokens(frame, *logit, "logits");
    const LogitQuestion parts = parts_of(*logit);
    const Analysed* answer = frame.ask(parts);
    if (!answer || !answer->result) return write_missing(frame, answer);
    const LogitSourcesQuestion sources = sources_of(*logit, frame.state);
    const Analysed* baseline = ask_of_counterpart(frame, parts);
    const std::optional<ExplainedLogit> found = explain_logit(result, logit->position.batch, answer, frame.ask(sources),
                                                              baseline, ask_of_counterpart(frame, sources));
    frame.transient.pointed_number = number_of(frame, *logit, kLogitNumber, {.now = found->parts.now.logit});
    copy_when_asked(frame, [&] { return numbers_of(frame, *logit, *found); });
    draw_comparison(frame, "logits", "each part", baseline);
    ImGui::Spacing();
    scores_ = scores_of(found->parts);
    draw_columns(frame, *logit, *found, scores_);
    frame.says = logit_sentence(frame, *logit, *found);
    compared_ = difference_caption(frame.state);
    words_.title = fmt::format("What each head gives to the {}{}", logit_title(frame, *logit),
                               found->parts.baseline ? ", " + compared_ : "");
    words_.subtitle =
        "Direct logit attribution: a head's output through W_O, times the final norm's scale and the token's "
        "row of the unembedding.";
  }

  std::unique_ptr<exporting::Drawing> figure() const override { return scores_.figure(words_, compared_); }

 private:
  HeadScores scores_;     ///< of the last frame
  FigureWords words_;     ///< of their figure
  std::string compared_;  ///< what differences are
};

}  // namespace

std::unique_ptr<ViewPanel> open_logits_view() { return std::make_unique<LogitsView>(); }

}  // namespace headlight::app
