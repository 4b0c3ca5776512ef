#include "app/views/logits/logits_view.h"

#include "app/cells/provenance.h"
#include "app/state/comparison.h"
#include "app/views/logits/explained_logit.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_scores.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/signed_bars.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

constexpr float kColumnGap = 28.0F;
constexpr float kLeastColumns = 600.0F;  // narrower: one column
constexpr float kMostHeadsShare = 0.5F;  // of the right column's height

void draw_small(Frame& frame, const std::string& text, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, color, text);
}

void draw_heading(Frame& frame, const char* text) {
  const Ink ink(frame.ui.fonts().strong, frame.ui.theme().text);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text);
}

const Analysed* ask_if_valid(Frame& frame, const AnalysisQuery& query) {
  const Analysed* answer = frame.ask(query);
  return answer && answer->result ? answer : nullptr;
}

/// "logit +13.702 = the sum of its 27 parts", or by how much they miss it. Of a change likewise.
void draw_sum(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found) {
  const LogitAttribution shown = found.shown();
  const double off = std::abs(shown.sum() - shown.logit), size = std::max(std::abs(found.now.logit), 1.0);
  const bool is_right = off <= 1e-3 * size;  // NaN isn't
  std::string of = logit_title(frame, logit);
  if (found.baseline) {
    of = fmt::format("{}: {}, in {} {}. Change", of, signed_text(found.now.logit), baseline_name(frame.state),
                     signed_text(found.baseline->logit));
  }
  const std::string text =
      is_right ? fmt::format("{}: {} = sum of all {} {} (off by {:.0e})", of, signed_text(shown.logit),
                             found.baseline ? "changes" : "parts", signed_text(shown.sum()), off)
               : fmt::format("{}: {}, but the parts sum to {}", of, signed_text(shown.logit), signed_text(shown.sum()));
  frame.ui.ensure_glyphs(text);
  draw_small(frame, text, is_right ? frame.ui.theme().text_dim : frame.ui.theme().warning);
  frame.mark("logits.sum", last_item_rect());
}

/// The number in the baseline; none where nothing is compared.
std::optional<double> if_baseline(const ExplainedLogit& found, double value) {
  return found.baseline ? std::optional(value) : std::nullopt;
}

void draw_components(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found) {
  const std::vector<LogitComponent> components = components_of(found.shown()), now = components_of(found.now),
                                    before = components_of(found.baseline ? *found.baseline : found.now);
  std::vector<double> values;
  std::optional<std::size_t> chosen;
  for (const LogitComponent& component : components) values.push_back(component.value);
  const auto clicked = draw_signed_bars(
      frame, {.name = "logits.part",
              .values = values,
              .label = [&](std::size_t row) { return components[row].title; },
              .about =
                  [&](std::size_t row) {
                    const LogitComponent& part = now[row];
                    return fmt::format("{}: {} of the logit {}.{}", part.title,
                                       change_text(part.value, if_baseline(found, before[row].value)),
                                       signed_text(found.now.logit), part.layer ? " Click: selects the layer." : "");
                  },
              .chosen = chosen,
              .point =
                  [&](std::size_t row) {
                    const LogitComponent& part = now[row];
                    NumberRef number = number_of(frame, logit, part.layer ? kLogitPart : kLogitOther, part.value);
                    if (part.layer) number.block.layer = LayerIndex{*part.layer};
                    add_baseline(number, part.value, if_baseline(found, before[row].value));
                    frame.transient.pointed_number = std::move(number);
                  }});
  if (clicked && components[*clicked].layer) {
    const std::uint32_t head = frame.state.selection.head;
    select_head(frame.state.selection,
                {.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{*components[*clicked].layer}}, head);
    clamp_selection(frame.state, frame.result.shapes);
  }
}

void choose_source_heads(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const std::vector<std::string> labels = {"all heads", fmt::format("L{} H{}", selection.block.layer.value, selection.head)};
  std::size_t chosen = frame.state.logits.sums_heads ? 0 : 1;
  ImGui::SameLine(0.0F, 12.0F);
  if (draw_segmented(frame, "logits.heads", labels, chosen)) frame.state.logits.sums_heads = chosen == 0;
}

