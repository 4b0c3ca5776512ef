

#include "app/cells/stage_text.h"
#include "app/dialogs/help_dialogs.h"
#include "app/dialogs/history_window.h"
#include "app/shell/click_area.h"
#include "app/sidebar/compare_panel.h"
#include "app/sidebar/language_model_panel.h"
#include "app/sidebar/masks_panel.h"
#include "app/sidebar/model_panel.h"
#include "app/state/comparison.h"
#include "app/state/linked_step_path.h"
#include "app/state/model_changes.h"
#include "app/views/grid/grid_view.h"
#include "app/views/translator/translator_view.h"
#include "app/views/view_table.h"
#include "app/widgets/cell_text.h"
#include "app/widgets/fold_button.h"
#include "app/widgets/head_list.h"
#include "app/widgets/range_choice.h"
#include "app/widgets/text.h"
#include "app/widgets/thumbnail.h"
#include "app/window/frame_guard.h"
#include "app/window/map_text.h"
#include "app/window/menu_panel.h"
#include "app/window/status_panel.h"
#include "app/window/tabs_panel.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

constexpr ImGuiWindowFlags kPaneFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                        ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                        ImGuiWindowFlags_NoFocusOnAppearing;
/// The panes in the order in which Tab walks through their controls.
constexpr std::array<std::string_view, 10> kWalk = {"welcome", "texts",  "lesson",    "sidebar rail", "sidebar",
                                                    "tabs",    "center", "grid rail", "grid",         "status"};
constexpr int kAboveAll = static_cast<int>(kWalk.size());  // what is above the panes comes last

constexpr float kTabsEdge = 7.0F;
constexpr float kTabsInset = kTabsEdge + kFoldButtonEdge;  // of the button that folds a panel, at either end of the tabs

constexpr float kDragStart = 1.0F;  // by so much the pointer moves before a splitter follows it

/// What was done to a splitter in this frame.
struct SplitterUse {
  std::optional<float> dragged_to;  ///< the pointer's place while it is dragged
  bool is_double_clicked = false;
};

/// A line between panes in a strip that can be dragged.
SplitterUse use_splitter(const char* name, const view::Rect& strip, shell::Color color, shell::Color hot) {
  if (strip.is_empty()) return {};
  ImGui::SetNextWindowPos(strip.origin);
  ImGui::SetNextWindowSize(strip.size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0.0F, 0.0F));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1.0F, 1.0F));
  // ImGui puts windows that are never brought to the front behind all others; a strip covers the panes.
  ImGui::Begin(name, nullptr, (kPaneFlags & ~ImGuiWindowFlags_NoBringToFrontOnFocus) | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(2);
  click_area("##strip", strip.size);
  const bool is_dragged = ImGui::IsItemActive();
  const bool is_hovered = ImGui::IsItemHovered() || is_dragged;
  const float middle = std::round(strip.center().x);
  const float half = is_hovered ? 1.0F : 0.5F;
  if (is_hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  ImGui::GetWindowDrawList()->AddRectFilled({middle - half, strip.origin.y}, {middle + half, strip.end().y},
                                            is_hovered ? hot : color);
  const bool is_reset = is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  ImGui::End();
  // A press alone moves nothing, and the second click of a double click takes back what the first did.
  const bool is_moved = is_dragged && !is_reset && ImGui::IsMouseDragging(ImGuiMouseButton_Left, kDragStart);
  return {.dragged_to = is_moved ? std::optional(ImGui::GetIO().MousePos.x) : std::nullopt, .is_double_clicked = is_reset};
}

}  // namespace

template <typename Draw>
void Workspace::pane(const char* name, const view::Rect& rect, shell::Color ground, bool is_padded, Draw&& draw_content) {
  if (rect.size.x < 1.0F || rect.size.y < 1.0F) return;
  ImGui::SetNextWindowPos(rect.origin);
  ImGui::SetNextWindowSize(rect.size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, is_padded ? ImVec2(16.0F, 12.0F) : ImVec2(0.0F, 0.0F));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0F);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1.0F, 1.0F));
  if (ground != ui_.theme().background) ui_.paint_ground(rect, ground);
  // The decoration that a pane may have is its scroll bar.
  const ImGuiWindowFlags flags = is_padded ? kPaneFlags & ~ImGuiWindowFlags_NoScrollbar : kPaneFlags;
  ImGui::Begin(name, nullptr, flags | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(4);
  {
    const shell::ControlArea area(ui_.keyboard(), static_cast<int>(std::ranges::find(kWalk, name) - kWalk.begin()));
    report(draw_guarded(draw_content));
  }
  ImGui::End();
}

