#include "app/views/view.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/views/patching/patched_cells.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/table_view.h"

namespace headlight::app {
namespace {

constexpr float kMapShare = 0.62F;  // of the width, or of the height where the list is below
constexpr float kMinMapHeight = 150.0F;
constexpr float kLeastSummary = 200.0F;  // narrower: the buttons are below it
constexpr float kLowView = 400.0F;       // the map needs the room of the summary's other lines
constexpr const char* kKeep = "Keep this patch";
constexpr const char* kNothingToRecover =
    "Both runs give the same here, so that there is nothing to recover. Choose a token, or two, of which they think "
    "differently.";
constexpr double kMinRange = 0.1;  // of the colours: rounding isn't shown as if it mattered

/// Activation patching between the present run and the baseline: a map of layers and tokens, of heads, or of the weights of
/// one, and a list.
class PatchingView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    cells_.effects = nullptr;
    kept_.draw(frame);
    if (!frame.result.input || !frame.result.network || !draw_patching_start(frame)) return;
    kept_.update(frame);
    const std::optional<ChosenLogit> logit = chosen_logit(frame);
    if (!logit) return write_missing(frame, nullptr);
    draw_position_header(frame, "patching", "Where do two texts differ?", logit->position,
                         "Copies every number of this map as CSV.");
    draw_patching_controls(frame, *logit);
    const State& state = frame.state;
    const std::optional<AnalysisQuery> query = asked(frame, *logit);
    if (!query) return draw_missing(frame);
    const Analysed* answer = frame.ask(*query);
    if (answer && !answer->error.empty()) return write_note(frame, answer->error + ".", frame.ui.theme().warning);
    cells_.effects = answer ? answer->as<PatchEffects>() : nullptr;
    if (!cells_.effects) return write_missing(frame, answer);
    look_up(frame, *answer, *logit);
    draw_summary(frame);
    if (!cells_.effects->can_recover(state.patching.measure)) {
      cells_.effects = nullptr;
      return write_note(frame, kNothingToRecover, frame.ui.theme().warning);
    }
    draw_buttons(frame);
    if (cells_.is_heads()) {
      draw_heads(frame);
    } else {
      const float height = std::floor(height_left() * kMapShare);
      ColumnPair{.share = share_of_map(frame, cells_.matrix, kMapShare)}.draw(
          [&] { draw_tokens(frame); }, [&] { draw_list(frame); }, std::max(height, kMinMapHeight));
    }
    say_effect(frame);
    if (dropped_) keep_patch(frame, dropped_->from, dropped_->to);
    dropped_.reset();
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (!cells_.effects) return nullptr;
    if (cells_.is_heads()) return scores_.figure({.title = title_, .subtitle = about_ + summary_});
    exporting::HeatmapFigure figure = cells_.matrix.figure();
    figure.title = title_;
    figure.subtitle = about_ + summary_;
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }

 private:
  /// Says what the cell under the pointer does, where there is one.
  void say_effect(Frame& frame) const {
    const std::optional<NumberRef>& number = frame.transient.pointed_number;
    if (!number || !number->value) return;
    const auto what = std::ranges::find(number->notes, "changed", &std::pair<std::string, std::string>::first);
    if (what == number->notes.end()) return;
    frame.says = fmt::format("With {} of {} the {} goes {} of the way to it.", what->second,
                             source_name(cells_.choices, cells_.names), cells_.measured, number_word(*number->value));
  }

  /// Returns the question for the engine; for paths it draws the choice of their end as well. None: there is no such end.
  std::optional<AnalysisQuery> asked(Frame& frame, const ChosenLogit& logit) {
    const model::BlockKind kind = frame.state.selection.block.kind;
    cells_.head = {};
    if (frame.state.patching.map == PatchMap::Weights) {
      cells_.head = frame.state.selection.head_ref();
      cells_.receiver = head_name(cells_.head);
      return weight_patching_query(
          frame.state.patching, cells_.head,
          {.batch = logit.position.batch, .position = logit.position.token, .token = logit.token, .other = logit.other});
    }
    if (frame.state.patching.map != PatchMap::Paths) {
      return patching_query(frame.state.patching, kind, logit.position.batch, logit.position.token, logit.token,
                            logit.other);
    }
    std::optional<PathEnd> receiver;
    search_ = {};
    if (!frame.state.patching.receiver.is_chosen()) {
      search_ = find_receiver(frame, logit);
      receiver = search_.end;
      if (search_.is_searching) return std::nullopt;
    }
    const PathReceiver& choice = frame.state.patching.receiver;
    if (const auto chosen = receiver_in(choice, frame.result.shapes); chosen && !receiver)
      receiver = PathEnd{.head = *chosen, .input = choice.input};
    if (!receiver) return std::nullopt;
    draw_path_controls(frame, *receiver);
    cells_.receiver = receiver_name(frame, *receiver);
    return paths_query(frame, logit, *receiver);
  }

