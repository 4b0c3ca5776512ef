#include "app/window/chips.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/window/sidebar/panels.h"

namespace headlight::app {
namespace {

constexpr float kChipEdge = 12.0F, kChipPadding = 11.0F, kChipGap = 6.0F;
constexpr float kChipHeight = 24.0F, kChipRowTop = 5.0F;
constexpr float kChipMark = 14.0F;  // of an arrow or a ✕
constexpr float kMaxChipLabel = 240.0F;
constexpr float kSpacious = 900.0F;  // windows from here on have captions
constexpr float kChipPanelWidth = 372.0F, kAwayFromEdge = 8.0F;

/// A panel, and its controls: all of a family, or single ones, of which views and the text's line have others.
struct PanelWords {
  std::string_view id;
  const char* title;
  std::string_view controls;
};
constexpr auto kPanels = std::to_array<PanelWords>(
    {{"mask", "Mask", " mask "},
     {"text", "Tokens",
      " chips text.examples text.example text.to_ids text.make_batch text.chat text.thinks text.join_lines "
      "text.special text.whole_words text.cross text.words text.target_words text.misfit "},
     {"model", "Model",
      " preset capture model.name model.details model.d_model model.heads model.layers model.seed model.d_k "
      "model.d_v model.scale model.scale_value model.merge model.bias model.output_projection model.positions "
      "model.precision model.padding model.stretch model.adapter model.compare_adapter model.open model.close "
      "model.back model.edit model.sentence model.matrix model.copy_torch model.own_numbers model.warning "},
     {"compare", "Compare", " compare text.second "},
     {"changes", "Changed", ""},
     {"survey", "What this head does", " survey "},
     {"series", "Steps", " series "}});

const char* mask_caption(const Frame& frame) {
  if (!has_several_kinds(frame.result)) return "Mask";
  switch (frame.state.selection.block.kind) {
    case model::BlockKind::EncoderSelf:
      return "Encoder's mask";
    case model::BlockKind::DecoderSelf:
      return "Decoder's mask";
    case model::BlockKind::Cross:
      break;
  }
  return "Cross mask";
}

}  // namespace

std::string_view panel_of(std::string_view control) {
  const std::size_t point = control.find('.');
  if (point == std::string_view::npos) return {};
  const std::string family = fmt::format(" {} ", control.substr(0, point));
  const std::string one = fmt::format(" {} ", control.substr(0, control.find('.', point + 1)));
  for (const auto& [panel, title, controls] : kPanels) {
    if (controls.find(family) != std::string_view::npos || controls.find(one) != std::string_view::npos) return panel;
  }
  return {};
}

float Chips::width_of(const Chip& chip) const {
  ImFont* font = desk_.ui.fonts().small;
  const float label = std::min(std::ceil(text_width(font, chip.label)), kMaxChipLabel);
  const bool has_arrow = !chip.panel.empty() && !chip.switches;
  return label + 2.0F * kChipPadding + (has_arrow ? kChipMark : 0.0F) + (chip.off ? kChipMark : 0.0F);
}

Chips::Part Chips::draw_chip(Frame& frame, const Chip& chip) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const float width = width_of(chip), off = chip.off ? kChipMark + kChipPadding : 0.0F;
  if (at_.x > kChipEdge && at_.x + width > row_.size.x - kChipEdge) at_ = {kChipEdge, at_.y + kChipHeight + 4.0F};
  const glm::vec2 low = row_.origin + at_;
  const chart::Rect box{.origin = low, .size = {width, kChipHeight}};
  ImGui::SetCursorPos(at_);
  at_.x += width + kChipGap;
  Part part = click_area(chip.name.c_str(), {width - off, kChipHeight}) ? Part::Body : Part::None;
  mark_last_item(frame, chip.name, chip.help.c_str());
  const bool is_hovered = ImGui::IsItemHovered();
  const bool asks = is_hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  const bool opens = !chip.panel.empty() && !chip.switches;
  if (opens) places_[std::string(chip.panel)] = box;
  if (!chip.panel.empty() && (asks || (part == Part::Body && opens))) {
    const bool closes = shows(chip.panel);
    if (docked_ == chip.panel) docked_.clear();
    open_ = closes ? std::string() : std::string(chip.panel);
    frame.ui.request_redraw(2);
    part = Part::None;
  }
  const bool is_open = opens && open_ == chip.panel;
  const shell::Color role = chip.role == Role::Changed ? theme.warning : chip.role == Role::On ? theme.accent : theme.border;
  const shell::Color ground = chip.role == Role::Changed ? shell::with_alpha(theme.warning, 0x28)
                              : chip.role == Role::On    ? theme.active
                                                         : 0U;
  if (ground != 0) fill_rect(box, ground, 0.5F * kChipHeight);
  if (is_hovered || is_open) fill_rect(box, shell::with_alpha(theme.hover, ground != 0 ? 0x80 : 0xFF), 0.5F * kChipHeight);
  outline_rect(box, role, 0.5F * kChipHeight);
  const bool is_quiet = chip.role == Role::Offer && !is_hovered;
  const std::string label = fit_text(font, chip.label, kMaxChipLabel);
  put_text(font, low + glm::vec2(kChipPadding, text_drop(font, kChipHeight)), is_quiet ? theme.text_dim : theme.text, label);
  float x = low.x + kChipPadding + std::ceil(text_width(font, label));
  const float middle = std::round(low.y + 0.5F * kChipHeight);
  if (opens) {
    const glm::vec2 tip(x + kChipMark - 4.0F, middle + 2.5F);
    ImGui::GetWindowDrawList()->AddTriangleFilled(tip - glm::vec2(4.0F, 5.0F), tip + glm::vec2(4.0F, -5.0F), tip,
                                                  theme.text_dim);
    x += kChipMark;
  }
  if (!chip.off) return part;
  ImGui::SetCursorScreenPos({box.end().x - off, low.y});
  const std::string name = chip.name + ".off";
  if (click_area(name.c_str(), {off, kChipHeight})) part = Part::Off;
  mark_last_item(frame, name, chip.off);
  const shell::Color ink = ImGui::IsItemHovered() ? theme.text : role;
  const glm::vec2 center(box.end().x - kChipPadding - 3.0F, middle);
  draw_line(center - 3.5F, center + 3.5F, ink, 1.5F);
  draw_line(center + glm::vec2(-3.5F, 3.5F), center + glm::vec2(3.5F, -3.5F), ink, 1.5F);
  return part;
}

