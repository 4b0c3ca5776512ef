#include "app/widgets/range_bar.h"

#include "app/state/map_settings.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kRangeWidth = 84.0F;
constexpr float kLine = 26.0F;
constexpr float kLargestReach = 1e9F;                                         // of scores
constexpr std::array kNames = {"to largest", "per row", "fixed", "to 98 %"};  // by RangeKind

/// Can a bar show these limits? Half-typed numbers, which may be out of order or out of reach, aren't taken.
bool are_limits(Stage stage, const chart::ValueLimits& limits) {
  const bool are_ordered = std::isfinite(limits.low) && std::isfinite(limits.high) && limits.low < limits.high;
  const bool are_weights = stage == Stage::Weights;
  return are_ordered && limits.low >= (are_weights ? 0.0F : -kLargestReach) &&
         limits.high <= (are_weights ? 1.0F : kLargestReach);
}

constexpr int kStrips = 64;

constexpr const char* kAtLeast = "\u2265 ";  // before the end of a bar that larger values share

/// Is a larger value written with other digits than the end?
bool is_beyond(float largest, float end) { return largest > end * 1.005F; }

/// Draws the colours of the values from the axis' low to its high end: to the right, or upwards.
void draw_gradient(ImDrawList* list, const chart::Rect& bar, const shell::HeatmapImage& image,
                   const chart::ValueLimits& axis, bool is_upright) {
  if (image.color_map.empty()) return;
  const auto color_at = [&](int strip) {
    return color_of(image, chart::value_at(axis, image.spread, static_cast<float>(strip) / kStrips));
  };
  for (int strip = 0; strip < kStrips; ++strip) {
    const shell::Color from = color_at(strip);
    const shell::Color to = color_at(strip + 1);
    const float begin = static_cast<float>(strip) / kStrips;
    const float end = static_cast<float>(strip + 1) / kStrips;
    if (is_upright) {
      list->AddRectFilledMultiColor({bar.origin.x, bar.origin.y + bar.size.y * (1.0F - end)},
                                    {bar.end().x, bar.origin.y + bar.size.y * (1.0F - begin)}, to, to, from, from);
    } else {
      list->AddRectFilledMultiColor({bar.origin.x + bar.size.x * begin, bar.origin.y},
                                    {bar.origin.x + bar.size.x * end, bar.end().y}, from, to, to, from);
    }
  }
}

constexpr float kGripReach = 6.0F;                    // distance outside the bar at which its ends can be grabbed
constexpr float kWheelStep = 1.25F;                   // of the top
constexpr float kMinReach = 1e-6F, kMaxReach = 1e9F;  // of scores
constexpr float kMinTop = 1e-9F;                      // of weights
constexpr float kMinPart = 1e-3F;                     // of the range, between its ends
constexpr float kMinRatio = 1e-4F;                    // of an end, to the other one

/// The end that a held button moves; kept in ImGui's storage of the window for the time of the gesture.
enum class Grip : int { None, Low, High };

