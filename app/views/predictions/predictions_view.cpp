#include "app/views/view.h"

#include "app/state/map_settings.h"

#include "app/engine/continuation.h"
#include "app/engine/prediction_memory.h"
#include "app/figures/view_figures.h"
#include "app/state/comparison.h"
#include "app/state/predictions_settings.h"
#include "app/views/predictions/every_position.h"
#include "app/views/predictions/lens_grid.h"
#include "app/views/predictions/loss_chart.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/form.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

using inference::SamplingMethod;

constexpr std::array<const char*, 2> kMethods = {"likeliest", "random"};
constexpr std::uint32_t kTokenStep = 10;

void draw_sampling(Form& form, inference::SamplingSettings& sampling) {
  form.decimal("temperature", "Temperature", sampling.temperature, kMinTemperature, kMaxTemperature,
               "Logits are divided by it: below 1 the likely become likelier. Drag, or Ctrl and click to type.");
  form.number("top_k", "Top k", sampling.top_k,
              {.low = 0,
               .high = kMaxTopK,
               .below = sampling.top_k > 0 ? sampling.top_k - 1U : 0U,
               .above = sampling.top_k + 1U,
               .hint = "all"},
              "Only the k likeliest tokens are drawn from.");
  form.decimal("top_p", "Top p", sampling.top_p, 0.0F, 1.0F,
               "Only the likeliest tokens that together reach this probability are drawn from; 1: all.");
  form.number("seed", "Seed", sampling.seed,
              {.low = 0,
               .high = UINT64_MAX,
               .below = sampling.seed > 0 ? sampling.seed - 1 : 0,
               .above = sampling.seed < UINT64_MAX ? sampling.seed + 1 : sampling.seed},
              "The same seed draws the same tokens.");
}

/// The height they take.
float generation_controls_height(const Frame& frame) {
  const bool is_random = frame.state.generation.sampling.method == SamplingMethod::Random;
  const float row = ImGui::GetFrameHeight() + ImGui::GetStyle().ItemSpacing.y;
  return row * (is_random ? 7.0F : 3.0F) + 8.0F;
}

/// Is the model writing on?
bool is_generating(const Frame& frame) { return frame.generation && frame.generation->is_running(); }

/// How to continue the text, and the button that does or stops it.
void draw_generation_controls(Frame& frame, NumberBeingTyped& typed) {
  Form form(frame, typed, "generate");
  GenerationChoices& choices = frame.state.generation;
  const bool is_running = is_generating(frame);
  form.set_read_only(is_running);
  int method = static_cast<int>(choices.sampling.method);
  if (form.segments("method", "Next token", kMethods, method, "Always the likeliest one, or drawn from the distribution.")) {
    choices.sampling.method = static_cast<SamplingMethod>(method);
  }
  if (choices.sampling.method == SamplingMethod::Random) draw_sampling(form, choices.sampling);
  form.number("tokens", "Tokens, at most", choices.tokens,
              {.low = 1,
               .high = kMaxGeneratedTokens,
               .below = choices.tokens > kTokenStep ? choices.tokens - kTokenStep : 1U,
               .above = choices.tokens + kTokenStep},
              "Tokens.");
  form.set_read_only(false);
  const shell::Theme& theme = frame.ui.theme();
  ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
  if (is_running) {
    if (form.button("stop", "Stop", 120.0F)) frame.start_command("generation.stop");
  } else {
    if (form.button("start", "Generate", 120.0F)) frame.start_command("generation.start");
  }
  ImGui::PopStyleColor(4);
  ImGui::SameLine();
  write_label(frame.ui.fonts().small, theme.text_dim, "speed");
  ImGui::SameLine();
  choose_motion_speed(frame, "generate.speed", kNewRowSpeed, true);
  std::string remark = frame.generation ? frame.generation->outcome() : std::string();
  if (is_running) remark = fmt::format("{} of {} tokens", frame.generation->count(), choices.tokens);
  if (!remark.empty()) {
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    write_dim(frame, remark);
    frame.mark("generate.remark", last_item_rect());
  }
}