void Workspace::draw(Frame& menus, Frame& frame) {
  Panes panes = settings_.panes;
  if (is_presenting_) {
    panes.grid_fold = Fold::Folded;
    panes.sidebar_fold = shows_card() ? Fold::Open : Fold::Folded;
    panes.sidebar = std::max(std::round(kCardShare * ui_.size().x), kSidebarMin);
  }
  Strips strips{
      .menu = is_presenting_ ? 0.0F : ImGui::GetFrameHeight(),
      .welcome = settings_.shows_welcome && !is_presenting_ ? welcome_height(welcome_cards().size(), ui_.size().x) : 0.0F,
      .texts = has_two_texts(frame.state) ? texts_height_ : 0.0F,
      .lesson = lessons_.is_open() ? lesson_memory_.wanted : 0.0F,
      .is_presentation = is_presenting_};
  // Tabs stand where they do beside the grid, also in a view that folds it.
  tabs_width_ = layout_window(ui_.size(), strips, panes).tabs.size.x;
  tab_rows_ = strips.tab_rows = tab_rows_in(tabs_width_, measure_tabs(ui_, 2.0F * kTabsInset));
  if (find_view(frame.state.view.tab).shows_all_heads && panes.grid_fold == Fold::Automatic) panes.grid_fold = Fold::Folded;
  layout_ = layout_window(ui_.size(), strips, panes);
  const shell::Theme& theme = ui_.theme();
  draw_tabs(frame);
  const std::optional<attention::Cell> in_grid = std::exchange(pointed_in_grid_, std::nullopt);
  if (in_grid) {  // lit in all views, as a token's chip is
    frame.transient.pointed_query = in_grid->query;
    frame.transient.pointed_key = in_grid->key;
  }
  // The map first: it is the most important request.
  draw_center(frame);
  const shell::ControlArea area(ui_.keyboard(), kAboveAll);
  token_menu_.draw(frame);
  draw_context_menus(frame);
  pane("grid", layout_.grid, theme.panel, true, [&] {
    if (result_.run == 0) return;
    if (transient_.aim.conceals)
      return draw_empty_note(frame, "grid.concealed", "Concealed", "Small maps would show what the lesson asks.");
    const std::optional<NumberRef> of_view = std::exchange(frame.transient.pointed_number, std::nullopt);
    draw_grid_panel(frame);
    ask_about_number(frame);
    pointed_in_grid_ = cell_of(frame.transient.pointed_number);
    if (pointed_in_grid_ != in_grid) ui_.request_redraw(2);  // the view shows it a frame later
    if (!frame.transient.pointed_number) frame.transient.pointed_number = of_view;
  });
  pane("texts", layout_.texts, theme.panel, false, [&] {
    float wanted = draw_translator_panel(frame, prompt_memory_, error_of(ErrorSection::Text));
    // While a translation grows, what is below must not move with each of its lines.
    const bool is_growing = !is_current() || (result_.translated && !result_.translated->is_done);
    if (is_growing) wanted = std::max(wanted, texts_height_);
    if (wanted != std::exchange(texts_height_, wanted)) ui_.request_redraw(2);
  });
  draw_lesson(frame);
  draw_sidebar(frame);
  draw_rails(frame);
  draw_status(frame);
  draw_splitters(frame);
  draw_arrival(frame);
  draw_staleness(frame);
  draw_aim();
  draw_typed_offer(frame);
  draw_notice(frame);
  draw_welcome(menus);  // behind the panes: a card may choose something else than they have shown
  draw_dialogs(frame);
  copy_pinned_cell(frame);
  copy_wanted_numbers(frame);
  use_record(frame);
  if (std::optional<std::string> told = seek_head(frame)) tell(std::move(*told), state_);
}