/// Returns the limits with one end moved to a value, as far as the scale goes; they stay finite and apart.
chart::ValueLimits moved(chart::ValueLimits limits, Grip grip, float value, bool has_signs, chart::ScaleSpread spread) {
  if (std::isnan(value)) return limits;
  if (has_signs) {
    const float reach = std::clamp(grip == Grip::High ? value : -value, kMinReach, kMaxReach);
    return {.low = -reach, .high = reach};
  }
  const bool is_log = spread == chart::ScaleSpread::Log;
  if (is_log) limits.low = chart::log_floor(limits.low, limits.high);
  const float range = kMinPart * (limits.high - limits.low);
  if (grip == Grip::High) {
    const float least = is_log ? limits.low * 1.5F : limits.low + std::max(range, kMinRatio * limits.low);
    limits.high = std::clamp(value, std::clamp(least, kMinTop, 1.0F), 1.0F);
  } else {
    const float most = is_log ? limits.high / 1.5F : limits.high - std::max(range, kMinRatio * limits.high);
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
  chart::ValueLimits handle() {
    const chart::Rect& area = bar_.area;
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
      const chart::ValueLimits from{.low = from_low(), .high = from_high()};
      const float part = -ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 2.0F).y / std::max(area.size.y, 1.0F);
      const float end = held == Grip::High ? 1.0F : 0.0F;
      if (part != 0.0F) {
        limits[bar_.stage] = moved(from, held, chart::value_at(from, spread_, end + part), has_signs_, spread_);
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
  chart::ValueLimits shown_;
  chart::ScaleSpread spread_;
  bool has_signs_;
  bool is_hovered_ = false;
  ImGuiStorage& storage_;
};

/// Draws a grip at an end's position in the bar's range.
void draw_grip(const Frame& frame, const chart::Rect& area, float position, bool is_chosen) {
  const shell::Theme& theme = frame.ui.theme();
  const float y = std::round(area.origin.y + area.size.y * (1.0F - position));
  fill_rect({area.origin.x - 4.0F, y - 2.0F}, {area.end().x + 4.0F, y + 2.0F}, is_chosen ? theme.accent : theme.text_dim,
            2.0F);
}

}  // namespace

void draw_range_bar(Frame& frame, const RangeBar& bar, const shell::HeatmapImage& image) {
  if (bar.is_fixed) return draw_color_bar(frame, bar.area, image, {.low = image.low, .high = image.high}, bar.caption);
  RangeInput input(frame, bar, image);
  const chart::ValueLimits axis = input.handle();
  const bool is_chosen = frame.state.view.color_limits.contains(bar.stage);
  explain_last_item(frame, is_chosen ? "Drag an end to change the colours' range, or scroll. A double click fits the map."
                                     : "Drag an end to change the colours' range, or scroll over it.");
  draw_color_bar(frame, bar.area, image, axis, bar.caption, bar.largest);
  if (!input.is_hovered() && !is_chosen) return;
  draw_grip(frame, bar.area, chart::position_in(axis, image.spread, image.high), is_chosen);
  draw_grip(frame, bar.area, chart::position_in(axis, image.spread, image.low), is_chosen);
}

std::optional<RangeHint> range_hint(const State& state, const ShownTile& shown_tile, const shell::HeatmapImage& image) {
  constexpr float kLow = 0.25F, kDark = 0.06F;  // of the colours: the map doesn't use its range; hard to tell apart
  const float largest = shown_tile.facts->largest_weight, below = shown_tile.facts->high_weight;
  const auto position = [&](float value) {
    return chart::position_in({.low = image.low, .high = image.high}, image.spread, value);
  };
  const RangeKind now = range_kind(state, Stage::Weights);
  if (now == RangeKind::Fixed && position(largest) < kLow)
    return RangeHint{.text = fmt::format("the largest is {:.2g}", double{largest}),
                     .link = "click to fit",
                     .range = state[kMapView.color_range]};
  const bool is_quantile = now == RangeKind::Quantile;
  if (!(below > 0.0F) || (is_quantile ? below >= largest : position(below) >= kDark)) return std::nullopt;
  return RangeHint{.text = fmt::format("98 % are below {:.2g}, the largest is {:.2g}", double{below}, double{largest}),
                   .link = is_quantile ? "show all" : "colours to 98 %",
                   .range = is_quantile ? ColorRange::Largest : ColorRange::Quantile};
}

void draw_small_color_bar(const Frame& frame, const chart::Rect& bar, const shell::HeatmapImage& image, float largest) {
  ImFont* font = frame.ui.fonts().mono_small;
  draw_gradient(ImGui::GetWindowDrawList(), bar, image, {.low = image.low, .high = image.high}, false);
  const auto put = [&](float value, float position) {
    const std::string text = (position == 1.0F && is_beyond(largest, value) ? kAtLeast : "") + cell_number(value, 2);
    const float width = text_width(font, text);
    // The ends' labels are inside the bar, the middle's is centred.
    const float x = bar.origin.x + (bar.size.x - width) * position;
    put_text(font, {std::round(x), bar.end().y + 2.0F}, frame.ui.theme().text_dim, text);
  };
  put(image.spread == chart::ScaleSpread::Log ? chart::log_floor(image.low, image.high) : image.low, 0.0F);
  put(image.high, 1.0F);
  if (image.low < 0.0F && bar.size.x >= 110.0F) put(0.0F, 0.5F);
}

void draw_color_bar(const Frame& frame, const chart::Rect& bar, const shell::HeatmapImage& image,
                    const chart::ValueLimits& axis, const char* caption, float largest) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().mono_small;
  ImFont* words = frame.ui.fonts().small;
  draw_gradient(ImGui::GetWindowDrawList(), bar, image, axis, true);
  outline_rect(bar, theme.border);
  put_text(words, {bar.origin.x, bar.origin.y - font_size(words) - 6.0F}, theme.text_dim, caption);
  const std::vector<chart::Tick> ticks = chart::make_bar_ticks(axis, image.spread, bar.size.y, font_size(font));
  for (const chart::Tick& tick : ticks) {
    const float y = bar.origin.y + bar.size.y * (1.0F - chart::position_in(axis, image.spread, tick.value));
    draw_line({bar.end().x, y}, {bar.end().x + 4.0F, y}, theme.text_dim);
    const bool is_end = tick.value >= axis.high && is_beyond(largest, axis.high);
    put_text(font, {bar.end().x + 7.0F, std::round(y - font_size(font) * 0.5F)}, theme.text_dim,
             (is_end ? kAtLeast : "") + tick.label);
  }
}