  /// Writes a note instead of the map.
  void draw_missing(Frame& frame) const {
    if (!search_.is_searching) return write_note(frame, "There is no attention of this kind.", frame.ui.theme().warning);
    write_note(frame, search_text(search_));
  }

  /// Keeps the texts that are drawn again until there are other findings.
  void look_up(Frame& frame, const Analysed& answer, const ChosenLogit& logit) {
    const PatchMeasure measure = frame.state.patching.measure;
    const bool is_known = result_ == answer.result && cells_.choices.measure == measure;
    result_ = answer.result;
    cells_.choices = frame.state.patching;
    cells_.names = run_names(frame.state);
    cells_.kind = frame.state.selection.block.kind;
    cells_.position = logit.position;
    cells_.token = logit.token;
    cells_.measured = measure == PatchMeasure::Logit
                          ? logit_title(frame, logit)
                          : fmt::format("{} of \u201C{}\u201D", measure == PatchMeasure::Loss ? "loss" : "probability",
                                        candidate_label(frame.result, logit.token));
    title_ = map_title(cells_.choices, cells_.receiver, cells_.measured);
    about_ = fmt::format("{}, \u201C{}\u201D and \u201C{}\u201D. ",
                         frame.result.model ? utf8(frame.result.model->path.filename()) : "playground",
                         typed_text(frame.state.source), typed_text(frame.state.compare.baseline->inputs.source));
    if (is_known) return;
    strongest_ = listed_patches(*cells_.effects, measure);
    cells_.matrix = {};
    cells_.words.clear();
    scores_ = {};
    if (cells_.is_heads()) {
      scores_ = recoveries_of_heads(*cells_.effects, measure, cells_.kind, frame.result.shapes);
    } else if (cells_.is_weights()) {
      cells_.matrix =
          recoveries_of_weights(*cells_.effects, measure, *frame.result.input, cells_.kind, cells_.position.batch);
    } else {
      const model::TokenBatch& tokens = frame.result.input->queries(cells_.kind);
      const std::uint32_t batch = cells_.position.batch;
      cells_.matrix = recoveries_of_tokens(*cells_.effects, measure, tokens, batch);
      for (std::uint32_t column = 0; column < cells_.effects->columns; ++column)
        cells_.words.push_back(tokens.name(batch, cells_.effects->first + column));
    }
    largest_ = std::max(strongest_.empty() ? 0.0 : std::abs(strongest_.front().recovery), kMinRange);
  }

  void draw_summary(Frame& frame) {
    const PatchEffects& found = *cells_.effects;
    const char* const where =
        cells_.is_heads() && cells_.choices.at_token && cells_.choices.token ? " at the chosen token" : " at all tokens";
    summary_ = fmt::format("{} The {}: {} in {}, {} in {}.", cell_text(cells_.choices, cells_.names, cells_.receiver, where),
                           cells_.measured, measured_text(cells_.choices.measure, found.target),
                           target_name(cells_.choices, cells_.names), measured_text(cells_.choices.measure, found.source),
                           source_name(cells_.choices, cells_.names));
    if (found.is_complete())
      frame.says = conclusion_sentence({.map = cells_.choices.map,
                                        .strongest = strongest_,
                                        .place = [&](const PatchCell& cell) { return cells_.place(cell.row, cell.column); },
                                        .receiver = cells_.receiver,
                                        .tried = search_.tried});
    std::string text = summary_ + scale_note(largest_);
    if (!found.is_complete()) text = fmt::format("{} of {} cells measured so far\u2026 {}", found.known, found.all, text);
    const float buttons = width_of_buttons(frame), room = width_left() - buttons;
    frame.ui.ensure_glyphs(text);
    const bool is_below = room < kLeastSummary;
    ImFont* small = frame.ui.fonts().small;
    if (height_left() < kLowView) {
      write_label(small, frame.ui.theme().text_dim, fit_text(small, text, is_below ? width_left() : room));
      explain_last_item(frame, text.c_str());
    } else {
      write_wrapped(small, frame.ui.theme().text_dim, text, is_below ? 0.0F : ImGui::GetCursorPosX() + room);
    }
    frame.mark("patching.summary", last_item_rect());
  }

  float width_of_buttons(const Frame& frame) const {
    if (!can_keep()) return 0.0F;
    const float keep = kControlGap + button_width(kKeep);
    if (cells_.choices.map == PatchMap::Residual) return keep + ImGui::GetStyle().ItemSpacing.x + kSteerWidth;
    const bool is_output = patched_site(cells_.choices) == model::Site::HeadOutput;
    return keep + (is_output ? ImGui::GetStyle().ItemSpacing.x + button_width(mean_label(frame.state)) : 0.0F);
  }

