#include "export/drawing.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "export/cairo_canvas.h"
#include "export/figure_frame.h"
#include "export/figure_session.h"
#include "export/pdf_canvas.h"
#include "export/svg_canvas.h"
#include "export/text_layout.h"

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
    lines_ = wrap(output_.description, size_.x - 2.0F * kMargin, metrics.measure(kTextSize));
    size_.y = std::ceil(size_.y + kLine * static_cast<float>(lines_.size()));
  }

  glm::vec2 size() const override { return size_; }
  DrawingOutput output() const override { return output_; }
  void draw(Canvas& canvas) const override {
    drawing_->draw(canvas);
    float y = drawing_->size().y - kMargin * 0.5F;  // into the margin below
    for (const std::string& line : lines_) canvas.text({kMargin, y += kLine}, line, {.size = kTextSize, .color = ink_});
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
  if (format == DrawingFormat::Png) return kLargestImage;
  return format == DrawingFormat::Pdf ? kMostPoints / kPointsPerUnit : std::numeric_limits<double>::infinity();
}

std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path) {
  if (path.extension() == ".svg") return DrawingFormat::Svg;
  if (path.extension() == ".pdf") return DrawingFormat::Pdf;
  if (path.extension() == ".png") return DrawingFormat::Png;
  return std::nullopt;
}

std::string encode(glm::vec2 size, const DrawingOutput& output, DrawingFormat format,
                   const std::function<void(Canvas& canvas)>& draw) {
  if (format == DrawingFormat::Svg) {
    SvgCanvas canvas(size.x, size.y, output);
    draw(canvas);
    return canvas.finish();
  }
  if (format == DrawingFormat::Pdf) {
    PdfCanvas canvas(size.x, size.y, output);
    draw(canvas);
    return canvas.finish();
  }
  CairoCanvas canvas(size.x, size.y, output.png_scale, output.ground, output.font);
  draw(canvas);
  constexpr double kUnitsAnInch = 96.0;
  std::string png = png_with_resolution(canvas.encode_png(), output.png_scale * kUnitsAnInch);
  if (!output.description.empty()) png = png_with_text(std::move(png), "Description", output.description);
  return output.session.empty() ? png : png_with_session(std::move(png), output.session);
}

std::string encode(const Drawing& drawing, DrawingFormat format) {
  return encode(drawing.size(), drawing.output(), format, [&](Canvas& canvas) { drawing.draw(canvas); });
}

std::string encode_pages(glm::vec2 size, const DrawingOutput& output,
                         const std::vector<std::function<void(Canvas& canvas)>>& pages) {
  PdfCanvas canvas(size.x, size.y, output);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i > 0) canvas.begin_page();
    pages[i](canvas);
  }
  return canvas.finish();
}

}  // namespace headlight::exporting
