#include "app/views/heads/scored_heads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>

#include "app/widgets/baseline_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_map.h"
#include "app/widgets/head_map_figure.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/signed_bars.h"
#include "export/float_text.h"

namespace headlight::app {
namespace {

constexpr float kColumnGap = 28.0F;
constexpr float kLeastColumns = 560.0F;  // narrower: the list is below the map
constexpr float kMapShare = 0.58F;       // of the width
constexpr float kMostMapShare = 0.55F;   // of the height, where the list is below
constexpr float kKindTitle = 20.0F;

/// The tooltip of a head, with the numbers of both runs where they are compared.
std::string scored_tooltip(const ScoredHeads& scored, const HeadRef& head, double value) {
  const auto found = std::ranges::find(scored.heads, head, &ScoredHead::head);
  if (found == scored.heads.end() || !found->both) return scored.about(head, value);
  return fmt::format("{} Change: {}", scored.about(head, found->both->now),
                     change_text(found->both->now, found->both->baseline));
}

/// The maps' rows, kind by kind.
std::map<model::BlockKind, std::vector<HeadMapLayer>> layers_of(const Frame& frame, std::span<const ScoredHead> heads) {
  std::map<model::BlockRef, HeadMapLayer> layers;
  for (const ScoredHead& scored : heads) {
    const auto shape = frame.result.shapes.find(scored.head.block);
    if (shape == frame.result.shapes.end() || scored.head.head >= shape->second.heads) continue;
    HeadMapLayer& layer = layers[scored.head.block];
    layer.block = scored.head.block;
    layer.values.resize(shape->second.heads);
    layer.values[scored.head.head] = scored.value;
  }
  std::map<model::BlockKind, std::vector<HeadMapLayer>> kinds;
  for (auto& [block, layer] : layers) kinds[block.kind].push_back(std::move(layer));
  return kinds;
}

const char* title_of(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "Encoder";
    case model::BlockKind::DecoderSelf:
      return "Decoder";
    case model::BlockKind::Cross:
      break;
  }
  return "Cross-attention";
}

void point_at(Frame& frame, const ScoredHeads& scored, const HeadRef& head) {
  const auto found = std::ranges::find(scored.heads, head, &ScoredHead::head);
  if (!scored.number || found == scored.heads.end() || !found->value) return;
  NumberRef number = scored.number(head);
  number.value = found->both ? found->both->now : *found->value;
  if (found->both) add_baseline(number, found->both->now, found->both->baseline);
  frame.transient.pointed_number = std::move(number);
}

void draw_maps(Frame& frame, const ScoredHeads& scored) {
  const auto kinds = layers_of(frame, scored.heads);
  for (const auto& [kind, layers] : kinds) {
    if (kinds.size() > 1) {
      const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
      ImGui::TextUnformatted(title_of(kind));
    }
    const HeadMapClick click = draw_head_map(
        frame, {.name = fmt::format("{}.{}", scored.name, model::to_string(kind)),
                .layers = layers,
                .about = [&](const HeadRef& head, double value) { return scored_tooltip(scored, head, value); },
                .is_signed = scored.has_signs || has_differences(scored.heads)});
    if (click.hovered) point_at(frame, scored, *click.hovered);
    if (click.head) go_to_head(frame, *click.head, click.is_double);
  }
}

float height_of_maps(const Frame& frame, const ScoredHeads& scored, float width) {
  const auto kinds = layers_of(frame, scored.heads);
  float height = 4.0F;
  for (const auto& [kind, layers] : kinds) {
    std::size_t heads = 0;
    for (const HeadMapLayer& layer : layers) heads = std::max(heads, layer.values.size());
    height += head_map_height(layers.size(), heads, width) + (kinds.size() > 1 ? kKindTitle : 0.0F);
  }
  return height;
}

void draw_list(Frame& frame, const ScoredHeads& scored) {
  const Selection& selection = frame.state.selection;
  const HeadRef selected{.block = selection.block, .head = selection.head};
  const bool has_kinds = std::ranges::any_of(
      scored.heads, [&](const ScoredHead& some) { return some.head.block.kind != scored.heads.front().head.block.kind; });
  std::vector<double> values;
  std::vector<HeadRef> heads;
  std::optional<std::size_t> chosen;
  for (const ScoredHead& some : scored.heads) {
    if (!some.value) continue;
    if (some.head == selected) chosen = heads.size();
    heads.push_back(some.head);
    values.push_back(*some.value);
  }
  ImGui::BeginChild("list", {0.0F, 0.0F});
  const std::optional<std::size_t> clicked = draw_signed_bars(
      frame, {.name = scored.name + ".row",
              .values = values,
              .label =
                  [&](std::size_t row) {
                    const HeadRef& head = heads[row];
                    return fmt::format("{}L{} H{}", has_kinds ? fmt::format("{} ", model::to_string(head.block.kind)) : "",
                                       head.block.layer.value, head.head);
                  },
              .about = [&](std::size_t row) { return scored_tooltip(scored, heads[row], values[row]); },
              .chosen = chosen,
              .open = [&](std::size_t row) { go_to_head(frame, heads[row], true); },
              .point = [&](std::size_t row) { point_at(frame, scored, heads[row]); },
              .has_signs = scored.has_signs || has_differences(scored.heads)});
  if (clicked) go_to_head(frame, heads[*clicked], false);
  ImGui::EndChild();
}

}  // namespace

