#include "app/views/view.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/views/patching/patching_parts.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/table_view.h"

namespace headlight::app {
namespace {

constexpr float kMapShare = 0.62F;  // of the width, or of the height where the list is below
constexpr float kMinMapHeight = 150.0F;
constexpr float kLeastSummary = 200.0F;  // narrower: the buttons are below it
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
    effects_ = nullptr;
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
    effects_ = answer ? answer->as<PatchEffects>() : nullptr;
    if (!effects_) return write_missing(frame, answer);
    look_up(frame, *answer, *logit);
    draw_summary(frame);
    if (!effects_->can_recover(state.patching.measure)) {
      effects_ = nullptr;
      return write_note(frame, kNothingToRecover, frame.ui.theme().warning);
    }
    draw_buttons(frame);
    if (is_heads()) {
      draw_heads(frame);
    } else {
      const float height = std::floor(height_left() * kMapShare);
      ColumnPair{.share = share_of_map(frame, matrix_, kMapShare)}.draw(
          [&] { draw_tokens(frame); }, [&] { draw_list(frame); }, std::max(height, kMinMapHeight));
    }
    say_effect(frame);
    if (dropped_) keep_patch(frame, dropped_->from, dropped_->to);
    dropped_.reset();
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (!effects_) return nullptr;
    if (is_heads()) return scores_.figure({.title = title_, .subtitle = about_ + summary_});
    exporting::HeatmapFigure figure = matrix_.figure();
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
    frame.says = fmt::format("With {} of {} the {} goes {} of the way to it.", what->second, source_name(choices_, names_),
                             measured_, number_word(*number->value));
  }

  bool is_heads() const { return is_of_heads(choices_.map); }
  bool is_paths() const { return choices_.map == PatchMap::Paths; }
  bool is_weights() const { return choices_.map == PatchMap::Weights; }

