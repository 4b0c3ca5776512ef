#include "app/views/text/text_side.h"

#include "app/figures/shaded_text.h"
#include "app/shell/shaped_text.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/token_side.h"
#include "chart/number_format.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

constexpr float kTokenPadding = 2.0F;
constexpr float kLineGap = 6.0F, kDenseGap = 3.0F;
constexpr float kMostStretch = 1.7F;       // of rows that don't fill the width
constexpr float kDeepestShade = 170.0F;    // of 255: the text stays readable
constexpr float kDeepestOnImage = 190.0F;  // of 255: the image stays recognisable
constexpr float kBesideGap = 24.0F;
constexpr float kMinImage = 120.0F;  // its height in a low window
constexpr float kMinOfTwo = 0.6F;    // of its size that is left where it is shown twice
constexpr float kNumberGap = 4.0F;
constexpr float kNamedScale = 190.0F;   // narrower, a scale doesn't say what it is of
constexpr float kMinPrinted = 0.0005F;  // smaller weights have a colour only
constexpr float kMinPart = 0.1F;        // of the largest: smaller parts have a colour only
constexpr const char* kWidestNumber = "0.000";

ImFont* words_font(const Frame& frame, const TextBlock& block) {
  const shell::FontSet& fonts = frame.ui.fonts();
  return block.type == TextType::Large ? fonts.reading : block.type == TextType::Middle ? fonts.line : fonts.body;
}

ImFont* numbers_font(const Frame& frame, const TextBlock& block) {
  return block.type == TextType::Large ? frame.ui.fonts().mono : frame.ui.fonts().mono_small;
}

const std::vector<text::Token>* prompt_of(const EngineResult& result, const model::TokenBatch& tokens, std::uint32_t batch) {
  if (!result.prompt) return nullptr;
  const auto& prompt = &tokens == &result.input->source ? result.prompt->tokens : result.prompt->target_tokens;
  return batch < prompt.size() ? &prompt[batch] : nullptr;
}

/// Is most of a text, without what the model's template added, in a right-to-left script?
bool is_right_to_left(const std::vector<RunningToken>& tokens) {
  std::size_t typed = 0;
  std::size_t backwards = 0;
  for (const RunningToken& token : tokens) {
    if (token.place.is_special) continue;
    ++typed;
    backwards += shell::is_right_to_left(token.place.text) ? 1U : 0U;
  }
  return backwards * 2 > typed;
}

shell::Color shade_of(const shell::Theme& theme, MapSide side, const TextShades& shades, float weight, float deepest) {
  const float part = std::clamp(std::abs(weight) / shades.largest, 0.0F, 1.0F);
  const shell::Color role = side == MapSide::Query ? theme.query : theme.key;
  const shell::Color color = shades.is_difference ? chart::pack(exporting::sign_color(weight)) : role;
  return shell::with_alpha(color, static_cast<std::uint32_t>(deepest * part));
}

class BlockPainter {
 public:
  BlockPainter(Frame& frame, const TextBlock& block, const TextMarks& marks)
      : frame_(frame),
        block_(block),
        marks_(marks),
        theme_(frame.ui.theme()),
        list_(ImGui::GetWindowDrawList()),
        origin_(cursor_position()) {}

  std::optional<std::uint32_t> draw() {
    const float top = ImGui::GetWindowPos().y - origin_.y;
    const TextLines& lines = block_.lines;
    const auto part = lines.between(top, top + ImGui::GetWindowHeight(), block_.measures.line_height);
    draw_images();
    std::optional<std::uint32_t> hovered;
    const bool is_pointed_at = ImGui::IsWindowHovered();
    for (std::uint32_t token = part.begin; token < part.end; ++token) {
      const chart::Rect rect = rect_of(token);
      if (is_patch(token)) {
        draw_patch_shade(token, rect);
      } else {
        draw_token(token, rect);
      }
      if (is_pointed_at && rect.contains(pointer_position())) hovered = token;
    }
    const bool has_numbers = block_.images.is_empty() && block_.type != TextType::Dense && part.end > part.begin;
    if (has_weights() && has_numbers) draw_numbers(part);
    if (hovered && !block_.images.is_empty()) draw_patch_tooltip(*hovered);
    if (hovered && block_.images.is_empty() && *hovered < block_.labels.size()) draw_token_tooltip(*hovered);
    ImGui::Dummy({block_.measures.width, lines.height});
    return hovered;
  }

