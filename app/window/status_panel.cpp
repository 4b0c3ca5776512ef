#include "app/window/panels.h"

#include <numeric>

#include "app/engine/analyses/head_verification.h"
#include "app/state/model_changes.h"
#include "app/views/view_table.h"
#include "app/widgets/controls.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

std::string token_text(const model::TokenBatch& tokens) {
  const std::size_t count = std::accumulate(tokens.lengths.begin(), tokens.lengths.end(), std::size_t{0});
  std::string text = counted(count, "token");
  if (tokens.batch > 1) text += fmt::format(" in {} lines", tokens.batch);
  return text;
}

constexpr const char* kTokensExplained = "Without padding; source \u2192 target where there are two";

std::string tokens_of(const model::ModelInput& input) {
  std::string tokens = token_text(input.source);
  if (input.target) tokens += " \u2192 " + token_text(*input.target);
  return tokens;
}

/// Returns "reused 12 tokens, 3 layers".
std::string reuse_text(const inference::RunTiming& timing) {
  std::string text = "reused ";
  if (timing.reused_tokens > 0) text += counted(timing.reused_tokens, "token");
  if (timing.reused_tokens > 0 && timing.reused_layers > 0) text += ", ";
  if (timing.reused_layers > 0) text += counted(timing.reused_layers, "layer");
  return text;
}

/// Describes what a pass cost: facts that are looked at now and then.
std::string pass_in_words(const EngineResult& result) {
  return fmt::format(
      "The last forward pass on {}, by its own clock, with the program's part where the device is the processor: {} "
      "(dispatches), {} parameters, {} on the device.",
      result.device, counted(result.timing.dispatches, "step"), short_count(result.parameter_count),
      short_bytes(result.timing.device_bytes));
}

constexpr const char* kAllKeys = "F1 all keys";
constexpr const char* kKeysExplained = "The view\u2019s own keys, then those of every view. F1 lists all of them.";

/// Returns "Page ↑ ↓ matrix · ← → heads · ↑ ↓ layers · / text · F1 all keys".
std::string keys_of(const View& view) {
  std::string keys(view.keys);
  if (!view.takes_arrows)
    keys += fmt::format("{}\u2190 \u2192 heads \u00B7 \u2191 \u2193 layers", keys.empty() ? "" : " \u00B7 ");
  return fmt::format("{} \u00B7 / text \u00B7 {}", keys, kAllKeys);
}

class StatusLine {
 public:
  StatusLine(Frame& frame, float left, float right_edge) : frame_(frame), right_edge_(right_edge), x_(left) {}

  /// Draws a part at the left, while there is room for the whole of it.
  void part(const std::string& text, shell::Color color, const char* explanation) {
    constexpr float kGap = 20.0F;
    ImFont* font = frame_.ui.fonts().small;
    const float width = text_width(font, text);
    if (x_ + width > right_edge_) return;
    ImGui::SetCursorPos({x_, text_y()});
    write_text(font, color, text);
    explain_last_item(frame_, explanation);
    x_ += width + kGap;
  }

  /// Draws a part at the right end. Returns false where the others leave no room for it.
  bool last_part(const std::string& text, shell::Color color, const char* explanation) {
    const float left = right_edge_ - text_width(frame_.ui.fonts().small, text);
    if (left < x_) return false;
    x_ = left;
    part(text, color, explanation);
    return true;
  }

  float text_y() const { return std::round((ImGui::GetWindowHeight() - font_size(frame_.ui.fonts().small)) * 0.5F); }

 private:
  Frame& frame_;
  float right_edge_;
  float x_;
};

struct Remark {
  std::string text;
  shell::Color color;
};

/// Draws how far the selected head is from double precision, with its explanation.
void draw_verification(Frame& frame, StatusLine& line) {
  const shell::Theme& theme = frame.ui.theme();
  const Selection& selected = frame.state.selection;
  const auto shape = frame.result.shapes.find(selected.block);
  if (shape == frame.result.shapes.end() || selected.head >= shape->second.heads || selected.batch >= shape->second.batch)
    return;
  const Analysed* answer =
      frame.ask(VerificationQuestion{.block = selected.block, .batch = selected.batch, .head = selected.head});
  if (answer && !answer->error.empty()) return line.part("not verified", theme.warning, answer->error.c_str());
  const auto* found = answer ? answer->as<HeadVerification>() : nullptr;
  if (!found || !answer->is_done || answer->run != frame.result.run) {
    const std::string progress =
        found ? fmt::format("verifying {} of {} rows\u2026", found->checked, found->rows) : "verifying\u2026";
    return line.part(progress, theme.text_dim, "The selected head's weights are computed again in double precision");
  }
  const bool is_exact = found->largest <= kExactWeight;  // NaN never is
  const std::string text =
      is_exact ? fmt::format("\u2713 verified to {:.1e}", found->largest) : fmt::format("differs by {:.2g}", found->largest);
  line.part(
      text, is_exact ? theme.accent : theme.warning,
      fmt::format("The selected head's weights, computed again in double precision from its layer's input: the largest "
                  "difference of {} weights in {} rows is {:.3g}, at row {}, column {}: {:.9g} here, {:.9g} there.",
                  found->cells, found->rows, found->largest, found->where.query, found->where.key, found->weight,
                  found->reference_weight)
          .c_str());
  frame.mark(is_exact ? "status.verified" : "status.differs", last_item_rect());
}

