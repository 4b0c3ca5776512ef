#include "app/views/neuron/neuron_pair.h"

#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kRowHeight = 18.0F;
constexpr float kHeaderHeight = 20.0F;
constexpr float kLabelWidth = 118.0F;
constexpr float kNumbersWidth = 150.0F;   // score, weight and its bar
constexpr std::uint32_t kBlockRows = 64;  // keys are asked for in aligned blocks
constexpr std::uint64_t kPlace = 0x4E55'1000;

/// The tile with a block of keys.
ShownTile key_block(Frame& frame, const HeadSubject& subject, std::uint32_t block) {
  const inference::BlockShape& shape = subject.geometry.shape;
  const std::uint32_t row = block * kBlockRows;
  return find_tile(
      frame, tile_of(frame, Stage::K, {.row = row, .rows = std::min(kBlockRows, shape.keys - row), .columns = shape.d_k}));
}

/// One row of K; empty while it is being computed.
std::span<const float> key_vector(const ShownTile& block, std::uint32_t key, std::uint32_t d_k) {
  const std::uint32_t row = key % kBlockRows;
  if (!block.tile || row >= block.tile->request.rows || block.tile->request.columns != d_k) return {};
  return std::span(block.tile->values).subspan(std::size_t{row} * d_k, d_k);
}

/// Draws the visible part of the map.
class KeyRows {
 public:
  KeyRows(Frame& frame, const HeadSubject& subject, const NeuronPair& pair, KeyRowsMemory& memory)
      : frame_(frame), subject_(subject), pair_(pair), memory_(memory), shape_(subject.geometry.shape) {}

  std::optional<std::uint32_t> draw() {
    draw_head();
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0.0F, 0.0F));
    ImGui::BeginChild("keys", ImVec2(0.0F, 0.0F), false);
    origin_ = cursor_position();
    width_ = width_left();
    scroll_to_chosen();
    const float scrolled = ImGui::GetScrollY();
    const float height = ImGui::GetWindowHeight();
    first_ = std::min(static_cast<std::uint32_t>(scrolled / kRowHeight), shape_.keys);
    end_ = std::min(static_cast<std::uint32_t>((scrolled + height) / kRowHeight) + 1, shape_.keys);
    draw_products();
    draw_rows();
    ImGui::SetCursorScreenPos(origin_);
    ImGui::Dummy(ImVec2(1.0F, kRowHeight * static_cast<float>(shape_.keys)));
    ImGui::EndChild();
    ImGui::PopStyleVar();
    return clicked_;
  }

 private:
  void draw_head() const {
    const shell::Theme& theme = frame_.ui.theme();
    ImFont* font = frame_.ui.fonts().small;
    const glm::vec2 at = cursor_position();
    const float right = at.x + width_left() - ImGui::GetStyle().ScrollbarSize;
    put_text(font, at, theme.key, "key ↓");
    const std::string columns = fmt::format("qᵢ · kᵢ of {} components →", shape_.d_k);
    put_text(font, {at.x + kLabelWidth, at.y}, theme.output, columns);
    put_text(font, {right - kNumbersWidth + 8.0F, at.y}, theme.text_dim, "score");
    put_text(font, {right - text_width(font, "weight"), at.y}, theme.output, "weight");
    ImGui::Dummy(ImVec2(1.0F, kHeaderHeight - ImGui::GetStyle().ItemSpacing.y));
  }

  void scroll_to_chosen() {
    if (memory_.in_view == pair_.cell.key) return;
    memory_.in_view = pair_.cell.key;
    const float top = static_cast<float>(pair_.cell.key) * kRowHeight;
    const float height = ImGui::GetWindowHeight();
    if (top < ImGui::GetScrollY() || top + kRowHeight > ImGui::GetScrollY() + height) {
      ImGui::SetScrollY(std::max(top - height * 0.5F, 0.0F));
    }
  }

  chart::Rect map_area() const {
    return {.origin = {origin_.x + kLabelWidth, origin_.y + static_cast<float>(first_) * kRowHeight},
            .size = {std::max(width_ - kLabelWidth - kNumbersWidth, 8.0F), static_cast<float>(end_ - first_) * kRowHeight}};
  }

  void draw_products() {
    const chart::Rect area = map_area();
    const std::vector<float> query = pair_.factors(&Product::left);
    memory_.products.assign(std::size_t{end_ - first_} * shape_.d_k, std::nanf(""));
    float reach = 1e-12F;
    bool has_all = !query.empty();
    ShownTile block;
    for (std::uint32_t key = first_; key < end_; ++key) {
      if (key == first_ || key % kBlockRows == 0) block = key_block(frame_, subject_, key / kBlockRows);
      const std::span<const float> vector = key_vector(block, key, shape_.d_k);
      has_all = has_all && !vector.empty();
      if (vector.empty() || query.empty()) continue;
      for (std::uint32_t column = 0; column < shape_.d_k; ++column) {
        const std::size_t component = pair_.order[column];
        const float product = query[component] * vector[component];
        memory_.products[std::size_t{key - first_} * shape_.d_k + column] = product;
        reach = std::max(reach, std::abs(product));
      }
    }
    frame_.mark("neuron.keys", area);
    if (!has_all || end_ == first_) {
      fill_rect(area, frame_.ui.theme().missing);
      return;
    }
    shell::HeatmapImage image = signed_image(frame_, memory_.products, end_ - first_, reach);
    image.key = kPlace;
    image.area = area;
    image.grid_from = 1e6F;
    draw_heatmap(frame_, image);
  }

  void draw_rows() {
    const Selection& selection = frame_.state.selection;
    TileNumbers numbers(frame_, selection.block, selection.batch, selection.head);
    const NumberSource::Numbers scores = numbers.row(Stage::Scaled, pair_.cell.query);
    const ShownTile weights =
        find_tile(frame_, tile_of(frame_, Stage::Weights, {.row = pair_.cell.query, .rows = 1, .columns = shape_.keys}));
    const shell::ControlGroup group(frame_.ui.keyboard(), "keys");
    for (std::uint32_t key = first_; key < end_; ++key) {
      const chart::Rect row{.origin = {origin_.x, origin_.y + static_cast<float>(key) * kRowHeight},
                            .size = {width_, kRowHeight}};
      ImGui::SetCursorScreenPos(row.origin);
      if (click_area(fmt::format("{}", key).c_str(), row.size)) clicked_ = key;
      mark_last_item(frame_, fmt::format("neuron.key row.{}", key),
                     "The products of the query with this key; a click pins it.");
      if (key == pair_.cell.key) frame_.ui.keyboard().prefer_last();
      const bool is_masked = weights.tile && weights.tile->is_masked(0, key);
      draw_label(row, key, is_masked);
      draw_numbers(row, scores ? std::optional((*scores)[key]) : std::nullopt,
                   weights.tile ? std::optional(weights.tile->at(0, key)) : std::nullopt, is_masked);
    }
  }

  void draw_label(const chart::Rect& row, std::uint32_t key, bool is_masked) {
    const shell::Theme& theme = frame_.ui.theme();
    const shell::FontSet& fonts = frame_.ui.fonts();
    if (key == pair_.cell.key) {
      outline_rect(row.origin + 0.5F, row.end() - 0.5F, theme.key, 2.0F, 1.5F);
    }
    const std::string index = fmt::format("{}", key);
    put_text(fonts.mono_small, {row.origin.x + 6.0F, row.origin.y + 2.0F}, theme.key, index);
    if (!frame_.result.input) return;
    const std::string token = token_name(frame_, shown_keys(frame_), key);
    const std::string fitted = fit_text(fonts.small, token, kLabelWidth - 46.0F);
    put_text(fonts.small, {row.origin.x + 38.0F, row.origin.y + 1.0F}, is_masked ? theme.text_dim : theme.text, fitted);
  }

  void draw_numbers(const chart::Rect& row, std::optional<float> score, std::optional<float> weight, bool is_masked) {
    const shell::Theme& theme = frame_.ui.theme();
    ImFont* font = frame_.ui.fonts().mono_small;
    const float right = row.end().x;
    const auto put = [&](float end, const std::string& text, shell::Color color) {
      put_text(font, {std::round(end - text_width(font, text)), row.origin.y + 3.0F}, color, text);
    };
    put(right - kNumbersWidth + 66.0F, score ? write_number(double{*score}) : "…", theme.text_dim);
    if (!weight) return put(right - 4.0F, "…", theme.text_dim);
    const float bar = std::clamp(*weight, 0.0F, 1.0F) * 78.0F;
    fill_rect({right - 80.0F, row.origin.y + 3.0F}, {right - 80.0F + bar, row.end().y - 3.0F},
              shell::with_alpha(theme.output, 110), 2.0F);
    const bool tells_mask = is_masked && *weight == 0.0F;
    put(right - 4.0F, tells_mask ? "masked" : cell_number(*weight, 3), tells_mask ? theme.text_dim : theme.text);
  }

  Frame& frame_;
  const HeadSubject& subject_;
  const NeuronPair& pair_;
  KeyRowsMemory& memory_;
  inference::BlockShape shape_;
  glm::vec2 origin_{0.0F};
  float width_ = 0.0F;
  std::uint32_t first_ = 0, end_ = 0;
  std::optional<std::uint32_t> clicked_;
};

}  // namespace

