#include "app/widgets/token_side.h"

#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

/// Applies a click on a token: its row is pinned, or in the keys' sequence its column; the same click again unpins.
void pin_token(State& state, const ChipTarget& target, bool is_query) {
  std::optional<attention::Cell>& pinned = state.view.pinned;
  const bool is_pinned =
      pinned && state.selection.batch == target.item && (is_query ? pinned->query : pinned->key) == target.token;
  state.selection.batch = target.item;
  if (is_pinned) {
    pinned.reset();
    return;
  }
  attention::Cell cell = pinned.value_or(attention::Cell{});
  (is_query ? cell.query : cell.key) = target.token;
  pinned = cell;
}

/// Returns the tokens of a model's prompt on this side; null without a model.
const std::vector<std::vector<text::Token>>* special_tokens(const EngineResult& result, const model::TokenBatch& tokens) {
  if (!result.prompt) return nullptr;
  return &tokens == &result.input->source ? &result.prompt->tokens : &result.prompt->target_tokens;
}

/// Returns the shown weights [key], of the selected head or a mean, of one query; empty until they are known.
std::vector<float> weights_of_row(Frame& frame, std::uint32_t query) {
  const Selection& selection = frame.state.selection;
  const inference::BlockShape* shape = selected_shape(frame);
  if (!shape || query >= shape->queries) return {};
  const chart::Region cells = shown_cells(frame, selection.block);
  if (query < cells.row || query >= cells.row + cells.rows) return {};
  TileQuery wanted = shown_map(selection, frame.result.shapes, tile_of(frame, attention::Stage::Weights, cells));
  const attention::Tile* tile = frame.result.tile(wanted);  // as the map shows a short text
  std::uint32_t row = query - cells.row;
  if (tile == nullptr) {
    wanted.row = query;
    wanted.rows = 1;
    row = 0;
    const EngineTile* known = frame.ask(wanted);
    tile = known ? known->tile.get() : nullptr;
  }
  if (tile == nullptr) return {};
  std::vector<float> weights(cells.column, 0.0F);  // of padding
  for (std::uint32_t key = 0; key < wanted.columns; ++key) weights.push_back(tile->at(row, key));
  return weights;
}

}  // namespace

std::string token_count_text(const model::TokenBatch& tokens) {
  std::string text = fmt::format("{} token{}", tokens.length, tokens.length == 1 ? "" : "s");
  if (tokens.batch > 1) return fmt::format("{} lines, the longest of {}", tokens.batch, text);
  return text;
}

std::string experts_of_token(Frame& frame, const ChipTarget& token) {
  const model::BlockRef block = frame.state.selection.block;
  const inference::BlockShape* shape = find_shape(frame.result, block);
  if (!shape || token.token >= shape->queries || token.item >= shape->batch || shape->experts == 0) {
    return {};
  }
  const std::uint32_t experts = shape->experts;
  const EngineTile* known = frame.ask(TileQuery{.quantity = attention::Stage::FfnGates,
                                                .block = block,
                                                .batch = token.item,
                                                .row = token.token,
                                                .rows = 1,
                                                .column = 0,
                                                .columns = experts,
                                                .pool = 1});
  if (known == nullptr) return {};
  std::vector<std::pair<float, std::uint32_t>> chosen;
  for (std::uint32_t expert = 0; expert < experts; ++expert) {
    if (const float gate = known->tile->at(0, expert); gate != 0.0F) chosen.emplace_back(gate, expert);
  }
  std::ranges::stable_sort(chosen, std::greater<>(), &std::pair<float, std::uint32_t>::first);
  std::string text;
  for (const auto& [gate, expert] : chosen) {
    text += fmt::format("{}expert {} ({:.2f})", text.empty() ? "" : ", ", expert, gate);
  }
  const auto& network = frame.result.network;
  if (network && network->layer(block).experts && network->layer(block).experts->shared) text += ", shared";
  return fmt::format("layer {}: {}", block.layer.value, text);
}

std::vector<float> token_shades(Frame& frame, const model::TokenBatch& tokens) {
  const std::optional<std::uint32_t> followed = frame.transient.followed_query(frame.state);
  const bool is_key = &shown_keys(frame) == &tokens;
  return is_key && followed && !frame.transient.aim.conceals ? weights_of_row(frame, *followed) : std::vector<float>();
}

void point_at_token(Frame& frame, const model::TokenBatch& tokens, const ChipTarget& token) {
  if (token.item != frame.state.selection.batch) return;
  if (&shown_queries(frame) == &tokens) frame.point_at(LockedToken{MapSide::Query, token.token});
  if (&shown_keys(frame) == &tokens) frame.point_at(LockedToken{MapSide::Key, token.token});
}

void open_token_menu(Frame& frame, const model::TokenBatch& tokens, const ChipTarget& token) {
  const bool is_query = &shown_queries(frame) == &tokens;
  if (!is_query && &shown_keys(frame) != &tokens) return;
  frame.state.selection.batch = token.item;
  frame.transient.token_menu = {.side = is_query ? MapSide::Query : MapSide::Key, .token = token.token};
}

