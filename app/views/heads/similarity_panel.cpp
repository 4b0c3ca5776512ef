#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "app/analyses/head_metric_text.h"
#include "app/analyses/head_similarity.h"
#include "app/cells/provenance.h"
#include "app/views/heads/find_panel.h"
#include "app/views/heads/similarity_map.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/ink.h"
#include "app/widgets/kind_choice.h"
#include "app/widgets/segmented.h"
#include "app/widgets/signed_bars.h"
#include "export/figure.h"

namespace headlight::app {
namespace {

constexpr float kSimilarityColumnGap = 28.0F;
constexpr float kLeastSimilarityColumns = 560.0F;  // narrower: the list is below the map
constexpr float kSimilarityGap = 14.0F;

void choose_order(Frame& frame) {
  const std::vector<std::string> labels = {"similar side by side", "by layer"};
  const float end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  if (end + kSimilarityGap + segmented_width(frame, labels) <= ImGui::GetContentRegionMax().x)
    ImGui::SameLine(0.0F, kSimilarityGap);
  std::size_t chosen = frame.state.heads.groups_similar ? 0 : 1;
  if (draw_segmented(frame, "heads.similar.order", labels, chosen)) frame.state.heads.groups_similar = chosen == 0;
}

class SimilarityPanel final : public FindPanel {
 public:
  Heading heading(const Frame& /*frame*/) override { return {.title = "Heads that look alike"}; }

