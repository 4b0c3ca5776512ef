#include <fmt/ranges.h>

#include "app/state/dropout_settings.h"
#include "app/state/map_settings.h"
#include "app/state/model_changes.h"
#include "app/state/notebook_settings.h"
#include "app/views/notebook/notebook_parts.h"
#include "app/views/view.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/preset_editor.h"
#include "export/figure.h"

namespace headlight::app {
namespace {

using inference::NotebookCell;
using inference::NotebookNumbers;
using inference::NotebookPage;
using inference::NotebookPart;

constexpr float kMinPicture = 230.0F, kMaxPicture = 420.0F, kMaxPictureHeight = 560.0F, kPictureGap = 32.0F;

/// Opens a cell: its preset, with the cell's own edits where the present ones are of another recipe.
void open_cell(State& state, const NotebookCell& cell, const NotebookCell* shown) {
  if (notebook_name(state.source) != cell.preset) {
    select_preset(state, cell.preset);
    edit_notebook(state, cell.edits);
  } else if (shown != nullptr && !is_of_recipe(cell, *shown)) {
    edit_notebook(state, cell.edits);
  }
  state.set(kNotebookView.cell, cell.id);
}

/// Returns the chosen cell, or the first of the preset on screen.
const NotebookCell& chosen_cell_of(const NotebookPage& page, const State& state) {
  const std::string& preset = notebook_name(state.source);
  const auto has_preset = [&](const NotebookCell& cell) { return cell.preset == preset; };
  const auto chosen = std::ranges::find(page.cells, state[kNotebookView.cell], &NotebookCell::id);
  if (chosen != page.cells.end() && has_preset(*chosen)) return *chosen;
  return *std::ranges::find_if(page.cells, has_preset);
}

/// What a cell offers: a view, and which stages are in it.
struct PlaceButton {
  const char* view;
  const char* label;
  const char* help;
};
constexpr std::array kPlaces = {
    PlaceButton{"steps", "in Steps", "Opens this matrix in Steps, with the row that makes the number written out."},
    PlaceButton{"neuron", "in Neuron", "Opens the query and the key in Neuron: products, sum, softmax."},
    PlaceButton{"block", "in Block", "Opens this matrix in the layer\u2019s data flow."}};

class NotebookView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    const std::string& preset = notebook_name(frame.state.source);
    if (preset.empty()) {
      shown_.reset();
      return offer_notebooks(frame);
    }
    const NotebookPage& page = inference::page_of_preset(preset);
    const NotebookCell& cell = chosen_cell_of(page, frame.state);
    // A cell that a flag or a file names brings its own numbers.
    if (memory_cell_ != page.name + cell.id && notebook_edits(frame.state.source).is_empty())
      edit_notebook(frame.state, cell.edits);
    refresh_own(cell);
    const bool is_own = run_inputs(frame.state) == own_inputs_;
    const Analysed* answer = frame.ask(NotebookQuestion{.page = page.name, .cell = cell.id});
    const auto* found = answer != nullptr ? answer->as<NotebookFound>() : nullptr;
    std::vector<const NotebookCell*> live;
    for (const NotebookCell& other : page.cells) {
      if (is_of_recipe(other, cell)) live.push_back(&other);
    }
    draw_header(frame, page, live, found, is_own);
    if (found != nullptr) copy_when_asked(frame, [&] { return csv(cells_table(live, *found)); });
    const float list = std::clamp(std::round(width_left() * 0.32F), 200.0F, 440.0F);
    ImGui::BeginChild("cells", ImVec2(list, 0.0F), false);
    const std::size_t next = list_.draw(frame, page, cell, found, is_own);
    ImGui::EndChild();
    ImGui::SameLine(0.0F, 16.0F);
    ImGui::BeginChild("cell", ImVec2(0.0F, 0.0F), false);
    draw_cell(frame, page, cell, answer, is_own);
    ImGui::EndChild();
    if (&page.cells[next] == &cell) return;
    open_cell(frame.state, page.cells[next], &cell);
    frame.ui.request_redraw(2);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (!shown_) return nullptr;
    exporting::HeatmapFigure figure = shown_->figure(color_map_);
    figure.title = title_;
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }

 private:
  /// In place of the view where no notebook is open: a button for each.
  static void offer_notebooks(Frame& frame) {
    draw_view_title(frame, "Notebook");
    draw_empty_note(frame, "notebook.empty", "No notebook is open",
                    "The notebooks 000 to 004 compute attention step by step. This view lists a notebook\u2019s "
                    "cells: each number that it prints, beside what this pass computes, and by how much they differ.");
    go_below_note();
    const float left = ImGui::GetCursorPosX();
    const std::span<const NotebookPage> pages = inference::notebook_pages();
    for (const NotebookPage& page : pages) {
      ImGui::SetCursorPosX(left);
      const std::string label = fmt::format("{} \u00B7 {}", page.name, page.title);
      const std::string name = "notebook.open." + page.name;
      constexpr const char* kHelp = "Opens the notebook\u2019s first preset.";
      const bool is_clicked = &page == &pages.front() ? draw_first_button(frame, name, label.c_str(), kHelp)
                                                      : draw_button(frame, name, label.c_str(), kHelp);
      if (!is_clicked) continue;
      open_cell(frame.state, page.cells.front(), nullptr);
      frame.ui.request_redraw(2);
    }
  }

  void refresh_own(const NotebookCell& cell) {
    if (own_.source == Source(Notebook{cell.preset, cell.edits})) return;
    own_ = {};
    select_preset(own_, cell.preset);
    edit_notebook(own_, cell.edits);
    own_inputs_ = run_inputs(own_);
  }

  static void draw_header(Frame& frame, const NotebookPage& page, std::span<const NotebookCell* const> live,
                          const NotebookFound* found, bool is_own) {
    draw_view_title(frame, fmt::format("Notebook {}", page.name));
    PrintedCount count;
    for (const NotebookCell* cell : live) {
      const NotebookFound::Cell* known = found != nullptr ? found->find(cell->id) : nullptr;
      count += known != nullptr ? count_equal(*cell, *known) : PrintedCount{.printed = cell->printed_count()};
    }
    std::string note = page.title;
    if (found == nullptr) {
      note = "being computed\u2026";
    } else if (!is_own) {
      note = "changed: printed numbers are of the notebook\u2019s own";
    } else if (count.printed > 0) {
      note = fmt::format("{} of {} printed numbers equal", count.equal, count.printed);
    }
    ImGui::SameLine(0.0F, 12.0F);
    draw_title_note(frame, note);
    const chart::Rect summary = last_item_rect();
    frame.mark("notebook.summary", {.origin = summary.origin, .size = summary.size + glm::vec2(0.0F, 12.0F)});
    draw_copy_button(frame, "notebook.copy",
                     "Copies every number of these cells as CSV: printed, ours, and by how many units "
                     "of the last digit they differ.",
                     found != nullptr);
    place_sentence(frame);
  }

  void draw_cell(Frame& frame, const NotebookPage& page, const NotebookCell& cell, const Analysed* answer, bool is_own) {
    const shell::FontSet& fonts = frame.ui.fonts();
    const shell::Theme& theme = frame.ui.theme();
    if (memory_cell_ != page.name + cell.id) {
      memory_cell_ = page.name + cell.id;
      chosen_.reset();
      ImGui::SetScrollY(0.0F);
    }
    write_text(fonts.strong, theme.text, cell.is_printed() ? fmt::format("{}  {}", cell.id, cell.title) : cell.title);
    write_wrapped(fonts.body, theme.text_dim, cell.does);
    ImGui::Spacing();
    write_wrapped(fonts.body, theme.text, cell.says);
    ImGui::Spacing();
    const auto* found = answer != nullptr ? answer->as<NotebookFound>() : nullptr;
    if (found != nullptr && std::exchange(result_, answer->result) != answer->result) shown_.reset();
    const NotebookFound::Cell* known = found != nullptr ? found->find(cell.id) : nullptr;
    if (known == nullptr || !known->error.empty()) {
      if (known != nullptr) write_note(frame, known->error, theme.warning, "notebook.error");
      if (known == nullptr) write_missing(frame, answer);
    } else {
      draw_places(frame, cell, *known);
      draw_changed(frame, cell, is_own);
      draw_parts(frame, cell, *known, is_own);
      say(frame, cell, *known, is_own);
    }
    if (known == nullptr || !known->error.empty()) draw_changed(frame, cell, is_own);
    draw_fields(frame, cell);
  }

