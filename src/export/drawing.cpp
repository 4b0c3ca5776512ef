#include "export/drawing.h"

#include <limits>

#include "export/figure_frame.h"
#include "files/cairo_surface.h"

namespace headlight::exporting {
namespace {

class NotedDrawing final : public Drawing {
 public:
  NotedDrawing(std::unique_ptr<Drawing> drawing, std::string note, bool is_dark, bool is_shown)
      : drawing_(std::move(drawing)), output_(drawing_->output()), ink_(paper_of({.is_dark = is_dark}).muted) {
    size_ = drawing_->size();
    output_.description = std::move(note);
    if (!is_shown) return;
    const TextMetrics metrics(output_.font);
    lines_ = wrap(output_.description, size_.x - 2.0F * output_.margin, metrics.measure(kTextSize));
    size_.y = std::ceil(size_.y + kLine * static_cast<float>(lines_.size()));
  }

  glm::vec2 size() const override { return size_; }
  DrawingOutput output() const override { return output_; }
  std::string text() const override { return drawing_->text() + "\n" + output_.description + "\n"; }
  std::string note() const override { return drawing_->note(); }
  std::unique_ptr<Drawing> on_page(const FigureStyle& page, const std::string& title) const override {
    return with_note(drawing_->on_page(page, title), output_.description, page.is_dark, page.parts.settings);
  }
  void draw(Canvas& canvas) const override {
    drawing_->draw(canvas);
    float y = drawing_->size().y - output_.margin * 0.5F;  // into the margin below
    for (const std::string& line : lines_)
      canvas.text({output_.margin, y += kLine}, line, {.size = kTextSize, .color = ink_});
  }

 private:
  static constexpr float kLine = 1.4F * kTextSize;

  std::unique_ptr<Drawing> drawing_;
  DrawingOutput output_;
  Rgb ink_;
  glm::vec2 size_{0.0F};
  std::vector<std::string> lines_;
};

}  // namespace

std::unique_ptr<Drawing> with_note(std::unique_ptr<Drawing> drawing, std::string note, bool is_dark, bool is_shown) {
  if (note.empty() || !drawing) return drawing;
  return std::make_unique<NotedDrawing>(std::move(drawing), std::move(note), is_dark, is_shown);
}

double largest_edge(DrawingFormat format) {
  if (format == DrawingFormat::Png) return files::kLargestImage;
  return format == DrawingFormat::Pdf ? kMaxPoints / kPointsPerUnit : std::numeric_limits<double>::infinity();
}

std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path) {
  if (path.extension() == ".svg") return DrawingFormat::Svg;
  if (path.extension() == ".pdf") return DrawingFormat::Pdf;
  if (path.extension() == ".png") return DrawingFormat::Png;
  return std::nullopt;
}

std::string encode(glm::vec2 size, const DrawingOutput& output, DrawingFormat format, const Draw& draw) {
  if (format == DrawingFormat::Svg) return draw_svg(size, output, draw);
  if (format == DrawingFormat::Pdf) return draw_pdf(size, output, std::span(&draw, 1));
  return draw_png(size, output, draw);
}

std::string encode(const Drawing& drawing, DrawingFormat format) {
  return encode(drawing.size(), drawing.output(), format, [&](Canvas& canvas) { drawing.draw(canvas); });
}

}  // namespace headlight::exporting
