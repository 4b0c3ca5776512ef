#include "app/widgets/baseline_numbers.h"

#include "app/quantities/shown_map.h"
#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/signed_bars.h"

namespace headlight::app {

bool shows_difference_of(const Frame& frame, QuantityId shown) {
  if (!frame.shows_difference()) return false;
  const bool is_of_weights = shown == QuantityId(attention::Stage::Weights) || shown == kMeanOfLayer || shown == kMeanOfKind;
  return is_of_weights || !compares_capture_with_network(frame.state);
}

bool head_map_shows_difference(const Frame& frame) {
  const attention::Stage stage = shown_stage(frame.state);
  const bool is_of_weights = stage == attention::Stage::Weights;
  return shows_difference_of(
      frame, is_of_weights ? weights_of(frame.state.selection.mean, shows_norms(frame.state)) : QuantityId(stage));
}

const Analysed* ask_of_baseline(Frame& frame, AnalysisQuery query) {
  if (!frame.shows_difference()) return nullptr;
  query.is_of_reference = true;
  return frame.ask(query);
}

const Analysed* ask_of_counterpart(Frame& frame, AnalysisQuery query) {
  static const Analysed kNone{.result = nullptr, .error = "its token has no counterpart in the other text", .is_done = true};
  if (!frame.shows_difference()) return nullptr;
  const std::optional<std::uint32_t> token = frame.result.in_reference(query.batch, query.query);
  if (!token) return &kNone;
  query.query = *token;
  return ask_of_baseline(frame, query);
}

const Analysed* ask_of_same_tokens(Frame& frame, const AnalysisQuery& query) {
  static const Analysed kOther{
      .result = nullptr, .error = "the two texts have different numbers of tokens", .is_done = true};
  if (!frame.shows_difference()) return nullptr;
  return frame.result.pairs ? &kOther : ask_of_baseline(frame, query);
}

const Analysed* subtractable(const Analysed* now, const Analysed* baseline) {
  if (baseline == nullptr || !baseline->is_done) return nullptr;
  const bool is_whole = now != nullptr && now->is_done && now->result;
  return is_whole || !baseline->error.empty() ? baseline : nullptr;
}

void draw_comparison(Frame& frame, const std::string& view, const std::string& of, const Analysed* baseline) {
  const CompareChoices& compare = frame.state.compare;
  if (!compare.baseline || !compare.shows_difference) return;
  const std::string& refusal = frame.result.reference_error;
  std::string text = fmt::format("Shown is {}, {}: red is more than in \u201C{}\u201D, blue less. D shows this run alone.",
                                 of, difference_caption(frame.state), compare.baseline->name);
  if (baseline == nullptr || !baseline->is_done) {
    text = "The baseline\u2019s numbers are being computed; until then these are this run\u2019s.";
  }
  const std::string why = refusal.empty() && baseline != nullptr ? baseline->error : refusal;
  if (!why.empty()) text = fmt::format("These are this run\u2019s own numbers: they can\u2019t be compared, {}.", why);
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, why.empty() ? frame.ui.theme().text_dim : frame.ui.theme().warning, text);
  frame.mark(view + ".compared", last_item_rect());
}

std::string change_text(double now, std::optional<double> baseline) {
  if (!baseline) return signed_text(now);
  return fmt::format("{} (now {}, baseline {})", signed_text(now - *baseline), signed_text(now), signed_text(*baseline));
}

void add_baseline(NumberRef& number, double now, std::optional<double> baseline) {
  if (!baseline) return;
  number.notes.emplace_back("in the baseline", fmt::format("{:.9g}", *baseline));
  number.notes.emplace_back("change", fmt::format("{:.9g}", now - *baseline));
}

}  // namespace headlight::app