using Kind = PredictionPosition::Kind;

constexpr float kColumnGap = 28.0F;
constexpr float kMinColumns = 620.0F;  // narrower: the bars alone, the lens below

const char* title_of(const EngineResult& result, Kind kind) {
  if (kind == Kind::Masked) return "In the mask's place";
  if (kind == Kind::InPlace) return "In a token's own place";
  return result.input->target ? "Next token of the target" : "Next token";
}

const char* hint_of(const PredictionPosition& position) {
  if (position.kind == Kind::Masked) return "click: puts it in the mask's place";
  if (position.kind == Kind::InPlace) return "click: puts it in the token's place";
  return position.token + 1 < position.end ? "click: puts it in the place of the next token" : "click: appends it";
}

/// Where a masked model's text has no mask: what is shown instead, and how to put one in.
void draw_mask_offer(Frame& frame, const PredictionPosition& position) {
  const std::optional<std::uint32_t> mask = mask_token(frame.result);
  if (position.kind != Kind::InPlace || !mask) return;
  const std::string label = fmt::format("Put {} here", candidate_label(frame.result, *mask));
  if (draw_button(frame, "prediction.mask", label.c_str())) put_token(frame.state, frame.result, position, *mask);
}

/// What the outlines are, and the token whose chance has changed most, which may be none of those on screen.
void draw_change(Frame& frame, const inference::Distribution& now, const inference::Distribution& before,
                 const std::string& outlines) {
  std::size_t most = 0;
  const auto change = [&](std::size_t id) { return std::abs(now.chances[id] - before.chances[id]); };
  for (std::size_t id = 1; id < now.chances.size(); ++id) {
    if (change(id) > change(most)) most = id;
  }
  const std::string label = candidate_label(frame.result, static_cast<std::uint32_t>(most));
  frame.ui.ensure_glyphs(label);
  std::string text = fmt::format("outlines: {}", outlines);
  text += change(most) < 5e-4 ? " \u00B7 hardly any difference"
                              : fmt::format(" \u00B7 most: \u201C{}\u201D {} \u2192 {}", label,
                                            percent_text(before.chances[most]), percent_text(now.chances[most]));
  write_text(frame.ui.fonts().small, frame.ui.theme().text, fit_text(frame.ui.fonts().small, text, width_left()));
  mark_last_item(frame, "prediction.change", text.c_str());
}

/// What is asked about a bar: its token's share as the sampling settings make it.
NumberRef number_of(const Frame& frame, const PredictionPosition& position, std::uint32_t id, double share, bool is_cut) {
  NumberRef number{.of = std::string(kProbability),
                   .block = frame.state.selection.block,
                   .batch = position.batch,
                   .row = position.token,
                   .column = id,
                   .value = share,
                   .notes = {{"token", fmt::format("\u201C{}\u201D", candidate_label(frame.result, id))}}};
  const inference::SamplingSettings& sampling = frame.state.generation.sampling;
  if (sampling.method == inference::SamplingMethod::Greedy) return number;
  std::string text = fmt::format("logits divided by the temperature {:.4g}", sampling.temperature);
  if (sampling.top_k > 0) text += fmt::format(", top k {}", sampling.top_k);
  if (sampling.top_p < 1.0F) text += fmt::format(", top p {:.4g}", sampling.top_p);
  text += is_cut ? "; the token is cut off, this is its probability before" : "; what is left is divided by its sum";
  number.notes.emplace_back("sampling", std::move(text));
  return number;
}

