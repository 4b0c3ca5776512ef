#include "app/models/starter_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/grid/properties.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/thumbnail.h"
#include "app/window/dialogs/history_window.h"
#include "app/window/frame_guard.h"
#include "app/window/panels.h"
#include "app/window/sidebar/panels.h"
#include "app/window/splitter.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

constexpr ImGuiWindowFlags kPaneFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                        ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                        ImGuiWindowFlags_NoFocusOnAppearing;
/// The panes in the order in which Tab walks through their controls.
constexpr std::array<std::string_view, 11> kWalk = {"welcome", "tabs",   "texts",     "chips", "chip panel", "left rail",
                                                    "left",    "center", "grid rail", "grid",  "status"};
constexpr int kAboveAll = static_cast<int>(kWalk.size());  // what is above the panes comes last

int place_in_walk(std::string_view pane) {
  if (pane.starts_with("center")) pane = "center";  // panes of views follow each other
  return static_cast<int>(std::ranges::find(kWalk, pane) - kWalk.begin());
}

constexpr float kCardEdge = 7.0F;  // of the button that folds a lesson's card away

}  // namespace

template <typename Draw>
void Workspace::pane(const char* name, const chart::Rect& rect, shell::Color ground, bool is_padded, Draw&& draw_content) {
  if (rect.size.x < 1.0F || rect.size.y < 1.0F) return;
  ImGui::SetNextWindowPos(rect.origin);
  ImGui::SetNextWindowSize(rect.size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, is_padded ? ImVec2(16.0F, 12.0F) : ImVec2(0.0F, 0.0F));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0F);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1.0F, 1.0F));
  if (ground != desk_.ui.theme().background) desk_.ui.paint_ground(rect, ground);
  // The decoration that a pane may have is its scroll bar.
  const ImGuiWindowFlags flags = is_padded ? kPaneFlags & ~ImGuiWindowFlags_NoScrollbar : kPaneFlags;
  ImGui::Begin(name, nullptr, flags | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(4);
  {
    const shell::ControlArea area(desk_.ui.keyboard(), place_in_walk(name));
    if (const auto trouble = draw_guarded(draw_content)) desk_.warn(*trouble);
  }
  ImGui::End();
}

void Workspace::draw(Frame& menus, Frame& frame) {
  Panes panes = desk_.settings.panes;
  if (desk_.is_presenting) {
    panes.grid_fold = Fold::Folded;
    panes.sidebar_fold = lessons_.shows_card() ? Fold::Open : Fold::Folded;
    panes.sidebar = std::max(std::round(kCardShare * desk_.ui.size().x), kLeftMin);
  }
  Strips strips{.menu = desk_.is_presenting ? 0.0F : kTopRowHeight,
                .welcome = desk_.settings.shows_welcome && !desk_.is_presenting
                               ? welcome_height(models_.welcome_cards().size(), desk_.ui.size().x)
                               : 0.0F,
                .texts = !desk_.is_presenting || has_two_texts(frame.state) ? text_height_ : 0.0F,
                .chips = desk_.is_presenting ? 0.0F : chips_.height(),
                .has_left = has_left(),
                .is_presentation = desk_.is_presenting};
  const View& view = find_view(frame.state.view.tab);
  folds_grid_ = view.shows_all_heads || !why_empty(view, frame).empty();
  if (folds_grid_ && panes.grid_fold == Fold::Automatic) panes.grid_fold = Fold::Folded;
  desk_.layout = layout_window(desk_.ui.size(), strips, panes);
  const shell::Theme& theme = desk_.ui.theme();
  frame.transient.begin_panes();
  draw_views_row(frame);
  // The map first: it is the most important request.
  draw_center(frame);
  const shell::ControlArea area(desk_.ui.keyboard(), kAboveAll);
  token_menu_.draw(frame);
  draw_context_menus(frame);
  pane("grid", desk_.layout.grid, theme.panel, true, [&] {
    if (desk_.result.run == 0) return;
    if (desk_.transient.aim.conceals)
      return draw_empty_note(frame, "grid.concealed", "Concealed", "Small maps would show what the lesson asks.");
    const std::optional<NumberRef> of_view = std::exchange(frame.transient.pointed_number, std::nullopt);
    // The room for properties never shrinks, so that the heads stay where they are when a cell is let go.
    float& properties = *ImGui::GetStateStorage()->GetFloatRef(ImGui::GetID("properties' height"), 0.0F);
    draw_grid_panel(frame, properties);
    ImGui::BeginChild("properties");
    draw_properties(frame);
    for (Feature* feature : features_) feature->property(frame);
    if (const float now = ImGui::GetCursorPosY(); now > properties) {
      properties = now;
      frame.ui.request_redraw(2);
    }
    ImGui::EndChild();
    ask_about_number(frame);
    if (const auto cell = cell_of(frame.transient.pointed_number)) {  // lit in all views, as a token's chip is
      frame.point_at(LockedToken{MapSide::Query, cell->query});
      frame.point_at(LockedToken{MapSide::Key, cell->key});
    }
    if (!frame.transient.pointed_number) frame.transient.pointed_number = of_view;
  });
  draw_text(frame);
  draw_chips(frame);
  draw_left(frame);
  draw_rails(frame);
  draw_status(frame);
  draw_splitters(frame);
  draw_arrival(frame);
  draw_staleness(frame);
  const std::string& aim = desk_.transient.aim.control;
  const std::optional<chart::Rect> control = item_rect(aim);
  const bool is_in_sight = control && control->origin.y < desk_.ui.size().y;
  lessons_.draw_aim(is_in_sight ? control : item_rect(fmt::format("chip.{}", panel_of(aim))), control.has_value());
  draw_typed_offer(frame);
  draw_notice(frame);
  draw_welcome(menus);  // after the panes: a card may choose something else than they have shown
  draw_dialogs(frame);
  if (frame.transient.points_at != frame.transient.pointed) desk_.ui.request_redraw(2);  // views show it a frame later
  copy_pinned_cell(frame);
  copy_wanted_numbers(frame);
  sessions_.use_record(frame);
  if (std::optional<std::string> told = seek_head(frame)) tell(std::move(*told), desk_.state);
}