  /// What differs from the notebook's own, and the way back.
  void draw_changed(Frame& frame, const NotebookCell& cell, bool is_own) {
    if (is_own) return;
    std::vector<std::string> changes;
    const std::vector<ModelChange> usual = list_model_changes(own_);
    for (const ModelChange& change : list_model_changes(frame.state)) {
      if (std::ranges::find(usual, change.text, &ModelChange::text) == usual.end()) changes.push_back(change.text);
    }
    const std::string words =
        changes.empty() ? "its own edits are taken back" : fmt::format("{}", fmt::join(changes, " \u00B7 "));
    write_note(frame,
               fmt::format("Changed: {}. Printed numbers are of the notebook\u2019s own {}.", words,
                           cell.edits.is_empty() ? "seed and numbers" : "numbers"),
               frame.ui.theme().warning, "notebook.changed");
    if (draw_button(frame, "notebook.back", "Back to the notebook\u2019s numbers",
                    "Takes every change of seed, sizes, numbers, masks and dropout back.")) {
      frame.state.source = own_.source;
      frame.state.pass() = own_.pass();
    }
    ImGui::Spacing();
  }

  /// The number that buttons go to and the sentence is about: the one that is pointed at or chosen, else the largest.
  std::optional<std::pair<std::size_t, std::size_t>> number_shown(const NotebookFound::Cell& known) const {
    if (hovered_ && hovered_->first < known.parts.size()) return hovered_;
    if (chosen_ && chosen_->first < known.parts.size() && chosen_->second < known.parts[chosen_->first].values.size())
      return chosen_;
    if (known.parts.empty() || known.parts.front().values.empty()) return std::nullopt;
    const std::vector<double>& values = known.parts.front().values;
    return std::pair(std::size_t{0}, static_cast<std::size_t>(std::ranges::max_element(values) - values.begin()));
  }

  void draw_places(Frame& frame, const NotebookCell& cell, const NotebookFound::Cell& known) {
    const auto at = chosen_ ? number_shown(known) : std::optional(std::pair(std::size_t{0}, std::size_t{0}));
    if (!at || at->first >= cell.parts.size()) return;
    const NotebookPart& part = cell.parts[at->first];
    const std::optional<attention::Stage> stage = inference::stage_of(part);
    bool is_first = true;
    for (const PlaceButton& place : kPlaces) {
      const bool is_neuron = std::string_view(place.view) == "neuron";
      const bool has_place = stage && (!is_neuron || (*stage >= attention::Stage::Q && *stage <= attention::Stage::Weights &&
                                                      *stage != attention::Stage::V));
      if (!has_place || (std::string_view(place.view) == "block" && !has_flow(frame))) continue;
      if (!is_first) ImGui::SameLine(0.0F, 8.0F);
      is_first = false;
      if (!draw_button(frame, fmt::format("notebook.in.{}", place.view), place.label, place.help)) continue;
      go_to(frame.state, part, known.parts[at->first], at->second, *stage, place.view);
    }
    if (!is_first) ImGui::Spacing();
  }

  static bool has_flow(const Frame& frame) { return frame.result.network && !frame.result.input->qkv; }

  static void go_to(State& state, const NotebookPart& part, const NotebookNumbers& numbers, std::size_t number,
                    attention::Stage stage, const char* view) {
    const std::map<char, std::uint32_t> place = part.is_size ? std::map<char, std::uint32_t>() : numbers.place(number);
    const auto at = [&](char letter) { return place.contains(letter) ? place.at(letter) : 0U; };
    state.selection.block = {.kind = part.block, .layer = {}};
    state.selection.batch = at('b');
    state.selection.head = at('h');
    state.selection.mean = HeadMean::None;
    const bool is_cell = place.contains('q') || place.contains('k');
    const bool is_key = attention::is_of_keys(stage);
    if (is_cell) state.view.pinned = attention::Cell{.query = at('q'), .key = at('k')};
    if (!is_cell && place.contains('t'))
      state.view.pinned = attention::Cell{.query = is_key ? 0 : at('t'), .key = is_key ? at('t') : 0};
    state.opened_matrix = part.stage.starts_with("w_") ? part.stage : std::string(to_string(stage));
    state.view.tab = view;
  }