/// Says how likely the token under the pointer is, else the likeliest, and what it was before: the header
/// says at which position.
Sentence expected_sentence(const Frame& frame, std::uint32_t likeliest, const inference::Distribution& now,
                           const inference::Distribution* before, const std::string& outlines) {
  const std::uint32_t id = frame.transient.pointed_number ? frame.transient.pointed_number->column : likeliest;
  const double share = now.chances[id] > 0.0 ? now.chances[id] : now.probabilities[id];
  const std::string change = before ? fmt::format("{} from {} ({}) to", share < before->chances[id] ? "falls" : "rises",
                                                  percent_word(before->chances[id]), outlines)
                                    : "has";
  const bool is_likeliest = !before && id == likeliest;
  return fmt::format("{}{} {} {}.", is_likeliest ? "Likeliest is " : "", token_word(candidate_label(frame.result, id)),
                     is_likeliest ? "with" : change, percent_word(share));
}

/// Bars, and below them what continues the text.
void draw_distribution(Frame& frame, NumberBeingTyped& typed, PredictionMemory& memory, const PredictionPosition& position,
                       exporting::PredictionsFigure& kept) {
  const bool can_generate = frame.result.model && predicts_next(frame.result);
  const Prediction* prediction = frame.ask(PredictionQuery{.batch = position.batch,
                                                           .token = position.token,
                                                           .layer = predicting_layers(*frame.result.network),
                                                           .keeps_logits = true});
  memory.observe(frame.result, position, prediction, ImGui::GetTime(), ImGui::IsAnyMouseDown());
  const inference::SamplingSettings& sampling = frame.state.generation.sampling;
  // Until the new ones are there, the last ones stay.
  const inference::Distribution* now = memory.is_of(frame.result) ? memory.shown(sampling) : nullptr;
  const inference::Distribution* baseline = now ? baseline_distribution(frame, memory, position, sampling) : nullptr;
  const inference::Distribution* before = baseline                                               ? baseline
                                          : now && !is_generating(frame) && !is_comparing(frame) ? memory.before(sampling)
                                                                                                 : nullptr;
  write_note(frame, now ? distribution_in_words(*now, sampling) : "computing\u2026");
  const std::string outlines = baseline ? baseline_name(frame.state) : fmt::format("before {} changed", memory.change());
  if (before) draw_change(frame, *now, *before, outlines);
  ImGui::Spacing();
  const float controls = can_generate ? generation_controls_height(frame) : 0.0F;
  const float height = height_left() - controls - 12.0F;
  ImGui::BeginChild("bars", {0.0F, std::max(height, 60.0F)}, false, ImGuiWindowFlags_NoScrollbar);
  if (now) {
    set_bars(kept, memory.candidates(), *now, frame.result.model.get());
    kept.subtitle = distribution_in_words(*now, sampling);
    const auto clicked = draw_prediction_bars(
        frame,
        {.candidates = memory.candidates(),
         .now = *now,
         .before = before,
         .hint = hint_of(position),
         .point = [&](std::uint32_t id, double share,
                      bool is_cut) { frame.transient.pointed_number = number_of(frame, position, id, share, is_cut); }},
        height_left());
    if (!memory.candidates().empty())
      frame.says = expected_sentence(frame, memory.candidates().front().id, *now, before, outlines);
    if (clicked && !is_generating(frame)) put_token(frame.state, frame.result, position, *clicked);
  }
  ImGui::EndChild();
  if (can_generate) draw_generation_controls(frame, typed);
}

/// What the figure shows beside the bars: the layers of the logit lens that are known.
void keep_layers(Frame& frame, const PredictionPosition& position, exporting::PredictionsFigure& kept) {
  kept.title = position_in_words(*frame.result.input, position);
  const std::uint32_t layers = predicting_layers(*frame.result.network);
  for (std::uint32_t passed = layers + 1; passed-- > 0;) {
    const Prediction* read = frame.result.prediction(
        {.batch = position.batch, .token = position.token, .layer = passed, .keeps_logits = passed == layers});
    if (read) add_layer(kept, passed, layers, read->candidates, frame.result.model.get());
  }
  kept.style.color_map = frame.state[kMapView.color_map];
}

