#include <array>
#include <cctype>
#include <cstring>

#include "app/shell/window_impl.h"

namespace headlight::shell {
namespace {

Window::Impl& self(GLFWwindow* window) { return *static_cast<Window::Impl*>(glfwGetWindowUserPointer(window)); }

constexpr std::array kNamedKeys{
    std::pair{GLFW_KEY_TAB, Key::Tab},
    std::pair{GLFW_KEY_LEFT, Key::Left},
    std::pair{GLFW_KEY_RIGHT, Key::Right},
    std::pair{GLFW_KEY_UP, Key::Up},
    std::pair{GLFW_KEY_DOWN, Key::Down},
    std::pair{GLFW_KEY_PAGE_UP, Key::PageUp},
    std::pair{GLFW_KEY_PAGE_DOWN, Key::PageDown},
    std::pair{GLFW_KEY_HOME, Key::Home},
    std::pair{GLFW_KEY_END, Key::End},
    std::pair{GLFW_KEY_INSERT, Key::Insert},
    std::pair{GLFW_KEY_DELETE, Key::Delete},
    std::pair{GLFW_KEY_BACKSPACE, Key::Backspace},
    std::pair{GLFW_KEY_SPACE, Key::Space},
    std::pair{GLFW_KEY_ENTER, Key::Enter},
    std::pair{GLFW_KEY_KP_ENTER, Key::Enter},
    std::pair{GLFW_KEY_ESCAPE, Key::Escape},
    std::pair{GLFW_KEY_LEFT_CONTROL, Key::LeftControl},
    std::pair{GLFW_KEY_RIGHT_CONTROL, Key::LeftControl},
    std::pair{GLFW_KEY_LEFT_SHIFT, Key::LeftShift},
    std::pair{GLFW_KEY_RIGHT_SHIFT, Key::LeftShift},
    std::pair{GLFW_KEY_LEFT_ALT, Key::LeftAlt},
    std::pair{GLFW_KEY_LEFT_SUPER, Key::LeftSuper},
    std::pair{GLFW_KEY_RIGHT_SUPER, Key::LeftSuper},
    std::pair{GLFW_KEY_KP_SUBTRACT, Key::Minus},
    std::pair{GLFW_KEY_KP_ADD, Key::Equal},
};

Key offset(Key first, int steps) { return static_cast<Key>(static_cast<int>(first) + steps); }

std::optional<Key> to_key(int code, int scancode) {
  // By the keyboard's layout, so that Ctrl+Z is at its Z key, and Ctrl++ at its plus.
  if (code > GLFW_KEY_SPACE && code < GLFW_KEY_ESCAPE) {
    const char* name = glfwGetKeyName(code, scancode);
    if (const auto key = key_of_character(name != nullptr ? name : "")) return key;
    // The place counts for digits that are typed with Shift, and for letters of other scripts. GLFW's code is the character
    // that an American keyboard has there.
    const bool is_script = std::isalpha(code) != 0 && name != nullptr && std::strlen(name) > 1;
    if (name != nullptr && std::isdigit(code) == 0 && !is_script) return std::nullopt;
    return key_of_character(std::string(1, static_cast<char>(std::tolower(code))));
  }
  if (code >= GLFW_KEY_KP_0 && code <= GLFW_KEY_KP_9) return offset(Key::Digit0, code - GLFW_KEY_KP_0);
  if (code >= GLFW_KEY_F1 && code <= GLFW_KEY_F12) return offset(Key::F1, code - GLFW_KEY_F1);
  for (const auto& [glfw, key] : kNamedKeys) {
    if (glfw == code) return key;
  }
  return std::nullopt;
}

std::string to_utf8(unsigned int code) {
  std::string text;
  const auto put = [&](unsigned int byte) { text.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12);
    put(0x80U | (code >> 6 & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18);
    put(0x80U | (code >> 12 & 0x3FU));
    put(0x80U | (code >> 6 & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
  return text;
}

void feed(GLFWwindow* window, InputEvent event) {
  self(window).needs_redraw = true;
  self(window).ui.feed(std::move(event));
}

void on_key(GLFWwindow* window, int code, int scancode, int action, int) {
  const std::optional<Key> key = to_key(code, scancode);
  const KeyPress press{key.value_or(Key::Escape), action != GLFW_RELEASE, self(window).held_modifiers()};
  if (action != GLFW_RELEASE) self(window).last_press = press;
  if (key) feed(window, press);
}

void on_character(GLFWwindow* window, unsigned int code) {
  for (InputEvent& event : typed_character(to_utf8(code), self(window).last_press)) feed(window, std::move(event));
}

void on_mouse_button(GLFWwindow* window, int button, int action, int) {
  if (button > GLFW_MOUSE_BUTTON_5) return;
  feed(window, MouseClick{static_cast<MouseButton>(button), action == GLFW_PRESS, self(window).held_modifiers()});
}

void on_scroll(GLFWwindow* window, double horizontal, double vertical) {
  feed(window, MouseWheel{glm::vec2(horizontal, vertical), self(window).held_modifiers()});
}

void on_cursor(GLFWwindow* window, double x, double y) { feed(window, self(window).to_pixels({x, y})); }

void on_enter(GLFWwindow* window, int entered) {
  if (entered == GLFW_FALSE) feed(window, MouseLeave{});
}

void on_focus(GLFWwindow* window, int focused) { feed(window, FocusChange{focused == GLFW_TRUE}); }

void on_drop_paths(GLFWwindow* window, int count, const char** paths) {
  self(window).needs_redraw = true;
  if (!self(window).on_drop) return;
  const std::span<const char*> all(paths, static_cast<std::size_t>(count));
  self(window).on_drop(std::vector<std::string>(all.begin(), all.end()));
}

}  // namespace

void Window::Impl::install_callbacks() {
  glfwSetWindowUserPointer(window, this);
  glfwSetKeyCallback(window, &on_key);
  glfwSetCharCallback(window, &on_character);
  glfwSetMouseButtonCallback(window, &on_mouse_button);
  glfwSetScrollCallback(window, &on_scroll);
  glfwSetCursorPosCallback(window, &on_cursor);
  glfwSetCursorEnterCallback(window, &on_enter);
  glfwSetWindowFocusCallback(window, &on_focus);
  glfwSetDropCallback(window, &on_drop_paths);
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { self(w).needs_redraw = true; });
  glfwSetWindowCloseCallback(window, [](GLFWwindow* w) { self(w).needs_redraw = true; });
  glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) {
    self(w).needs_redraw = true;
    self(w).keep_in_room();
  });
  glfwSetWindowContentScaleCallback(window, [](GLFWwindow* w, float, float) { self(w).needs_redraw = true; });
  glfwSetWindowIconifyCallback(window, [](GLFWwindow* w, int) { self(w).needs_redraw = true; });
  glfwSetWindowSizeCallback(window, [](GLFWwindow* w, int, int) { self(w).note_placement(); });
  glfwSetWindowPosCallback(window, [](GLFWwindow* w, int, int) { self(w).note_placement(); });
  ui.set_clipboard({.read =
                        [this] {
                          const char* text = glfwGetClipboardString(window);
                          return std::string(text != nullptr ? text : "");
                        },
                    .write = [this](const std::string& text) { glfwSetClipboardString(window, text.c_str()); }});
}

}  // namespace headlight::shell