void Workspace::draw_menu(Frame& frame) {
  if (is_presenting_) return;
  const MenuContext context{.commands = command_context(),
                            .presets = [this]() -> const std::vector<PresetInfo>& { return catalog_.presets(); },
                            .devices = [this]() -> const std::vector<gpu::DeviceInfo>& { return catalog_.devices(); },
                            .cards = [this] { return welcome_cards(); }};
  const MenuChoice choice = draw_menu_panel(frame, context);
  if (choice.command) run(*choice.command);
  if (choice.card) begin_with(*choice.card);
  if (choice.device) {
    engine_->set_device(*choice.device);
    chosen_device_ = choice.device;
  }
}

std::string Workspace::menu_title(MenuTarget target) const {
  const Selection& selection = state_.selection;
  if (target == MenuTarget::Head) return head_title(result_, selection.block, selection.head);
  if (const std::optional<CellRange>& range = transient_.range; target == MenuTarget::Range && range) {
    return fmt::format("{} \u00D7 {} cells", range->last.query - range->first.query + 1,
                       range->last.key - range->first.key + 1);
  }
  const std::optional<attention::Cell>& pinned = state_.view.pinned;
  return pinned ? fmt::format("query {} \u00B7 key {}", pinned->query, pinned->key) : std::string();
}

