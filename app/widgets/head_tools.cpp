#include "app/widgets/head_tools.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {

namespace {

using evaluation::HeadMetric;

/// Returns "8,192".
std::string grouped(std::uint32_t number) {
  if (number < 1'000) return std::to_string(number);
  return fmt::format("{},{:03}", grouped(number / 1'000), number % 1'000);
}

}  // namespace

ShownMetrics ask_metrics(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const Analysed* answer = frame.ask(HeadMetricsQuestion{.kind = selection.block.kind, .batch = selection.batch});
  if (!answer) return {};
  return {.found = answer->as<HeadMetricsFound>(),
          .error = answer->error,
          .is_current = answer->is_done && answer->run == frame.result.run};
}

ShownMetrics ask_cheap_metrics(Frame& frame) {
  constexpr std::uint32_t kMaxTokens = 2'048;
  const inference::BlockShape* shape = selected_shape(frame);
  const bool is_cheap = shape && std::max(shape->queries, shape->keys) <= kMaxTokens && !frame.transient.aim.is_nameless;
  return is_cheap ? ask_metrics(frame) : ShownMetrics();
}

bool are_trained(const State& state) { return is_model(state.source) || is_capture(state.source); }

ShownMetrics role_metrics(Frame& frame) {
  constexpr std::uint32_t kMinTokens = 6;
  const attention::KeyRange keys = key_range(frame);
  return keys.end - keys.begin >= kMinTokens ? ask_cheap_metrics(frame) : ShownMetrics();
}

std::string coverage_text(const ShownMetrics& metrics) {
  if (!metrics.found) return metrics.error.empty() ? "measuring\u2026" : metrics.error;
  const HeadMetricsFound& found = *metrics.found;
  std::string text;
  if (!found.is_complete()) text = fmt::format("{} of {} heads measured", found.heads.size(), found.all_heads);
  if (found.measured_queries < found.queries) {
    if (!text.empty()) text += " \u00B7 ";
    text += fmt::format("sampled: {} of {} queries, in strips at equal distances", grouped(found.measured_queries),
                        grouped(found.queries));
  }
  return text;
}

std::optional<HeadRef> best_head(const HeadMetricsFound& found, HeadMetric metric) {
  std::optional<HeadRef> best;
  double most = 0.0;
  for (const auto& [head, metrics] : found.heads) {
    const std::optional<double> value = metrics.value(metric);
    if (!value || (best && *value <= most)) continue;
    best = head;
    most = *value;
  }
  return best;
}

std::optional<std::string> seek_head(Frame& frame) {
  if (!frame.transient.seeks_head || frame.result.run == 0) return std::nullopt;
  const ShownMetrics metrics = ask_metrics(frame);
  if (!metrics.is_current) return std::nullopt;  // they come with a later frame
  const HeadMetric metric = *std::exchange(frame.transient.seeks_head, std::nullopt);
  if (!metrics.found) return metrics.error;
  const std::optional<HeadRef> best = best_head(*metrics.found, metric);
  if (!best) {
    return metric == HeadMetric::PreviousToken
               ? "This text has one token: nothing comes before it"
               : "No token comes twice in this text: type one that repeats itself, for instance the same sentence twice";
  }
  select_head(frame.state.selection, *best);
  frame.ui.request_redraw(2);
  return fmt::format("L{}H{} {}: {}", best->block.layer.value, best->head, text_of(metric).sentence,
                     metric_number(metric, metrics.of(*best)->value(metric)));
}

namespace {

using evaluation::HeadMetric;
using evaluation::kHeadMetrics;

constexpr float kToolGap = 14.0F;
constexpr float kMetricWidth = 150.0F;
constexpr float kMinWidth = 110.0F;
constexpr float kFindsWidth = 160.0F;  // at least

struct Find {
  const char* label;
  const char* command;
  HeadMetric metric;
};
constexpr std::array kFinds = {Find{"previous token", "head.find.previous", HeadMetric::PreviousToken},
                               Find{"induction", "head.find.induction", HeadMetric::Induction},
                               Find{"duplicate token", "head.find.duplicate", HeadMetric::DuplicateToken},
                               Find{"sink", "head.find.sink", HeadMetric::Sink}};

void draw_label(Frame& frame, const char* text) {
  write_label(frame.ui.fonts().small, frame.ui.theme().text_dim, text);
  ImGui::SameLine(0.0F, 6.0F);
}

float label_width(const Frame& frame, const char* text) { return text_width(frame.ui.fonts().small, text) + 6.0F; }

void draw_finds(Frame& frame, const std::string& name) {
  const bool has_patterns = frame.state.selection.block.kind != model::BlockKind::Cross;
  draw_label(frame, "Find");
  bool is_first = true;
  for (std::size_t i = 0; i < kFinds.size(); ++i) {
    if (!has_patterns && evaluation::is_of_pattern(kFinds[i].metric)) continue;
    const float width = button_width(kFinds[i].label);
    if (!std::exchange(is_first, false)) continue_line(width, 4.0F);
    if (draw_button(frame, fmt::format("{}.find.{}", name, i), kFinds[i].label,
                    fmt::format("Selects the head with the largest value. {}", text_of(kFinds[i].metric).help).c_str()))
      frame.start_command(kFinds[i].command);
  }
}

constexpr std::array kMeasures = {
    "The mean weight that a query gives to the cells of the pattern.",
    "TransformerLens\u2019 mul: the part of all of the map\u2019s weight that is on the pattern.",
    "TransformerLens\u2019 abs: 1 minus how far map and pattern are apart, summed over cells and divided by the tokens."};

void choose_scoring(Frame& frame, const std::string& name) {
  if (frame.state.selection.block.kind == model::BlockKind::Cross) return;  // no patterns
  evaluation::PatternScoring& scoring = frame.state.heads.scoring;
  const std::vector<std::string> measures = {"mean", "mul", "abs"};
  const std::vector<std::string> exclusions = {"all", "no first", "no current", "neither"};
  continue_line(label_width(frame, "Score") + segmented_width(frame, measures), kToolGap);
  draw_label(frame, "Score");
  const glm::vec2 at = cursor_position();
  choose_segment(frame, (name + ".measure").c_str(), measures, scoring.measure);
  float left = at.x;
  for (std::size_t i = 0; i < measures.size(); ++i) {
    const float width = segmented_width(frame, std::span(measures).subspan(i, 1));
    ImGui::SetCursorScreenPos({left, at.y});
    ImGui::Dummy({width, ImGui::GetFrameHeight()});
    explain_last_item(frame, kMeasures.at(i));
    left += width;
  }
  if (scoring.measure == evaluation::PatternMeasure::Mean) return;  // of which no cell is left out
  continue_line(label_width(frame, "Keys") + segmented_width(frame, exclusions), kToolGap);
  draw_label(frame, "Keys");
  std::size_t bits = (scoring.exclusions.first_token ? 1U : 0U) + (scoring.exclusions.current_token ? 2U : 0U);
  if (draw_segmented(frame, (name + ".exclude").c_str(), exclusions, bits)) {
    scoring.exclusions = {.first_token = (bits & 1U) != 0, .current_token = (bits & 2U) != 0};
  }
}

/// Returns the largest value that a filter may ask for.
float most_of(HeadMetric metric, const ShownMetrics& metrics) {
  if (text_of(metric).is_share || !metrics.found) return 1.0F;
  const std::optional<HeadRef> best = best_head(*metrics.found, metric);
  return best ? static_cast<float>(metrics.of(*best)->value(metric).value_or(1.0)) : 1.0F;
}

void choose_filter(Frame& frame, const std::string& name, const ShownMetrics& metrics) {
  HeadChoices& choices = frame.state.heads;
  continue_line(label_width(frame, "Show") + kMetricWidth, kToolGap);
  draw_label(frame, "Show");
  ImGui::SetNextItemWidth(kMetricWidth);
  choose_metric(frame, name + ".filter", "all heads", choices.filter,
                "Shows only heads with at least the value beside of one metric.");
  if (choices.filter) {
    continue_line(kMinWidth, kToolGap);
    ImGui::SetNextItemWidth(kMinWidth);
    const float most = most_of(*choices.filter, metrics);
    ImGui::SliderFloat(("##" + name + ".least").c_str(), &choices.least, 0.0F, std::max(most, 1e-3F), "at least %.2f");
    mark_last_item(frame, name + ".least", "The least value of the heads that are shown; Ctrl+click types it.");
    step_by_keys(frame, choices.least, 0.0F, std::max(most, 1e-3F), 0.01F);
  }
  continue_line(ImGui::CalcTextSize("pinned only").x + ImGui::GetFrameHeight() + 8.0F, kToolGap);
  check_box(frame, name + ".pinned", "pinned only", choices.only_pinned,
            "Shows only heads that are pinned: by Space, or by the ring beside a head.");
}

void select(Frame& frame, const HeadRef& head) { select_head(frame.state.selection, head); }

}  // namespace

bool choose_metric(Frame& frame, const std::string& name, const char* none, std::optional<HeadMetric>& metric,
                   const char* explanation) {
  const std::optional<HeadMetric> before = metric;
  OpenList list(frame, name, metric ? std::string(evaluation::metric_name(*metric)).c_str() : none, explanation);
  if (!list) return false;
  const auto entry = [&](const std::string& title, std::optional<HeadMetric> value, const char* help) {
    if (list.entry(title.c_str(), title, metric == value, help)) metric = value;
  };
  entry(none, std::nullopt, "Without a metric.");
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto value = static_cast<HeadMetric>(i);
    entry(std::string(evaluation::metric_name(value)), value, text_of(value).help);
  }
  return metric != before;
}

void draw_head_tools(Frame& frame, const char* name, const ShownMetrics& metrics) {
  const float before = ImGui::GetCursorPosY();
  choose_kind(frame, std::string(name) + ".kind");
  if (ImGui::GetCursorPosY() > before) continue_line(kFindsWidth, kToolGap);
  draw_finds(frame, name);
  choose_scoring(frame, name);
  choose_filter(frame, name, metrics);
}

void draw_head_note(Frame& frame, const char* name, const ShownMetrics& metrics, const std::optional<HeadRef>& hovered,
                    bool tells_metrics) {
  const Selection& selection = frame.state.selection;
  const HeadRef head = hovered.value_or(selection.head_ref());
  const evaluation::HeadMetrics* known = metrics.of(head);
  if (known) frame.says = head_sentence(head, *known, are_trained(frame.state)) + ".";
  const TextStyleScope ink(frame);
  std::string how = coverage_text(metrics);
  if (how.empty() && tells_metrics && known) how = head_name(head) + ": " + metrics_text(*known, frame.state.heads.scoring);
  if (how.empty() && selection.block.kind == model::BlockKind::Cross) {
    how = "Between two texts no token is the previous one or an equal one, and there is no distance: these have no numbers.";
  }
  if (how.empty()) {
    how = fmt::format("Measured on the {} in view. Enter or a double click opens a head, Space pins it.",
                      patch_images(frame, MapSide::Key).is_empty() ? "text" : "image");
  }
  ImGui::TextUnformatted(fit_text(frame.ui.fonts().small, how, width_left()).c_str());
  frame.mark(std::string(name) + ".coverage", last_item_rect());
}

bool has_heads_to_show(Frame& frame, const char* name, const ShownMetrics& metrics, bool is_list_empty) {
  if (!is_list_empty) return true;
  const HeadChoices& choices = frame.state.heads;
  const bool waits = choices.filter && !metrics.found && metrics.error.empty();
  const char* text = waits                 ? "The heads are being measured\u2026"
                     : choices.only_pinned ? "No head of this kind is pinned. Space pins the selected head."
                                           : "No head passes the filter. Lower its value, or show all heads.";
  ImGui::Dummy({1.0F, std::round(height_left() * 0.3F)});
  write_wrapped(frame.ui.fonts().body, frame.ui.theme().text_dim, text, ImGui::GetContentRegionMax().x);
  frame.mark(std::string(name) + ".empty", last_item_rect());
  if (waits) return false;
  if (draw_button(frame, std::string(name) + ".show_all", "Show all heads", "Shows every head again.")) {
    frame.state.heads.filter.reset();
    frame.state.heads.only_pinned = false;
  }
  return false;
}

bool move_through_heads(Frame& frame, const std::vector<HeadRef>& heads, std::size_t columns) {
  if (has_popup() || heads.empty()) return false;
  const Selection& selection = frame.state.selection;
  const HeadRef selected = selection.head_ref();
  if (frame.ui.is_pressed(shell::Key::Enter)) open_head(frame, selected);
  if (frame.ui.is_pressed(shell::Key::Space)) toggle_pin(frame.state.heads, selected);
  const auto at = static_cast<std::size_t>(std::ranges::find(heads, selected) - heads.begin());
  std::size_t next = at;
  const std::size_t last = heads.size() - 1;
  const bool is_listed = at <= last;
  const auto forwards = [&](std::size_t steps) { next = !is_listed ? 0 : at + steps <= last ? at + steps : at; };
  const auto backwards = [&](std::size_t steps) { next = !is_listed ? last : at >= steps ? at - steps : at; };
  if (frame.ui.is_pressed(shell::Key::Down)) forwards(columns);
  if (frame.ui.is_pressed(shell::Key::Up)) backwards(columns);
  if (columns > 1 && frame.ui.is_pressed(shell::Key::Right)) forwards(1);
  if (columns > 1 && frame.ui.is_pressed(shell::Key::Left)) backwards(1);
  if (frame.ui.is_pressed(shell::Key::Home)) next = 0;
  if (frame.ui.is_pressed(shell::Key::End)) next = last;
  if (next == at) return false;
  select(frame, heads[next]);
  frame.ui.request_redraw(2);
  return true;
}

void open_head(Frame& frame, const HeadRef& head) {
  select(frame, head);
  frame.state.view.tab = kHeadView;
  frame.ui.request_redraw(2);
}

}  // namespace headlight::app
