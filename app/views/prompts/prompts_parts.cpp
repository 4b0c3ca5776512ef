#include "app/views/prompts/prompts_parts.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/state_names.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"

namespace headlight::app {
namespace {

void choose_direction(Frame& frame) {
  choose_next_segment(frame, "patching.into", {"corrupted into text", "text into corrupted"},
                      frame.state.patching.into_baseline);
  choose_next_segment(frame, "patching.measure", {"logit", "probability", "loss"}, frame.state.patching.measure);
}

/// Where heads are patched.
void choose_place(Frame& frame, const PromptFindings* findings) {
  PatchingChoices& patching = frame.state.patching;
  const std::string position = frame.state[kPromptsView.position];
  const bool is_at = patching.at_token && !position.empty();
  continue_line(130.0F, kControlGap);
  ImGui::SetNextItemWidth(130.0F);
  OpenList list(frame, "prompts.place", is_at ? ("at " + position).c_str() : "at all tokens",
                "Whether heads are patched at all tokens, or at a named position alone.");
  if (!list) return;
  if (list.entry("at all tokens", "all", !is_at)) patching.at_token = false;
  std::vector<std::string> names;
  for (std::size_t i = 0; findings && findings->fitted && i < findings->fitted->size(); ++i) {
    for (const auto& [name, token] : (*findings->fitted)[i].positions) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    frame.ui.ensure_glyphs(name);
    if (!list.entry(("at " + name).c_str(), name, is_at && name == position)) continue;
    patching.at_token = true;
    frame.state.set(kPromptsView.position, name);
  }
}

void choose_receiver(Frame& frame, const PromptFindings* findings) {
  PathReceiver& receiver = frame.state.patching.receiver;
  const bool is_found = !receiver.is_chosen() && findings && findings->receiver;
  PathReceiver shown = is_found ? *findings->receiver : receiver;
  const auto end = receiver_in(shown, frame.result.shapes);
  if (choose_segment(frame, "patching.input", std::vector<std::string>{"queries", "keys", "values"}, shown.input))
    receiver = shown;
  const Selection& selected = frame.state.selection;
  const std::string of = fmt::format("of {}{}", end && shown.is_chosen() ? head_name(*end) : "the strongest head",
                                     is_found ? ", the strongest" : "");
  continue_line(ImGui::CalcTextSize(of.c_str()).x, kControlGap);
  write_label(frame.ui.fonts().body, frame.ui.theme().text, of);
  if (receiver.is_chosen()) {
    continue_line(button_width("Strongest"), kControlGap);
    if (draw_button(frame, "prompts.receiver.strongest", "Strongest",
                    "Paths end in the head into which the strongest one leads, by the mean over the set."))
      receiver = {.recomputes_mlps = receiver.recomputes_mlps};
  }
  const std::string label = fmt::format("Take {}###take", head_name({selected.block, selected.head}));
  continue_line(button_width(label.c_str()), kControlGap);
  if (!draw_button(frame, "prompts.end", label.c_str(), "Paths end in the selected head from now on.")) return;
  receiver.kind = selected.block.kind;
  receiver.layer = selected.block.layer.value;
  receiver.head = selected.head;
}

}  // namespace

const char* experiment_title(PromptExperiment experiment) {
  constexpr std::array kTitles = {"What knocking out each head changes",      "What patching from the other text changes",
                                  "What each head changes by way of another", "What the answer\u2019s logit is made of",
                                  "What each layer says of the answer",       "What heads attend to"};
  return kTitles.at(static_cast<std::size_t>(experiment));
}

std::string question_text(const PromptQuestion& question, const PromptFindings& findings) {
  using enum PromptExperiment;
  const PatchingChoices& patching = question.patching;
  const std::string place = question.position.empty() ? "all tokens" : question.position;
  const char* direction = patching.into_baseline ? "text into corrupted" : "corrupted into text";
  if (question.experiment == Knockouts) {
    constexpr std::array kOutputs = {"0", "its mean over the text", "its mean over the corrupted text"};
    return fmt::format("a head\u2019s output is {}", kOutputs.at(static_cast<std::size_t>(question.ablation)));
  }
  if (question.experiment == Patching && patching.map != PatchMap::Heads)
    return fmt::format("{}, {}", enum_name<PatchMap>(kPatchMaps, patching.map), direction);
  if (question.experiment == Patching)
    return fmt::format("{} of heads at {}, {}", enum_name<model::Site>(kHeadSites, patching.part), place, direction);
  if (question.experiment == Paths) {
    const PathReceiver& end = findings.receiver ? *findings.receiver : patching.receiver;
    return fmt::format("paths into the {} of head {} of layer {}{}, at {}, {}", enum_name<PathInput>(kPathInputs, end.input),
                       end.head, end.layer, findings.receiver ? " (the strongest over the set)" : "", place, direction);
  }
  if (question.experiment == Lens && !question.lens.empty())
    return fmt::format("lens {}", utf8(std::filesystem::path(question.lens).filename()));
  return {};
}

bool has_named_columns(const PromptQuestion& question) {
  return question.experiment == PromptExperiment::Lens ||
         (question.experiment == PromptExperiment::Patching && question.patching.map != PatchMap::Heads);
}

PromptMeasure shown_measure(const State& state) {
  const PromptExperiment experiment = state[kPromptsView.experiment];
  const auto change = [](auto measure, const char* loss) -> PromptMeasure {
    const auto number = static_cast<std::size_t>(measure);  // of both: logit, probability, loss
    const std::array titles = {"change of the logit", "change of the probability, points", loss};
    constexpr std::array kColumns = {"logit_change", "probability_change", "loss_change"};
    return {.number = number, .title = titles.at(number), .column = kColumns.at(number), .scale = number == 1 ? 100.0 : 1.0};
  };
  using enum PromptExperiment;
  if (experiment == Knockouts) return change(state[kWhatIfView.measure], "change of the text\u2019s mean loss, nats");
  if (experiment == Patching || experiment == Paths)
    return change(state.patching.measure, "change of the answer\u2019s loss, nats");
  if (experiment == Attribution) return {.title = "part of the logit", .column = "logit_part"};
  if (experiment == Lens) {
    constexpr std::array kTitles = {"probability, points", "rank", "logit"};
    constexpr std::array kColumns = {"probability", "rank", "logit"};
    const auto number = static_cast<std::size_t>(state[kPromptsView.lens]);
    return {.number = number,
            .title = kTitles.at(number),
            .column = kColumns.at(number),
            .scale = state[kPromptsView.lens] == LensMeasure::Probability ? 100.0 : 1.0,
            .is_signed = state[kPromptsView.lens] == LensMeasure::Logit};
  }
  const evaluation::HeadMetric metric = state[kPromptsView.metric];
  return {.number = static_cast<std::size_t>(metric),
          .title = metric_title(metric, state.heads.scoring),
          .column = metric_title(metric, state.heads.scoring),
          .is_signed = false};
}

const BundledPrompts& first_prompts() {
  return *std::ranges::find(bundled_prompts(), std::string_view("induction"), &BundledPrompts::id);
}

std::string shown_prompt_set(const std::string& chosen, std::size_t parameters) {
  constexpr std::size_t kSmall = 10'000'000;
  return chosen.empty() && parameters <= kSmall ? first_prompts().id : chosen;
}

void draw_prompt_sets(Frame& frame, const std::string& chosen) {
  const auto known = std::ranges::find_if(bundled_prompts(), [&](const BundledPrompts& set) { return set.id == chosen; });
  const std::string shown = known != bundled_prompts().end() ? known->title
                            : chosen.empty()                 ? "Choose a set"
                                                             : utf8(std::filesystem::path(chosen).filename());
  frame.ui.ensure_glyphs(shown);
  ImGui::SetNextItemWidth(208.0F);
  if (OpenList list(frame, "prompts.set", shown.c_str(), "The prompts over which every experiment is a mean."); list) {
    for (const BundledPrompts& set : bundled_prompts()) {
      if (list.entry(set.title, set.id, chosen == set.id)) frame.state.set(kPromptsView.set, set.id);
    }
  }
  continue_line(button_width("Open\u2026"), 6.0F);
  if (draw_button(frame, "prompts.open", "Open\u2026", "Asks for a file of prompts (JSON lines: docs/PROMPTS.md)."))
    frame.start_command("file.open_prompts");
}

void draw_experiment_controls(Frame& frame, const PromptFindings* findings) {
  PatchingChoices& patching = frame.state.patching;
  choose_next(frame, kPromptsView.experiment, {}, 8.0F);
  using enum PromptExperiment;
  const PromptExperiment experiment = frame.state[kPromptsView.experiment];
  const bool is_of_heads = experiment == Paths || (experiment == Patching && patching.map == PatchMap::Heads);
  if (experiment == Knockouts) {
    choose(frame, kWhatIfView.measure);
    choose_next(frame, kWhatIfView.ablation, {"zero", "mean of the text", "mean of the corrupted text"});
  }
  if (experiment == Patching) {
    PatchMap map = prompt_question(frame.state, {}).patching.map;
    if (choose_segment(frame, "patching.map", std::vector<std::string>{"residual stream", "attention", "MLP", "heads"}, map))
      patching.map = map;
  }
  if (experiment == Paths) choose_receiver(frame, findings);
  if (experiment == Patching || experiment == Paths) choose_direction(frame);
  if (is_of_heads && experiment == Patching)
    choose_next_segment(frame, "patching.part", {"queries", "keys", "values", "pattern", "outputs"}, patching.part);
  if (is_of_heads) choose_place(frame, findings);
  if (experiment == Lens) choose(frame, kPromptsView.lens);
  if (experiment == Metrics)
    choose_metric(frame, "prompts.metric", "The metric of every head.", frame.state.edit(kPromptsView.metric));
}

Grid means_of(const PromptFindings& findings, const PromptMeasure& measure, const PromptQuestion& question) {
  const bool has_names = has_named_columns(question);
  Grid matrix{.title = measure.title, .is_signed = measure.is_signed};
  exporting::FigureAxis layers{.title = question.experiment == PromptExperiment::Lens ? "layers passed" : "layer",
                               .tokens = {}},
      columns{.title = has_names ? "place" : "head", .tokens = {}};
  for (const std::uint32_t layer : findings.layers) layers.tokens.push_back(std::to_string(layer));
  columns.tokens = findings.columns;
  matrix.cells.resize(has_names ? findings.columns.size() : findings.layers.size());
  for (std::size_t row = 0; row < matrix.cells.size(); ++row) {
    const std::size_t across = has_names ? findings.layers.size() : findings.columns.size();
    for (std::size_t column = 0; column < across; ++column) {
      const PromptSpread spread =
          spread_of(findings, measure.number,
                    has_names ? column * findings.columns.size() + row : row * findings.columns.size() + column);
      matrix.cells[row].push_back(spread.count > 0 ? std::optional(spread.mean * measure.scale) : std::nullopt);
    }
  }
  matrix.rows = has_names ? columns : layers;
  matrix.columns = has_names ? std::move(layers) : std::move(columns);
  return matrix;
}

Table prompts_table(const PromptFindings& findings, const PromptMeasure& measure) {
  Table table = named_columns({"layer", "column", std::string(measure.column), "deviation", "count", "left_out", "lowest",
                               "lowest_prompt", "highest", "highest_prompt"});
  for (std::size_t cell = 0; cell < findings.layers.size() * findings.columns.size(); ++cell) {
    const PromptSpread spread = spread_of(findings, measure.number, cell);
    if (spread.count == 0) continue;
    const auto of = [&](std::size_t prompt) { return *findings.value(prompt, measure.number, cell); };
    const auto text_of = [&](std::size_t prompt) { return findings.set->prompts[prompt].text; };
    table.put(std::to_string(findings.layers[cell / findings.columns.size()]),
              findings.columns[cell % findings.columns.size()], spread.mean,
              spread.count > 1 ? CellNumber(spread.deviation) : std::nullopt, spread.count,
              findings.prompts() - spread.count, of(spread.lowest), text_of(spread.lowest), of(spread.highest),
              text_of(spread.highest));
  }
  return table;
}

std::string prompt_line(const SetPrompt& prompt) {
  std::string line = prompt.text;
  for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n', at)) line.replace(at, 1, "\u23CE");
  return line;
}

}  // namespace headlight::app