 private:
  bool has_weights() const { return marks_.shades && !marks_.shades->weights.empty(); }
  float weight(std::uint32_t token) const {
    return token < marks_.shades->weights.size() ? marks_.shades->weights[token] : 0.0F;
  }

  /// Returns the colour of a token's weight; `deepest`: its alpha where the weight is the largest.
  shell::Color shade(std::uint32_t token, float deepest) const {
    return shade_of(theme_, marks_.side, *marks_.shades, weight(token), deepest);
  }

  chart::Rect rect_of(std::uint32_t token) const {
    return {.origin = origin_ + block_.lines.tokens[token].origin, .size = block_.lines.tokens[token].size};
  }

  /// Returns the colour of the chosen token's side: where the shades are of the same text, they are of the other side.
  shell::Color color_of_chosen() const {
    return (marks_.side == MapSide::Query) == has_weights() ? theme_.key : theme_.query;
  }

  void mark(std::uint32_t token, const char* part, const chart::Rect& rect) const {
    if (marks_.name[0] != '\0') frame_.mark(fmt::format("{}.{}{}", marks_.name, token, part), rect);
  }

  bool is_patch(std::uint32_t token) const { return block_.images.find(token).has_value(); }

  void draw_images() {
    if (block_.images.is_empty()) return;
    const auto& muted = marks_.muted->of(block_.images, frame_.state.view.theme != Theme::Light);
    for (std::size_t image = 0; image < muted.size(); ++image) draw_image(image, muted[image]);
  }

  /// Draws the image muted below the shades; beside it as it is, where there is room.
  void draw_image(std::size_t index, const exporting::Pixels& muted) {
    const chart::Rect& placed = block_.image_rects[index];
    const chart::Rect rect{.origin = origin_ + placed.origin, .size = placed.size};
    const chart::Rect window{.origin = to_glm(ImGui::GetWindowPos()), .size = to_glm(ImGui::GetWindowSize())};
    if (rect.end().y < window.origin.y || rect.origin.y > window.end().y) return;
    draw_picture(frame_, &muted, PicturePlace::Text, marks_.muted->revision(), rect, {}, index);
    const std::string number = index == 0 ? std::string() : fmt::format(".{}", index);
    frame_.mark(fmt::format("{}.image{}", marks_.name, number), rect);
    const glm::vec2 beside = rect.origin + glm::vec2(rect.size.x + kBesideGap, 0.0F);
    const std::shared_ptr<const exporting::Pixels>& pixels = block_.images.images[index].pixels;
    if (!pixels || beside.x + rect.size.x > origin_.x + block_.measures.width) return;
    const chart::Rect plain{.origin = beside, .size = rect.size};
    draw_picture(frame_, pixels.get(), PicturePlace::TextBeside, picture_revision(frame_), plain, {}, index);
    frame_.mark(fmt::format("{}.image_itself{}", marks_.name, number), plain);
    const auto chosen = marks_.chosen ? block_.images.find(*marks_.chosen) : std::nullopt;
    if (!chosen || chosen->image != index) return;
    chart::Rect patch = block_.lines.tokens[*marks_.chosen];
    patch.origin += beside - placed.origin;
    outline(patch, theme_.text);
  }

  /// Draws a line of the colour on a darker one: visible on any image.
  void outline(const chart::Rect& rect, shell::Color color) const {
    outline_rect(rect, shell::with_alpha(theme_.background, 220), 0.0F, 4.0F);
    outline_rect(rect, color, 0.0F, 2.0F);
  }

  void draw_patch_shade(std::uint32_t token, const chart::Rect& rect) const {
    if (has_weights() && marks_.shades->largest > 0.0F) {
      fill_rect(rect, shade(token, kDeepestOnImage));
      draw_patch_number(token, rect);
    }
    if (marks_.chosen == token) outline(rect, color_of_chosen());
    if (marks_.locked == token) outline(rect, theme_.accent);
    mark(token, "", rect);
  }

