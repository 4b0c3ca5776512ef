

#include "app/analyses/head_metric_text.h"
#include "app/analyses/head_similarity.h"
#include "app/cells/provenance.h"
#include "app/state/comparison.h"
#include "app/views/heads/find_panel.h"
#include "app/views/heads/similarity_map.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/signed_bars.h"
#include "app/widgets/tile_numbers.h"
#include "export/figure.h"

namespace headlight::app {
namespace {

constexpr float kSimilarityColumnGap = 28.0F;
constexpr float kLeastSimilarityColumns = 560.0F;  // narrower: the list is below the map
constexpr float kSimilarityGap = 14.0F;

void choose_order(Frame& frame) {
  const std::vector<std::string> labels = {"similar side by side", "by layer"};
  continue_line(segmented_width(frame, labels), kSimilarityGap);
  std::size_t chosen = frame.state.heads.groups_similar ? 0 : 1;
  if (draw_segmented(frame, "heads.similar.order", labels, chosen)) frame.state.heads.groups_similar = chosen == 0;
}

class SimilarityPanel final : public FindPanel {
 public:
  Heading heading(const Frame& /*frame*/) override { return {.title = "Heads that look alike"}; }

  void draw(Frame& frame) override {
    choose_kind(frame, "heads.kind");
    choose_order(frame);
    const AnalysisQuery query = similarity_query(frame.state.selection);
    const Analysed* answer = frame.ask(query);
    const Analysed* baseline = subtractable(answer, ask_of_baseline(frame, query));
    const HeadSimilarity* found = answer ? answer->as<HeadSimilarity>() : nullptr;
    has_numbers_ = found != nullptr;
    const shell::Theme& theme = frame.ui.theme();
    if (answer && !answer->error.empty()) return draw_note(frame, "heads.similar.about", answer->error, theme.warning);
    if (!found) return draw_note(frame, "heads.similar.about", "comparing every two heads\u2026", theme.text_dim);
    map_.show(answer->result, baseline ? baseline->result : nullptr, frame.state.heads.groups_similar);
    const SimilarHeads heads = map_.shown();
    std::vector<HeadRef> listed;
    for (const std::uint32_t head : map_.order()) listed.push_back(found->heads[head]);
    move_through_heads(frame, listed, 1);
    explain(frame, *found);
    draw_comparison(frame, "heads", "how much every two heads differ", baseline);
    const Selection& selection = frame.state.selection;
    const auto at = static_cast<std::size_t>(
        std::ranges::find(found->heads, HeadRef{.block = selection.block, .head = selection.head}) - found->heads.begin());
    const auto selected = at < found->heads.size() ? std::optional(static_cast<std::uint32_t>(at)) : std::nullopt;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool has_columns = room.x >= kLeastSimilarityColumns;
    ImGui::BeginChild("map", {has_columns ? std::floor((room.x - kSimilarityColumnGap) * 0.6F) : room.x,
                              has_columns ? 0.0F : std::floor(room.y * 0.6F)});
    const SimilarityMap::Pointed pointed = map_.draw(frame, selected);
    ImGui::EndChild();
    if (pointed.hovered) point_at(frame, heads, pointed.hovered->first, pointed.hovered->second);
    if (pointed.clicked) go_to_head(frame, found->heads[*pointed.clicked], pointed.is_opened);
    if (has_columns) ImGui::SameLine(0.0F, kSimilarityColumnGap);
    ImGui::BeginChild("nearest", {0.0F, 0.0F}, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    if (selected) draw_list(frame, heads, *selected);
    ImGui::EndChild();
  }

  bool has_numbers(const Frame& /*frame*/) const override { return has_numbers_; }
  bool is_compared() const override { return has_numbers_ && map_.shown().baseline != nullptr; }
  std::unique_ptr<exporting::Drawing> figure(const HeadMapFigure& look) const override {
    const SimilarHeads shown = map_.shown();
    const HeadSimilarity* found = shown.now;
    if (!has_numbers_ || found == nullptr || map_.order().empty()) return nullptr;
    const auto count = static_cast<std::uint32_t>(map_.order().size());
    exporting::HeatmapFigure figure{
        .title = look.title, .subtitle = look.subtitle, .map = {}, .rows = {}, .columns = {}, .style = {}};
    figure.map = {.rows = count, .columns = count, .values = {}, .masked = {}};
    for (const std::uint32_t row : map_.order()) {
      figure.rows.tokens.push_back(head_name(found->heads[row]));
      for (const std::uint32_t column : map_.order()) figure.map.values.push_back(shown.between(row, column));
    }
    figure.rows.title = figure.columns.title = "head";
    figure.columns.tokens = figure.rows.tokens;
    figure.value_title = "difference, bits";
    figure.marks_empty_rows = false;
    figure.style = {.color_map = look.color_map, .scale = view::ScaleKind::Maximum};
    if (shown.baseline) {
      figure.value_title += ", change";
      figure.style = exporting::diverging(figure.style);
    }
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }
  std::string csv(const Frame& /*frame*/) const override {
    const SimilarHeads shown = map_.shown();
    const HeadSimilarity* found = shown.now;
    if (!found) return {};
    std::string csv = shown.baseline ? "head (change)" : "head";
    for (const std::uint32_t column : map_.order()) csv += fmt::format(",{}", head_name(found->heads[column]));
    for (const std::uint32_t row : map_.order()) {
      csv += fmt::format("\n{}", head_name(found->heads[row]));
      for (const std::uint32_t column : map_.order()) csv += fmt::format(",{:.6g}", shown.between(row, column));
    }
    return csv + '\n';
  }

 private:
  static NumberRef number_of(const Frame& frame, const HeadSimilarity& found, std::uint32_t head, std::uint32_t other) {
    NumberRef number{.of = std::string(kHeadDifference),
                     .block = found.heads[head].block,
                     .batch = frame.state.selection.batch,
                     .head = found.heads[head].head,
                     .value = double{found.between(head, other)},
                     .notes = {{"compared with", head_name(found.heads[other])}}};
    if (found.compared_queries < found.queries) {
      number.notes.emplace_back(kSampledNote, fmt::format("{} of {} queries", found.compared_queries, found.queries));
    }
    return number;
  }

  static void point_at(Frame& frame, const SimilarHeads& heads, std::uint32_t head, std::uint32_t other) {
    NumberRef number = number_of(frame, *heads.now, head, other);
    if (heads.baseline) add_baseline(number, *number.value, double{heads.baseline->between(head, other)});
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

  /// The nearest heads of one, or those whose divergence from it changed most.
  static void draw_list(Frame& frame, const SimilarHeads& heads, std::uint32_t selected) {
    const HeadSimilarity& found = *heads.now;
    const bool compares = heads.baseline != nullptr;
    {
      const Ink ink(frame.ui.fonts().strong, frame.ui.theme().text);
      const std::string name = head_name(found.heads[selected]);
      ImGui::TextUnformatted((compares ? fmt::format("Most changed against {}", name) : "Nearest to " + name).c_str());
    }
    HeadNumbers now, before;
    for (std::uint32_t head = 0; head < found.heads.size(); ++head) {
      if (head == selected || !std::isfinite(heads.between(selected, head))) continue;
      now[found.heads[head]] = double{found.between(selected, head)};
      if (compares) before[found.heads[head]] = double{heads.baseline->between(selected, head)};
    }
    std::vector<ScoredHead> others = score_heads(now, compares ? &before : nullptr);
    if (compares) sort_by_value(others);
    if (!compares) std::ranges::stable_sort(others, {}, &ScoredHead::value);
    const auto about = [&](const HeadRef& head, double value) {
      return fmt::format("{:.4f} bits from {}. Click: selects {}. Double click: opens it.", value,
                         head_name(found.heads[selected]), head_name(head));
    };
    const auto number = [&](const HeadRef& head) {
      return number_of(frame, found, static_cast<std::uint32_t>(std::ranges::find(found.heads, head) - found.heads.begin()),
                       selected);
    };
    draw_score_list(frame, {.name = "heads.similar", .heads = others, .about = about, .number = number});
  }

  SimilarityMap map_;
  bool has_numbers_ = false;
};

}  // namespace

std::unique_ptr<FindPanel> open_similarity_panel() { return std::make_unique<SimilarityPanel>(); }

}  // namespace headlight::app
