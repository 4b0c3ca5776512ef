// Drops a file on an X11 window as a file manager does, by the XDND protocol (version 5).
// Usage: drop_on_window WINDOW PATH. Exits with 0 when the window has taken the file.
#include <X11/Xatom.h>
#include <X11/Xlib.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace {

constexpr std::chrono::seconds kPatience{30};

class DragSource {
 public:
  DragSource(Display* display, Window target) : display_(display), target_(target) {
    source_ = XCreateSimpleWindow(display_, XDefaultRootWindow(display_), 0, 0, 1, 1, 0, 0, 0);
    XSetSelectionOwner(display_, atom("XdndSelection"), source_, CurrentTime);
  }

  /// Returns whether the target has taken the file.
  bool drop(const std::string& uri) {
    uri_ = uri;
    send("XdndEnter", 5L << 24, static_cast<long>(atom("text/uri-list")), 0, 0);
    const auto [x, y] = middle();
    send("XdndPosition", 0, (static_cast<long>(x) << 16) | y, CurrentTime, static_cast<long>(atom("XdndActionCopy")));
    const bool is_welcome = wait_for([&](const XEvent& event) { return is_message(event, "XdndStatus"); });
    if (!is_welcome || (answer_ & 1) == 0) return false;
    send("XdndDrop", 0, CurrentTime, 0, 0);
    // Bit 0 of the answer says that the target took it; GLFW writes the number of bytes instead.
    return wait_for([&](const XEvent& event) { return is_message(event, "XdndFinished"); }) && answer_ != 0;
  }

 private:
  Atom atom(const char* name) { return XInternAtom(display_, name, False); }

  std::pair<int, int> middle() {
    XWindowAttributes size{};
    XGetWindowAttributes(display_, target_, &size);
    int x = 0;
    int y = 0;
    Window child = None;
    XTranslateCoordinates(display_, target_, XDefaultRootWindow(display_), size.width / 2, size.height / 2, &x, &y, &child);
    return {x, y};
  }

  void send(const char* type, long first, long second, long third, long fourth) {
    XEvent event{};
    event.xclient.type = ClientMessage;
    event.xclient.window = target_;
    event.xclient.message_type = atom(type);
    event.xclient.format = 32;
    event.xclient.data.l[0] = static_cast<long>(source_);
    event.xclient.data.l[1] = first;
    event.xclient.data.l[2] = second;
    event.xclient.data.l[3] = third;
    event.xclient.data.l[4] = fourth;
    XSendEvent(display_, target_, False, NoEventMask, &event);
    XFlush(display_);
  }

  bool is_message(const XEvent& event, const char* type) {
    if (event.type != ClientMessage || event.xclient.message_type != atom(type)) return false;
    answer_ = event.xclient.data.l[1];
    return true;
  }

  /// Hands the file's name over when it is asked for.
  void answer(const XSelectionRequestEvent& request) {
    XChangeProperty(display_, request.requestor, request.property, request.target, 8, PropModeReplace,
                    reinterpret_cast<const unsigned char*>(uri_.data()), static_cast<int>(uri_.size()));
    XEvent event{};
    event.xselection.type = SelectionNotify;
    event.xselection.requestor = request.requestor;
    event.xselection.selection = request.selection;
    event.xselection.target = request.target;
    event.xselection.property = request.property;
    event.xselection.time = request.time;
    XSendEvent(display_, request.requestor, False, NoEventMask, &event);
    XFlush(display_);
  }

  bool wait_for(const std::function<bool(const XEvent&)>& is_it) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      while (XPending(display_) > 0) {
        XEvent event;
        XNextEvent(display_, &event);
        if (event.type == SelectionRequest) answer(event.xselectionrequest);
        if (is_it(event)) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  Display* display_;
  Window source_ = None, target_;
  std::string uri_;
  long answer_ = 0;  ///< second word of the newest message
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: drop_on_window WINDOW PATH\n");
    return 2;
  }
  Display* display = XOpenDisplay(nullptr);
  if (display == nullptr) {
    std::fprintf(stderr, "there is no display\n");
    return 2;
  }
  DragSource source(display, static_cast<Window>(std::strtoul(argv[1], nullptr, 0)));
  const bool is_taken = source.drop(std::string("file://") + argv[2] + "\r\n");
  XCloseDisplay(display);
  if (!is_taken) std::fprintf(stderr, "the window did not take %s\n", argv[2]);
  return is_taken ? 0 : 1;
}
