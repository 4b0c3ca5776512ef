#include <array>
#include <span>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/retrieval.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_tools.h"

namespace headlight::app {
namespace {

constexpr float kGridGap = 16.0F, kLeastGrid = 150.0F, kLeastRoom = 430.0F, kListRow = 22.0F;

/// Which heads find a needle in a haystack of the text: a score of every head, and of one over depth and length.
class RetrievalPanel final : public FindPanel {
 public:
  Heading heading(const Frame& /*frame*/) override { return {.title = "Heads that retrieve a needle"}; }

  void draw(Frame& frame) override {
    choose_texts(frame);
    const Analysed* answer = frame.ask(RetrievalQuestion{
        .batch = frame.state.selection.batch,
        .grid = {.longest = frame.state[kHeadsView.needle_longest], .seed = frame.state[kHeadsView.needle_seed]}});
    const auto* found = answer ? answer->as<RetrievalFound>() : nullptr;
    result_ = found ? answer->result : nullptr;
    scores_ = {};
    if (!found) {
      const bool is_refused = answer && !answer->error.empty();
      return draw_note(frame, "heads.retrieval.about", is_refused ? answer->error : "computing texts with a needle\u2026",
                       is_refused ? std::optional(frame.ui.theme().warning) : std::nullopt);
    }
    HeadNumbers scores;
    for (std::size_t head = 0; head < found->texts.front().heads.size(); ++head) {
      scores[place_of(*found, head)] =
          evaluation::retrieval_score(found->texts, head, frame.state[kHeadsView.needle_is_predicted]);
    }
    scores_ = {"retrieval score", false, scores};
    scores_.sort();
    move_through_heads(frame, scores_.known(), 1);
    draw_note(frame, "heads.retrieval.about", about_text(*found));
    const ScoredHeads scored{.name = "heads.retrieval",
                             .scores = scores_,
                             .about =
                                 [](const HeadRef& head, double value) {
                                   return fmt::format(
                                       "{} copies {:.1f} % of the needles\u2019 tokens. Click: selects the head, and "
                                       "shows it by depth and length. Double click: opens it.",
                                       head_name(head), 100.0 * value);
                                 },
                             .least_end = 1.0};
    begin_bare_region("retrieval");
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool is_low = room.y < kLeastRoom;  // then it scrolls as a whole: the list is as high as its rows
    const std::array<Grid, 3> grids = grids_of(frame, *found);
    const float below = grids_height(grids) + ImGui::GetStyle().ItemSpacing.y;
    const float wide = std::max(std::min(room.y * 0.52F, room.y - below), room.y * 0.4F);
    ImGui::BeginChild("scores", {0.0F, is_low ? score_maps_height(scores_, room.x) : wide});
    is_low ? draw_score_maps(frame, scored) : draw_scored_heads(frame, scored);
    ImGui::EndChild();
    draw_grids(frame, grids);
    if (is_low) {
      ImGui::BeginChild("rows", {0.0F, kListRow * static_cast<float>(scores_.heads.size() + 1)});
      draw_score_list(frame, scored);
      ImGui::EndChild();
    }
    ImGui::EndChild();
  }

  std::string csv() const override {
    const auto& found = dynamic_cast<const RetrievalFound&>(*result_);
    return evaluation::needle_csv(found.texts, found.heads);
  }

 private:
  using Score = std::function<std::optional<double>(std::span<const evaluation::NeedleFound>)>;

  static HeadRef place_of(const RetrievalFound& found, std::size_t head) {
    return {encoder_block(static_cast<std::uint32_t>(head) / found.heads), static_cast<std::uint32_t>(head) % found.heads};
  }

  static void choose_texts(Frame& frame) {
    State& state = frame.state;
    const auto slide = [&](const char* name, const char* format, const Setting<std::uint32_t>& value, ImGuiSliderFlags flags,
                           const char* help) {
      int shown = static_cast<int>(state[value]);
      const int least = static_cast<int>(value.text.least), most = static_cast<int>(value.text.most);
      ImGui::SetNextItemWidth(180.0F);
      bool is_changed = ImGui::SliderInt(fmt::format("##{}", name).c_str(), &shown, least, most, format,
                                         flags | ImGuiSliderFlags_AlwaysClamp);
      mark_last_item(frame, name, help);
      is_changed |= step_by_keys(frame, shown, least, most, 1);
      if (is_changed) state.set(value, static_cast<std::uint32_t>(shown));
    };
    slide("heads.retrieval.longest", "to %d tokens", kHeadsView.needle_longest, ImGuiSliderFlags_Logarithmic,
          "Tokens of the longest texts; of the shortest 32. A model\u2019s own positions limit them.");
    continue_line(180.0F, kGridGap);
    slide("heads.retrieval.seed", "seed %d", kHeadsView.needle_seed, 0, "Of the random needles.");
    check_next(frame, kHeadsView.needle_is_predicted, kGridGap);
  }