  void draw_patch_number(std::uint32_t token, const chart::Rect& rect) const {
    const float least = std::max(kMinPrinted, kMinPart * marks_.shades->largest);
    if (!(std::abs(weight(token)) > least)) return;
    ImFont* font = frame_.ui.fonts().mono_small;
    const std::string text = shade_text(weight(token), marks_.shades->is_difference);
    const glm::vec2 size(text_width(font, text), font_size(font));
    if (size.x + 4.0F > rect.size.x || size.y + 2.0F > rect.size.y) return;
    const glm::vec2 at = glm::round(rect.center() - size * 0.5F);
    list_->AddText(font, size.y, at + 1.0F, shell::with_alpha(theme_.background, 200), text.c_str());
    list_->AddText(font, size.y, at, theme_.text, text.c_str());
  }

  /// Draws the tooltip of a token that is a part of what the text shows, or that a router gives to experts.
  void draw_token_tooltip(std::uint32_t token) const {
    const Selection& selection = frame_.state.selection;
    const bool is_query = marks_.side == MapSide::Query || selection.block.kind != model::BlockKind::Cross;
    const std::string experts =
        is_query ? experts_of_token(frame_, {.item = selection.batch, .token = token}) : std::string();
    if (block_.tokens[token].part.empty() && experts.empty()) return;
    const Tooltip tooltip(frame_, rect_of(token));
    ImGui::TextUnformatted(fmt::format("token {}: {}", token, block_.labels[token]).c_str());
    if (!experts.empty()) ImGui::TextUnformatted(experts.c_str());
  }

  void draw_patch_tooltip(std::uint32_t token) const {
    const std::string patch = block_.images.name(token);
    const Tooltip tooltip(frame_, rect_of(token));
    write_strong(frame_, patch.empty() ? block_.tokens[token].place.text : patch);
    std::string about = fmt::format("token {}", token);
    if (has_weights()) {
      const char* name = marks_.shades->is_difference ? "change of its weight" : "weight";
      about += fmt::format("\n{} {}", name, chart::format_exact(weight(token)));
    }
    write_dim(frame_, about);
  }

  void draw_token(std::uint32_t token, const chart::Rect& rect) const {
    const RunningToken& shown = block_.tokens[token];
    const glm::vec2 low = rect.origin, high = rect.end();
    shell::Color ground = theme_.background;
    if (has_weights() && marks_.shades->largest > 0.0F) {
      ground = shell::blended(shade(token, kDeepestShade), ground);
      fill_rect(rect, ground, 3.0F);
    }
    if (marks_.chosen == token) outline_rect(rect, color_of_chosen(), 3.0F, 1.5F);
    if (marks_.locked == token) {
      outline_rect(low - 1.5F, high + 1.5F, theme_.accent, 4.0F, 1.5F);
    }
    ImFont* font = words_font(frame_, block_);
    const bool is_dim = shown.place.is_special || (marks_.dims_unseen && weight(token) == 0.0F);
    const std::string text = fit_text(font, shown.place.text, rect.size.x - 2.0F * kTokenPadding + 1.0F);
    put_text(
        font,
        {std::round(rect.center().x - text_width(font, text) * 0.5F), std::round(rect.center().y - font_size(font) * 0.5F)},
        shell::text_on(ground, is_dim ? theme_.text_dim : theme_.text), text);
    mark(token, "", rect);
  }