void Workspace::draw_menu(Frame& frame) {
  if (desk_.is_presenting) return;
  const MenuContext context{.commands = command_context(),
                            .presets = [this]() -> const std::vector<PresetInfo>& { return desk_.catalog.presets(); },
                            .devices = [this]() -> const std::vector<gpu::DeviceInfo>& { return desk_.catalog.devices(); },
                            .cards = [this] { return models_.welcome_cards(); },
                            .layout = desk_.layout,
                            .recent = [this] { return sessions_.recent(); }};
  row_form_ = row_form(desk_.ui, desk_.ui.size().x);
  const MenuChoice choice = draw_menu_panel(frame, context, row_form_, std::exchange(opens_menus_, false));
  has_open_menu_ = choice.is_open;
  if (choice.command) run(*choice.command);
  if (choice.card) models_.begin_with(*choice.card);
  if (choice.file) sessions_.open_recent(*choice.file);
  if (choice.device) {
    desk_.engine->set_device(*choice.device);
    chosen_device_ = choice.device;
  }
}

std::string Workspace::menu_title(MenuTarget target) const {
  const Selection& selection = desk_.state.selection;
  if (target == MenuTarget::Head) return head_title(desk_.result, selection.block, selection.head);
  if (const std::optional<CellRange>& range = desk_.transient.range; target == MenuTarget::Range && range) {
    return fmt::format("{} \u00D7 {} cells", range->last.query - range->first.query + 1,
                       range->last.key - range->first.key + 1);
  }
  const std::optional<attention::Cell>& pinned = desk_.state.view.pinned;
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
    const MenuContext context{
        .commands = command_context(), .presets = {}, .devices = {}, .cards = {}, .layout = desk_.layout, .recent = {}};
    const MenuChoice choice = draw_context_menu(frame, context, menu_target_, menu_title(menu_target_));
    if (choice.command) {
      frame.start_command(choice.command->id);
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void Workspace::draw_welcome(Frame& frame) {
  pane("welcome", desk_.layout.welcome, desk_.ui.theme().panel, false, [&] {
    const std::vector<WelcomeCard> cards = models_.welcome_cards();
    const WelcomeChoice choice = draw_welcome_panel(frame, cards, welcome_memory_);
    if (choice.card) models_.begin_with(*choice.card);
    if (choice.is_closed) dismiss();
  });
}

void Workspace::draw_views_row(Frame& frame) {
  if (desk_.is_presenting) return;
  const shell::ControlArea area(desk_.ui.keyboard(), place_in_walk("tabs"));
  const RowChoice choice = draw_top_row(frame, {.form = row_form_,
                                                .last = shown_views_,
                                                .layout = desk_.layout,
                                                .can_go_back = places_.can_go_back(),
                                                .can_go_forward = places_.can_go_forward()});
  if (choice.folds_sidebar) toggle_sidebar();
  if (choice.folds_grid) toggle_grid();
}

void Workspace::draw_center(Frame& frame) {
  std::function<void()> begin;
  if (const auto path = desk_.catalog.bundled_model(kCaptionWriter)) begin = [this, path] { models_.open(*path); };
  views_.draw(frame, {.room = desk_.layout.center,
                      .shows_one = desk_.is_presenting || desk_.transient.shows_one_pane,
                      .is_first_time = desk_.settings.shows_welcome,
                      .pane =
                          [&](const std::string& name, const chart::Rect& rect, const std::function<void()>& draw_view) {
                            pane(name.c_str(), rect, desk_.ui.theme().background, true, draw_view);
                          },
                      .draw_waiting =
                          [&] {
                            if (!desk_.engine->progress().load) draw_empty_panel(frame, desk_.engine->is_busy());
                          },
                      .begin = std::move(begin)});
}

void Workspace::draw_left(Frame& frame) {
  pane("left", desk_.layout.left, desk_.ui.theme().panel, true, [&] {
    if (!lessons_.player().is_open())
      return chips_.draw_docked(frame, [&](std::string_view panel) { draw_chip_panel(frame, panel); });
    if (desk_.is_presenting) {
      const glm::vec2 corner(desk_.layout.left.end().x - kCardEdge - kFoldButtonEdge,
                             desk_.layout.left.origin.y + kCardEdge);
      if (draw_fold_button(frame, "fold.sidebar", FoldSide::Left, corner)) toggle_sidebar();
      ImGui::SetCursorPosY(kCardEdge + kFoldButtonEdge);
    }
    lessons_.draw(frame);
  });
}

void Workspace::draw_text(Frame& frame) {
  if (!chips_.shows("text")) text_.prompt.pointed_source = text_.prompt.pointed_target = std::nullopt;
  pane("texts", desk_.layout.texts, desk_.ui.theme().background, false, [&] {
    float wanted = draw_text_line(frame, text_, has_two_texts(frame.state), !error_of(ErrorSection::Text).empty());
    // The items below a growing translation must not move with each of its lines.
    const bool is_growing = desk_.result.translated && (!desk_.is_current() || !desk_.result.translated->is_done);
    if (is_growing) wanted = std::max(wanted, text_height_);
    if (wanted != std::exchange(text_height_, wanted)) desk_.ui.request_redraw(2);
  });
}

void Workspace::draw_chips(Frame& frame) {
  if (desk_.is_presenting) chips_.close();
  pane("chips", desk_.layout.chips, desk_.ui.theme().background, false, [&] {
    const Source& source = frame.state.source;
    const PresetInfo* preset = desk_.catalog.preset(notebook_name(source));
    const LessonPlayer& player = lessons_.player();
    const bool has_settings = is_model(source) || is_playground(source);
    chips_.draw(frame, {.model = preset               ? preset->title
                                 : is_model(source)   ? model_name(desk_.result.model.get(), model_path(source))
                                 : is_capture(source) ? utf8(std::filesystem::path(capture_path(source)).filename())
                                                      : "playground",
                        .text = has_settings ? text_label(frame) : std::string(),
                        .lesson = player.is_open() && player.lesson() ? player.lesson()->title : std::string(),
                        .is_lesson_shown = player.is_open(),
                        .features = features_});
  });
  const auto trouble = draw_guarded([&] {
    chips_.draw_panel(frame, place_in_walk("chip panel"), [&](std::string_view panel) { draw_chip_panel(frame, panel); });
  });
  if (trouble) desk_.warn(*trouble);
}

void Workspace::draw_rails(Frame& frame) {
  pane("left rail", desk_.layout.left_rail, desk_.ui.theme().panel, false, [&] {
    if (draw_rail(frame, "rail.sidebar", FoldSide::Left, lessons_.player().is_open() ? "Lesson" : "Settings"))
      toggle_sidebar();
  });
  pane("grid rail", desk_.layout.grid_rail, desk_.ui.theme().panel, false, [&] {
    if (draw_rail(frame, "rail.grid", FoldSide::Right, "Heads")) toggle_grid();
  });
}

void Workspace::draw_status(Frame& frame) {
  pane("status", desk_.layout.status, desk_.ui.theme().panel, false, [&] {
    const StatusChoice choice = draw_remarks(frame, fixed_range_text(frame.state), toast_);
    if (choice.fits_colors) run("map.fit");
    if (choice.undoes) take_back();
    draw_status_panel(frame, {.is_computing = desk_.engine->is_busy(),
                              .left = choice.end,
                              .job = job_text(),
                              .verifies_head = desk_.settings.verifies_head});
  });
}

std::string Workspace::job_text() const {
  const auto [load, kernels, pass] = desk_.engine->progress();
  if (kernels) {
    return fmt::format("compiling kernels {} of {}\u2026", kernels->done, kernels->total);
  }
  if (pass) {
    return fmt::format("computing layer {} of {}\u2026 Esc stops", std::min(pass->done + 1, pass->total), pass->total);
  }
  if (load && desk_.result.first_layers > 0) {
    const std::size_t percent = 100 * load->done / std::max<std::size_t>(load->total, 1);
    return fmt::format("the later layers are being loaded, {} %\u2026 Esc stops", percent);
  }
  if (!models_.jobs().is_opening()) return export_dialog_.status();
  return fmt::format("opening {}\u2026", model_name(nullptr, models_.jobs().path_being_opened()));
}

void Workspace::draw_splitters(Frame& frame) {
  if (desk_.is_arriving()) return;
  const shell::Color color = desk_.ui.theme().border;
  const shell::Color hot = desk_.ui.theme().accent;
  if (desk_.layout.has_left()) frame.mark("splitter.sidebar", desk_.layout.left_splitter);
  if (desk_.layout.has_grid()) frame.mark("splitter.grid", desk_.layout.grid_splitter);
  Panes& panes = desk_.settings.panes;
  const SplitterUse sidebar = use_splitter("sidebar splitter", desk_.layout.left_splitter, color, hot);
  if (sidebar.dragged_to) drag_left(panes, desk_.layout, sidebar.dragged_to->x);
  if (sidebar.is_double_clicked) panes.sidebar = 0.0F;  // the window's choice again
  const SplitterUse grid = use_splitter("grid splitter", desk_.layout.grid_splitter, color, hot);
  if (grid.dragged_to) drag_grid(panes, desk_.layout, grid.dragged_to->x);
  if (grid.is_double_clicked) panes.grid = 0.0F;
}

void Workspace::copy_pinned_cell(Frame& frame) {
  const std::optional<attention::Cell> pinned = desk_.state.view.pinned;
  if (!copies_cell_ || !pinned) return;
  const std::optional<std::string> text = cell_text(frame, *pinned);
  if (!text) return;  // they come with a later frame
  copies_cell_ = false;
  ImGui::SetClipboardText(desk_.ui.unshaped(*text).c_str());
  desk_.tell("The pinned cell's numbers are on the clipboard.");
}

void Workspace::copy_wanted_numbers(Frame& frame) {
  if (!copied_numbers_) return;
  const MapText text = map_text(frame, *copied_numbers_);
  if (text.is_pending) return;  // the numbers come with a later frame
  copied_numbers_.reset();
  if (!text.table.empty()) ImGui::SetClipboardText(desk_.ui.unshaped(text.table).c_str());
  desk_.notice = {.text = text.message, .is_warning = text.table.empty()};
}

void Workspace::draw_dialogs(Frame& frame) {
  const auto trouble = draw_guarded([&] {
    if (sessions_.asks()) return sessions_.dialog(frame);  // the others wait
    draw_help_dialog(frame, shows_help_, help_);
    draw_about_dialog(frame, shows_about_, renderer_);
    draw_origin_dialog(frame, origin_memory_);
    export_dialog_.draw(frame, desk_.settings, [this] { return shown_figure(); });
    for (Feature* feature : features_) feature->dialog(frame);
    if (const auto step = draw_history_window(frame, desk_.undo, shows_history_))
      desk_.post([this, step] { desk_.state = desk_.undo.go_to(*step); });
  });
  if (trouble) desk_.warn(*trouble);
}

}  // namespace headlight::app
