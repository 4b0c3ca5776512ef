#include "export/drawing.h"

#include <iterator>

#include <fmt/format.h>

#include "export/figure_session.h"
#include "export/markup.h"

namespace headlight::exporting {
namespace {

std::string hex(Rgb color) { return fmt::format("#{:02x}{:02x}{:02x}", color.r, color.g, color.b); }

// Hundredths of a unit are finer than any printer, and "{:g}" drops the zeros.
std::string number(float value) { return fmt::format("{:.6g}", std::round(static_cast<double>(value) * 100.0) / 100.0); }

class SvgCanvas final : public Canvas {
 public:
  /// The output's title is read by screen readers and shown by browsers.
  SvgCanvas(glm::vec2 size, const DrawingOutput& output)
      : head_(fmt::format(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\" "
            "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
            "font-family=\"{3}\">\n<title>{2}</title>\n",
            number(size.x), number(size.y), markup_text(output.title),
            output.font == FigureFont::Serif ? "'Latin Modern Roman', 'LM Roman 10', 'CMU Serif', 'DejaVu Serif', serif"
                                             : "Inter, Helvetica, Arial, 'DejaVu Sans', sans-serif")) {
    if (!output.description.empty()) head_ += fmt::format("<desc>{}</desc>\n", markup_text(output.description));
    if (!output.session.empty()) head_ += fmt::format("<metadata>{}</metadata>\n", marked_session(output.session));
    if (output.ground) fill({.origin = {}, .size = size}, *output.ground);
  }

  void fill(Rect rect, Rgb color) override {
    fmt::format_to(std::back_inserter(body_),
                   "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>\n",
                   number(rect.origin.x), number(rect.origin.y), number(rect.size.x), number(rect.size.y), hex(color));
  }

  void frame(Rect rect, Rgb color, float width) override {
    fmt::format_to(std::back_inserter(body_),
                   "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
                   number(rect.origin.x), number(rect.origin.y), number(rect.size.x), number(rect.size.y), hex(color),
                   number(width));
  }

  void line(glm::vec2 from, glm::vec2 to, Rgb color, float width) override {
    fmt::format_to(std::back_inserter(body_),
                   "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", number(from.x),
                   number(from.y), number(to.x), number(to.y), hex(color), number(width));
  }

  void hatch(std::span<const Rect> rects, Rgb stripe) override {
    if (rects.empty()) return;
    const std::string id = fmt::format("hatch-{}", hex(stripe).substr(1));
    if (definitions_.find(id) == std::string::npos) {
      // One stripe from corner to corner and the two of the neighbours that reach in.
      const std::string period = number(kHatchPeriod), twice = number(2 * kHatchPeriod);
      fmt::format_to(std::back_inserter(definitions_),
                     "<pattern id=\"{0}\" width=\"{1}\" height=\"{1}\" patternUnits=\"userSpaceOnUse\">"
                     "<path d=\"M-{1} {1}L{1} -{1}M0 {1}L{1} 0M0 {2}L{2} 0\" stroke=\"{3}\" stroke-width=\"{4}\" "
                     "fill=\"none\"/></pattern>\n",
                     id, period, twice, hex(stripe), number(kHatchWidth));
    }
    fmt::format_to(std::back_inserter(body_), "<path fill=\"url(#{})\" shape-rendering=\"crispEdges\" d=\"", id);
    for (const Rect& rect : rects) {
      fmt::format_to(std::back_inserter(body_), "M{} {}h{}v{}h-{}z", number(rect.origin.x), number(rect.origin.y),
                     number(rect.size.x), number(rect.size.y), number(rect.size.x));
    }
    body_ += "\"/>\n";
  }

  void image(Rect rect, const Pixels& pixels) override {
    fmt::format_to(
        std::back_inserter(body_),
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
        "image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,{}\"/>\n",
        number(rect.origin.x), number(rect.origin.y), number(rect.size.x), number(rect.size.y), base64(encode_png(pixels)));
  }

  void text(glm::vec2 anchor, std::string_view text, const TextStyle& style) override {
    constexpr std::array<std::string_view, 3> kAnchors = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    auto out = std::back_inserter(body_);
    fmt::format_to(out, "<text xml:space=\"preserve\" x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}", number(anchor.x),
                   number(anchor.y), number(style.size), hex(style.color), kAnchors[static_cast<std::size_t>(style.align)]);
    if (style.is_bold) fmt::format_to(out, " font-weight=\"600\"");
    if (style.is_italic) fmt::format_to(out, " font-style=\"italic\"");
    if (style.degrees != 0.0F) {
      fmt::format_to(out, " transform=\"rotate({} {} {})\"", number(-style.degrees), number(anchor.x), number(anchor.y));
    }
    fmt::format_to(out, ">{}</text>\n", markup_text(text));
  }

  std::string document() const {
    const std::string definitions = definitions_.empty() ? "" : "<defs>\n" + definitions_ + "</defs>\n";
    return head_ + definitions + body_ + "</svg>\n";
  }

 private:
  std::string head_, definitions_, body_;
};

}  // namespace

std::string draw_svg(glm::vec2 size, const DrawingOutput& output, const Draw& draw) {
  SvgCanvas canvas(size, output);
  draw(canvas);
  return canvas.document();
}

}  // namespace headlight::exporting
