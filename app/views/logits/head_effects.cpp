#include "app/views/logits/head_effects.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/signed_bars.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr float kGutter = 30.0F;  // of the layers' numbers
constexpr float kHeader = 18.0F;  // of the heads' numbers
constexpr float kGap = 2.0F;
constexpr float kLeastCell = 10.0F, kMostCell = 52.0F, kMostHeight = 24.0F;

shell::Color text_on(shell::Color ground) {
  const double luminance = 0.299 * (ground & 0xFFU) + 0.587 * (ground >> 8 & 0xFFU) + 0.114 * (ground >> 16 & 0xFFU);
  return luminance > 140.0 ? shell::rgb(0x10141A) : shell::rgb(0xFFFFFF);
}

/// The middle of the colours is 0, their ends are ± `largest`.
shell::Color color_of(double value, double largest) {
  const double share = largest > 0.0 ? std::clamp(value / largest, -1.0, 1.0) : 0.0;
  const std::span<const std::uint32_t> colors = signed_colors();
  const double index = (share * 0.5 + 0.5) * static_cast<double>(colors.size() - 1);
  return colors[static_cast<std::size_t>(std::lround(index))] | 0xFF000000U;
}

/// How many decimals fit every cell of this size; none: no number fits.
std::optional<std::uint32_t> decimals_for(const Frame& frame, glm::vec2 cell) {
  const ImFont* font = frame.ui.fonts().mono_small;
  if (!frame.state.view.show_numbers || font_size(font) > cell.y) return std::nullopt;
  for (const std::uint32_t decimals : {2U, 1U}) {
    if (text_width(frame.ui.fonts().mono_small, view::format_fixed(-8.88F, decimals)) + 2.0F <= cell.x) return decimals;
  }
  return std::nullopt;
}

void draw_cell(Frame& frame, std::uint32_t layer, std::uint32_t head, double value, double largest, const view::Rect& box) {
  const model::BlockRef block{.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{layer}};
  Selection& selection = frame.state.selection;
  ImGui::SetCursorScreenPos(to_imgui(box.origin));
  const std::string name = fmt::format("logits.head.{}.{}", layer, head);
  if (ImGui::InvisibleButton(name.c_str(), to_imgui(box.size))) {
    select_head(selection, block, head);
    frame.state.logits.sums_heads = false;
  }
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) frame.state.view.tab = "head";
  mark_last_item(
      frame, name,
      fmt::format("Layer {}, head {}: {}. Click: its source tokens. Double click: its map.", layer, head, signed_text(value))
          .c_str());
  ImDrawList* list = ImGui::GetWindowDrawList();
  const shell::Color ground = color_of(value, largest);
  list->AddRectFilled(to_imgui(box.origin), to_imgui(box.end()), ground, 2.0F);
  ImFont* font = frame.ui.fonts().mono_small;
  if (const std::optional<std::uint32_t> decimals = decimals_for(frame, box.size)) {
    const std::string number = view::format_fixed(static_cast<float>(value), *decimals);
    list->AddText(font, font_size(font),
                  {std::round(box.origin.x + (box.size.x - text_width(font, number)) * 0.5F),
                   std::round(box.origin.y + (box.size.y - font_size(font)) * 0.5F)},
                  text_on(ground), number.c_str());
  }
  const bool is_selected = selection.block == block && selection.head == head;
  if (is_selected || is_hovered) {
    list->AddRect(to_imgui(box.origin - 1.0F), to_imgui(box.end() + 1.0F),
                  is_selected ? frame.ui.theme().accent : frame.ui.theme().text_dim, 2.0F, 0, is_selected ? 2.0F : 1.0F);
  }
}

}  // namespace

void draw_head_effects(Frame& frame, const LogitAttribution& found) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::size_t heads = 0;
  double largest = 0.0;
  for (const attribution::LayerLogits& layer : found.layers) {
    heads = std::max(heads, layer.heads.size());
    for (const double value : layer.heads) largest = std::max(largest, std::abs(value));
  }
  if (heads == 0) return;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x - kGutter;
  const float width = std::clamp(std::floor(room / static_cast<float>(heads)) - kGap, kLeastCell, kMostCell);
  const float height = std::min(width, kMostHeight);
  std::uint32_t step = 1;  // heads whose numbers are written
  while (static_cast<float>(step) * (width + kGap) < text_width(font, "000") + 2.0F) ++step;
  for (std::uint32_t head = 0; head < heads; head += step) {
    const std::string number = std::to_string(head);
    const float x =
        origin.x + kGutter + static_cast<float>(head) * (width + kGap) + (width - text_width(font, number)) * 0.5F;
    list->AddText(font, font_size(font), {std::round(x), origin.y}, theme.text_dim, number.c_str());
  }
  for (std::uint32_t layer = 0; layer < found.layers.size(); ++layer) {
    const float y = origin.y + kHeader + static_cast<float>(layer) * (height + kGap);
    if (height >= font_size(font) || layer % 2 == 0) {
      list->AddText(font, font_size(font), {origin.x, std::round(y + (height - font_size(font)) * 0.5F)}, theme.text_dim,
                    fmt::format("L{}", layer).c_str());
    }
    const std::vector<double>& values = found.layers[layer].heads;
    for (std::uint32_t head = 0; head < values.size(); ++head) {
      const float x = origin.x + kGutter + static_cast<float>(head) * (width + kGap);
      draw_cell(frame, layer, head, values[head], largest, {.origin = {x, y}, .size = {width, height}});
    }
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({kGutter + static_cast<float>(heads) * (width + kGap),
                kHeader + static_cast<float>(found.layers.size()) * (height + kGap)});
}

}  // namespace headlight::app