  void draw_numbers(const TextLines::Part& part) const {
    ImFont* font = numbers_font(frame_, block_);
    const TextLines& lines = block_.lines;
    std::vector<float> values(lines.tokens.size(), 0.0F);
    std::vector<float> widths(lines.tokens.size(), 0.0F);
    std::vector<std::string> texts(part.end - part.begin);
    const float least = std::max(kMinPrinted, kMinPart * marks_.shades->largest);
    for (std::uint32_t token = part.begin; token < part.end; ++token) {
      values[token] = std::abs(weight(token));
      if (!(values[token] > least)) continue;
      texts[token - part.begin] = shade_text(weight(token), marks_.shades->is_difference);
      widths[token] = std::ceil(text_width(font, texts[token - part.begin]));
    }
    for (std::uint32_t line = lines.line_of[part.begin]; line <= lines.line_of[part.end - 1]; ++line) {
      for (const PlacedNumber& number :
           place_numbers(lines, line, values, widths, block_.measures.width, kNumberGap, least)) {
        const chart::Rect& token = lines.tokens[number.token];
        const glm::vec2 at = origin_ + glm::vec2(number.x, token.origin.y - font_size(font));
        put_text(font, at, theme_.text_dim, texts[number.token - part.begin]);
        mark(number.token, ".weight", {.origin = at, .size = {widths[number.token], font_size(font)}});
      }
    }
  }

  Frame& frame_;
  const TextBlock& block_;
  const TextMarks& marks_;
  const shell::Theme& theme_;
  ImDrawList* list_;
  glm::vec2 origin_;
};

/// Chooses the size of the type. Returns the tokens' widths in it.
std::vector<float> set_type(const Frame& frame, TextBlock& block, float width, TextType type) {
  block.type = type;
  ImFont* font = words_font(frame, block);
  const bool is_dense = type == TextType::Dense;
  const float number = is_dense ? 0.0F : font_size(numbers_font(frame, block));
  block.measures = {.width = std::max(width, 40.0F),
                    .line_height = font_size(font) + number + (is_dense ? kDenseGap : kLineGap) + 4.0F,
                    .token_height = font_size(font) + 4.0F,
                    .space = text_width(font, " "),
                    .padding = kTokenPadding,
                    .is_right_to_left = block.measures.is_right_to_left};
  std::vector<float> widths;
  for (const RunningToken& token : block.tokens) widths.push_back(text_width(font, token.place.text));
  return widths;
}

}  // namespace

TextBlock make_text_block(Frame& frame, MapSide side, float width, float height) {
  const Selection& selection = frame.state.selection;
  const bool is_query = side == MapSide::Query;
  const model::TokenBatch& tokens = is_query ? shown_queries(frame) : shown_keys(frame);
  const attention::KeyRange real = is_query ? query_range(frame) : key_range(frame);
  TextBlock block;
  if (selection.batch < tokens.texts.size()) block.labels = tokens.texts[selection.batch];
  const std::vector<text::Token>* prompt = prompt_of(frame.result, tokens, selection.batch);
  std::span<const text::Token> parts = prompt ? std::span(*prompt) : std::span<const text::Token>();
  // A text that is both sides is the one that is read.
  if (auto written = is_query && &tokens != &shown_keys(frame) ? written_tokens(frame) : std::nullopt) {
    block.labels = std::move(*written);
    parts = parts.subspan(std::min<std::size_t>(parts.size(), 1));
  }
  // Texts that are drawn as one image each are spelled out again, because the space before them is no part of them here.
  std::vector<std::string> labels;
  for (const std::string& label : block.labels) labels.push_back(frame.ui.unshaped(label));
  labels.resize(std::min<std::size_t>(labels.size(), real.end));
  block.tokens = running_tokens(labels, parts, tokens.start(selection.batch));
  block.measures.is_right_to_left = is_right_to_left(block.tokens);  // of letters, before they are images
  for (RunningToken& token : block.tokens) token.place.text = frame.ui.shaped(token.place.text);
  block.images = patch_images(frame, side);
  const std::vector<capture::PatchImage>& images = block.images.images;
  std::vector<float> widths = set_type(frame, block, width, images.empty() ? TextType::Large : TextType::Small);
  if (images.empty()) {
    block.lines = lay_out_text(block.tokens, widths, block.measures);
    if (block.lines.height <= height) return block;
    widths = set_type(frame, block, width, TextType::Small);
    block.lines = lay_out_text(block.tokens, widths, block.measures);
    return block;
  }
  // A line of words before each image and after the last.
  std::size_t patches = 0;
  for (const capture::PatchImage& image : images) patches += std::size_t{image.grid.rows} * image.grid.columns;
  const auto count = static_cast<float>(images.size());
  const float words = block.tokens.size() > patches ? block.measures.line_height + kLineGap : 0.0F;
  const glm::vec2 room(block.measures.width, std::max(height / count - words - kLineGap, kMinImage));
  const glm::vec2 half((room.x - kBesideGap) * 0.5F, room.y);
  const bool shows_two =
      images.front().pixels && fitted_image(images.front(), half).x >= kMinOfTwo * fitted_image(images.front(), room).x;
  PatchLines placed = lay_out_patches(block.tokens, widths, block.measures, block.images, shows_two ? half : room);
  block.lines = std::move(placed.lines);
  block.image_rects = std::move(placed.images);
  block.measures.line_height = std::max(block.lines.height, 1.0F);  // everything is one line
  return block;
}

