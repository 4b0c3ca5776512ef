#include "app/shell/message_window.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/shell/window_impl.h"
#include "core/error.h"

namespace headlight::shell {
namespace {

constexpr int kMessageWidth = 560;  // of the text, in UI units
constexpr int kMessageMargin = 28;

struct DestroyMessagePart {
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(PangoLayout* layout) const { g_object_unref(layout); }
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
};
template <typename Part>
using MessagePart = std::unique_ptr<Part, DestroyMessagePart>;

void set_source(cairo_t* cairo, Color color) {
  const auto part = [&](int shift) { return static_cast<double>(color >> shift & 0xFFU) / 255.0; };
  cairo_set_source_rgb(cairo, part(0), part(8), part(16));
}

/// Returns the text with hyphens at which no line ends: names of packages stay whole.
std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos;) text.replace(at, 1, "\u2011");
  return text;
}

/// Draws the message from the margin on, in UI units, and returns its height with both margins.
double draw_message(cairo_t* cairo, const Message& message) {
  const Theme& theme = theme_of(message.theme);
  set_source(cairo, theme.background);
  cairo_paint(cairo);
  double y = kMessageMargin;
  const auto write = [&](const std::string& text, Color color, double size, bool is_bold) {
    const MessagePart<PangoLayout> layout(pango_cairo_create_layout(cairo));
    const MessagePart<PangoFontDescription> font(pango_font_description_from_string("Inter, DejaVu Sans, sans-serif"));
    pango_font_description_set_absolute_size(font.get(), size * PANGO_SCALE);
    if (is_bold) pango_font_description_set_weight(font.get(), PANGO_WEIGHT_SEMIBOLD);
    pango_layout_set_font_description(layout.get(), font.get());
    pango_layout_set_width(layout.get(), kMessageWidth * PANGO_SCALE);
    pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
    pango_layout_set_line_spacing(layout.get(), 1.25F);
    pango_layout_set_text(layout.get(), text.data(), static_cast<int>(text.size()));
    int height = 0;
    pango_layout_get_pixel_size(layout.get(), nullptr, &height);
    set_source(cairo, color);
    cairo_move_to(cairo, kMessageMargin, y);
    pango_cairo_show_layout(cairo, layout.get());
    y += height + size * 0.75;
  };
  write(message.title, theme.text, 20.0, true);
  write(unbroken(message.text), theme.text, 15.0, false);
  write("Ctrl+C copies this text, Escape closes the window.", theme.text_dim, 13.0, false);
  return y + kMessageMargin - 10.0;
}

MessagePart<cairo_surface_t> message_image(const Message& message, glm::ivec2 size, double scale, double* height = nullptr) {
  MessagePart<cairo_surface_t> image(cairo_image_surface_create(CAIRO_FORMAT_RGB24, size.x, size.y));
  const MessagePart<cairo_t> cairo(cairo_create(image.get()));
  cairo_scale(cairo.get(), scale, scale);
  const double drawn = draw_message(cairo.get(), message);
  if (height != nullptr) *height = drawn;
  cairo_surface_flush(image.get());
  return image;
}

/// Functions and constants of OpenGL 1.1 that show an image, without its headers.
struct OldGl {
  static constexpr unsigned kBgra = 0x80E1, kUnsignedByte = 0x1401;
  template <typename Function>
  static Function find(const char* name) {
    return reinterpret_cast<Function>(glfwGetProcAddress(name));
  }
  void (*viewport)(int, int, int, int) = find<void (*)(int, int, int, int)>("glViewport");
  void (*raster_position)(float, float) = find<void (*)(float, float)>("glRasterPos2f");
  void (*zoom)(float, float) = find<void (*)(float, float)>("glPixelZoom");
  void (*draw)(int, int, unsigned, unsigned,
               const void*) = find<void (*)(int, int, unsigned, unsigned, const void*)>("glDrawPixels");

  bool is_whole() const { return viewport != nullptr && raster_position != nullptr && zoom != nullptr && draw != nullptr; }
  void show(cairo_surface_t* image) const {
    const int width = cairo_image_surface_get_width(image), height = cairo_image_surface_get_height(image);
    viewport(0, 0, width, height);
    raster_position(-1.0F, 1.0F);  // the upper left corner
    zoom(1.0F, -1.0F);
    draw(width, height, kBgra, kUnsignedByte, cairo_image_surface_get_data(image));  // rows of 4 · width bytes
  }
};

void on_message_key(GLFWwindow* window, int key, int /*scancode*/, int action, int modifiers) {
  if (action != GLFW_PRESS) return;
  const bool is_control = (modifiers & GLFW_MOD_CONTROL) != 0;
  const bool closes = key == GLFW_KEY_ESCAPE || key == GLFW_KEY_ENTER || (key == GLFW_KEY_Q && is_control);
  if (closes) glfwSetWindowShouldClose(window, GLFW_TRUE);
  if (key == GLFW_KEY_C && is_control) {
    glfwSetClipboardString(window, static_cast<const Message*>(glfwGetWindowUserPointer(window))->text.c_str());
  }
}

}  // namespace

void show_message(const Message& message, const std::function<bool()>& should_end) {
  try {
    const GlfwSession session;
    double height = 0.0;
    message_image(message, glm::ivec2(1), 1.0, &height);
    glfwDefaultWindowHints();
    glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "headlight");
    const std::unique_ptr<GLFWwindow, void (*)(GLFWwindow*)> window(
        glfwCreateWindow(kMessageWidth + 2 * kMessageMargin, static_cast<int>(std::ceil(height)), "Headlight", nullptr,
                         nullptr),
        &glfwDestroyWindow);
    if (!window) return;
    glfwMakeContextCurrent(window.get());
    const OldGl gl;
    if (!gl.is_whole()) return;
    Message shown = message;
    glfwSetWindowUserPointer(window.get(), &shown);
    glfwSetKeyCallback(window.get(), on_message_key);
    while (glfwWindowShouldClose(window.get()) == GLFW_FALSE && !should_end()) {
      glm::ivec2 size(1);
      glfwGetFramebufferSize(window.get(), &size.x, &size.y);
      gl.show(message_image(message, glm::max(size, 1), size.x / double(kMessageWidth + 2 * kMessageMargin)).get());
      glfwSwapBuffers(window.get());
      glfwWaitEvents();
    }
  } catch (const Error&) {  // no display: the caller's own message is what is left
  }
}

}  // namespace headlight::shell