/// Bars and generation in the left column, the logit lens in the right one.
void draw_position(Frame& frame, NumberBeingTyped& typed, PredictionMemory& memory, exporting::PredictionsFigure& kept,
                   const PredictionPosition& position) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool has_columns = room.x >= kMinColumns;
  const float left = has_columns ? std::floor((room.x - kColumnGap) * 0.5F) : room.x;
  ImGui::BeginChild("distribution", {left, has_columns ? 0.0F : std::floor(room.y * 0.6F)}, false,
                    ImGuiWindowFlags_NoScrollbar);
  draw_distribution(frame, typed, memory, position, kept);
  ImGui::EndChild();
  if (has_columns) ImGui::SameLine(0.0F, kColumnGap);
  ImGui::BeginChild("layers", {0.0F, 0.0F}, false, ImGuiWindowFlags_NoScrollbar);
  write_strong(frame, "Logit lens");
  mark_last_item(frame, "lens.title",
                 "The state after a layer goes through the final norm and the unembedding, as if the layers after it "
                 "were not there.");
  ImGui::SameLine(0.0F, kControlGap);
  draw_scale(frame, {.colors = weight_colors(frame.state), .low = "0", .high = "100 %"});
  write_note(frame, "Read after each layer: the output at the top, the token\u2019s vector below");
  ImGui::Spacing();
  draw_logit_lens(frame, position);
  ImGui::EndChild();
  keep_layers(frame, position, kept);
}

/// What the model expects at one position of the text: its distribution as bars, as the sampling settings shape it, with
/// outlines of the distribution before the last change; the logit lens; and how to go on. A click
/// on a candidate puts it into the text.
class PredictionsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    kept_ = {};
    part_ = frame.state[kPredictionsView.part];
    if (!frame.result.input || !frame.result.network) return;
    const PredictionPosition position = prediction_position(frame.state, frame.result);
    const bool is_grid = part_ == PredictionsPart::Layers;
    const bool has_losses = part_ == PredictionsPart::Positions && predicts_next(frame.result);
    const char* copied = is_grid      ? "Copies all layers at all positions as CSV."
                         : has_losses ? "Copies each token\u2019s loss and their running mean as CSV."
                                      : nullptr;
    draw_position_header(frame, "prediction", title_of(frame.result, position.kind), position, copied);
    if (!is_grid) draw_mask_offer(frame, position);
    choose(frame, kPredictionsView.part);
    ImGui::Spacing();
    if (part_ == PredictionsPart::Position) return draw_position(frame, typed_, memory_, kept_, position);
    if (is_grid) {
      grid_.draw(frame, position);
      if (grid_.is_opened()) frame.state.set(kPredictionsView.part, PredictionsPart::Position);
      return;
    }
    const std::optional<std::uint32_t> of_chart = losses_.draw(frame, position);
    const std::optional<std::uint32_t> of_table = positions_.draw(frame, position);
    if (!of_chart && !of_table) return;
    choose_position(frame, of_chart ? *of_chart : *of_table);
    frame.state.set(kPredictionsView.part, PredictionsPart::Position);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (part_ == PredictionsPart::Layers) return grid_.figure();
    if (part_ == PredictionsPart::Positions) return losses_.figure();
    if (kept_.bars.empty()) return nullptr;
    return exporting::make_drawing(kept_);
  }

 private:
  NumberBeingTyped typed_;
  PredictionMemory memory_;
  LensGrid grid_;
  LossChart losses_;
  EveryPosition positions_;
  PredictionsPart part_ = PredictionsPart::Position;  ///< in the last frame, as what follows
  exporting::PredictionsFigure kept_;
};

}  // namespace

std::unique_ptr<ViewPanel> open_predictions_view() { return std::make_unique<PredictionsView>(); }

}  // namespace headlight::app