std::optional<ChipTarget> draw_token_side(Frame& frame, const char* name, const model::TokenBatch& tokens,
                                          ChipLayout& layout, const std::optional<ChipTarget>& also_marked) {
  const bool is_query = &shown_queries(frame) == &tokens;
  const bool is_key = &shown_keys(frame) == &tokens;
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;

  ChipMarks marks{.item = frame.state.selection.batch, .query = {}, .key = {}, .pinned = {}};
  if (hovered && attention::is_map(frame.transient.hovered_stage)) {
    if (is_query) marks.query = hovered->query;
    if (is_key) marks.key = hovered->key;
  }
  marks.pointed = also_marked;
  marks.special = special_tokens(frame.result, tokens);
  if (is_query) marks.about = [&](const ChipTarget& token) { return experts_of_token(frame, token); };
  marks.shows_padding = is_notebook(frame.state.source);  // whose input has it
  if (pinned && (is_query || is_key)) marks.pinned = is_query ? pinned->query : pinned->key;

  const std::vector<float> shades = token_shades(frame, tokens);
  marks.shades = shades;

  const ChipEvents events = draw_token_chips(frame, name, tokens, marks, layout);
  const std::optional<ChipTarget>& pointed = events.hovered ? events.hovered : also_marked;
  if (pointed) point_at_token(frame, tokens, *pointed);
  if (events.clicked && (is_query || is_key)) pin_token(frame.state, *events.clicked, is_query);
  if (events.clicked && !is_query && !is_key) frame.state.selection.batch = events.clicked->item;
  if (events.right_clicked) open_token_menu(frame, tokens, *events.right_clicked);
  return events.hovered;
}

bool draw_image_side(Frame& frame, const char* name, const model::TokenBatch& tokens) {
  constexpr float kHeight = 90.0F;
  constexpr std::uint32_t kMaxWords = 8;
  const std::uint32_t item = frame.state.selection.batch;
  if (!frame.result.capture || item >= tokens.batch) return false;
  const capture::PatchImages images = frame.result.capture->images(&tokens == &frame.result.input->source, item);
  if (images.images.size() != 1 || !images.images.front().pixels) return false;
  const capture::PatchGrid& grid = images.images.front().grid;
  const files::Pixels* pixels = images.images.front().pixels.get();
  if (tokens.end(item) - tokens.start(item) > grid.rows * grid.columns + kMaxWords) return false;
  const bool is_query = &shown_queries(frame) == &tokens, is_key = &shown_keys(frame) == &tokens;
  const float width = std::round(kHeight * static_cast<float>(pixels->width) / static_cast<float>(pixels->height));
  const chart::Rect box{.origin = cursor_position(), .size = {std::min(width, width_left()), kHeight}};
  const glm::vec2 patch = box.size / glm::vec2(grid.columns, grid.rows);
  const auto act = [&](std::uint32_t token, bool is_clicked) {
    const ChipTarget target{.item = item, .token = token};
    if (ImGui::IsItemHovered()) point_at_token(frame, tokens, target);
    if (is_clicked && (is_query || is_key)) pin_token(frame.state, target, is_query);
    if (ImGui::IsItemClicked(ImGuiMouseButton_Right)) open_token_menu(frame, tokens, target);
  };
  draw_picture(frame, pixels, PicturePlace::TextLine, picture_revision(frame), box);
  const bool is_clicked = click_area(name, to_imgui(box.size));
  mark_pointer_item(frame, name, "The image whose patches are the tokens. A click pins a patch.");
  const glm::uvec2 at(
      glm::clamp((pointer_position() - box.origin) / patch, glm::vec2(0.0F), glm::vec2(grid.columns - 1, grid.rows - 1)));
  act(grid.first + at.y * grid.row_step() + at.x, is_clicked);
  const auto outline = [&](std::uint32_t token, shell::Color color) {
    const auto place = grid.place(token);
    if (!place) return;
    const glm::vec2 low = box.origin + glm::vec2(place->column, place->row) * patch;
    outline_rect(low - 1.0F, low + patch + 1.0F, color, 0.0F, 2.0F);
  };
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  const bool shows_hovered = hovered && attention::is_map(frame.transient.hovered_stage);
  const std::optional<attention::Cell>& marked = shows_hovered ? hovered : frame.state.view.pinned;
  if (marked && is_key) outline(marked->key, frame.ui.theme().key);
  if (marked && is_query) outline(marked->query, frame.ui.theme().query);
  for (std::uint32_t token = tokens.start(item); token < tokens.end(item); ++token) {
    if (grid.place(token)) continue;
    const std::string label = tokens.name(item, token);
    ImGui::SameLine(0.0F, 8.0F);
    act(token, draw_small_button(frame, fmt::format("{}.{}.{}", name, item, token), label.c_str(), "Pins this token."));
  }
  return true;
}

}  // namespace headlight::app