  void draw(Frame& frame) override {
    choose_kind(frame, "heads.kind");
    choose_order(frame);
    const Analysed* answer = frame.ask(similarity_query(frame.state.selection));
    const HeadSimilarity* found = answer ? answer->as<HeadSimilarity>() : nullptr;
    has_numbers_ = found != nullptr;
    const shell::Theme& theme = frame.ui.theme();
    if (answer && !answer->error.empty()) return draw_note(frame, "heads.similar.about", answer->error, theme.warning);
    if (!found) return draw_note(frame, "heads.similar.about", "comparing every two heads\u2026", theme.text_dim);
    map_.show(answer->result, *found, frame.state.heads.groups_similar);
    std::vector<HeadRef> listed;
    for (const std::uint32_t head : map_.order()) listed.push_back(found->heads[head]);
    move_through_heads(frame, listed, 1);
    explain(frame, *found);
    const Selection& selection = frame.state.selection;
    const auto at = static_cast<std::size_t>(
        std::ranges::find(found->heads, HeadRef{.block = selection.block, .head = selection.head}) - found->heads.begin());
    const auto selected = at < found->heads.size() ? std::optional(static_cast<std::uint32_t>(at)) : std::nullopt;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool has_columns = room.x >= kLeastSimilarityColumns;
    ImGui::BeginChild("map", {has_columns ? std::floor((room.x - kSimilarityColumnGap) * 0.6F) : room.x,
                              has_columns ? 0.0F : std::floor(room.y * 0.6F)});
    const SimilarityMap::Pointed pointed = map_.draw(frame, *found, selected);
    ImGui::EndChild();
    if (pointed.hovered) point_at(frame, *found, pointed.hovered->first, pointed.hovered->second);
    if (pointed.clicked) go_to_head(frame, found->heads[*pointed.clicked], pointed.is_opened);
    if (has_columns) ImGui::SameLine(0.0F, kSimilarityColumnGap);
    ImGui::BeginChild("nearest", {0.0F, 0.0F}, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    if (selected) draw_nearest(frame, *found, *selected);
    ImGui::EndChild();
  }

  bool has_numbers(const Frame& /*frame*/) const override { return has_numbers_; }
  std::unique_ptr<exporting::Drawing> figure(const Look& look) const override {
    const auto* found = dynamic_cast<const HeadSimilarity*>(map_.result().get());
    if (!has_numbers_ || found == nullptr || map_.order().empty()) return nullptr;
    const auto count = static_cast<std::uint32_t>(map_.order().size());
    exporting::HeatmapFigure figure{
        .title = look.title, .subtitle = look.subtitle, .map = {}, .rows = {}, .columns = {}, .style = {}};
    figure.map = {.rows = count, .columns = count, .values = {}, .masked = {}};
    for (const std::uint32_t row : map_.order()) {
      figure.rows.tokens.push_back(head_name(found->heads[row]));
      for (const std::uint32_t column : map_.order()) figure.map.values.push_back(found->between(row, column));
    }
    figure.rows.title = figure.columns.title = "head";
    figure.columns.tokens = figure.rows.tokens;
    figure.value_title = "difference, bits";
    figure.marks_empty_rows = false;
    figure.style = {.color_map = look.color_map, .scale = view::ScaleKind::Maximum, .is_dark = look.is_dark};
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }
  std::string csv(const Frame& frame) const override {
    const Analysed* answer = frame.result.analysed(similarity_query(frame.state.selection));
    const HeadSimilarity* found = answer ? answer->as<HeadSimilarity>() : nullptr;
    if (!found) return {};
    std::string csv = "head";
    for (const std::uint32_t column : map_.order()) csv += fmt::format(",{}", head_name(found->heads[column]));
    for (const std::uint32_t row : map_.order()) {
      csv += fmt::format("\n{}", head_name(found->heads[row]));
      for (const std::uint32_t column : map_.order()) csv += fmt::format(",{:.6g}", found->between(row, column));
    }
    return csv + '\n';
  }

 private:
  static void point_at(Frame& frame, const HeadSimilarity& found, std::uint32_t head, std::uint32_t other) {
    NumberRef number{.of = std::string(kHeadDifference),
                     .block = found.heads[head].block,
                     .batch = frame.state.selection.batch,
                     .head = found.heads[head].head,
                     .value = double{found.between(head, other)},
                     .notes = {{"compared with", head_name(found.heads[other])}}};
    if (found.compared_queries < found.queries) {
      number.notes.emplace_back(kSampledNote, fmt::format("{} of {} queries", found.compared_queries, found.queries));
    }
    frame.transient.pointed_number = std::move(number);
  }

  static void explain(Frame& frame, const HeadSimilarity& found) {
    std::string text =
        "The mean over queries of the Jensen\u2013Shannon divergence of both heads' rows, in bits: 0 where they look at the "
        "same keys alike, 1 where at different ones.";
    if (found.compared_queries < found.queries) {
      text +=
          fmt::format(" Sampled: {} of {} queries, in strips at equal distances.", found.compared_queries, found.queries);
    }
    if (found.order.empty()) text += " Some weights are no numbers, so heads can't be put in an order.";
    draw_note(frame, "heads.similar.about", text, frame.ui.theme().text_dim);
  }

  static void draw_nearest(Frame& frame, const HeadSimilarity& found, std::uint32_t selected) {
    {
      const Ink ink(frame.ui.fonts().strong, frame.ui.theme().text);
      ImGui::TextUnformatted(fmt::format("Nearest to {}", head_name(found.heads[selected])).c_str());
    }
    std::vector<std::uint32_t> others;
    for (std::uint32_t head = 0; head < found.heads.size(); ++head) {
      if (head != selected && std::isfinite(found.between(selected, head))) others.push_back(head);
    }
    std::ranges::stable_sort(others, {}, [&](std::uint32_t head) { return found.between(selected, head); });
    std::vector<double> values;
    for (const std::uint32_t head : others) values.push_back(double{found.between(selected, head)});
    ImGui::BeginChild("list", {0.0F, 0.0F});
    const std::optional<std::size_t> clicked = draw_signed_bars(
        frame, {.name = "heads.similar.row",
                .values = values,
                .label = [&](std::size_t row) { return head_name(found.heads[others[row]]); },
                .about =
                    [&](std::size_t row) {
                      return fmt::format("{:.4f} bits from {}. Click: selects {}. Double click: opens it.", values[row],
                                         head_name(found.heads[selected]), head_name(found.heads[others[row]]));
                    },
                .open = [&](std::size_t row) { go_to_head(frame, found.heads[others[row]], true); },
                .point = [&](std::size_t row) { point_at(frame, found, others[row], selected); },
                .has_signs = false});
    if (clicked) go_to_head(frame, found.heads[others[*clicked]], false);
    ImGui::EndChild();
  }

  SimilarityMap map_;
  bool has_numbers_ = false;
};

}  // namespace

std::unique_ptr<FindPanel> open_similarity_panel() { return std::make_unique<SimilarityPanel>(); }

}  // namespace headlight::app
