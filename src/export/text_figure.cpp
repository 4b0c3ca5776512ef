#include "export/figures.h"

#include "core/error.h"
#include "export/canvas.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
namespace {

constexpr float kBlockGap = 16.0F;
constexpr float kDeepestShade = 0.66F;  // the text stays readable
constexpr float kPadding = 2.0F;
constexpr std::size_t kMaxTextTokens = 20'000;

class TextDrawing final : public FigureDrawing<TextFigure> {
 public:
  explicit TextDrawing(TextFigure figure) : FigureDrawing(std::move(figure)), top_(lay_out_titles(figure_.width)) {
    std::size_t tokens = 0;
    float height = top_;
    for (const TextFigure::Block& block : figure_.blocks) {
      tokens += block.tokens.size();
      height += caption_height(block) + block.height + kBlockGap;
    }
    size_ = {figure_.width + 2.0F * margin_, std::max(height + margin_ - kBlockGap, 2.0F * margin_)};
    if (tokens > kMaxTextTokens)
      throw Error("a figure of running text has at most {} tokens, not {}", kMaxTextTokens, tokens);
  }

  void draw_content(Canvas& canvas) const override {
    glm::vec2 at{margin_, top_};
    for (const TextFigure::Block& block : figure_.blocks) {
      if (has_caption(block)) {
        canvas.text({at.x, at.y + kTextSize}, block.caption, {.size = kTextSize, .is_bold = true, .color = block.color});
      }
      at.y += caption_height(block);
      draw_block(canvas, block, at);
      at.y += block.height + kBlockGap;
    }
  }

 private:
  bool has_caption(const TextFigure::Block& block) const { return figure_.style.parts.labels && !block.caption.empty(); }

  float caption_height(const TextFigure::Block& block) const {
    return has_caption(block) ? line_height(kTextSize) + 4.0F : 0.0F;
  }

  void draw_block(Canvas& canvas, const TextFigure::Block& block, glm::vec2 at) const {
    for (const TextFigure::Picture& picture : block.pictures)
      canvas.image({.origin = at + picture.rect.origin, .size = picture.rect.size}, picture.pixels);
    for (const TextFigure::Token& token : block.tokens) {
      const Rect rect{.origin = at + token.rect.origin, .size = token.rect.size};
      if (token.share > 0.0F)
        canvas.fill(rect, mixed(paper_.ground, token.color.value_or(block.color), token.share * kDeepestShade));
      if (token.is_outlined) canvas.frame(rect, block.color, 1.2F);
      if (token.text.empty()) continue;
      canvas.text({rect.origin.x + kPadding, rect.center().y + kHalfCapital * kTextFigureSize}, printable(token.text),
                  {.size = kTextFigureSize, .color = token.is_dim ? paper_.muted : paper_.ink});
    }
    if (!figure_.style.parts.numbers) return;
    for (const TextFigure::Number& number : block.numbers) {
      canvas.text(at + number.at, number.text, {.size = kTextNumberSize, .color = paper_.muted});
    }
  }

  float top_;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(TextFigure figure) { return std::make_unique<TextDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