  static std::string about_text(const RetrievalFound& found) {
    std::string text = fmt::format(
        "Retrieval score (Wu et al. 2024): the share of a needle\u2019s tokens that a head copies, with its largest weight "
        "on them. A needle of random tokens is in this text, repeated, and comes again at its end. The model predicts "
        "{:.1f} % of its tokens. Below, rows are depths of the needle from 0 to 1, columns tokens of the text.",
        100.0 * evaluation::predicted_share(found.texts).value_or(0.0));
    if (found.texts.size() < found.all_texts)
      text += fmt::format(" {} of {} texts are computed.", found.texts.size(), found.all_texts);
    return text;
  }

  /// Numbers of texts by depth (rows) and length (columns).
  static Grid grid_of(const RetrievalFound& found, std::string title, const Score& score) {
    Grid matrix{.title = std::move(title), .is_signed = false};
    matrix.rows.title = "depth";
    matrix.columns.title = "tokens";
    std::size_t next = 0;
    for (std::size_t i = 0; i < found.texts.size(); ++i) {
      const evaluation::NeedleText& text = found.texts[i].text;
      const std::string length = std::to_string(text.ids.size()), depth = fmt::format("{:.2g}", text.depth);
      const bool is_new = matrix.columns.tokens.empty() || matrix.columns.tokens.back() != length;
      if (is_new) matrix.columns.tokens.push_back(length);
      const std::size_t row = is_new ? 0 : next;
      next = row + 1;
      if (row == matrix.cells.size()) {
        matrix.cells.emplace_back();
        matrix.rows.tokens.push_back(depth);
      }
      matrix.cells[row].resize(matrix.columns.tokens.size() - 1);
      matrix.cells[row].push_back(score(std::span(found.texts).subspan(i, 1)));
    }
    return matrix;
  }

  /// Returns the selected head's texts by depth and length, the heads' mean, and what the model predicts.
  static std::array<Grid, 3> grids_of(const Frame& frame, const RetrievalFound& found) {
    const bool is_predicted = frame.state[kHeadsView.needle_is_predicted];
    const Selection& selection = frame.state.selection;
    const std::size_t heads = found.texts.front().heads.size();
    const std::size_t head = std::size_t{selection.block.layer.value} * found.heads + selection.head;
    const auto mean = [&](std::span<const evaluation::NeedleFound> texts) {
      double sum = 0.0;
      for (std::size_t i = 0; i < heads; ++i) sum += evaluation::retrieval_score(texts, i, is_predicted).value_or(0.0);
      return std::optional(sum / static_cast<double>(heads));
    };
    const auto own = [&](std::span<const evaluation::NeedleFound> texts) {
      return head < heads ? evaluation::retrieval_score(texts, head, is_predicted) : std::nullopt;
    };
    return {grid_of(found, head_name(selection.head_ref()), own), grid_of(found, "mean of heads", mean),
            grid_of(found, "predicted by the model", evaluation::predicted_share)};
  }

  static bool are_beside(std::size_t count) { return width_left() >= static_cast<float>(count) * (kLeastGrid + kGridGap); }
  /// Returns the width of each of so many grids.
  static float grid_width(std::size_t count) {
    const auto gaps = static_cast<float>(count - 1) * kGridGap;
    return are_beside(count) ? std::floor((width_left() - gaps) / static_cast<float>(count)) : width_left();
  }
  static float grids_height(std::span<const Grid> grids) {
    const float one = grid_height(grids[0], grid_width(grids.size())) + ImGui::GetTextLineHeightWithSpacing();
    return are_beside(grids.size()) ? one : one * static_cast<float>(grids.size());
  }

  static void draw_grids(Frame& frame, std::span<const Grid> grids) {
    const bool is_wide = are_beside(grids.size());
    const float width = grid_width(grids.size());
    for (std::size_t i = 0; i < grids.size(); ++i) {
      if (is_wide && i > 0) ImGui::SameLine(0.0F, kGridGap);
      const float line = ImGui::GetTextLineHeightWithSpacing();
      ImGui::BeginChild(grids[i].title.c_str(), {width, grid_height(grids[i], width) + line}, false,
                        ImGuiWindowFlags_NoScrollbar);
      write_strong(frame, grids[i].title);
      draw_grid(
          frame,
          {.grid = grids[i],
           .name = [&](GridCell cell) { return fmt::format("heads.retrieval.grid.{}.{}.{}", i, cell.row, cell.column); },
           .about =
               [&](GridCell cell) {
                 return fmt::format("{}: {:.3f} of the needle\u2019s tokens, at a depth of {} in {} tokens.", grids[i].title,
                                    grids[i].cells[cell.row][cell.column].value_or(0.0), grids[i].rows.tokens[cell.row],
                                    grids[i].columns.tokens[cell.column]);
               },
           .least_end = 1.0});
      ImGui::EndChild();
    }
  }

  std::shared_ptr<const AnalysisResult> result_;  ///< drawn last
};

}  // namespace

std::unique_ptr<FindPanel> open_retrieval_panel() { return std::make_unique<RetrievalPanel>(); }

}  // namespace headlight::app
