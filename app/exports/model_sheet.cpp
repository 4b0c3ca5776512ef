#include "app/exports/model_sheet.h"

#include "app/analyses/head_metric_text.h"
#include "app/analyses/head_order.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMostAcross = 12;
constexpr float kSheetPanel = 116.0F, kSheetGap = 18.0F;  // units

/// Maps on a line: all heads of a layer where heads are in the order of layers and fit one, else as many as fill a page.
std::size_t maps_across(const ModelSheet& shown) {
  std::size_t longest = 0, here = 0;
  for (std::size_t i = 0; i < shown.maps.size(); ++i) {
    const bool begins_layer = i > 0 && shown.maps[i].head.block != shown.maps[i - 1].head.block;
    here = begins_layer ? 1 : here + 1;
    longest = std::max(longest, here);
  }
  const bool is_by_layer = !shown.choices.order && shown.maps.size() % std::max<std::size_t>(longest, 1) == 0;
  if (is_by_layer && longest <= kMostAcross) return longest;
  // Near a square.
  std::size_t across = 1;
  while (across * across < shown.maps.size()) ++across;
  return std::min(across, kMostAcross);
}

}  // namespace

std::string order_in_words(const HeadChoices& choices) {
  std::string text;
  if (choices.order) {
    text += fmt::format("; ordered by {}, the {} first", metric_title(*choices.order, choices.scoring),
                        choices.lowest_first ? "lowest" : "highest");
  }
  if (choices.filter)
    text += fmt::format("; {} from {:.3g} on", metric_title(*choices.filter, choices.scoring), choices.least);
  if (choices.only_pinned) text += "; pinned heads alone";
  return text;
}

exporting::ContactSheet model_sheet(ModelSheet shown) {
  if (shown.maps.empty()) throw Error("no head is left to show: choose another filter");
  exporting::ContactSheet sheet;
  sheet.title = std::move(shown.title);
  sheet.subtitle = std::move(shown.subtitle);
  sheet.across = maps_across(shown);
  for (ModelSheet::Map& map : shown.maps) {
    const evaluation::HeadMetrics* metrics = shown.found != nullptr ? shown.found->find(map.head) : nullptr;
    std::string caption = head_caption(map.head, metrics, shown.choices);
    // What no badge names is told by its entropy, so that every head has a number.
    if (metrics != nullptr && caption == head_name(map.head)) {
      constexpr evaluation::HeadMetric kEntropy = evaluation::HeadMetric::Entropy;
      caption +=
          fmt::format("  {} {}", evaluation::metric_name(kEntropy), metric_number(kEntropy, metrics->value(kEntropy)));
    }
    sheet.panels.push_back({.title = std::move(caption), .map = std::move(map.map)});
  }
  sheet.value_title = std::move(shown.value_title);
  sheet.style = shown.style;
  if (sheet.style.map_edge <= 0.0F) {
    sheet.style.map_edge = static_cast<float>(sheet.across) * (kSheetPanel + kSheetGap) - kSheetGap;
  }
  sheet.session = std::move(shown.session);
  return sheet;
}

}  // namespace headlight::app
