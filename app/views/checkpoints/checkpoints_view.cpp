#include "app/data/checkpoints/checkpoint_room.h"
#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/token_losses.h"
#include "app/engine/translation.h"
#include "app/shapes/table.h"
#include "app/state/checkpoints_settings.h"
#include "app/views/view.h"
#include "app/widgets/controls.h"
#include "app/widgets/examples.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/step_plot.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

/// Curves over the steps that have a number.
struct Curves {
  std::vector<std::size_t> places;  ///< of those steps in the series
  std::vector<std::int64_t> steps;
  std::vector<HeadRef> heads;
  std::vector<std::vector<double>> head_values;  ///< [head, step]; NaN: not measured, or not defined
  std::vector<double> loss, in_context;          ///< [step]
  std::size_t failed = 0;                        ///< steps that couldn't be measured
};

Curves curves_of(const CheckpointRoom& room, evaluation::HeadMetric metric) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Curves curves;
  const std::vector<SeriesStep>& steps = room.series().steps;
  std::map<HeadRef, std::size_t> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].step) continue;
    curves.places.push_back(i);
    curves.steps.push_back(*steps[i].step);
    const StepNumbers* numbers = room.numbers(i);
    if (numbers == nullptr) continue;
    if (!numbers->error.empty()) ++curves.failed;
    for (const auto& [head, metrics] : numbers->heads) rows.try_emplace(head, 0);
  }
  for (auto& [head, row] : rows) {
    row = curves.heads.size();
    curves.heads.push_back(head);
  }
  const std::size_t count = curves.steps.size();
  curves.head_values.assign(curves.heads.size(), std::vector<double>(count, kNone));
  curves.loss.assign(count, kNone);
  curves.in_context.assign(count, kNone);
  for (std::size_t at = 0; at < count; ++at) {
    const StepNumbers* numbers = room.numbers(curves.places[at]);
    if (numbers == nullptr) continue;
    for (const auto& [head, metrics] : numbers->heads)
      curves.head_values[rows[head]][at] = metrics.value(metric).value_or(kNone);
    curves.loss[at] = numbers->loss.value_or(kNone);
    curves.in_context[at] = numbers->in_context.value_or(kNone);
  }
  return curves;
}

bool has_values(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isfinite(value); });
}

/// A number over the steps, below those of the heads.
struct SmallCurve {
  std::string name, title;
  std::vector<std::int64_t> steps;
  std::vector<double> values;  ///< [step]
  const char* help = "As the training logged it.";
};

