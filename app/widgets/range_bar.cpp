#include "app/widgets/range_bar.h"

#include "app/widgets/color_bar.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

constexpr float kGripReach = 6.0F;                       // distance outside the bar at which its ends can be grabbed
constexpr float kWheelStep = 1.25F;                      // of the top
constexpr float kLeastReach = 1e-6F, kMostReach = 1e9F;  // of scores
constexpr float kLeastTop = 1e-9F;                       // of weights
constexpr float kLeastPart = 1e-3F;                      // of the range, between its ends
constexpr float kLeastRatio = 1e-4F;                     // of an end, to the other one

/// The end that a held button moves; kept in ImGui's storage of the window for the time of the gesture.
enum class Grip : int { None, Low, High };

/// The limits with one end moved to a value, as far as the scale goes; they stay finite and apart.
view::ValueLimits moved(view::ValueLimits limits, Grip grip, float value, bool has_signs, view::ScaleSpread spread) {
  if (std::isnan(value)) return limits;
  if (has_signs) {
    const float reach = std::clamp(grip == Grip::High ? value : -value, kLeastReach, kMostReach);
    return {.low = -reach, .high = reach};
  }
  const bool is_log = spread == view::ScaleSpread::Log;
  if (is_log) limits.low = view::log_floor(limits.low, limits.high);
  const float range = kLeastPart * (limits.high - limits.low);
  if (grip == Grip::High) {
    const float least = is_log ? limits.low * 1.5F : limits.low + std::max(range, kLeastRatio * limits.low);
    limits.high = std::clamp(value, std::clamp(least, kLeastTop, 1.0F), 1.0F);
  } else {
    const float most = is_log ? limits.high / 1.5F : limits.high - std::max(range, kLeastRatio * limits.high);
    limits.low = std::clamp(value, 0.0F, most);
  }
  return limits;
}

class RangeInput {
 public:
  RangeInput(Frame& frame, const RangeBar& bar, const shell::HeatmapImage& image)
      : frame_(frame),
        bar_(bar),
        shown_{.low = image.low, .high = image.high},
        spread_(image.spread),
        has_signs_(image.low < 0.0F),
        storage_(*ImGui::GetStateStorage()) {}

  /// Returns the bar's range: during a drag the previous one, so that the bar doesn't change.
  view::ValueLimits handle() {
    const view::Rect& area = bar_.area;
    ImGui::SetCursorScreenPos(area.origin - kGripReach);
    click_area("range", {area.size.x + 2.0F * kGripReach, area.size.y + 2.0F * kGripReach});
    mark_last_item(frame_, "head.range_bar");
    const int steps = frame_.ui.keyboard().steps_of_last(false);
    is_hovered_ = ImGui::IsItemHovered() || ImGui::IsItemActive();
    const ImGuiIO& io = ImGui::GetIO();
    auto& limits = frame_.state.view.color_limits;
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
      limits.erase(bar_.stage);
      grip() = static_cast<int>(Grip::None);
      return shown_;
    }
    if (ImGui::IsItemActivated()) {
      const bool is_upper = io.MousePos.y < area.center().y;
      grip() = static_cast<int>(is_upper ? Grip::High : Grip::Low);
      from_low() = shown_.low;
      from_high() = shown_.high;
    }
    if (!ImGui::IsItemActive()) grip() = static_cast<int>(Grip::None);
    const auto held = static_cast<Grip>(grip());
    if (held != Grip::None) {
      const view::ValueLimits from{.low = from_low(), .high = from_high()};
      const float part = -ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 2.0F).y / std::max(area.size.y, 1.0F);
      const float end = held == Grip::High ? 1.0F : 0.0F;
      if (part != 0.0F) {
        limits[bar_.stage] = moved(from, held, view::value_at(from, spread_, end + part), has_signs_, spread_);
      }
      return from;
    }
    const float turned = ImGui::IsItemHovered() ? -io.MouseWheel : 0.0F;
    if (const float turns = steps != 0 ? static_cast<float>(steps) : turned; turns != 0.0F) {
      const float value = shown_.high * std::pow(kWheelStep, turns);
      limits[bar_.stage] = moved(shown_, Grip::High, value, has_signs_, spread_);
    }
    return shown_;
  }

  bool is_hovered() const { return is_hovered_; }

 private:
  int& grip() { return *storage_.GetIntRef(ImGui::GetID("grip"), 0); }
  float& from_low() { return *storage_.GetFloatRef(ImGui::GetID("from low"), 0.0F); }
  float& from_high() { return *storage_.GetFloatRef(ImGui::GetID("from high"), 1.0F); }

  Frame& frame_;
  const RangeBar& bar_;
  view::ValueLimits shown_;
  view::ScaleSpread spread_;
  bool has_signs_;
  bool is_hovered_ = false;
  ImGuiStorage& storage_;
};

/// A grip at an end's position in the bar's range.
void draw_grip(const Frame& frame, const view::Rect& area, float position, bool is_chosen) {
  const shell::Theme& theme = frame.ui.theme();
  const float y = std::round(area.origin.y + area.size.y * (1.0F - position));
  fill_rect({area.origin.x - 4.0F, y - 2.0F}, {area.end().x + 4.0F, y + 2.0F}, is_chosen ? theme.accent : theme.text_dim,
            2.0F);
}

}  // namespace

void draw_range_bar(Frame& frame, const RangeBar& bar, const shell::HeatmapImage& image) {
  if (bar.is_fixed) return draw_color_bar(frame, bar.area, image, {.low = image.low, .high = image.high}, bar.caption);
  RangeInput input(frame, bar, image);
  const view::ValueLimits axis = input.handle();
  const bool is_chosen = frame.state.view.color_limits.contains(bar.stage);
  explain_last_item(frame, is_chosen ? "Drag an end to change the colours' range, or scroll. A double click fits the map."
                                     : "Drag an end to change the colours' range, or scroll over it.");
  draw_color_bar(frame, bar.area, image, axis, bar.caption);
  if (!input.is_hovered() && !is_chosen) return;
  draw_grip(frame, bar.area, view::position_in(axis, image.spread, image.high), is_chosen);
  draw_grip(frame, bar.area, view::position_in(axis, image.spread, image.low), is_chosen);
}

std::optional<RangeHint> range_hint(const ShownTile& shown_tile, const shell::HeatmapImage& image, bool has_limits) {
  constexpr float kLow = 0.25F;  // of the colours: the map doesn't use its range
  const float largest = shown_tile.facts->largest_weight;
  const view::ValueLimits fitted = fitted_range(*shown_tile.facts, image.spread);
  const std::string below = fmt::format("98 % are below {:.2g}", double{fitted.high});
  if (!has_limits) {
    if (!(fitted.high < largest)) return std::nullopt;
    return RangeHint{.text = fmt::format("{}, the largest is {:.2g}", below, double{largest}),
                     .link = "show all",
                     .range = view::ValueLimits{.low = 0.0F, .high = largest}};
  }
  const float used = view::position_in({.low = image.low, .high = image.high}, image.spread, fitted.high);
  if (!(used < kLow)) return std::nullopt;
  return RangeHint{.text = fitted.high < largest ? below : fmt::format("the largest is {:.2g}", double{largest}),
                   .link = "click to fit",
                   .range = std::nullopt};
}

}  // namespace headlight::app