ColorScale scale_of_maps(const Frame& frame) {
  if (frame.shows_difference()) return scale_of_signs(frame);
  const RangeKind kind = range_kind(frame.state, Stage::Weights);
  if (kind != RangeKind::Fixed) {
    return {.colors = weight_colors(frame.state),
            .low = "weight, 0",
            .high = kind == RangeKind::Quantile ? "98 % of each map" : "each map\u2019s largest"};
  }
  const chart::ValueLimits& limits = frame.state.view.color_limits.at(Stage::Weights);
  return {.colors = weight_colors(frame.state),
          .low = fmt::format("weight, {:.3g}", double{limits.low}),
          .high = fmt::format("{:.3g}", double{limits.high})};
}

RangeKind range_kind(const State& state, Stage stage) {
  if (stage == Stage::Weights && state[kMapView.color_range] == ColorRange::PerRow) return RangeKind::PerRow;
  if (state.view.color_limits.contains(stage)) return RangeKind::Fixed;
  const bool is_quantile = stage == Stage::Weights && state[kMapView.color_range] == ColorRange::Quantile;
  return is_quantile ? RangeKind::Quantile : RangeKind::WholeMap;
}

std::string fixed_range_text(const State& state) {
  for (const Stage stage : {Stage::Weights, state.view.heatmap_stage}) {
    if (range_kind(state, stage) != RangeKind::Fixed) continue;
    const chart::ValueLimits& limits = state.view.color_limits.at(stage);
    return fmt::format("colours fixed from {:.3g} to {:.3g}", double{limits.low}, double{limits.high});
  }
  return {};
}

float RangeChoice::height() const {
  const bool is_fixed = range_kind(frame_.state, stage_) == RangeKind::Fixed;
  const float fields = stage_ == Stage::Weights ? 2.0F : 1.0F;
  return kLine * (1.0F + (is_fixed ? fields : 0.0F));
}

void RangeChoice::choose(RangeKind kind) {
  State& state = frame_.state;
  if (stage_ == Stage::Weights)
    state.set(kMapView.color_range, kind == RangeKind::PerRow     ? ColorRange::PerRow
                                    : kind == RangeKind::Quantile ? ColorRange::Quantile
                                                                  : ColorRange::Largest);
  if (kind == RangeKind::WholeMap || kind == RangeKind::Quantile) state.view.color_limits.erase(stage_);
  if (kind == RangeKind::Fixed) state.view.color_limits.try_emplace(stage_, shown_);
}

void RangeChoice::draw(glm::vec2 at) {
  const RangeKind now = range_kind(frame_.state, stage_);
  const TextStyleScope ink(frame_, frame_.ui.theme().text);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(6.0F, 2.0F));
  ImGui::SetCursorScreenPos(at);
  ImGui::SetNextItemWidth(kRangeWidth);
  if (OpenList list(frame_, "head.range", kNames[static_cast<std::size_t>(now)]); list) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const auto kind = static_cast<RangeKind>(i);
      if (stage_ != Stage::Weights && kind != RangeKind::WholeMap && kind != RangeKind::Fixed) continue;
      if (list.entry(kNames[i], std::to_string(i), kind == now)) choose(kind);
    }
    constexpr chart::ValueLimits kUnit{.low = 0.0F, .high = 1.0F};
    if (stage_ == Stage::Weights && list.entry("0 to 1", "unit", false)) {
      choose(RangeKind::Fixed);
      frame_.state.view.color_limits[stage_] = kUnit;
    }
  }
  if (now == RangeKind::Fixed && range_kind(frame_.state, stage_) == now) type_ends(at + glm::vec2(0.0F, kLine));
  ImGui::PopStyleVar();
}

/// Draws the fields of the ends. Those of scores are equally far from 0, so one field is enough.
void RangeChoice::type_ends(glm::vec2 at) {
  chart::ValueLimits& limits = frame_.state.view.color_limits.at(stage_);
  const auto field = [&](const char* name, float value) {
    ImGui::SetCursorScreenPos(at);
    ImGui::SetNextItemWidth(kRangeWidth);
    const std::string label = fmt::format("##{}", name);
    ImGui::InputFloat(label.c_str(), &value, 0.0F, 0.0F, "%.4g", ImGuiInputTextFlags_AutoSelectAll);
    frame_.ui.keyboard().offer_field(ImGui::GetID(label.c_str()), last_item_rect());
    mark_last_item(frame_, name);
    at.y += kLine;
    return value;
  };
  chart::ValueLimits typed = limits;
  if (stage_ == Stage::Weights) {
    typed = {.low = limits.low, .high = field("head.range.high", limits.high)};
    if (are_limits(stage_, typed)) limits = typed;
    typed = {.low = field("head.range.low", limits.low), .high = limits.high};
  } else {
    typed.high = field("head.range.reach", limits.high);
    typed.low = -typed.high;
  }
  if (are_limits(stage_, typed)) limits = typed;
}

}  // namespace headlight::app