/// Metrics, loss and logged numbers over the steps of a training.
class CheckpointsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!frame.checkpoints) return;
    CheckpointRoom& room = *frame.checkpoints;
    room_ = &room;
    const StepSeries& series = room.series();
    if (series.steps.empty() && series.scalars.empty()) {
      curves_ = {};
      draw_empty_note(
          frame, "checkpoints.empty",
          room.is_looking() ? "Looking for checkpoints\u2026" : "No other steps of this training",
          !series.trouble.empty()
              ? series.trouble + "."
              : "Open one of a training\u2019s folders (checkpoint-500, step1000, \u2026), a model of Hugging Face\u2019s "
                "cache with several revisions, or a .zip of saved steps; or send steps from Python with "
                "headlight.connect().");
      go_below_note();
      if (has_copy_training()) {
        if (draw_first_button(frame, "checkpoints.copy_training", "Open the copy task\u2019s training",
                              "19 steps of two layers that learn to repeat words, which come along."))
          show_copy_training(frame.state);
        ImGui::SameLine();
      }
      if (draw_button(frame, "checkpoints.open_model", "Open a model\u2026",
                      "A checkpoint's folder, or a model of several revisions."))
        frame.start_command("file.open_model");
      ImGui::SameLine();
      if (draw_button(frame, "checkpoints.open_steps", "Open capture\u2026",
                      "Of all steps, a .zip that Save all steps has written."))
        frame.start_command("file.open_capture");
      return;
    }
    const std::optional<std::size_t> shown = shown_step(frame);
    if (!series.steps.empty() && frame.result.inputs) measure(frame, shown.value_or(0));
    metric_ = frame.state[kCheckpointsView.metric];
    curves_ = curves_of(room, metric_);
    axis_ = step_axis(curves_.steps, frame.state[kCheckpointsView.log_axis]);
    selected_ = frame.state.selection.head_ref();
    draw_title(frame);
    place_sentence(frame);
    if (!curves_.steps.empty()) copy_when_asked(frame, [&] { return csv(table()); });
    draw_tools(frame);
    if (const std::string failure = room.failure(); !failure.empty())
      write_note(frame, failure, frame.ui.theme().warning, "checkpoints.error");
    begin_bare_region("curves");
    draw_curves(frame, shown);
    ImGui::EndChild();
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    exporting::DotsFigure figure{
        .title = fmt::format("{} over the steps of a training", evaluation::metric_name(metric_)),
        .subtitle = fmt::format("{} steps{}, {} heads; bold: {}", curves_.steps.size(),
                                curves_.failed > 0 ? fmt::format(" ({} couldn\u2019t be measured)", curves_.failed) : "",
                                curves_.heads.size(), head_name(selected_)),
        .x_title = axis_.is_log ? "step of training (log axis)" : "step of training",
        .y_title = std::string(evaluation::metric_name(metric_)),
        .color_title = "layer",
        .is_log_x = axis_.is_log};
    for (std::size_t row = 0; row < curves_.heads.size(); ++row) {
      const bool is_selected = curves_.heads[row] == selected_;
      exporting::DotsFigure::Path path{
          .points = {}, .color = layer_of(row), .is_bold = is_selected, .name = head_name(curves_.heads[row])};
      for (std::size_t at = 0; at < curves_.steps.size(); ++at) {
        if (!std::isfinite(curves_.head_values[row][at])) continue;
        path.points.emplace_back(static_cast<double>(curves_.steps[at]), curves_.head_values[row][at]);
        if (is_selected) figure.dots.push_back({.at = path.points.back(), .color = path.color});
      }
      if (is_selected && !figure.dots.empty()) figure.dots.back().name = head_name(selected_);
      if (!path.points.empty()) figure.paths.push_back(std::move(path));
    }
    constexpr float kFigureWidth = 400.0F;
    for (const auto& [step, label] : step_ticks(axis_, kFigureWidth)) figure.x_ticks.emplace_back(step, label);
    return figure.paths.empty() ? nullptr : exporting::make_drawing(std::move(figure));
  }

 private:
  Table table() const {
    const StepSeries& series = room_->series();
    const auto number = [](double value) { return std::isnan(value) ? CellNumber() : CellNumber(value); };
    std::vector<std::string> names = {"step", "loss", "in_context_score"};
    for (const auto& [name, curve] : series.scalars) names.push_back(name);
    for (const HeadRef& head : curves_.heads)
      names.push_back(fmt::format("L{}H{} {}", head.block.layer.value, head.head, evaluation::metric_name(metric_)));
    names.emplace_back("error");
    Table table = named_columns(std::move(names));
    for (std::size_t at = 0; at < curves_.steps.size(); ++at) {
      table.put(std::to_string(curves_.steps[at]), number(curves_.loss[at]), number(curves_.in_context[at]));
      for (const auto& [name, curve] : series.scalars) {
        const auto found = std::ranges::find(curve, curves_.steps[at], &std::pair<std::int64_t, double>::first);
        table.put(found == curve.end() ? CellNumber() : number(found->second));
      }
      for (const std::vector<double>& values : curves_.head_values) table.put(number(values[at]));
      const StepNumbers* numbers = room_->numbers(curves_.places[at]);
      std::string error = numbers == nullptr ? "" : numbers->error;
      // No table says where on a computer a model is.
      const std::string folder = utf8(std::filesystem::path(series.steps[curves_.places[at]].path).parent_path()) + "/";
      if (const std::size_t place = error.find(folder); place != std::string::npos) error.erase(place, folder.size());
      table.put(error);
    }
    return table;
  }

  float layer_of(std::size_t row) const { return static_cast<float>(curves_.heads[row].block.layer.value); }

  static std::optional<std::size_t> shown_step(const Frame& frame) {
    const StepSeries& series = frame.checkpoints->series();
    return series.find(series.is_of_captures ? capture_path(frame.state.source) : model_path(frame.state.source));
  }

  static void measure(Frame& frame, std::size_t shown) {
    RunInputs inputs = *frame.result.inputs;
    if (frame.result.translated) {  // every step is asked about the translation on screen, not about its own
      if (!frame.result.translated->is_done || inputs != run_inputs(frame.state)) return;
      inputs = inputs_on_screen(frame.state, frame.result);
    }
    frame.checkpoints->measure(
        {.inputs = std::move(inputs), .kind = frame.state.selection.block.kind, .batch = frame.state.selection.batch},
        shown);
  }

  void draw_title(Frame& frame) {
    CheckpointRoom& room = *frame.checkpoints;
    const std::size_t all = room.series().steps.size(), done = room.measured();
    draw_view_title(frame, "Checkpoints", 220.0F);
    ImGui::SameLine(0.0F, 12.0F);
    draw_title_note(frame, done == all ? fmt::format("{} steps", all) : fmt::format("{} of {} steps measured", done, all));
    if (done < all || room.is_paused) {
      const char* label = room.is_paused ? "Go on###pause" : "Pause###pause";
      continue_line_at_right(button_width(label) + button_width(kCopyCsv) + kCopyGap, kCopyGap);
      if (draw_button(frame, "checkpoints.pause", label, "Stops measuring steps in the background, or goes on."))
        room.is_paused = !room.is_paused;
    }
    draw_copy_button(frame, "checkpoints.copy", "Puts the numbers of all steps on the clipboard, for spreadsheets.");
  }

  static void draw_tools(Frame& frame) {
    choose(frame, kCheckpointsView.log_axis);
    ImGui::SameLine(0.0F, 12.0F);
    choose_metric(frame, "checkpoints.metric", "The metric of every head that is drawn over the steps.",
                  frame.state.edit(kCheckpointsView.metric));
  }

  void draw_curves(Frame& frame, std::optional<std::size_t> shown) {
    constexpr float kSmallWidth = 210.0F, kSmallHeight = 120.0F, kLargeHeight = 170.0F;
    constexpr float kAboveRow = 0.62F, kAboveRows = 0.46F, kAlone = 0.3F;  // of the height
    const glm::vec2 room = region_left(), gap = to_glm(ImGui::GetStyle().ItemSpacing);
    const std::optional<std::int64_t> step = shown ? frame.checkpoints->series().steps[*shown].step : std::nullopt;
    const bool has_no_value = !curves_.heads.empty() && std::ranges::none_of(curves_.head_values, has_values);
    const bool has_large = !curves_.steps.empty() && !has_no_value;
    const std::vector<SmallCurve> small = small_curves(frame);
    const auto columns = static_cast<std::size_t>(std::max(std::floor(room.x / kSmallWidth), 1.0F));
    const auto rows = static_cast<float>(std::max<std::size_t>((small.size() + columns - 1) / columns, 1));
    const float large = std::max(room.y * (rows > 1.0F ? kAboveRows : kAboveRow), kLargeHeight);
    const float high = has_large ? std::floor((room.y - large) / rows) - gap.y : room.y * kAlone - gap.y;
    const glm::vec2 size((room.x - gap.x * static_cast<float>(columns - 1)) / static_cast<float>(columns),
                         std::max(high, kSmallHeight));
    if (has_no_value) {
      const std::string_view metric = evaluation::metric_name(metric_);
      write_note(frame, fmt::format("No head has a value of \u201C{}\u201D in this text: choose another metric.", metric),
                 frame.ui.theme().warning, "checkpoints.no_value");
    } else if (has_large) {
      draw_heads(frame, step, {room.x, large});
    }
    for (std::size_t i = 0; i < small.size(); ++i) {
      const SmallCurve& curve = small[i];
      if (i % columns != 0) ImGui::SameLine();
      frame.ui.ensure_glyphs(curve.title);
      const StepPlotEvents events = draw_step_plot(
          frame,
          {.name = curve.name.c_str(),
           .title = curve.title,
           .steps = curve.steps,
           .lines = {{.values = curve.values, .color = frame.ui.theme().accent, .is_bold = true, .name = curve.title}},
           .is_log = frame.state[kCheckpointsView.log_axis],
           .shown = step,
           .help = curve.help},
          size);
      if (events.is_clicked) go_to(frame, curve.steps[*events.hovered_step]);
    }
  }

  /// Returns what is measured of the text and what the training logged, as far as there is any of it.
  std::vector<SmallCurve> small_curves(const Frame& frame) const {
    std::vector<SmallCurve> curves;
    const auto add = [&](SmallCurve curve) {
      if (has_values(curve.values)) curves.push_back(std::move(curve));
    };
    const bool is_pair = frame.result.input && frame.result.input->target;
    add({.name = "checkpoints.loss",
         .title = is_pair ? "target loss (nats)" : "text loss (nats)",
         .steps = curves_.steps,
         .values = curves_.loss,
         .help = "What a token costs the model in the mean: \u2212ln of its probability, in nats (1 nat is 1.44 bits)."});
    if (is_pair) {
      std::vector<double> perplexity = curves_.loss;
      for (double& loss : perplexity) loss = std::exp(loss);
      add({.name = "checkpoints.perplexity",
           .title = "target perplexity",
           .steps = curves_.steps,
           .values = std::move(perplexity),
           .help = "e to the power of the mean loss: among as many equally likely tokens would it choose."});
    }
    const std::size_t tokens = frame.result.input ? frame.result.input->source.length : 0;
    add({.name = "checkpoints.in_context",
         .title = fmt::format("in-context: {}", in_context_words(tokens)),
         .steps = curves_.steps,
         .values = curves_.in_context,
         .help = "The loss of late tokens less that of early ones: below 0, the model learns from what it has read."});
    for (const auto& [name, logged] : frame.checkpoints->series().scalars) {
      SmallCurve curve{.name = "checkpoints.scalar." + name, .title = name, .steps = {}, .values = {}};
      for (const auto& [at, value] : logged) {
        curve.steps.push_back(at);
        curve.values.push_back(value);
      }
      add(std::move(curve));
    }
    return curves;
  }

  void draw_heads(Frame& frame, std::optional<std::int64_t> step, glm::vec2 size) {
    const shell::Theme& theme = frame.ui.theme();
    const std::span<const std::uint32_t> map = weight_colors(frame.state);
    float last = 1.0F;
    for (std::size_t row = 0; row < curves_.heads.size(); ++row) last = std::max(last, layer_of(row));
    StepPlot plot{.name = "checkpoints.heads",
                  .title = fmt::format("{} of every head; bold: {}", evaluation::metric_name(metric_), head_name(selected_)),
                  .steps = curves_.steps,
                  .lines = {},
                  .is_log = frame.state[kCheckpointsView.log_axis],
                  .shown = step};
    for (std::size_t row = 0; row < curves_.heads.size(); ++row) {
      const shell::Color color = shell::mark_on(
          theme.background, map[static_cast<std::size_t>(std::lround(layer_of(row) / last * 255.0F))], theme.text);
      const bool is_bold = curves_.heads[row] == selected_;
      plot.lines.push_back({.values = curves_.head_values[row],
                            .color = is_bold ? color : shell::with_alpha(color, 150),
                            .is_bold = is_bold,
                            .name = head_name(curves_.heads[row])});
    }
    const StepPlotEvents events = draw_step_plot(frame, plot, size);
    frame.says = sentence(events);
    if (!events.is_clicked) return;
    if (!events.hovered_line) return go_to(frame, curves_.steps[*events.hovered_step]);
    const HeadRef& head = curves_.heads[*events.hovered_line];
    if (frame.result.shapes.contains(head.block)) select_head(frame.state.selection, head);
    frame.ui.request_redraw(2);
  }

  /// Says what the curve under the pointer has there, else where the selected head's begins and ends.
  Sentence sentence(const StepPlotEvents& pointed) const {
    const auto selected = std::ranges::find(curves_.heads, selected_) - curves_.heads.begin();
    const std::size_t row = pointed.hovered_line.value_or(static_cast<std::size_t>(selected));
    std::vector<std::string> known;
    for (std::size_t at = 0; row < curves_.heads.size() && at < curves_.steps.size(); ++at) {
      const double value = curves_.head_values[row][at];
      if (std::isfinite(value) && at == pointed.hovered_step.value_or(at))
        known.push_back(fmt::format("{} at step {}", number_word(metric_number(metric_, value)), curves_.steps[at]));
    }
    if (known.empty()) return {};
    return fmt::format("{} of {}: {}{}.", evaluation::metric_name(metric_), head_name(curves_.heads[row]), known.front(),
                       known.size() > 1 ? ", " + known.back() : "");
  }

  /// Goes to the nearest step that can be shown.
  static void go_to(Frame& frame, std::int64_t step) {
    if (const auto place = frame.checkpoints->series().nearest(step)) frame.checkpoints->show(*place);
    frame.ui.request_redraw(2);
  }

  // These members are of what was drawn last.
  const CheckpointRoom* room_ = nullptr;  ///< of the window, which outlives its views
  Curves curves_;
  chart::PlotAxis axis_;
  evaluation::HeadMetric metric_ = {};
  HeadRef selected_;
};

}  // namespace

std::unique_ptr<ViewPanel> open_checkpoints_view() { return std::make_unique<CheckpointsView>(); }

}  // namespace headlight::app
