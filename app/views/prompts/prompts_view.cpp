#include "app/views/prompts/prompts_parts.h"
#include "app/views/view.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_scores.h"
#include "app/widgets/table_view.h"

namespace headlight::app {
namespace {

constexpr double kMinEnd = 0.1;  // of the colours: rounding isn't shown as if it mattered

/// "+0.120 ± 0.340 points (n = 32)"; one number has no deviation.
Sentence words_of(const PromptSpread& spread, const std::string& mean, double scale, const std::string& unit = {}) {
  const std::string deviation = spread.count < 2 ? "" : " \u00B1 " + number_word(spread.deviation * scale, "{:.3f}");
  return fmt::format("{}{}{} (n = {})", number_word(mean), deviation, unit, spread.count);
}

/// Every experiment over a set of prompts: the prompts, the mean of every cell, and the spread of the chosen one.
class PromptsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!frame.prompts) return;
    PromptRoom& room = *frame.prompts;
    update(frame, room);
    if (!draw_controls(frame, room)) return;
    draw_progress(frame, room);
    constexpr float kLeast = 620.0F, kNarrow = 900.0F;
    const float height = std::floor(height_left() * 0.5F), share = width_left() < kNarrow ? 0.52F : 0.42F;
    ColumnPair{.share = share, .least = kLeast}.draw([&] { draw_prompts(frame, room); }, [&] { draw_cells(frame, room); },
                                                     height);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (matrix_.cells.empty() || !findings_->search.empty()) return nullptr;
    exporting::HeatmapFigure figure = matrix_.figure();
    figure.title = experiment_title(question_.experiment);
    const std::string how = question_text(question_, *findings_);
    figure.subtitle =
        fmt::format("{}: mean of {} of {} prompts{}{}. {}", findings_->set->name,
                    findings_->measured() - findings_->failed(), findings_->prompts(), how.empty() ? "" : ", ", how, whole_);
    if (strongest_ && measure_.is_signed) figure.subtitle += fmt::format(" Strongest: {}.", spread_text(*strongest_));
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }

 private:
  /// Takes what is known.
  void update(const Frame& frame, PromptRoom& room) {
    set_ = shown_prompt_set(frame.state[kPromptsView.set], frame.result.parameter_count);
    const bool is_asked = !set_.empty() && frame.result.inputs && is_model(frame.result.inputs->source);
    if (is_asked) question_ = prompt_question(frame.state, *frame.result.inputs);
    question_.set = set_;
    if (is_asked) room.want(question_);
    const auto findings = is_asked ? room.findings() : nullptr;
    const PromptMeasure measure = shown_measure(frame.state);
    const bool is_same = findings == findings_ && measure.title == measure_.title;
    findings_ = findings;
    measure_ = measure;
    if (is_same) return;
    const bool is_known = findings_ && findings_->error.empty();
    matrix_ = is_known ? means_of(*findings_, measure_, question_) : Grid();
    strongest_ = is_known ? strongest_cell(*findings_, measure_.number) : std::nullopt;
  }

  /// Title, choices, or in words why there are no prompts. Returns whether there are.
  bool draw_controls(Frame& frame, PromptRoom& room) {
    draw_title(frame, room);
    if (set_.empty()) {
      draw_empty_note(frame, "prompts.empty", "What holds over many prompts",
                      "A set has many prompts of one task, each with the word that should come next: every experiment shows "
                      "its mean over them. With a model of this size that takes a while.");
      const BundledPrompts& first = first_prompts();
      const std::string label = fmt::format("Run \u201C{}\u201D ({} prompts)###first", first.title, first.count);
      if (draw_first_button(frame, "prompts.first", label.c_str(), "Measures this set, one of those that come along."))
        frame.state.set(kPromptsView.set, first.id);
      ImGui::SameLine();
      draw_prompt_sets(frame, set_);
      return false;
    }
    place_sentence(frame);
    draw_prompt_sets(frame, set_);
    draw_experiment_controls(frame, findings_.get());
    if (!findings_) write_note(frame, room.is_paused() ? "Cancelled." : "Reading the set\u2026");
    const bool is_known = findings_ && findings_->error.empty();
    if (findings_ && !is_known) write_note(frame, findings_->error, frame.ui.theme().warning, "prompts.error");
    if (findings_ && !is_known && draw_button(frame, "prompts.again", "Read again", "Reads the set anew.")) room.forget();
    return is_known;
  }

  bool has_names() const { return has_named_columns(question_); }

  void draw_title(Frame& frame, PromptRoom& room) {
    draw_view_title(frame, "Prompts", 120.0F);
    const bool is_known = findings_ && findings_->set;
    if (is_known) {
      const std::size_t in = findings_->included(), out = findings_->prompts() - in;
      ImGui::SameLine(0.0F, 12.0F);
      draw_title_note(frame, out > 0 ? fmt::format("{} of {} prompts fit this model", in, in + out)
                                     : fmt::format("{} prompt{}", in, in == 1 ? "" : "s"));
    }
    if (room.is_busy() || room.is_paused()) {
      const char* label = room.is_paused() ? "Go on###cancel" : "Cancel###cancel";
      continue_line_at_right(button_width(label) + button_width(kCopyCsv) + kCopyGap, kCopyGap);
      if (draw_button(frame, "prompts.cancel", label, "Stops measuring prompts, or goes on; what is measured stays."))
        room.pause(!room.is_paused());
    }
    if (!strongest_) return;  // no cell has a number to copy
    draw_copy_button(frame, "prompts.copy", "Puts mean, deviation, count and both ends of every cell on the clipboard.");
    copy_when_asked(frame, [&] { return csv(prompts_table(*findings_, measure_)); });
  }

  /// A bar while prompts are measured, and what the model says of the whole set.
  void draw_progress(Frame& frame, const PromptRoom& room) {
    const PromptFindings& found = *findings_;
    std::vector<std::optional<double>> own;
    std::size_t right = 0;
    for (const auto& numbers : found.numbers) {
      own.push_back(numbers && numbers->own ? std::optional(numbers->own->logit) : std::nullopt);
      if (own.back() && *own.back() > 0.0) ++right;
    }
    const PromptSpread spread = spread_of(own);
    whole_ = spread.count == 0
                 ? ""
                 : fmt::format("Logit of the answer minus the wrong one\u2019s: {}, above 0 in {} of {}.",
                               plain_text(words_of(spread, signed_text(spread.mean), 1.0)), right, spread.count);
    write_note(frame, fmt::format("{}{}\u00B1: standard deviation.", whole_, whole_.empty() ? "" : " "), {},
               "prompts.summary");
    if (const std::string failure = found.failure(); !failure.empty())
      write_note(frame, failure, frame.ui.theme().warning, "prompts.failed");
    if (found.included() == 0)
      write_note(frame, fmt::format("No prompt of this set fits: {}.", found.left_out.front()), frame.ui.theme().warning);
    if (!found.search.empty()) return write_note(frame, found.search);
    if (found.is_complete()) return;
    const glm::vec2 at = cursor_position();
    const float width = width_left();
    const float share =
        static_cast<float>(found.measured()) / static_cast<float>(std::max<std::size_t>(found.included(), 1));
    fill_rect(at, at + glm::vec2(width, 6.0F), frame.ui.theme().field, 3.0F);
    fill_rect(at, at + glm::vec2(width * share, 6.0F), frame.ui.theme().accent, 3.0F);
    ImGui::Dummy({width, 8.0F});
    write_note(frame,
               fmt::format("{} of {} prompts{}", found.measured(), found.included(), room.is_paused() ? ", cancelled" : ""));
  }

  /// The number of the cell that is chosen, in the order of PromptNumbers::cells.
  std::size_t chosen_cell(const State& state) const {
    const PromptFindings& found = *findings_;
    const std::uint32_t layer = has_names() ? state[kPromptsView.layer] : state.selection.block.layer.value;
    const std::size_t row = std::min<std::size_t>(layer, found.layers.size() - 1), last = found.columns.size() - 1;
    const auto named = std::ranges::find(found.columns, state[kPromptsView.position]);
    const bool is_named =
        named != found.columns.end() && (has_names() || state[kPromptsView.position] == found.columns.back());
    const std::size_t column = is_named      ? static_cast<std::size_t>(named - found.columns.begin())
                               : has_names() ? question_.experiment == PromptExperiment::Lens ? 0 : last
                                             : std::min<std::size_t>(state.selection.head, last);
    return row * found.columns.size() + column;
  }
  std::size_t cell_at(GridCell cell) const {
    return has_names() ? cell.column * findings_->columns.size() + cell.row
                       : cell.row * findings_->columns.size() + cell.column;
  }
  std::string cell_name(std::size_t cell) const {
    const std::size_t columns = findings_->columns.size();
    const std::string& column = findings_->columns[cell % columns];
    const std::uint32_t layer = findings_->layers[cell / columns];
    if (question_.experiment == PromptExperiment::Lens) return fmt::format("{} after {} layers", column, layer);
    const bool is_head = !has_names() && column.find_first_not_of("0123456789") == std::string::npos;
    return fmt::format("L{} {}{}", layer, is_head ? "H" : "", column);
  }

  std::optional<double> shown_value(std::size_t prompt, std::size_t cell) const {
    const std::optional<double> value = findings_->value(prompt, measure_.number, cell);
    return value ? std::optional(*value * measure_.scale) : std::nullopt;
  }
  std::string number(double value) const { return measure_.is_signed ? signed_text(value) : fmt::format("{:.3f}", value); }
  /// "L2 H3: +0.120 ± 0.340 (n = 32)".
  std::string spread_text(std::size_t cell) const { return plain_text(spread_sentence(cell)); }
  Sentence spread_sentence(std::size_t cell) const {
    const PromptSpread spread = spread_of(*findings_, measure_.number, cell);
    if (spread.count == 0) return cell_name(cell) + ": no prompt has it";
    return fmt::format("{}: {}", cell_name(cell), words_of(spread, number(spread.mean * measure_.scale), measure_.scale));
  }

  /// What the cell does over the prompts, and which one does the most.
  Sentence told(const State& state, std::size_t cell) const {
    using enum PromptExperiment;
    const PromptSpread spread = spread_of(*findings_, measure_.number, cell);
    const PromptExperiment experiment = question_.experiment;
    const bool is_change = experiment == Knockouts || experiment == Patching || experiment == Paths;
    if (spread.count == 0 || !(is_change || experiment == Attribution))
      return fmt::format("Over the prompts: {} of {}.", measure_.title, spread_sentence(cell));
    const std::string name = cell_name(cell), &title = measure_.title;
    const std::size_t of = std::string_view("change of ").size(), comma = title.find(", ");
    // The measure is of the answer less the wrong one, where prompts have one.
    const bool has_wrong =
        std::ranges::any_of(findings_->set->prompts, [](const SetPrompt& one) { return !one.wrong.empty(); });
    const std::string logit = has_wrong ? "the logit difference" : "the logit";
    const std::string measured = is_change ? title.substr(of, comma - of) : "",
                      what = measured == "the logit" ? logit : measured,
                      unit = comma < title.size() ? " " + title.substr(comma + 2) : "";
    const bool is_out = state[kWhatIfView.ablation] == Ablation::Zero;
    const std::string subject = experiment == Knockouts
                                    ? fmt::format("{} {} {} changes by", is_out ? "Without" : "With the mean of", name, what)
                                : experiment == Attribution ? name + " gives " + logit
                                                            : fmt::format("Patched at {}, {} changes by", name, what);
    const auto mean = [&](const PromptSpread& one) { return number(one.mean * measure_.scale); };
    Sentence said = fmt::format("{} {}", subject, words_of(spread, mean(spread), measure_.scale, unit));
    if (strongest_ && strongest_ != cell)
      said += fmt::format("; {} matters most, {}", cell_name(*strongest_),
                          number_word(mean(spread_of(*findings_, measure_.number, *strongest_))));
    return said + ".";
  }

  /// `tab`: of the view to show it in; empty: this one.
  void show(Frame& frame, PromptRoom& room, std::size_t prompt, const char* tab) const {
    const FittedPrompt& fitted = (*findings_->fitted)[prompt];
    const bool has_answer = fitted.answer_problem.empty() && fitted.problem.empty();
    room.show({.prompt = findings_->set->prompts[prompt],
               .answer = has_answer ? std::optional(fitted.answer) : std::nullopt,
               .wrong = has_answer ? fitted.wrong : std::nullopt,
               .token = fitted.position(frame.state[kPromptsView.position]),
               .tab = tab});
    frame.ui.request_redraw(2);
  }

  void draw_prompts(Frame& frame, PromptRoom& room) {
    const std::size_t cell = chosen_cell(frame.state);
    if (std::pair now(findings_, measure_.title + cell_name(cell)); listed_ != now) {
      listed_ = std::move(now);
      list_prompts(frame, cell);
    }
    TableParts parts{.about = [&](std::size_t prompt) { return about_prompt(frame, prompt); }};
    const auto& set = findings_->set->prompts;
    const auto shown = std::ranges::find(set, frame.state.text(), &SetPrompt::text);
    if (shown != set.end()) parts.chosen = shown - set.begin();
    const PromptOrder by = frame.state[kPromptsView.order];
    TableOrder order;
    if (by != PromptOrder::File) order = {.column = "cell", .lowest_first = by == PromptOrder::Lowest};
    prompts_.list(rows_, order);
    const TableEvents events = prompts_.draw(frame, parts, order);
    frame.state.set(kPromptsView.order, order.column.empty() ? PromptOrder::File
                                        : order.lowest_first ? PromptOrder::Lowest
                                                             : PromptOrder::Highest);
    if (events.clicked) show(frame, room, *events.clicked, "");
  }

  /// Makes the list: those that are left out come last.
  void list_prompts(Frame& frame, std::size_t cell) {
    Table table;
    table.columns = {
        {.title = "#", .formula = "In the order of the file."},
        {.title = "answer \u2212 wrong", .decimals = 3},
        {.title = cell_name(cell), .name = "cell", .formula = "Orders by the chosen cell\u2019s number.", .decimals = 3},
        {.title = "prompt", .is_wide = true}};
    for (std::size_t prompt = 0; prompt < findings_->prompts(); ++prompt) {
      const PromptNumbers* numbers = findings_->numbers[prompt].get();
      const std::string &out = why_out(prompt), line = prompt_line(findings_->set->prompts[prompt]);
      table.put(std::to_string(prompt), numbers && numbers->own ? CellNumber(numbers->own->logit) : std::nullopt,
                out.empty() ? shown_value(prompt, cell) : std::nullopt,
                frame.ui.shaped(out.empty() ? line : fmt::format("{}: {}", out, line)));
      table.columns.back().is_quiet.push_back(!out.empty());
    }
    rows_ = all_rows(table);
    std::stable_partition(rows_.begin(), rows_.end(), [&](std::size_t prompt) { return why_out(prompt).empty(); });
    prompts_.show(std::move(table));
  }

  /// Empty: it is in.
  const std::string& why_out(std::size_t prompt) const {
    const PromptNumbers* numbers = findings_->numbers[prompt].get();
    return numbers && !numbers->error.empty() ? numbers->error : findings_->left_out[prompt];
  }

  std::string about_prompt(Frame& frame, std::size_t prompt) const {
    const SetPrompt& one = findings_->set->prompts[prompt];
    const std::string& out = why_out(prompt);
    std::string about =
        fmt::format("{}\u201C{}\u201D \u2192 \u201C{}\u201D{}", out.empty() ? "" : fmt::format("Left out: {}. ", out),
                    prompt_line(one), one.answer, one.wrong.empty() ? "" : fmt::format(", not \u201C{}\u201D", one.wrong));
    if (ImGui::IsItemHovered()) frame.ui.ensure_glyphs(about);
    return about;
  }

  void draw_cells(Frame& frame, PromptRoom& room) {
    if (findings_->is_complete() && findings_->measured() > findings_->failed() && !strongest_) {
      const std::string text =
          fmt::format("No prompt has a value of \u201C{}\u201D: choose another metric.", measure_.title);
      return write_note(frame, text, frame.ui.theme().warning, "prompts.no_value");
    }
    const std::size_t cell = chosen_cell(frame.state), columns = findings_->columns.size();
    const GridCell selected = has_names() ? GridCell{.row = cell % columns, .column = cell / columns}
                                          : GridCell{.row = cell / columns, .column = cell % columns};
    const float room_y = height_left();
    const GridKind kind = has_names() ? GridKind::TextRows : GridKind::Numbers;
    const float whole = grid_height(matrix_, width_left(), kind) + 4.0F;
    begin_bare_region("map", {0.0F, std::min(whole, std::max(room_y - 110.0F, 120.0F))});
    const GridEvents click = draw_grid(
        frame,
        {.grid = matrix_,
         .name = [&](GridCell at) { return fmt::format("prompts.cell.{}.{}", at.row, at.column); },
         .about = [&](GridCell at) { return spread_text(cell_at(at)) + ". Double click: one prompt of it in its view."; },
         .selected = selected,
         .least_end = measure_.is_signed ? kMinEnd : 0.0,
         .kind = kind});
    ImGui::EndChild();
    frame.says = told(frame.state, click.hovered ? cell_at(*click.hovered) : cell);
    if (click.cell) choose(frame, room, cell_at(*click.cell), click.is_double);
    if (measure_.is_signed && strongest_ && strongest_ != cell &&
        draw_button(frame, "prompts.strongest", fmt::format("Strongest {}###strongest", spread_text(*strongest_)).c_str(),
                    "Chooses the cell whose mean is farthest from 0."))
      choose(frame, room, *strongest_, false);
    const PromptSpread spread = spread_of(*findings_, measure_.number, cell);
    if (spread.count == 0) return;
    draw_extreme(frame, room, "lowest", "prompts.lowest", spread.lowest, cell);
    draw_extreme(frame, room, "highest", "prompts.highest", spread.highest, cell);
  }

  void draw_extreme(Frame& frame, PromptRoom& room, const char* which, const char* name, std::size_t prompt,
                    std::size_t cell) const {
    std::string line = prompt_line(findings_->set->prompts[prompt]);
    line.erase(0, line.find_first_not_of(' '));
    frame.ui.ensure_glyphs(line);
    const std::string label = fmt::format("{} {}, prompt {}: {} {}", cell_name(cell), which, prompt,
                                          number(*shown_value(prompt, cell)), frame.ui.shaped(line));
    const std::string fitted = fit_text(frame.ui.fonts().body, label, width_left() - 20.0F);
    if (draw_button(frame, name, fmt::format("{}###{}", fitted, which).c_str(),
                    "Shows this prompt, with its corrupted text as the second one."))
      show(frame, room, prompt, "");
  }

  void choose(Frame& frame, PromptRoom& room, std::size_t cell, bool is_double) {
    const std::size_t columns = findings_->columns.size();
    const std::string& column = findings_->columns[cell % columns];
    State& state = frame.state;
    Selection& selection = frame.state.selection;
    const bool is_head = !has_names() && column.find_first_not_of("0123456789") == std::string::npos;
    state.set(kPromptsView.layer, static_cast<std::uint32_t>(cell / columns));
    if (!is_head) state.set(kPromptsView.position, column);
    if (is_head && state[kPromptsView.position] == findings_->columns.back()) state.set(kPromptsView.position, {});
    const model::BlockRef block = encoder_block(findings_->layers[cell / columns]);
    if (frame.result.shapes.contains(block))
      select_head(selection, {block, is_head ? static_cast<std::uint32_t>(cell % columns) : selection.head});
    const PromptSpread spread = spread_of(*findings_, measure_.number, cell);
    if (!is_double || spread.count == 0) return;
    constexpr std::array kTabs = {"what_if", "patching", "patching", "logits", "predictions", "heads"};
    const bool is_low = std::abs(*shown_value(spread.lowest, cell)) > std::abs(*shown_value(spread.highest, cell));
    show(frame, room, is_low ? spread.lowest : spread.highest, kTabs.at(static_cast<std::size_t>(question_.experiment)));
  }

  std::string set_;  ///< that is measured; empty: none until one is chosen
  // Of what was drawn last.
  PromptQuestion question_;
  std::shared_ptr<const PromptFindings> findings_;
  PromptMeasure measure_;
  Grid matrix_;
  TableView prompts_{"prompts"};
  TableRows rows_;                                                        ///< of the list
  std::pair<std::shared_ptr<const PromptFindings>, std::string> listed_;  ///< what it is of: numbers, and the cell
  std::optional<std::size_t> strongest_;                                  ///< cell; none: no cell has a number
  std::string whole_;                                                     ///< what the model says of the set
};

}  // namespace

std::unique_ptr<ViewPanel> open_prompts_view() { return std::make_unique<PromptsView>(); }

}  // namespace headlight::app