Remark remark_of(const Frame& frame, const StatusContext& context) {
  const shell::Theme& theme = frame.ui.theme();
  if (!context.job.empty()) return {context.job, theme.accent};
  if (frame.transient.seeks_strongest) return {"looking for the next strongest cell\u2026", theme.accent};
  if (frame.transient.seeks_head) return {"measuring what the heads do\u2026", theme.accent};
  if (context.is_computing) return {"computing\u2026", theme.accent};
  return {"", theme.text_dim};
}

}  // namespace

void draw_status_panel(Frame& frame, const StatusContext& context) {
  const shell::Theme& theme = frame.ui.theme();
  const EngineResult& result = frame.result;
  const Remark remark = remark_of(frame, context);
  ImFont* font = frame.ui.fonts().small;
  const float width = ImGui::GetWindowWidth();
  constexpr float kEdge = 12.0F;
  // An error takes what it needs, up to three quarters of the line; the rest is in the tooltip.
  const float wanted = text_width(font, remark.text);
  const float remark_width = std::min({wanted, width * 0.75F, std::max(width - 2.0F * kEdge - context.left, 1.0F)});
  const float remark_x = width - kEdge - remark_width;

  StatusLine line(frame, context.left, remark.text.empty() ? width - kEdge : remark_x - kEdge);
  const bool is_computed = result.run != 0 && !result.capture;
  if (context.verifies_head && is_computed) draw_verification(frame, line);
  if (result.capture) {
    line.part("captured", theme.text_dim, "The weights on screen are read from a file; no network computes them");
    if (result.input) line.part(tokens_of(*result.input), theme.text_dim, kTokensExplained);
    if (!result.capture_warning.empty())
      line.part(result.capture_warning, theme.warning, "Of the rows that were read so far");
  }
  if (is_computed) {
    line.part(fmt::format("computed in {:.{}f} ms", result.timing.gpu_ms, result.timing.gpu_ms < 10.0 ? 2 : 0), theme.text,
              pass_in_words(result).c_str());
    frame.mark("status.time", last_item_rect());
    if (result.input) line.part(tokens_of(*result.input), theme.text_dim, kTokensExplained);
    const bool has_model = result.model && result.network;
    const std::string stretched = has_model ? stretch_in_words(*result.model->network, *result.network) : std::string();
    if (!stretched.empty()) {
      line.part(stretched, theme.warning,
                "The text is longer than the model's table of positions, which was interpolated: the model wasn't trained "
                "for that");
    }
    if (result.timing.reused_tokens > 0 || result.timing.reused_layers > 0) {
      line.part(reuse_text(result.timing), theme.text_dim,
                "What the previous run had computed and this one would have computed again");
    }
  }
  if (remark.text.empty()) {
    const auto offer = [&](const std::string& keys) { return line.last_part(keys, theme.text_dim, kKeysExplained); };
    if ((is_computed || result.capture) && !offer(keys_of(find_view(frame.state.view.tab)))) offer(kAllKeys);
    return;
  }
  const ImVec2 origin = ImGui::GetWindowPos();
  const ImVec2 at(origin.x + remark_x, origin.y + line.text_y());
  const ImVec4 clip(at.x, origin.y, at.x + remark_width, origin.y + ImGui::GetWindowHeight());
  ImGui::GetWindowDrawList()->AddText(font, font_size(font), at, remark.color, remark.text.c_str(), nullptr, 0.0F, &clip);
  ImGui::SetCursorPos({remark_x, 0.0F});
  ImGui::Dummy({remark_width, ImGui::GetWindowHeight()});
  frame.mark("status.remark", last_item_rect());
  if (wanted > remark_width) explain_last_item(frame, remark.text.c_str());
}

}  // namespace headlight::app