namespace {

/// Makes the cells of a line wider, towards the width.
void stretch(TextBlock& row, std::vector<float> widths) {
  float left = row.measures.width, right = 0.0F;
  for (const chart::Rect& token : row.lines.tokens) {
    left = std::min(left, token.origin.x);
    right = std::max(right, token.end().x);
  }
  const float wider = std::min(row.measures.width / std::max(right - left, 1.0F), kMostStretch);
  for (float& width : widths) width = std::floor(width * wider);
  TextLines lines = lay_out_text(row.tokens, widths, row.measures);
  if (lines.first_of.size() == 2) row.lines = std::move(lines);
}

}  // namespace

TextBlock row_of(const Frame& frame, const TextBlock& block, glm::vec2 room, std::uint32_t rows) {
  TextBlock row;
  row.tokens = block.tokens;
  row.measures = block.measures;
  for (const TextType type : {TextType::Large, TextType::Middle, TextType::Small, TextType::Dense}) {
    std::vector<float> widths = set_type(frame, row, room.x, type);
    const float least = type == TextType::Dense ? 0.0F : text_width(numbers_font(frame, row), kWidestNumber);
    for (std::size_t token = 0; token < widths.size(); ++token) {
      row.tokens[token].ends_line = false;
      if (row.tokens[token].part.empty()) widths[token] = std::max(widths[token], least);
    }
    row.lines = lay_out_text(row.tokens, widths, row.measures);
    const bool is_line = row.lines.first_of.size() == 2;
    if (is_line && type != TextType::Dense) stretch(row, widths);
    if (is_line && row.measures.line_height * static_cast<float>(rows) <= room.y) return row;
    if (!is_line) row.lines = {};
  }
  return row;
}

const std::vector<exporting::Pixels>& MutedImages::of(const capture::PatchImages& images, bool is_dark) {
  if (images_ != images || is_dark_ != is_dark) {
    images_ = images;
    is_dark_ = is_dark;
    pixels_.clear();
    for (const capture::PatchImage& image : images.images) pixels_.push_back(muted_image(image, is_dark));
    ++revision_;
  }
  return pixels_;
}

void put_shade_scale(const Frame& frame, MapSide side, const TextShades& shades, glm::vec2 at, float end) {
  if (shades.largest <= 0.0F) return;
  const shell::Theme& theme = frame.ui.theme();
  std::array<shell::Color, 256> colors{};
  const float low = shades.is_difference ? -shades.largest : 0.0F;
  for (std::size_t i = 0; i < colors.size(); ++i) {
    const float weight = low + (shades.largest - low) * static_cast<float>(i) / 255.0F;
    colors.at(i) = shell::blended(shade_of(theme, side, shades, weight, kDeepestShade), theme.background);
  }
  const std::string most = shade_text(shades.largest, shades.is_difference), least = shade_text(low, shades.is_difference);
  const bool has_name = end - at.x >= kNamedScale;
  put_scale(frame,
            {.colors = colors,
             .low = !has_name ? least : fmt::format("{}, {}", shades.is_difference ? "change" : "weight", least),
             .high = shades.has_larger ? "\u2265 " + most : most},
            at, end);
}

std::optional<std::uint32_t> draw_text_block(Frame& frame, const TextBlock& block, const TextMarks& marks) {
  return BlockPainter(frame, block, marks).draw();
}

}  // namespace headlight::app