void Workspace::draw_context_menus(Frame& frame) {
  constexpr const char* kContextMenu = "context menu";
  if (const auto asked = std::exchange(asked_menu_, std::nullopt)) {
    menu_target_ = *asked;
    ImGui::OpenPopup(kContextMenu);
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10.0F, 8.0F));
  if (ImGui::BeginPopup(kContextMenu)) {
    const MenuContext context{.commands = command_context(), .presets = {}, .devices = {}, .cards = {}};
    const MenuChoice choice = draw_context_menu(frame, context, menu_target_, menu_title(menu_target_));
    if (choice.command) {
      chosen_ = [this, id = choice.command->id] { run(id); };
      ui_.request_redraw(2);
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void Workspace::draw_welcome(Frame& frame) {
  pane("welcome", layout_.welcome, ui_.theme().panel, false, [&] {
    const std::vector<WelcomeCard> cards = welcome_cards();
    const WelcomeChoice choice = draw_welcome_panel(frame, cards, welcome_memory_);
    if (choice.card) begin_with(*choice.card);
    if (choice.is_closed) dismiss();
  });
}

void Workspace::draw_tabs(Frame& frame) {
  pane("tabs", layout_.tabs, ui_.theme().background, false, [&] {
    const view::Rect& tabs = layout_.tabs;
    const float y = tabs.origin.y + std::round((tabs.size.y - kFoldButtonEdge) * 0.5F);
    draw_tabs_panel(frame, tab_rows_, tabs_width_, layout_.has_sidebar() ? kTabsInset : 0.0F);
    const float left = tabs.origin.x + kTabsEdge;
    if (layout_.has_sidebar() && draw_fold_button(frame, "fold.sidebar", FoldSide::Left, {left, y})) toggle_sidebar();
    const float right = tabs.end().x - kTabsInset;
    if (layout_.has_grid() && draw_fold_button(frame, "fold.grid", FoldSide::Right, {right, y})) toggle_grid();
  });
}

void Workspace::draw_center(Frame& frame) {
  pane("center", layout_.center, ui_.theme().background, true, [&] {
    frame.transient.hovered.reset();  // each view sets it anew, or has no cells
    frame.transient.visible.reset();
    frame.transient.pointed_number.reset();
    const View& view = find_view(frame.state.view.tab);
    if (const std::string why = why_empty(view, frame); !why.empty()) {
      draw_empty_note(frame, "view.unavailable", frame.result.capture ? "Not in the capture" : "Not of this model", why);
    } else if (frame.result.run != 0) {
      std::unique_ptr<ViewPanel>& panel = open_views_[view.id];
      if (!panel) panel = view.open();
      panel->draw(frame);
    } else if (!engine_->load_progress()) {
      draw_empty_panel(frame, engine_->is_busy());
    }
    if (!frame.transient.pointed_number && frame.transient.hovered) frame.transient.pointed_number = number_at_cell(frame);
    ask_about_number(frame);
    // A key asks about the pinned one too.
    if (!frame.transient.pointed_number) frame.transient.pointed_number = number_at_cell(frame);
  });
}

/// Ctrl and a click ask where the number under the pointer is from, in every view and the grid.
void Workspace::ask_about_number(Frame& frame) {
  Transient& transient = frame.transient;
  const bool asks = ImGui::GetIO().KeyCtrl && ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  // What is under the pointer may be a button, which is active by now.
  constexpr ImGuiHoveredFlags kHere = ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
  if (asks && transient.pointed_number && ImGui::IsWindowHovered(kHere)) transient.asked_number = transient.pointed_number;
}

void Workspace::draw_lesson(Frame& frame) {
  if (!lessons_.is_open()) return;
  pane("lesson", layout_.lesson, ui_.theme().panel, true, [&] {
    if (is_presenting_) {
      const glm::vec2 corner(layout_.lesson.end().x - kTabsInset, layout_.lesson.origin.y + kTabsEdge);
      if (draw_fold_button(frame, "fold.sidebar", FoldSide::Left, corner)) toggle_sidebar();
      ImGui::SetCursorPosY(kTabsEdge + kFoldButtonEdge);
    }
    const float before = lesson_memory_.wanted;
    const LessonChoice choice = draw_lesson_panel(frame, lessons_, settings_.lessons, lesson_memory_);
    if (choice.what != LessonChoice::What::None) lesson_choice_ = choice;
    const bool is_new = before != lesson_memory_.wanted || choice.what != LessonChoice::What::None;
    if (is_new) ui_.request_redraw(2);
  });
}

void Workspace::draw_sidebar(Frame& frame) {
  Panes& panes = settings_.panes;
  pane("sidebar", layout_.sidebar, ui_.theme().panel, true, [&] {
    const auto section = [&](const char* name, const char* title, bool& is_open, auto&& draw_content) {
      if (draw_section_head(frame, name, title, is_open)) {
        draw_content();
        ImGui::Dummy({1.0F, 4.0F});
      }
      const float y = ImGui::GetCursorScreenPos().y;
      const view::Rect& bar = layout_.sidebar;
      ImDrawList* list = ImGui::GetWindowDrawList();
      list->PushClipRect(bar.origin, bar.end());
      list->AddLine({bar.origin.x, y}, {bar.end().x, y}, ui_.theme().border);
      list->PopClipRect();
      ImGui::Dummy({1.0F, 1.0F});
    };
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 5.0F));
    const PresetInfo* preset = catalog_.preset(notebook_name(frame.state.source));
    const bool captured = is_capture(frame.state.source);
    if (survey_) section("survey", "What this head does", is_survey_open_, [&] { draw_survey(frame); });
    if (linked_ && is_linked_step(capture_path(state_.source))) {
      section("link", "Steps", is_link_open_, [&] { draw_link(frame); });
    }
    section("text", preset || captured || has_two_texts(frame.state) ? "Tokens" : "Text", panes.is_text_open,
            [&] { draw_text_section(frame); });
    // What changed is looked at while the text is; what could be compared comes last.
    const bool compares = frame.state.compare.baseline.has_value();
    const auto comparison = [&] {
      section("compare", "Compare", panes.is_compare_open, [&] { draw_compare_panel(frame, typed_); });
    };
    if (compares) comparison();
    section("model",
            preset     ? "Notebook"
            : captured ? "Capture"
                       : "Model",
            panes.is_model_open, [&] { draw_model_section(frame, preset); });
    section("mask", "Mask", panes.is_mask_open,
            [&] { draw_masks_panel(frame, typed_, expression_drafts_, error_of(ErrorSection::Masks)); });
    if (!compares) comparison();
    ImGui::PopStyleVar();
  });
}

void Workspace::draw_rails(Frame& frame) {
  pane("sidebar rail", layout_.sidebar_rail, ui_.theme().panel, false, [&] {
    const bool has_card = is_presenting_ && lessons_.is_open();
    if (draw_rail(frame, "rail.sidebar", FoldSide::Left, has_card ? "Lesson" : "Text, model, mask")) toggle_sidebar();
  });
  pane("grid rail", layout_.grid_rail, ui_.theme().panel, false, [&] {
    if (draw_rail(frame, "rail.grid", FoldSide::Right, "Heads")) toggle_grid();
  });
}

