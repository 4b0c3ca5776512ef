#include "app/random_input.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace headlight::test {

using namespace app;

namespace {

/// Words, signs, scripts that need shaping or are written from the right, joined emoji, a combining mark without a letter,
/// what a mask's expression is made of, and blanks of all kinds.
constexpr std::array<std::string_view, 20> kTyped = {
    "a",
    " dog",
    " runs",
    ".",
    " ü",
    "日本",
    "🐕",
    " 42",
    "k <= q",
    " && q - k < 3",
    "-",
    "1e9",
    "👩‍👩‍👧",
    "שלום",
    "हिन्दी",
    "\u0301",
    "\n",
    "\t",
    " \u00a0",
    " the horse the horse the horse the horse the horse the horse the horse the horse"};

constexpr std::array<shell::Modifiers, 6> kHeld = {shell::Modifiers{}, shell::Modifiers{}, shell::Modifiers{},
                                                   shell::Modifiers{}, shell::kControl,    shell::kControlShift};

constexpr std::array<glm::uvec2, 7> kSizes = {
    glm::uvec2{1600, 1000}, {1280, 720}, {1024, 768}, {800, 600}, {640, 400}, {400, 900}, {2200, 1200}};

/// Does the palette's entry write a file without asking? The test must not choose it then.
bool writes_files(const PaletteEntry& entry) {
  return entry.id == "command file.save_session" || entry.id == "command file.save_screenshot" ||
         entry.id == "command file.save_view";
}

}  // namespace

glm::vec2 RandomInput::any_point() { return {static_cast<float>(below(size_.x)), static_cast<float>(below(size_.y))}; }

RandomAct RandomInput::next(const Workspace& workspace, float ui_scale) {
  if (workspace.palette().is_open() && random_.chance(0.7)) return use_palette(workspace);
  const std::size_t kind = below(100);
  if (kind < 12) return {.what = "move", .events = {shell::MouseMove{any_point()}}};
  if (kind < 27) return {.what = "click", .events = shell::click_at(any_point())};
  if (kind < 50) return click_control(workspace, ui_scale);
  if (kind < 58) return {.what = "drag", .events = shell::drag(any_point(), any_point())};
  if (kind < 64) {
    const float steps = random_.pick({1.0F, -1.0F, 3.0F, -3.0F});
    const shell::Modifiers held = kHeld.at(below(kHeld.size()));
    return {.what = "wheel",
            .events = {shell::MouseMove{any_point()}, shell::MouseWheel{.steps = {0.0F, steps}, .modifiers = held}}};
  }
  if (kind < 72) {
    const auto text = std::string(kTyped.at(below(kTyped.size())));
    return {.what = "type " + text, .events = {shell::TextInput{text}}};
  }
  if (kind < 78) return {.what = "escape", .events = shell::tap(shell::Key::Escape)};
  if (kind < 88) return press_key();
  if (kind < 92) return paint(workspace, ui_scale);
  if (kind < 94) return {.what = "palette", .events = shell::tap(shell::Key::P, shell::kControl)};
  if (kind < 96) return {.what = "undo", .events = shell::tap(shell::Key::Z, shell::kControl)};
  if (kind < 97) return {.what = "redo", .events = shell::tap(shell::Key::Y, shell::kControl)};
  if (kind < 98) return resize();
  if (models_.empty() || random_.chance(0.8)) return {.what = "leave", .events = {shell::MouseLeave{}}};
  const std::string& model = models_.at(below(models_.size()));
  return {.what = "open " + model, .model = model};
}

RandomAct RandomInput::click_control(const Workspace& workspace, float ui_scale) {
  const ItemTips& tips = workspace.item_tips();
  if (tips.empty()) return {.what = "click", .events = shell::click_at(any_point())};
  auto control = tips.begin();
  std::advance(control, below(tips.size()));
  const std::string name(control->first);
  const std::optional<chart::Rect> rect = workspace.item_rect(name);
  if (!rect) return {.what = "move", .events = {shell::MouseMove{any_point()}}};
  const float across = random_.pick({0.5F, 0.1F, 0.9F});
  const glm::vec2 at = (rect->origin + rect->size * glm::vec2(across, 0.5F)) * ui_scale;
  const auto button = random_.chance(0.15) ? shell::MouseButton::Right : shell::MouseButton::Left;
  const shell::Modifiers held = kHeld.at(below(kHeld.size()));
  return {.what = "click " + name, .events = shell::click_at(at, button, held)};
}

RandomAct RandomInput::paint(const Workspace& workspace, float ui_scale) {
  const std::optional<chart::Rect> map = workspace.item_rect("head.map");
  if (!map) return {.what = "brush", .events = shell::tap(shell::Key::B)};
  const auto within = [&] {
    const glm::vec2 part{0.01F * static_cast<float>(below(101)), 0.01F * static_cast<float>(below(101))};
    return (map->origin + map->size * part) * ui_scale;
  };
  RandomAct act{.what = "paint"};
  if (!workspace.is_painting()) act.events = shell::tap(shell::Key::B);
  const auto stroke = shell::drag(within(), within(), random_.chance(0.2) ? shell::kShift : shell::Modifiers{});
  act.events.insert(act.events.end(), stroke.begin(), stroke.end());
  return act;
}

RandomAct RandomInput::use_palette(const Workspace& workspace) {
  const CommandPalette& palette = workspace.palette();
  if (palette.count() == 0) return {.what = "palette closes", .events = shell::tap(shell::Key::Escape)};
  const PaletteEntry& entry = palette.entry(palette.selected());
  if (random_.chance(0.3) && !writes_files(entry)) {
    return {.what = "choose " + entry.title, .events = shell::tap(shell::Key::Enter)};
  }
  if (random_.chance(0.2)) {
    return {.what = "search", .events = {shell::TextInput{std::string(1, static_cast<char>('a' + below(26)))}}};
  }
  RandomAct act{.what = "palette down"};
  for (std::size_t rows = below(12) + 1; rows > 0; --rows) {
    const auto down = shell::tap(random_.chance(0.1) ? shell::Key::PageDown : shell::Key::Down);
    act.events.insert(act.events.end(), down.begin(), down.end());
  }
  return act;
}

RandomAct RandomInput::press_key() {
  auto key = shell::Key::S;
  // With Control Q quits and S writes a file.
  while (key == shell::Key::Q || key == shell::Key::S) key = static_cast<shell::Key>(below(shell::kKeys));
  return {.what = fmt::format("key {}", static_cast<unsigned>(key)),
          .events = shell::tap(key, kHeld.at(below(kHeld.size())))};
}

RandomAct RandomInput::resize() {
  size_ = kSizes.at(below(kSizes.size()));
  scale_ = random_.pick({1.0F, 1.0F, 1.25F, 2.0F});
  return {.what = fmt::format("resize to {} x {} at {}", size_.x, size_.y, scale_)};
}

std::vector<shell::InputEvent> keep_inside(const Workspace& workspace) {
  const bool has_dialog = workspace.file_dialog().is_open() || workspace.export_dialog().is_open();
  return has_dialog ? shell::tap(shell::Key::Escape) : std::vector<shell::InputEvent>();
}

}  // namespace headlight::test