void draw_sources(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& explained) {
  draw_heading(frame, "By source token");
  choose_source_heads(frame);
  const LogitSources* found = explained.sources;
  const bool is_waiting = !found || (explained.baseline && !explained.baseline_sources);
  if (is_waiting) return draw_small(frame, "computing\u2026", frame.ui.theme().text_dim);
  const LogitSources shown = explained.shown_sources();
  const PredictionPosition& position = logit.position;
  const std::size_t first = position.first;
  const std::size_t end = std::min<std::size_t>(found->tokens.size(), position.end);
  if (first >= end) return;
  if (frame.result.pairs && explained.baseline) {
    draw_small(frame,
               fmt::format("Tokens of the second text alone gave {} there.", signed_text(explained.baseline_elsewhere)),
               frame.ui.theme().text_dim);
  }
  ImGui::BeginChild("sources", {0.0F, 0.0F});
  const auto token_of = [&](std::size_t row) {
    return predicted_token_text(frame.result, position.batch, static_cast<std::uint32_t>(first + row));
  };
  const auto baseline_of_row = [&](std::size_t row) {
    return explained.baseline_sources ? std::optional(explained.baseline_sources->tokens[first + row]) : std::nullopt;
  };
  const auto clicked = draw_signed_bars(
      frame, {.name = "logits.source",
              .values = std::span(shown.tokens).subspan(first, end - first),
              .label = [&](std::size_t row) { return fmt::format("{}  {}", token_of(row), row); },
              .about =
                  [&](std::size_t row) {
                    return fmt::format("What the heads bring from \u201C{}\u201D (token {}): {}. Click: pins this key.",
                                       token_of(row), row, change_text(found->tokens[first + row], baseline_of_row(row)));
                  },
              .point =
                  [&](std::size_t row) {
                    NumberRef number = number_of(frame, logit, kLogitSource, found->tokens[first + row]);
                    number.notes = {{"source token", fmt::format("token {} \u201C{}\u201D", row, token_of(row))}};
                    add_baseline(number, found->tokens[first + row], baseline_of_row(row));
                    frame.transient.pointed_number = std::move(number);
                  }});
  ImGui::EndChild();
  if (clicked) {
    frame.state.view.pinned = attention::Cell{.query = position.token, .key = static_cast<std::uint32_t>(first + *clicked)};
  }
}

void copy_numbers(const Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found) {
  const auto& texts = predicted_tokens(frame.result).texts;
  const std::vector<std::string> none;
  ImGui::SetClipboardText(
      logit_csv(found, logit.position.batch < texts.size() ? texts[logit.position.batch] : none).c_str());
}

HeadNumbers heads_of(const LogitAttribution& found) {
  HeadNumbers numbers;
  for (std::uint32_t layer = 0; layer < found.layers.size(); ++layer) {
    const std::vector<double>& heads = found.layers[layer].heads;
    for (std::uint32_t head = 0; head < heads.size(); ++head) {
      numbers[{.block = encoder_block(layer), .head = head}] = heads[head];
    }
  }
  return numbers;
}

/// Returns what the map shows.
std::vector<ScoredHead> draw_heads(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found, float most_height) {
  draw_heading(frame, "By head");
  const HeadNumbers before = found.baseline ? heads_of(*found.baseline) : HeadNumbers();
  std::vector<ScoredHead> heads = score_heads(heads_of(found.now), found.baseline ? &before : nullptr);
  const auto about = [](const HeadRef& head, double value) {
    return fmt::format("Layer {}, head {}: {}. Click: its source tokens. Double click: its map.", head.block.layer.value,
                       head.head, signed_text(value));
  };
  const auto number = [&](const HeadRef& head) {
    NumberRef asked = number_of(frame, logit, kLogitHead, 0.0);
    asked.block = head.block;
    asked.head = head.head;
    return asked;
  };
  const auto click = [&](const HeadRef& head, bool is_double) {
    select_head(frame.state.selection, head.block, head.head);
    frame.state.logits.sums_heads = false;
    if (is_double) frame.state.view.tab = kHeadView;
  };
  const ScoredHeads scored{.name = "logits",
                           .cells = "logits.head",
                           .heads = heads,
                           .about = about,
                           .has_signs = true,
                           .number = number,
                           .click = click};
  const float all = score_maps_height(scored, ImGui::GetContentRegionAvail().x);
  ImGui::BeginChild("heads", {0.0F, std::min(all, most_height)}, false);
  draw_score_maps(frame, scored);
  ImGui::EndChild();
  return heads;
}