  /// Returns the question for the engine; for paths it draws the choice of their end as well. None: there is no such end.
  std::optional<AnalysisQuery> asked(Frame& frame, const ChosenLogit& logit) {
    const model::BlockKind kind = frame.state.selection.block.kind;
    head_ = {};
    if (frame.state.patching.map == PatchMap::Weights) {
      head_ = frame.state.selection.head_ref();
      receiver_ = head_name(head_);
      return weight_patching_query(
          frame.state.patching, head_,
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
    receiver_ = receiver_name(frame, *receiver);
    return paths_query(frame, logit, *receiver);
  }

  /// Writes a note instead of the map.
  void draw_missing(Frame& frame) const {
    if (!search_.is_searching) return write_note(frame, "There is no attention of this kind.", frame.ui.theme().warning);
    write_note(frame, search_text(search_));
  }

  /// Returns the label of a token that is a column of the effects.
  std::string label(std::size_t column) const {
    const std::vector<std::string>& tokens = is_weights() ? matrix_.columns.tokens : matrix_.rows.tokens;
    return column < tokens.size() ? tokens[column] : std::to_string(column);
  }
  std::optional<double> value(std::size_t row, std::size_t column) const {
    return effects_->recovery_at(row, column, choices_.measure);
  }

  /// Keeps the texts that are drawn again until there are other findings.
  void look_up(Frame& frame, const Analysed& answer, const ChosenLogit& logit) {
    const PatchMeasure measure = frame.state.patching.measure;
    const bool is_known = result_ == answer.result && choices_.measure == measure;
    result_ = answer.result;
    choices_ = frame.state.patching;
    names_ = run_names(frame.state);
    kind_ = frame.state.selection.block.kind;
    position_ = logit.position;
    token_ = logit.token;
    measured_ = measure == PatchMeasure::Logit
                    ? logit_title(frame, logit)
                    : fmt::format("{} of \u201C{}\u201D", measure == PatchMeasure::Loss ? "loss" : "probability",
                                  candidate_label(frame.result, logit.token));
    title_ = map_title(choices_, receiver_, measured_);
    about_ = fmt::format("{}, \u201C{}\u201D and \u201C{}\u201D. ",
                         frame.result.model ? utf8(frame.result.model->path.filename()) : "playground",
                         typed_text(frame.state.source), typed_text(frame.state.compare.baseline->inputs.source));
    if (is_known) return;
    strongest_ = listed_patches(*effects_, measure);
    matrix_ = {};
    scores_ = {};
    if (is_heads()) {
      scores_ = recoveries_of_heads(*effects_, measure, kind_, frame.result.shapes);
    } else if (is_weights()) {
      matrix_ = recoveries_of_weights(*effects_, measure, *frame.result.input, kind_, position_.batch);
    } else {
      matrix_ = recoveries_of_tokens(*effects_, measure, frame.result.input->queries(kind_), position_.batch);
    }
    largest_ = std::max(strongest_.empty() ? 0.0 : std::abs(strongest_.front().recovery), kMinRange);
  }

  void draw_summary(Frame& frame) {
    const PatchEffects& found = *effects_;
    const char* const where = is_heads() && choices_.at_token && choices_.token ? " at the chosen token" : " at all tokens";
    summary_ = fmt::format("{}: {} in {}, {} in {}. {}", measured_, measured_text(choices_.measure, found.target),
                           target_name(choices_, names_), measured_text(choices_.measure, found.source),
                           source_name(choices_, names_), cell_text(choices_, names_, receiver_, where));
    if (found.is_complete())
      frame.says = conclusion_sentence({.map = choices_.map,
                                        .strongest = strongest_,
                                        .place = [&](const PatchCell& cell) { return place(cell.row, cell.column); },
                                        .receiver = receiver_,
                                        .tried = search_.tried});
    std::string text = summary_ + scale_note(largest_);
    if (!found.is_complete()) text = fmt::format("{} of {} cells measured so far\u2026 {}", found.known, found.all, text);
    const float buttons = width_of_buttons(frame), room = width_left() - buttons;
    ImFont* small = frame.ui.fonts().small;
    frame.ui.ensure_glyphs(text);
    write_label(small, frame.ui.theme().text_dim, fit_text(small, text, room < kLeastSummary ? width_left() : room));
    explain_last_item(frame, text.c_str());
    frame.mark("patching.summary", last_item_rect());
  }

  float width_of_buttons(const Frame& frame) const {
    if (!can_keep()) return 0.0F;
    const float keep = kControlGap + button_width(kKeep);
    if (choices_.map == PatchMap::Residual) return keep + ImGui::GetStyle().ItemSpacing.x + kSteerWidth;
    const bool is_output = patched_site(choices_) == model::Site::HeadOutput;
    return keep + (is_output ? ImGui::GetStyle().ItemSpacing.x + button_width(mean_label(frame.state)) : 0.0F);
  }

  void draw_buttons(Frame& frame) {
    copy_when_asked(frame, [&] {
      return csv(patching_table(*effects_, choices_.map, [&](std::size_t column) { return label(column); }));
    });
    if (!can_keep()) return;
    continue_line_at_right(width_of_buttons(frame) - kControlGap, 0.0F);
    const std::optional<PatchCell> cell = chosen_cell(frame);
    ImGui::BeginDisabled(!cell && ImGui::GetDragDropPayload() == nullptr);
    if (ImGui::Button(kKeep) && cell) keep_patch(frame, *cell, *cell);
    if (const auto from = dropped_on_last_item(map_number(frame))) dropped_ = {.from = *from, .to = *from};
    ImGui::EndDisabled();
    mark_last_item(
        frame, "patching.keep",
        "Keeps the chosen cell's activations of the other run in the present one, until they are removed: all views show "
        "the patched run. Or drag a cell: here, or onto another one, where its activations go then.");
    if (patched_site(choices_) == model::Site::HeadOutput) {
      kept_.draw_mean(frame, cell ? std::optional(head_at(*cell)) : std::nullopt);
    }
    if (choices_.map == PatchMap::Residual) kept_.draw_steering(frame);
  }

  /// Returns the cell of the selected layer and token, of the selected head, or the pinned one.
  std::optional<PatchCell> chosen_cell(const Frame& frame) const {
    if (is_weights()) {
      const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
      if (!pinned || pinned->query < effects_->first_query || pinned->key < effects_->first) return std::nullopt;
      const PatchCell cell{.row = pinned->query - effects_->first_query, .column = pinned->key - effects_->first};
      return has_cell(cell) ? std::optional(cell) : std::nullopt;
    }
    const Selection& selection = frame.state.selection;
    const auto layer = std::ranges::find(effects_->layers, selection.block.layer.value);
    const std::uint32_t token = choices_.token.value_or(0);
    if (layer == effects_->layers.end() || selection.block.kind != kind_) return std::nullopt;
    if (!is_heads() && (!choices_.token || token < effects_->first)) return std::nullopt;
    const std::size_t column = is_heads() ? selection.head : token - effects_->first;
    if (column >= effects_->columns) return std::nullopt;
    return PatchCell{.row = static_cast<std::size_t>(layer - effects_->layers.begin()), .column = column};
  }

  /// Can activations be kept? Only those of the baseline, in the present run.
  bool can_keep() const { return !choices_.into_baseline && !is_paths(); }

  /// Returns a number that differs where the map is of another run, or shows something else.
  std::uint64_t map_number(const Frame& frame) const {
    return frame.result.run << 12U | static_cast<std::uint64_t>(kind_) << 8U |
           static_cast<std::uint64_t>(choices_.part) << 4U | static_cast<std::uint64_t>(choices_.map);
  }
  bool has_cell(const PatchCell& cell) const { return cell.row < effects_->rows() && cell.column < effects_->columns; }
  model::BlockRef block_of(std::size_t row) const {
    return is_weights() ? head_.block : model::BlockRef{kind_, LayerIndex{effects_->layers[row]}};
  }
  /// Returns the query and key of a cell in a map of weights.
  attention::Cell weight_at(std::size_t row, std::size_t column) const {
    return {.query = effects_->first_query + static_cast<std::uint32_t>(row),
            .key = effects_->first + static_cast<std::uint32_t>(column)};
  }
  HeadRef head_at(const PatchCell& cell) const {
    return {.block = block_of(cell.row), .head = static_cast<std::uint32_t>(cell.column)};
  }
  std::string kept_name(const PatchCell& cell) const {
    const std::string head = is_weights() ? receiver_ + ", " : "";
    return fmt::format("{} of {}, {}{}", patched_thing(choices_), names_.baseline, head, place(cell.row, cell.column));
  }

  void keep_patch(Frame& frame, const PatchCell& from, const PatchCell& to) {
    if (!has_cell(from) || !has_cell(to)) return;
    const std::uint32_t batch = frame.state.selection.batch;
    if (is_weights()) {
      const auto [query, key] = weight_at(from.row, from.column);
      return kept_.keep(weight_query(head_, batch, query, key), kept_name(from));
    }
    const model::Site site = patched_site(choices_);
    const BlockShapes& shapes = frame.result.shapes;
    const auto source = shapes.find(block_of(from.row)), target = shapes.find(block_of(to.row));
    if (source == shapes.end() || target == shapes.end()) return;
    if (patch_width(site, source->second) != patch_width(site, target->second)) return;
    const model::TokenBatch& tokens = patched_tokens(site, kind_, *frame.result.input);
    const bool is_at_token = !is_heads() || (choices_.at_token && choices_.token);
    const auto first_of = [&](const PatchCell& cell) {
      return is_heads() ? is_at_token ? *choices_.token : tokens.start(batch)
                        : effects_->first + static_cast<std::uint32_t>(cell.column);
    };
    const auto head_of = [&](const PatchCell& cell) { return is_heads() ? static_cast<std::uint32_t>(cell.column) : 0; };
    const KeptActivationQuestion query = keeping_query(site, block_of(from.row), batch, head_of(from), first_of(from),
                                                       is_at_token ? 1 : tokens.lengths[batch]);
    if (from == to) return kept_.keep(query, kept_name(from));
    kept_.keep(query, fmt::format("{} at {}", kept_name(from), place(to.row, to.column)),
               KeptChangesPanel::Target{.layer = effects_->layers[to.row],
                                        .head = head_of(to) / patched_heads(site, target->second),
                                        .first = first_of(to)});
  }

  /// Called after the item of a cell: its activations can be dragged to another cell, whose activations can be dropped on
  /// it.
  void drag(Frame& frame, const PatchCell& cell) {
    if (!can_keep() || is_weights()) return;
    const std::string words = kept_name(cell);
    frame.ui.ensure_glyphs(words);
    begin_drag(cell, map_number(frame), words);
    if (const auto from = dropped_on_last_item(map_number(frame))) dropped_ = {.from = *from, .to = cell};
  }

  std::string place(std::size_t row, std::size_t column) const {
    if (is_heads()) return head_name(head_at({.row = row, .column = column}));
    if (is_weights()) {
      return fmt::format("\u201C{}\u201D {} \u2192 \u201C{}\u201D {}", matrix_.rows.tokens[row],
                         weight_at(row, column).query, label(column), weight_at(row, column).key);
    }
    return fmt::format("L{} \u201C{}\u201D {}", effects_->layers[row], label(column), effects_->first + column);
  }

  std::string about(std::size_t row, std::size_t column) const {
    const std::optional<PatchedNumbers>& numbers = effects_->at(row, column);
    std::string where = is_weights() ? fmt::format("{}, {}", receiver_, place(row, column))
                                     : fmt::format("Layer {}, head {}", block_of(row).layer.value, column);
    if (!is_heads() && !is_weights()) {
      where =
          fmt::format("Layer {}, token {} \u201C{}\u201D", effects_->layers[row], effects_->first + column, label(column));
    }
    return fmt::format("{}: {} {} patched, {} before. {}. {}", where, measured_, measured_text(choices_.measure, *numbers),
                       measured_text(choices_.measure, effects_->target),
                       recovery_text(choices_, names_, value(row, column).value_or(0.0)), click_hint(choices_.map));
  }

  /// Returns the reference to a cell whose effect is known.
  NumberRef number_of(std::size_t row, std::size_t column) const {
    const PatchedNumbers& patched = *effects_->at(row, column);
    const auto number = [&](const PatchedNumbers& of) { return fmt::format("{:.9g}", of.of(choices_.measure)); };
    NumberRef asked{.of = std::string(is_paths() ? kPathRecovery : kPatchRecovery),
                    .block = block_of(row),
                    .batch = position_.batch,
                    .head = is_heads() ? static_cast<std::uint32_t>(column) : head_.head,
                    .row = position_.token,
                    .column = token_,
                    .value = value(row, column),
                    .notes = {{"measure", measured_},
                              {"patched", number(patched)},
                              {"target", fmt::format("{}: {}", target_name(choices_, names_), number(effects_->target))},
                              {"source", fmt::format("{}: {}", source_name(choices_, names_), number(effects_->source))}}};
    const std::string what = is_paths()   ? fmt::format("what {} learn of the head's output", receiver_)
                             : is_heads() ? fmt::format("{} of head {}", patched_thing(choices_), column)
                                          : fmt::format("{} at {}", patched_thing(choices_), place(row, column));
    asked.notes.emplace_back("changed", what);
    if (is_heads()) {
      const bool is_at_token = choices_.at_token && choices_.token;
      asked.notes.emplace_back("at", is_at_token ? fmt::format("token {}", *choices_.token) : "all tokens");
    }
    return asked;
  }

  void select(Frame& frame, const PatchCell& cell, bool is_double) {
    Selection& selection = frame.state.selection;
    const auto number = static_cast<std::uint32_t>(cell.column);
    if (is_weights()) frame.state.view.pinned = weight_at(cell.row, cell.column);
    if (!is_weights()) select_head(selection, {block_of(cell.row), is_heads() ? number : selection.head});
    if (is_heads() || is_weights()) {
      if (is_double) frame.start_command("view.head");
      return;
    }
    PatchingChoices& choices = frame.state.patching;
    choices.token = effects_->first + number;
    if (!is_double) return;
    choices.map = PatchMap::Heads;
    choices.at_token = true;
  }

  /// Returns the effect that a cell of the matrix shows: without weights its rows are tokens, which are columns of the
  /// effects.
  PatchCell effect_at(GridCell cell) const {
    return is_weights() ? PatchCell{.row = cell.row, .column = cell.column}
                        : PatchCell{.row = cell.column, .column = cell.row};
  }

  void draw_tokens(Frame& frame) {
    const std::optional<PatchCell> chosen = chosen_cell(frame);
    std::optional<GridCell> selected;
    if (chosen) {
      const auto [row, column, recovery] = effect_at({.row = chosen->row, .column = chosen->column});  // its own inverse
      selected = GridCell{.row = row, .column = column};
    }
    const auto name = [&](GridCell cell) {
      return fmt::format("patching.cell.{}.{}", effect_at(cell).row, effect_at(cell).column);
    };
    const GridEvents click =
        draw_grid(frame, {.grid = matrix_,
                          .name = name,
                          .about = [&](GridCell cell) { return about(effect_at(cell).row, effect_at(cell).column); },
                          .selected = selected,
                          .least_end = kMinRange,
                          .kind = GridKind::TextRows,
                          .drag = [&](GridCell cell) { drag(frame, effect_at(cell)); }});
    if (click.hovered) {
      const PatchCell at = effect_at(*click.hovered);
      if (value(at.row, at.column)) frame.transient.pointed_number = number_of(at.row, at.column);
    }
    if (click.cell) select(frame, effect_at(*click.cell), click.is_double);
  }

  void draw_heads(Frame& frame) {
    const auto row_of = [&](const HeadRef& head) {
      return static_cast<std::size_t>(std::ranges::find(effects_->layers, head.block.layer.value) -
                                      effects_->layers.begin());
    };
    draw_scored_heads(
        frame, {.name = "patching",
                .cells = "patching.head",
                .scores = scores_,
                .about = [&](const HeadRef& head, double /*value*/) { return about(row_of(head), head.head); },
                .number = [&](const HeadRef& head) { return number_of(row_of(head), head.head); },
                .click = [&](const HeadRef& head,
                             bool is_double) { select(frame, {.row = row_of(head), .column = head.head}, is_double); },
                .choose_order = [&] { write_note(frame, "strongest first"); },
                .drag = [&](const HeadRef& head) { drag(frame, {.row = row_of(head), .column = head.head}); },
                .least_end = kMinRange});
  }

  void draw_list(Frame& frame) {
    write_note(frame, "strongest first");
    TableParts parts{.about = [&](std::size_t at) { return about(strongest_[at].row, strongest_[at].column); }};
    if (const std::optional<PatchCell> cell = chosen_cell(frame)) {
      const auto same = [&](const PatchCell& one) { return one.row == cell->row && one.column == cell->column; };
      parts.chosen = static_cast<std::size_t>(std::ranges::find_if(strongest_, same) - strongest_.begin());
    }
    ImGui::BeginChild("list", {0.0F, 0.0F});
    const TableEvents events =
        draw_bars(frame, "patching.row",
                  bar_table(
                      strongest_.size(), [&](std::size_t at) { return place(strongest_[at].row, strongest_[at].column); },
                      [&](std::size_t at) { return strongest_[at].recovery; }, true, kMinRange),
                  parts);
    if (const auto at = events.hovered)
      frame.transient.pointed_number = number_of(strongest_[*at].row, strongest_[*at].column);
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
  const PatchEffects* effects_ = nullptr;         ///< of result_, while something is drawn
  std::shared_ptr<const AnalysisResult> result_;  ///< that the following are of
  PatchingChoices choices_;
  RunNames names_;
  model::BlockKind kind_ = model::BlockKind::EncoderSelf;
  PredictionPosition position_;
  std::uint32_t token_ = 0;  ///< of the vocabulary, that is measured
  Grid matrix_;              ///< of tokens and layers
  HeadScores scores_;        ///< of heads
  std::vector<PatchCell> strongest_;
  double largest_ = kMinRange;
  std::string measured_, title_, about_, summary_;
  HeadRef head_;          ///< whose weights are put
  std::string receiver_;  ///< of paths: "L3 H5's queries"; of weights their head
  FoundReceiver search_;  ///< of paths, while no receiver is chosen
};

}  // namespace

std::unique_ptr<ViewPanel> open_patching_view() { return std::make_unique<PatchingView>(); }

}  // namespace headlight::app