void Chips::draw_caption(Frame& frame, const char* text, float next) {
  at_.x += kChipGap;
  ImFont* font = frame.ui.fonts().small;
  const float width = row_.size.x < kSpacious ? 0.0F : std::ceil(text_width(font, text)) + kChipGap + 2.0F;
  if (at_.x + width + next > row_.size.x - kChipEdge) at_ = {kChipEdge, at_.y + kChipHeight + 4.0F};
  if (width == 0.0F) return;
  put_text(font, row_.origin + at_ + glm::vec2(0.0F, text_drop(font, kChipHeight)), frame.ui.theme().text_dim, text);
  at_.x += width;
}

void Chips::draw_mask(Frame& frame) {
  draw_caption(frame, mask_caption(frame));
  if (is_capture(frame.state.source)) {
    draw_chip(frame, {"chip.mask", "as saved", "Why the mask can't be changed.", Role::Offer, "mask"});
    return;
  }
  attention::MaskRule& rule = selected_mask(frame.state).rule;
  const auto toggle = [&](const char* name, const char* label, const char* help, bool& is_on) {
    if (draw_chip(frame, {name, label, help, is_on ? Role::On : Role::Off, "mask", true}) == Part::Body) is_on = !is_on;
  };
  toggle("mask.causal", "causal", "A query sees only keys up to its own position (C). A right click opens the settings.",
         rule.causal);
  toggle("mask.padding", "padding", "Keys that are padding are masked (P). A right click opens the settings.",
         rule.key_padding);
  if (frame.transient.paints && draw_chip(frame, {"chip.brush", "brush is on",
                                                  "A click or a drag on the map masks cells. Lays the brush down (B, Esc).",
                                                  Role::On, "mask", true}) == Part::Body)
    frame.transient.paints = false;
  draw_chip(frame, {"chip.mask", row_.size.x < kSpacious ? "more" : "window, formula, brush",
                    "Settings of the mask: window, fill, formula, dropout, brush.", Role::Offer, "mask"});
}