/// Returns what the map of heads shows.
std::vector<ScoredHead> draw_columns(Frame& frame, const ChosenLogit& logit, const ExplainedLogit& found) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool has_columns = room.x >= kLeastColumns;
  const float left = has_columns ? std::floor((room.x - kColumnGap) * 0.46F) : room.x;
  ImGui::BeginChild("components", {left, has_columns ? 0.0F : std::floor(room.y * 0.4F)});
  draw_heading(frame, "By component");
  draw_components(frame, logit, found);
  ImGui::EndChild();
  if (has_columns) ImGui::SameLine(0.0F, kColumnGap);
  ImGui::BeginChild("details", {0.0F, 0.0F}, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  std::vector<ScoredHead> heads =
      draw_heads(frame, logit, found, std::floor(ImGui::GetContentRegionAvail().y * kMostHeadsShare));
  ImGui::Spacing();
  draw_sources(frame, logit, found);
  ImGui::EndChild();
  return heads;
}

class LogitsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    heads_.clear();
    const EngineResult& result = frame.result;
    if (!result.input || !result.network) return;
    const std::optional<ChosenLogit> logit = chosen_logit(frame);
    if (!logit) return draw_small(frame, "computing\u2026", frame.ui.theme().text_dim);
    const std::string token = candidate_label(result, logit->token);
    frame.ui.ensure_glyphs(token);
    copies_ |= draw_position_header(frame, "logits", fmt::format("Why \u201C{}\u201D?", token), logit->position,
                                    "Copies every number of this view as CSV: parts, heads and source tokens.");
    draw_small(
        frame,
        "Direct logit attribution: what each part writes into the residual stream, times the final norm's scale and the "
        "token's row of the unembedding.",
        frame.ui.theme().text_dim);
    choose_tokens(frame, *logit, "logits");
    const Analysed* parts = frame.ask(parts_of(*logit));
    if (parts && !parts->error.empty()) return draw_small(frame, parts->error, frame.ui.theme().warning);
    const LogitAttribution* found = parts ? parts->as<LogitAttribution>() : nullptr;
    const Analysed* sources = ask_if_valid(frame, sources_of(*logit, frame.state));
    if (!found) return draw_small(frame, "computing\u2026", frame.ui.theme().text_dim);
    const Analysed* baseline_parts = ask_of_counterpart(frame, parts_of(*logit));
    const Analysed* baseline_sources = ask_of_counterpart(frame, sources_of(*logit, frame.state));
    ExplainedLogit explained{.now = *found, .sources = sources ? sources->as<LogitSources>() : nullptr};
    if (baseline_parts && baseline_parts->is_done)
      explained.baseline = comparable(*found, baseline_parts->as<LogitAttribution>());
    if (explained.baseline && baseline_sources && baseline_sources->is_done) {
      const LogitSources* of_baseline = baseline_sources->as<LogitSources>();
      if (of_baseline && explained.sources) {
        counterparts_ = of_counterparts(frame.result, logit->position.batch, *of_baseline, explained.sources->tokens.size(),
                                        explained.baseline_elsewhere);
        explained.baseline_sources = &counterparts_;
      }
    }
    frame.transient.pointed_number = number_of(frame, *logit, kLogitNumber, found->logit);
    if (std::exchange(copies_, false)) copy_numbers(frame, *logit, explained);
    draw_comparison(frame, "logits", "each part", baseline_parts);
    draw_sum(frame, *logit, explained);
    ImGui::Spacing();
    heads_ = draw_columns(frame, *logit, explained);
    compared_ = difference_caption(frame.state);
    figure_.title = fmt::format("What each head gives to the {}{}", logit_title(frame, *logit),
                                explained.baseline ? ", " + compared_ : "");
    figure_.subtitle =
        "Direct logit attribution: a head's output through W_O, times the final norm's scale and the token's "
        "row of the unembedding.";
    figure_.value_title = "part of the logit";
  }

  std::unique_ptr<exporting::Drawing> figure() const override { return make_scored_figure(heads_, figure_, compared_); }

 private:
  LogitSources counterparts_;      ///< of the baseline, by this run's tokens
  std::vector<ScoredHead> heads_;  ///< of the last frame
  HeadMapFigure figure_;           ///< its words
  std::string compared_;           ///< what differences are
  bool copies_ = false;            ///< as soon as the numbers are there
};

}  // namespace

std::unique_ptr<ViewPanel> open_logits_view() { return std::make_unique<LogitsView>(); }

}  // namespace headlight::app