  void draw_parts(Frame& frame, const NotebookCell& cell, const NotebookFound::Cell& known, bool is_own) {
    hovered_.reset();
    const float all = width_left();
    std::size_t main = 0;  // whose picture is drawn
    if (chosen_) main = chosen_->first;
    const auto is_matrix = [&](std::size_t part) {
      return !cell.parts[part].is_size && cell.parts[part].rows.empty() && known.parts[part].values.size() > 2;
    };
    while (main + 1 < cell.parts.size() && !is_matrix(main)) ++main;
    const bool has_picture = is_matrix(main);
    const float picture = std::clamp(std::round(all * 0.36F), kMinPicture, kMaxPicture);
    const float numbers = widths_[memory_cell_];
    const bool is_beside = has_picture && numbers > 0.0F && numbers + picture + kPictureGap <= all;
    const glm::vec2 start = cursor_position();
    widths_[memory_cell_] = 0.0F;
    begin_kept("numbers", is_beside ? numbers + kPictureGap * 0.5F : all, ImGuiWindowFlags_HorizontalScrollbar);
    for (std::size_t i = 0; i < cell.parts.size(); ++i) draw_part(frame, cell.parts[i], known.parts[i], i, is_own);
    end_kept(frame, "numbers");
    if (widths_[memory_cell_] != numbers) frame.ui.request_redraw(2);
    const NotebookNumbers* part = &known.parts[main];
    if (std::exchange(shown_part_, part) != part || !shown_) shown_ = grid_of(cell.parts[main], *part);
    title_ = fmt::format("{} \u00B7 {}", cell.title, cell.parts[main].name);
    color_map_ = frame.state[kMapView.color_map];
    if (!has_picture) return;
    const float below = ImGui::GetCursorPosY();
    if (is_beside) ImGui::SetCursorScreenPos(to_imgui(glm::vec2(start.x + numbers + kPictureGap, start.y)));
    draw_picture(frame, known.parts[main], main, is_beside ? picture : all);
    ImGui::SetCursorPosY(std::max(below, ImGui::GetCursorPosY()));
  }

  /// Begins a region as high as its content was in the last frame: the region around it scrolls.
  void begin_kept(const std::string& name, float width, ImGuiWindowFlags flags = 0) {
    const auto last = heights_.find(memory_cell_ + name);
    ImGui::BeginChild(name.c_str(), ImVec2(width, last == heights_.end() ? 200.0F : last->second), false, flags);
  }
  void end_kept(Frame& frame, const std::string& name) {
    const float bar = ImGui::GetScrollMaxX() > 0.0F ? ImGui::GetStyle().ScrollbarSize : 0.0F;
    const float height = std::ceil(ImGui::GetCursorPosY() + bar + 4.0F);
    if (std::exchange(heights_[memory_cell_ + name], height) != height) frame.ui.request_redraw(2);
    ImGui::EndChild();
  }

  void draw_part(Frame& frame, const NotebookPart& part, const NotebookNumbers& numbers, std::size_t index, bool is_own) {
    const shell::FontSet& fonts = frame.ui.fonts();
    const shell::Theme& theme = frame.ui.theme();
    const std::string name = part.is_size ? fmt::format("size of {}", part.stage) : part.name;
    write_text(fonts.small, theme.text, name);
    const std::string axes = axes_in_words(part, numbers);
    ImGui::SameLine(0.0F, 8.0F);
    write_text(fonts.small, theme.text_dim, axes);
    const std::string mark = fmt::format("notebook.number.{}", index);
    const bool is_chosen = chosen_ && chosen_->first == index;
    const NumberTableEvents events =
        draw_numbers(frame, {.part = part,
                             .ours = numbers,
                             .name = mark,
                             .is_own = is_own,
                             .chosen = is_chosen ? std::optional(chosen_->second) : std::nullopt});
    const float heading = text_width(fonts.small, name) + 8.0F + text_width(fonts.small, axes);
    widths_[memory_cell_] = std::max({widths_[memory_cell_], events.width, heading});
    if (events.hovered) hovered_ = std::pair(index, *events.hovered);
    if (events.clicked) choose(index, *events.clicked);
    ImGui::Dummy(ImVec2(1.0F, 8.0F));
  }

  void choose(std::size_t part, std::size_t number) {
    const std::pair<std::size_t, std::size_t> place(part, number);
    chosen_ = chosen_ == place ? std::nullopt : std::optional(place);
  }

  void draw_picture(Frame& frame, const NotebookNumbers& numbers, std::size_t part, float width) {
    // Numbers of several axes have longer names than layers and heads.
    const GridKind kind = numbers.rows.back().size() > 3 ? GridKind::TextRows : GridKind::Numbers;
    const float height = std::min(grid_height(*shown_, width, kind) + 4.0F, kMaxPictureHeight);
    ImGui::BeginChild("picture", ImVec2(width, height), false);
    const auto number = [&](GridCell cell) { return cell.row * numbers.row + cell.column; };
    std::optional<GridCell> selected;
    if (chosen_ && chosen_->first == part)
      selected = GridCell{.row = chosen_->second / numbers.row, .column = chosen_->second % numbers.row};
    const GridEvents events =
        draw_grid(frame, {.grid = *shown_,
                          .name = [](GridCell cell) { return fmt::format("notebook.grid.{}.{}", cell.row, cell.column); },
                          .about =
                              [&](GridCell cell) {
                                return fmt::format("{}: {}", inference::number_text(numbers.values[number(cell)]),
                                                   place_in_words(numbers, number(cell)));
                              },
                          .missing = "hidden by the mask, or not a finite number",
                          .selected = selected,
                          .kind = kind});
    if (events.hovered) hovered_ = std::pair(part, number(*events.hovered));
    if (events.cell) choose(part, number(*events.cell));
    ImGui::EndChild();
  }