std::optional<std::uint32_t> draw_key_rows(Frame& frame, const HeadSubject& subject, const NeuronPair& pair,
                                           KeyRowsMemory& memory) {
  return KeyRows(frame, subject, pair, memory).draw();
}

std::optional<Table> key_table(Frame& frame, const HeadSubject& subject, std::uint32_t query, std::uint32_t most_keys) {
  const inference::BlockShape& shape = subject.geometry.shape;
  const Selection& selection = frame.state.selection;
  if (!frame.result.input) return std::nullopt;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const NumberSource::Numbers vector = numbers.row(Stage::Q, query);
  const NumberSource::Numbers scores = numbers.row(Stage::Scaled, query);
  const NumberSource::Numbers weights = numbers.row(Stage::Weights, query);
  std::vector<std::string> names = {"key", "token"};
  for (std::uint32_t i = 0; i < shape.d_k; ++i) names.push_back(fmt::format("q\u00B7k {}", i));
  names.insert(names.end(), {"score", "weight"});
  Table table = named_columns(std::move(names));
  bool has_all = vector && scores && weights;
  ShownTile block;
  for (std::uint32_t key = 0; key < std::min(shape.keys, most_keys); ++key) {
    if (key % kBlockRows == 0) block = key_block(frame, subject, key / kBlockRows);
    const std::span<const float> row = key_vector(block, key, shape.d_k);
    has_all = has_all && !row.empty() && block.run == frame.result.run;
    if (!has_all) continue;
    table.put(key, token_name(frame, shown_keys(frame), key));
    for (std::uint32_t i = 0; i < shape.d_k; ++i) table.put(double{(*vector)[i]} * double{row[i]});
    table.put((*scores)[key], (*weights)[key]);
  }
  return has_all ? std::optional(std::move(table)) : std::nullopt;
}

}  // namespace headlight::app
