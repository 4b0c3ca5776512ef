#include "app/widgets/token_menu.h"

#include "app/state/map_settings.h"
#include "app/widgets/brush.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

constexpr std::string_view kSpaceMark = "\u00B7";

/// Returns ASCII letters as lower case, spaces as labels mark them.
std::string folded(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == ' ') {
      result += kSpaceMark;
    } else {
      result += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
  }
  return result;
}

constexpr const char* kTokenMenu = "token menu";

const char* reach_text(PaintReach reach) {
  switch (reach) {
    case PaintReach::ThisHead:
      return "In this head; Mask, Paints chooses other maps.";
    case PaintReach::ThisLayer:
      return "In all heads of this layer; Mask, Paints chooses other maps.";
    case PaintReach::LaterLayers:
      return "From this layer on; Mask, Paints chooses other maps.";
    case PaintReach::AllLayers:
      break;
  }
  return "In all layers; Mask, Paints chooses other maps.";
}

class TokenItems {
 public:
  TokenItems(Frame& frame, LockedToken token)
      : frame_(frame), token_(token), map_(painted_map(frame.result, frame.state.selection)) {}

  void draw() {
    const model::BlockKind kind = frame_.state.selection.block.kind;
    // The token of cross-attention is in one of two texts.
    const bool is_both = kind != model::BlockKind::Cross;
    const model::TokenBatch& tokens = token_.side == MapSide::Query ? shown_queries(frame_) : shown_keys(frame_);
    const std::uint32_t item = frame_.state.selection.batch;
    const TextStyleScope ink(frame_.ui.fonts().body, frame_.ui.theme().text);
    ImGui::TextUnformatted(fmt::format("token {}{}", token_.token, tokens.quoted(item, token_.token)).c_str());
    ImGui::Separator();
    if (is_both || token_.side == MapSide::Key) {
      paint_item("Hide it from every query", "token.hide", "Masks the token's column: it gives nothing to any token.",
                 BrushShape::Column);
    }
    if (is_both || token_.side == MapSide::Query) {
      paint_item("Hide every key from it", "token.blind", "Masks the token's row: it receives nothing from any token.",
                 BrushShape::Row);
    }
    if (is_both && token_.token > 0) {
      attention::MaskSpec& mask = selected_mask(frame_.state);
      const bool begins =
          mask.documents && attention::document_of(*mask.documents, item, token_.token).begin == token_.token;
      if (ImGui::MenuItem(begins ? "Join it to the document before" : "A document begins here"))
        attention::toggle_document(mask, item, token_.token);
      mark_last_item(frame_, "token.document", "Tokens of one document see those of another no more, in any head or layer.");
    }
    if (ImGui::MenuItem("Take away its paint")) {
      if (is_both || token_.side == MapSide::Key) erase_paint(frame_.state, cells(BrushShape::Column), map_);
      if (is_both || token_.side == MapSide::Query) erase_paint(frame_.state, cells(BrushShape::Row), map_);
    }
    mark_last_item(frame_, "token.unpaint", "Takes away what was painted in the token's row and column.");
    write_dim(frame_, reach_text(frame_.state[kBrush.reach]));
  }

 private:
  std::vector<attention::Cell> cells(BrushShape shape) const {
    const attention::Cell at{.query = token_.token, .key = token_.token};
    return brush_cells(shape, at, at, map_);
  }

  void paint_item(const char* label, const char* name, const char* help, BrushShape shape) {
    if (ImGui::MenuItem(label)) paint(frame_.state, cells(shape), false, map_);
    mark_last_item(frame_, name, help);
  }

  Frame& frame_;
  LockedToken token_;
  PaintedMap map_;
};

}  // namespace

void TokenMenu::draw(Frame& frame) {
  const auto asked = std::exchange(frame.transient.token_menu, std::nullopt);
  const bool has_map = frame.result.input && selected_shape(frame);
  if (asked && has_map && frame.state.selection.mean == HeadMean::None) {
    token_ = *asked;
    ImGui::OpenPopup(kTokenMenu);
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10.0F, 8.0F));
  if (ImGui::BeginPopup(kTokenMenu)) {
    if (has_map) TokenItems(frame, token_).draw();
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

std::vector<std::uint32_t> tokens_with(const std::vector<std::string>& labels, std::string_view text) {
  std::vector<std::uint32_t> found;
  if (text.empty()) return found;
  const std::string wanted = folded(text);
  std::string all;
  std::vector<std::size_t> ends;  // of each token in `all`
  for (const std::string& label : labels) ends.push_back((all += folded(label)).size());
  for (std::size_t at = all.find(wanted); at != std::string::npos; at = all.find(wanted, at + 1)) {
    const auto token = static_cast<std::uint32_t>(std::ranges::upper_bound(ends, at) - ends.begin());
    if (found.empty() || found.back() != token) found.push_back(token);
  }
  return found;
}

std::optional<std::size_t> step_among(const std::vector<std::uint32_t>& found, std::optional<std::uint32_t> from,
                                      int steps) {
  if (found.empty()) return std::nullopt;
  const auto count = static_cast<std::ptrdiff_t>(found.size());
  std::ptrdiff_t index = 0;
  if (!from) {
    index = steps < 0 ? count - 1 : 0;
  } else if (steps > 0) {
    index = std::ranges::upper_bound(found, *from) - found.begin() + steps - 1;
  } else {
    index = std::ranges::lower_bound(found, *from) - found.begin() + steps;
  }
  return static_cast<std::size_t>((index % count + count) % count);
}

}  // namespace headlight::app