void subtract_baseline(std::vector<ScoredHead>& heads, const BaselineScores& baseline) {
  for (ScoredHead& scored : heads) {
    const auto before = baseline.find(scored.head);
    if (scored.value && before != baseline.end() && before->second) {
      scored.both = BothScores{.now = *scored.value, .baseline = *before->second};
      scored.value = scored.both->now - scored.both->baseline;
    } else {
      scored.value.reset();
    }
  }
}

bool has_differences(std::span<const ScoredHead> heads) {
  return std::ranges::any_of(heads, [](const ScoredHead& scored) { return scored.both.has_value(); });
}

void sort_by_value(std::vector<ScoredHead>& heads) {
  const auto size = [](const ScoredHead& scored) {
    const double value = scored.value.value_or(0.0);
    return scored.both ? std::abs(value) : value;
  };
  std::ranges::stable_sort(heads, [&](const ScoredHead& a, const ScoredHead& b) {
    if (!a.value || !b.value) return a.value.has_value() && !b.value.has_value();
    return size(a) > size(b);
  });
}

void draw_scored_heads(Frame& frame, const ScoredHeads& scored) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool has_columns = room.x >= kLeastColumns;
  const float left = has_columns ? std::floor((room.x - kColumnGap) * kMapShare) : room.x;
  const float height = std::min(height_of_maps(frame, scored, left), std::floor(room.y * kMostMapShare));
  ImGui::BeginChild("map", {left, has_columns ? 0.0F : height});
  draw_maps(frame, scored);
  ImGui::EndChild();
  if (has_columns) ImGui::SameLine(0.0F, kColumnGap);
  draw_list(frame, scored);
}

std::string scored_heads_csv(std::span<const ScoredHead> heads, const std::string& title) {
  const bool compares = has_differences(heads);
  std::string csv = "kind,layer,head," + title;
  if (compares) csv += fmt::format(",{} baseline,{} change", title, title);
  for (const ScoredHead& scored : heads) {
    csv += fmt::format("\n{},{},{},", model::to_string(scored.head.block.kind), scored.head.block.layer.value,
                       scored.head.head);
    if (scored.both) {
      const auto [now, baseline] = *scored.both;
      csv += fmt::format("{},{},{}", exporting::table_number(now), exporting::table_number(baseline),
                         exporting::table_number(now - baseline));
    } else if (compares) {
      csv += ",,";
    } else if (scored.value) {
      csv += exporting::table_number(*scored.value);
    }
  }
  return csv + '\n';
}

std::unique_ptr<exporting::Drawing> make_scored_figure(std::span<const ScoredHead> heads, std::string value_title,
                                                       bool has_signs, const FindPanel::Look& look) {
  std::map<model::BlockRef, HeadMapLayer> layers;
  for (const ScoredHead& scored : heads) {
    HeadMapLayer& layer = layers[scored.head.block];
    layer.block = scored.head.block;
    layer.values.resize(std::max<std::size_t>(layer.values.size(), scored.head.head + std::size_t{1}));
    layer.values[scored.head.head] = scored.value;
  }
  const bool compares = has_differences(heads);
  if (compares) value_title += ", change";
  HeadMapFigure figure{.title = look.title,
                       .subtitle = look.subtitle,
                       .value_title = std::move(value_title),
                       .layers = {},
                       .is_signed = has_signs || compares,
                       .color_map = look.color_map};
  for (auto& [block, layer] : layers) figure.layers.push_back(std::move(layer));
  return make_head_map_figure(figure);
}

std::vector<HeadRef> heads_with_value(std::span<const ScoredHead> heads) {
  std::vector<HeadRef> known;
  for (const ScoredHead& scored : heads) {
    if (scored.value) known.push_back(scored.head);
  }
  return known;
}

}  // namespace headlight::app