void Workspace::draw_status(Frame& frame) {
  pane("status", layout_.status, ui_.theme().panel, false, [&] {
    const StatusChoice choice =
        draw_remarks(frame, {.model_changes = model_changes(frame.state),
                             .compared_with = frame.state.compare.baseline ? compared_with(frame.state) : std::string(),
                             .fixed_range = fixed_range_text(frame.state.view),
                             .toast = toast_});
    if (choice.resets_model) run("head.reset_model");
    if (choice.stops_comparing) run("compare.stop");
    if (choice.fits_colors) run("map.fit");
    if (choice.undoes) take_back();
    draw_status_panel(frame, {.is_computing = engine_->is_busy(),
                              .left = choice.end,
                              .job = job_text(),
                              .verifies_head = settings_.verifies_head});
  });
}

std::string Workspace::job_text() const {
  if (const std::optional<CompileProgress> kernels = engine_->compile_progress()) {
    return fmt::format("compiling kernels {} of {}\u2026", kernels->done, kernels->total);
  }
  if (const std::optional<PassProgress> pass = engine_->pass_progress()) {
    return fmt::format("computing layer {} of {}\u2026 Esc stops", std::min(pass->done + 1, pass->total), pass->total);
  }
  if (const std::optional<LoadProgress> load = engine_->load_progress(); load && result_.first_layers > 0) {
    const std::size_t percent = 100 * load->done_bytes / std::max<std::size_t>(load->total_bytes, 1);
    return fmt::format("the later layers are being loaded, {} %\u2026 Esc stops", percent);
  }
  if (!model_jobs_.is_opening()) return export_dialog_.status();
  return fmt::format("opening {}\u2026", model_name(nullptr, model_jobs_.path_being_opened()));
}

void Workspace::draw_splitters(Frame& frame) {
  if (is_arriving()) return;
  const shell::Color color = ui_.theme().border;
  const shell::Color hot = ui_.theme().accent;
  if (layout_.has_sidebar()) frame.mark("splitter.sidebar", layout_.sidebar_splitter);
  if (layout_.has_grid()) frame.mark("splitter.grid", layout_.grid_splitter);
  Panes& panes = settings_.panes;
  const SplitterUse sidebar = use_splitter("sidebar splitter", layout_.sidebar_splitter, color, hot);
  if (sidebar.dragged_to) drag_sidebar(panes, layout_, *sidebar.dragged_to);
  if (sidebar.is_double_clicked) panes.sidebar = 0.0F;  // the window's choice again
  const SplitterUse grid = use_splitter("grid splitter", layout_.grid_splitter, color, hot);
  if (grid.dragged_to) drag_grid(panes, layout_, *grid.dragged_to);
  if (grid.is_double_clicked) panes.grid = 0.0F;
}

void Workspace::copy_pinned_cell(Frame& frame) {
  const std::optional<attention::Cell> pinned = state_.view.pinned;
  if (!copies_cell_ || !pinned) return;
  const std::optional<std::string> text = cell_text(frame, *pinned);
  if (!text) return;  // they come with a later frame
  copies_cell_ = false;
  ImGui::SetClipboardText(ui_.unshaped(*text).c_str());
  notice_ = {.text = "The pinned cell's numbers are on the clipboard."};
}

void Workspace::copy_wanted_numbers(Frame& frame) {
  if (!copied_numbers_) return;
  const MapText text = map_text(frame, *copied_numbers_);
  if (text.is_pending) return;  // the numbers come with a later frame
  copied_numbers_.reset();
  if (!text.table.empty()) ImGui::SetClipboardText(ui_.unshaped(text.table).c_str());
  notice_ = {.text = text.message, .is_warning = text.table.empty()};
}

void Workspace::draw_dialogs(Frame& frame) {
  report(draw_guarded([&] {
    draw_help_dialog(frame, shows_help_, help_page_);
    draw_about_dialog(frame, shows_about_, renderer_);
    draw_origin_dialog(frame, origin_memory_);
    export_dialog_.draw(frame, result_.device, settings_.export_directory);
    draw_file_dialog(frame);
    draw_model_browser(frame);
    draw_palette(frame);
    chosen_step_ = draw_history_window(frame, undo_, shows_history_);
    if (chosen_step_) ui_.request_redraw(2);
  }));
}

}  // namespace headlight::app