void Chips::draw_differences(Frame& frame, float end) {
  const std::vector<ModelChange> changes = list_model_changes(frame.state);
  constexpr const char* kTakeBack = "Takes this change back.";
  float wanted = at_.x;
  std::vector<Chip> chips;
  for (const ModelChange& change : changes) {
    frame.ui.ensure_glyphs(change.text);
    constexpr std::size_t kLongest = 160;
    const bool is_long = change.text.size() > kLongest;
    chips.push_back({fmt::format("change.{}", chips.size()), change.text,
                     fmt::format("Differs from the model's own: {}.", is_long ? "more than a line" : change.text),
                     Role::Changed, change.panel, true, kTakeBack});
    wanted += width_of(chips.back()) + kChipGap;
  }
  const Chip all{"change.all", "all off", "Puts masks, heads and kept changes back to the model's own.", Role::Offer};
  if (!changes.empty()) draw_caption(frame, "Changed");
  if (chips.size() > 1 && wanted + 80.0F + width_of(all) > end) {
    draw_chip(frame, {"chip.changes", fmt::format("{} changes", changes.size()),
                      "How the pass differs from the model's own.", Role::Changed, "changes"});
  } else {
    for (std::size_t i = 0; i < chips.size(); ++i) {
      const Part part = draw_chip(frame, chips[i]);
      if (part == Part::Body && *changes[i].panel != '\0') open_ = changes[i].panel;
      if (part == Part::Off) desk_.post([this, change = changes[i]] { change.take_back(desk_.state); });
    }
  }
  if (!changes.empty() && draw_chip(frame, all) == Part::Body) frame.start_command("head.reset_model");
  if (!frame.state.compare.baseline) return;
  const std::string& why = frame.result.baseline_error;
  const std::string with = compared_with(frame.state);
  frame.ui.ensure_glyphs(with);
  const Chip compared{"chip.compare",
                      with,
                      why.empty() ? "Maps show the present run minus this one. Opens the heads and cells that changed most."
                                  : fmt::format("It can't be compared: {}", why),
                      why.empty() ? Role::On : Role::Changed,
                      "compare",
                      false,
                      "Compares no longer; maps show the present run alone."};
  draw_caption(frame, "Compared with", width_of(compared));
  const bool is_off = draw_chip(frame, compared) == Part::Off;
  if (is_off) frame.start_command("compare.stop");
}

std::vector<Chips::Chip> Chips::right_chips(Frame& frame, const ChipContext& context) const {
  std::vector<Chip> chips;
  for (Feature* feature : context.features) {
    if (FeatureChip chip = feature->chip(frame); *chip.id != '\0')
      chips.push_back({fmt::format("chip.{}", chip.id), chip.label, chip.help, Role::Off, chip.id});
  }
  if (!frame.state.compare.baseline)
    chips.push_back({"chip.compare", "Compare\u2026", "Keeps this run, or opens a second text, to compare with.",
                     Role::Offer, "compare"});
  chips.push_back({"chip.lessons", context.lesson.empty() ? "Lessons" : "Lesson: " + context.lesson,
                   context.is_lesson_shown ? "Closes the lesson; it is kept where it is (F4)."
                                           : "A course about attention, of lessons that one plays (F4).",
                   context.is_lesson_shown ? Role::On : Role::Offer});
  return chips;
}

void Chips::draw(Frame& frame, const ChipContext& context) {
  row_ = window_rect();
  at_ = {kChipEdge, kChipRowTop};
  places_.clear();
  frame.ui.ensure_glyphs(context.model);
  draw_chip(frame, {"chip.model", context.model, "What computes: its sizes and settings, and the way to another model.",
                    Role::On, "model"});
  if (!context.text.empty())
    draw_chip(frame, {"chip.text", context.text, "The text's tokens, examples and settings.", Role::Off, "text"});
  draw_mask(frame);
  std::vector<Chip> right = right_chips(frame, context);
  const auto begin = [&] {
    float width = -kChipGap;
    for (const Chip& chip : right) width += width_of(chip) + kChipGap;
    return row_.size.x - kChipEdge - width;
  };
  const std::string title = std::exchange(right.back().label, "Lessons");
  draw_differences(frame, begin());
  const std::string brief = std::exchange(right.back().label, title);  // the title where it has room
  if (at_.x > begin()) right.back().label = brief;
  if (at_.x <= begin()) at_.x = begin();
  for (const Chip& chip : right) {
    if (draw_chip(frame, chip) == Part::Body) frame.start_command("help.lessons");
  }
  const float height = at_.y + kChipHeight + kChipRowTop;
  if (height != std::exchange(height_, height)) frame.ui.request_redraw(2);
  const glm::vec2 bottom(row_.origin.x, row_.end().y - 0.5F);
  draw_line(bottom, bottom + glm::vec2(row_.size.x, 0.0F), frame.ui.theme().border);
}