  void draw_buttons(Frame& frame) {
    copy_when_asked(frame, [&] {
      return csv(
          patching_table(*cells_.effects, cells_.choices.map, [&](std::size_t column) { return cells_.label(column); }));
    });
    if (!can_keep()) return;
    continue_line_at_right(width_of_buttons(frame) - kControlGap, 0.0F);
    const std::optional<PatchCell> cell = cells_.chosen_cell(frame);
    ImGui::BeginDisabled(!cell && ImGui::GetDragDropPayload() == nullptr);
    if (ImGui::Button(kKeep) && cell) keep_patch(frame, *cell, *cell);
    if (const auto from = dropped_on_last_item(map_number(frame))) dropped_ = {.from = *from, .to = *from};
    ImGui::EndDisabled();
    mark_last_item(
        frame, "patching.keep",
        "Keeps the chosen cell's activations of the other run in the present one, until they are removed: all views show "
        "the patched run. Or drag a cell: here, or onto another one, where its activations go then.");
    if (patched_site(cells_.choices) == model::Site::HeadOutput) {
      kept_.draw_mean(frame, cell ? std::optional(cells_.head_at(*cell)) : std::nullopt);
    }
    if (cells_.choices.map == PatchMap::Residual) kept_.draw_steering(frame);
  }

  /// Can activations be kept? Only those of the baseline, in the present run.
  bool can_keep() const { return !cells_.choices.into_baseline && !cells_.is_paths(); }

  /// Returns a number that differs where the map is of another run, or shows something else.
  std::uint64_t map_number(const Frame& frame) const {
    return frame.result.run << 12U | static_cast<std::uint64_t>(cells_.kind) << 8U |
           static_cast<std::uint64_t>(cells_.choices.part) << 4U | static_cast<std::uint64_t>(cells_.choices.map);
  }

  void keep_patch(Frame& frame, const PatchCell& from, const PatchCell& to) {
    if (!cells_.has_cell(from) || !cells_.has_cell(to)) return;
    const std::uint32_t batch = frame.state.selection.batch;
    if (cells_.is_weights()) {
      const auto [query, key] = cells_.weight_at(from.row, from.column);
      return kept_.keep(weight_query(cells_.head, batch, query, key), cells_.kept_name(from));
    }
    const model::Site site = patched_site(cells_.choices);
    const BlockShapes& shapes = frame.result.shapes;
    const auto source = shapes.find(cells_.block_of(from.row)), target = shapes.find(cells_.block_of(to.row));
    if (source == shapes.end() || target == shapes.end()) return;
    if (patch_width(site, source->second) != patch_width(site, target->second)) return;
    const model::TokenBatch& tokens = patched_tokens(site, cells_.kind, *frame.result.input);
    const bool is_at_token = !cells_.is_heads() || (cells_.choices.at_token && cells_.choices.token);
    const auto first_of = [&](const PatchCell& cell) {
      return cells_.is_heads() ? is_at_token ? *cells_.choices.token : tokens.start(batch)
                               : cells_.effects->first + static_cast<std::uint32_t>(cell.column);
    };
    const auto head_of = [&](const PatchCell& cell) {
      return cells_.is_heads() ? static_cast<std::uint32_t>(cell.column) : 0;
    };
    const KeptActivationQuestion query = keeping_query(site, cells_.block_of(from.row), batch, head_of(from), first_of(from),
                                                       is_at_token ? 1 : tokens.lengths[batch]);
    if (from == to) return kept_.keep(query, cells_.kept_name(from));
    kept_.keep(query, fmt::format("{} at {}", cells_.kept_name(from), cells_.place(to.row, to.column)),
               KeptChangesPanel::Target{.layer = cells_.effects->layers[to.row],
                                        .head = head_of(to) / patched_heads(site, target->second),
                                        .first = first_of(to)});
  }

  /// Called after the item of a cell: its activations can be dragged to another cell, whose activations can be dropped on
  /// it.
  void drag(Frame& frame, const PatchCell& cell) {
    if (!can_keep() || cells_.is_weights()) return;
    const std::string words = cells_.kept_name(cell);
    frame.ui.ensure_glyphs(words);
    begin_drag(cell, map_number(frame), words);
    if (const auto from = dropped_on_last_item(map_number(frame))) dropped_ = {.from = *from, .to = cell};
  }