  void say(Frame& frame, const NotebookCell& cell, const NotebookFound::Cell& known, bool is_own) const {
    const auto at = number_shown(known);
    if (!at) return;
    const NotebookPart& part = cell.parts[at->first];
    const NotebookNumbers& numbers = known.parts[at->first];
    const inference::PrintedNumber* printed = printed_at(part, at->second);
    if (part.is_size && printed != nullptr && is_own) return say_size(frame, part, numbers);
    const std::string ours = number_word(our_text(part, numbers, at->second));
    const std::string where = part.is_size ? std::string() : place_in_words(numbers, at->second);
    const std::string place = where.empty() ? std::string() : fmt::format(" ({})", where);
    const std::string name = part.is_size ? fmt::format("Size of {}", part.stage) : part.name;
    if (printed == nullptr) {
      frame.says = fmt::format("{}{} is {}; the notebook doesn\u2019t print it.", name, place, ours);
    } else if (!is_own) {
      frame.says =
          fmt::format("{}{} is {} now; the notebook\u2019s own is {}.", name, place, ours, number_word(printed->text));
    } else {
      frame.says =
          fmt::format("{}{}: the notebook prints {}, this pass gives {}.", name, place, number_word(printed->text), ours);
    }
  }

  /// Says all numbers of a size: one of them alone isn't what the notebook prints.
  static void say_size(Frame& frame, const NotebookPart& part, const NotebookNumbers& numbers) {
    std::vector<std::string> printed, ours;
    for (const inference::PrintedNumber& number : part.printed) printed.push_back(number.text);
    for (std::size_t i = 0; i < numbers.values.size(); ++i) ours.push_back(our_text(part, numbers, i));
    const auto size = [](const std::vector<std::string>& words) {
      return number_word(fmt::format("{}", fmt::join(words, " \u00D7 ")));
    };
    frame.says = fmt::format("Size of {}: the notebook prints {}, this pass gives {}.", part.stage, size(printed),
                             printed == ours ? "the same" : size(ours));
  }

  void draw_fields(Frame& frame, const NotebookCell& cell) {
    ImGui::Spacing();
    Form form(frame, typed_, "notebook");
    if (!form.fold("edit", "Change it", shows_fields_, "Sentence, sizes, seed, the numbers of any matrix, mask and fill."))
      return;
    begin_kept("fields", std::min(width_left(), 460.0F));
    attention::MaskSpec& mask = frame.state.masks[frame.state.selection.block.kind];
    form.toggle("causal", "Causal mask", mask.rule.causal, {}, "Hides later keys from each query.");
    constexpr std::array<const char*, 3> kFills = {"\u2212\u221E", "\u22121e9", "\u22121e10"};
    int fill = static_cast<int>(mask.fill);
    if (form.segments("fill", "Fill", kFills, fill, "What masked scores are replaced by."))
      mask.fill = static_cast<attention::MaskFill>(fill);
    if (cell.fields == "dropout") {
      for (const AnySetting* setting : kDropout.settings) form.setting(*setting, frame.state.settings);
    }
    draw_preset_fields(frame, form, editor_);
    end_kept(frame, "fields");
  }

  State own_;  ///< as the cell's recipe has it
  RunInputs own_inputs_;
  NumberBeingTyped typed_;
  PresetEditor editor_;
  bool shows_fields_ = true;
  NotebookList list_;
  std::string memory_cell_;
  std::map<std::string, float> heights_, widths_;                        ///< of regions in cells, in the last frame
  std::optional<std::pair<std::size_t, std::size_t>> chosen_, hovered_;  ///< part and number
  std::optional<Grid> shown_;                                            ///< the picture in the last frame
  const NotebookNumbers* shown_part_ = nullptr;                          ///< in `result_`
  std::shared_ptr<const AnalysisResult> result_;                         ///< of the last frame
  std::string title_;
  chart::ColorMap color_map_ = chart::ColorMap::Viridis;
};

}  // namespace

std::unique_ptr<ViewPanel> open_notebook_view() { return std::make_unique<NotebookView>(); }

}  // namespace headlight::app