void Chips::draw_panel(Frame& frame, int area, const std::function<void(std::string_view)>& draw_content) {
  // While a lesson's card opens, the panel that it points into is drawn out of sight: what is folded there unfolds, and a
  // control that isn't there is known.
  const std::string aimed(panel_of(frame.transient.aim.control));
  const bool is_aimed = frame.transient.aim.scrolls && !aimed.empty() && docked_ != aimed;
  if (is_aimed && open_ != aimed) open_.clear();
  const bool is_hidden = is_aimed && open_.empty();
  const std::string panel = is_hidden ? aimed : open_;
  const auto place = places_.find(panel);
  if (place == places_.end()) return open_.clear();
  const shell::Theme& theme = frame.ui.theme();
  const glm::vec2 window = frame.ui.size();
  const float y = place->second.end().y + 4.0F, most = std::max(desk_.layout.status.origin.y - y - kAwayFromEdge, 40.0F);
  const float width = std::min(kChipPanelWidth, window.x - 2.0F * kAwayFromEdge);
  const float x = std::clamp(place->second.origin.x, kAwayFromEdge, window.x - kAwayFromEdge - width);
  const chart::Rect box{.origin = glm::round(glm::vec2(x, is_hidden ? 2.0F * window.y : y)),
                        .size = {width, std::min(panel_height_, most)}};
  ImGui::SetNextWindowPos(box.origin);
  ImGui::SetNextWindowSize(box.size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(14.0F, 12.0F));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 6.0F);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.popup);
  ImGui::Begin("chip panel", nullptr,
               ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  shell::raise_window();
  {
    const shell::ControlArea walk(frame.ui.keyboard(), area);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 5.0F));
    if (draw_head(frame, panel, "chip.dock", "Keeps this panel at the left, beside the view.")) std::swap(docked_, open_);
    draw_content(panel);
    ImGui::PopStyleVar();
  }
  const float height = std::ceil(ImGui::GetCursorPosY() + 8.0F);
  ImGui::End();
  if (height != std::exchange(panel_height_, height)) frame.ui.request_redraw(2);
  if (open_.empty()) return;
  frame.mark("chip.panel", box);
  frame.mark("chip.panel." + panel, box);
  frame.ui.keyboard().pass_escape();
  const glm::vec2 mouse = pointer_position();
  const bool is_beside = ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !box.contains(mouse) && !row_.contains(mouse);
  if (is_beside && !has_popup()) close();
}

void Chips::draw_docked(Frame& frame, const std::function<void(std::string_view)>& draw_content) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 5.0F));
  if (draw_head(frame, docked_, "chip.undock", "Closes this panel; its chip opens it again.")) docked_.clear();
  frame.mark("chip.panel." + docked_, window_rect());
  if (!docked_.empty()) draw_content(docked_);
  ImGui::PopStyleVar();
}

bool Chips::draw_head(Frame& frame, std::string_view panel, const char* button, const char* help) {
  const auto words = std::ranges::find(kPanels, panel, &PanelWords::id);
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, words->title);
  const TextStyleScope ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const char* label = panel == docked_ ? "Close###dock" : "Keep at the left###dock";
  ImGui::SameLine(ImGui::GetWindowContentRegionMax().x - button_width(label));
  const bool is_clicked = draw_small_button(frame, button, label, help);
  if (is_clicked) frame.ui.request_redraw(2);
  return is_clicked;
}

void Chips::draw_changes(Frame& frame) {
  std::size_t index = 0;
  for (const ModelChange& change : list_model_changes(frame.state)) {
    frame.ui.ensure_glyphs(change.text);
    ImGui::AlignTextToFramePadding();
    write_wrapped(frame.ui.fonts().body, frame.ui.theme().text, change.text,
                  ImGui::GetWindowContentRegionMax().x - button_width("Off") - 8.0F);
    ImGui::SameLine(ImGui::GetWindowContentRegionMax().x - button_width("Off"));
    ImGui::PushID(static_cast<int>(index));
    if (draw_button(frame, fmt::format("change.{}.off", index++), "Off", "Takes this change back."))
      desk_.post([this, change] { change.take_back(desk_.state); });
    ImGui::PopID();
  }
}

}  // namespace headlight::app