  void select(Frame& frame, const PatchCell& cell, bool is_double) {
    Selection& selection = frame.state.selection;
    const auto number = static_cast<std::uint32_t>(cell.column);
    if (cells_.is_weights()) frame.state.view.pinned = cells_.weight_at(cell.row, cell.column);
    if (!cells_.is_weights())
      select_head(selection, {cells_.block_of(cell.row), cells_.is_heads() ? number : selection.head});
    if (cells_.is_heads() || cells_.is_weights()) {
      if (is_double) frame.start_command("view.head");
      return;
    }
    PatchingChoices& choices = frame.state.patching;
    choices.token = cells_.effects->first + number;
    if (!is_double) return;
    choices.map = PatchMap::Heads;
    choices.at_token = true;
  }

  void draw_tokens(Frame& frame) {
    const std::optional<PatchCell> chosen = cells_.chosen_cell(frame);
    std::optional<GridCell> selected;
    if (chosen) {
      const auto [row, column, recovery] =
          cells_.effect_at({.row = chosen->row, .column = chosen->column});  // its own inverse
      selected = GridCell{.row = row, .column = column};
    }
    const auto name = [&](GridCell cell) {
      return fmt::format("patching.cell.{}.{}", cells_.effect_at(cell).row, cells_.effect_at(cell).column);
    };
    const GridEvents click = draw_grid(
        frame,
        {.grid = cells_.matrix,
         .name = name,
         .about = [&](GridCell cell) { return cells_.about(cells_.effect_at(cell).row, cells_.effect_at(cell).column); },
         .selected = selected,
         .least_end = kMinRange,
         .least_written = 0.005,  // "0.00" in most cells would hide the others
         .kind = GridKind::TextRows,
         .drag = [&](GridCell cell) { drag(frame, cells_.effect_at(cell)); }});
    if (click.hovered) {
      const PatchCell at = cells_.effect_at(*click.hovered);
      if (cells_.value(at.row, at.column)) frame.transient.pointed_number = cells_.number_of(at.row, at.column);
    }
    if (click.cell) select(frame, cells_.effect_at(*click.cell), click.is_double);
  }

  void draw_heads(Frame& frame) {
    const auto row_of = [&](const HeadRef& head) {
      return static_cast<std::size_t>(std::ranges::find(cells_.effects->layers, head.block.layer.value) -
                                      cells_.effects->layers.begin());
    };
    draw_scored_heads(
        frame, {.name = "patching",
                .cells = "patching.head",
                .scores = scores_,
                .about = [&](const HeadRef& head, double /*value*/) { return cells_.about(row_of(head), head.head); },
                .number = [&](const HeadRef& head) { return cells_.number_of(row_of(head), head.head); },
                .click = [&](const HeadRef& head,
                             bool is_double) { select(frame, {.row = row_of(head), .column = head.head}, is_double); },
                .choose_order = [&] { write_note(frame, "strongest first"); },
                .drag = [&](const HeadRef& head) { drag(frame, {.row = row_of(head), .column = head.head}); },
                .least_end = kMinRange});
  }

  void draw_list(Frame& frame) {
    write_note(frame, "strongest first");
    TableParts parts{.about = [&](std::size_t at) { return cells_.about(strongest_[at].row, strongest_[at].column); }};
    if (const std::optional<PatchCell> cell = cells_.chosen_cell(frame)) {
      const auto same = [&](const PatchCell& one) { return one.row == cell->row && one.column == cell->column; };
      parts.chosen = static_cast<std::size_t>(std::ranges::find_if(strongest_, same) - strongest_.begin());
    }
    ImGui::BeginChild("list", {0.0F, 0.0F});
    const TableEvents events = draw_bars(
        frame, "patching.row",
        bar_table(
            strongest_.size(), [&](std::size_t at) { return cells_.place(strongest_[at].row, strongest_[at].column); },
            [&](std::size_t at) { return strongest_[at].recovery; }, true, kMinRange),
        parts);
    if (const auto at = events.hovered)
      frame.transient.pointed_number = cells_.number_of(strongest_[*at].row, strongest_[*at].column);
    if (const auto at = events.opened ? events.opened : events.clicked)
      select(frame, strongest_[*at], events.opened.has_value());
    ImGui::EndChild();
  }

  /// Activations that were dragged in this frame.
  struct Drop {
    PatchCell from, to;
  };

  KeptChangesPanel kept_;
  std::optional<Drop> dropped_;
  PatchedCells cells_;                            ///< effects: of result_, while something is drawn
  std::shared_ptr<const AnalysisResult> result_;  ///< that the following are of
  HeadScores scores_;                             ///< of heads
  std::vector<PatchCell> strongest_;
  double largest_ = kMinRange;
  std::string title_, about_, summary_;
  FoundReceiver search_;  ///< of paths, while no receiver is chosen
};

}  // namespace

std::unique_ptr<ViewPanel> open_patching_view() { return std::make_unique<PatchingView>(); }

}  // namespace headlight::app
