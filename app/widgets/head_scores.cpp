#include "app/widgets/head_scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>

#include "app/widgets/controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/signed_bars.h"
#include "app/widgets/tile_numbers.h"
#include "export/csv.h"

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
using KindLayers = std::map<model::BlockKind, std::vector<HeadMapLayer>>;
KindLayers layers_of(std::span<const ScoredHead> heads) {
  std::map<model::BlockRef, HeadMapLayer> layers;
  for (const ScoredHead& scored : heads) {
    HeadMapLayer& layer = layers[scored.head.block];
    layer.block = scored.head.block;
    layer.values.resize(std::max<std::size_t>(layer.values.size(), scored.head.head + std::size_t{1}));
    layer.values[scored.head.head] = scored.value;
  }
  KindLayers kinds;
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

void click_head(Frame& frame, const ScoredHeads& scored, const HeadRef& head, bool is_double) {
  if (scored.click) return scored.click(head, is_double);
  go_to_head(frame, head, is_double);
}

}  // namespace

std::vector<ScoredHead> score_heads(const HeadNumbers& now, const HeadNumbers* baseline) {
  std::vector<ScoredHead> heads;
  for (const auto& [head, value] : now) {
    ScoredHead& scored = heads.emplace_back(ScoredHead{.head = head, .value = value});
    if (baseline == nullptr) continue;
    const auto before = baseline->find(head);
    if (value && before != baseline->end() && before->second) {
      scored.both = BothScores{.now = *value, .baseline = *before->second};
      scored.value = *value - *before->second;
    } else {
      scored.value.reset();
    }
  }
  return heads;
}

void go_to_head(Frame& frame, const HeadRef& head, bool opens) {
  if (opens) return open_head(frame, head);
  select_head(frame.state.selection, head.block, head.head);
  frame.ui.request_redraw(2);
}

bool has_differences(std::span<const ScoredHead> heads) {
  return std::ranges::any_of(heads, [](const ScoredHead& scored) { return scored.both.has_value(); });
}

void sort_by_value(std::vector<ScoredHead>& heads, bool by_size) {
  const auto size = [by_size](const ScoredHead& scored) {
    const double value = scored.value.value_or(0.0);
    return !scored.both && !by_size ? value : std::isnan(value) ? -1.0 : std::abs(value);
  };
  std::ranges::stable_sort(heads, [&](const ScoredHead& a, const ScoredHead& b) {
    if (!a.value || !b.value) return a.value.has_value() && !b.value.has_value();
    return size(a) > size(b);
  });
}

void draw_score_maps(Frame& frame, const ScoredHeads& scored) {
  const KindLayers kinds = layers_of(scored.heads);
  for (const auto& [kind, layers] : kinds) {
    if (kinds.size() > 1) {
      const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
      ImGui::TextUnformatted(title_of(kind));
    }
    const HeadMapClick click = draw_head_map(
        frame, {.name = scored.cells.empty() ? fmt::format("{}.{}", scored.name, model::to_string(kind)) : scored.cells,
                .layers = layers,
                .about = [&](const HeadRef& head, double value) { return scored_tooltip(scored, head, value); },
                .is_signed = scored.has_signs || has_differences(scored.heads)});
    if (click.hovered) point_at(frame, scored, *click.hovered);
    if (click.head) click_head(frame, scored, *click.head, click.is_double);
  }
}

float score_maps_height(const ScoredHeads& scored, float width) {
  const KindLayers kinds = layers_of(scored.heads);
  float height = 4.0F;
  for (const auto& [kind, layers] : kinds) {
    std::size_t heads = 0;
    for (const HeadMapLayer& layer : layers) heads = std::max(heads, layer.values.size());
    height += head_map_height(layers.size(), heads, width) + (kinds.size() > 1 ? kKindTitle : 0.0F);
  }
  return height;
}

void draw_score_list(Frame& frame, const ScoredHeads& scored) {
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
    values.push_back(std::isfinite(*some.value) ? *some.value : 0.0);
  }
  if (scored.choose_order) scored.choose_order();
  ImGui::BeginChild("list", {0.0F, 0.0F});
  const std::optional<std::size_t> clicked = draw_signed_bars(
      frame, {.name = scored.name + ".row",
              .values = values,
              .label =
                  [&](std::size_t row) {
                    const HeadRef& head = heads[row];
                    return fmt::format("{}L{} H{}{}", has_kinds ? fmt::format("{} ", model::to_string(head.block.kind)) : "",
                                       head.block.layer.value, head.head, scored.remark ? scored.remark(head) : "");
                  },
              .about = [&](std::size_t row) { return scored_tooltip(scored, heads[row], values[row]); },
              .chosen = chosen,
              .open = [&](std::size_t row) { click_head(frame, scored, heads[row], true); },
              .point = [&](std::size_t row) { point_at(frame, scored, heads[row]); },
              .has_signs = scored.has_signs || has_differences(scored.heads)});
  if (clicked) go_to_head(frame, heads[*clicked], false);
  ImGui::EndChild();
}

void draw_scored_heads(Frame& frame, const ScoredHeads& scored) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool has_columns = room.x >= kLeastColumns;
  const float left = has_columns ? std::floor((room.x - kColumnGap) * kMapShare) : room.x;
  const float height = std::min(score_maps_height(scored, left), std::floor(room.y * kMostMapShare));
  ImGui::BeginChild("map", {left, has_columns ? 0.0F : height});
  draw_score_maps(frame, scored);
  ImGui::EndChild();
  if (has_columns) ImGui::SameLine(0.0F, kColumnGap);
  ImGui::BeginChild("details", {0.0F, 0.0F}, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  draw_score_list(frame, scored);
  ImGui::EndChild();
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

std::unique_ptr<exporting::Drawing> make_scored_figure(std::span<const ScoredHead> heads, HeadMapFigure look,
                                                       const std::string& compared) {
  if (has_differences(heads)) {
    look.value_title += ", " + compared;
    look.is_signed = true;
  }
  for (auto& [kind, layers] : layers_of(heads)) {
    look.layers.insert(look.layers.end(), std::make_move_iterator(layers.begin()), std::make_move_iterator(layers.end()));
  }
  return make_head_map_figure(look);
}

std::vector<HeadRef> heads_with_value(std::span<const ScoredHead> heads) {
  std::vector<HeadRef> known;
  for (const ScoredHead& scored : heads) {
    if (scored.value) known.push_back(scored.head);
  }
  return known;
}

}  // namespace headlight::app
