#include "app/ui_driver.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "app/views/view_table.h"
#include "app/widgets/controls.h"
#include "core/error.h"
#include "support/at_end.h"

namespace headlight::app {

const std::string kGoldenModels = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/";

namespace {

/// The device that draws all windows of the program, one after the other: opening and closing one with the validation layer
/// takes 30 ms of processor time.
shell::RenderDevice& warm_device() {
  static std::unique_ptr<shell::RenderDevice> device;
  return test::keep_until_end(
      device, [] { return std::make_unique<shell::RenderDevice>(shell::RenderDeviceOptions{.validation = true}); });
}

}  // namespace

UiDriver::UiDriver(State state, RunnerFactory open, const std::string& device, bool shows_welcome, bool focuses_text,
                   KeptWindow* kept)
    : device_(warm_device()), messages_before_(device_.validation_messages().size()), ui_(device_) {
  ui_.draw_when_read();
  EngineOptions engine;
  engine.open = std::move(open);
  engine.device = device;
  Settings settings;
  settings.state = std::move(state);
  settings.device = device;
  settings.shows_welcome = shows_welcome;
  workspace_ = std::make_unique<Workspace>(ui_, WorkspaceOptions{.engine = engine,
                                                                 .started = {},
                                                                 .settings = settings,
                                                                 .warning = {},
                                                                 .renderer = device_.name(),
                                                                 .may_use_another_device = true,
                                                                 .focuses_text = focuses_text,
                                                                 .kept = kept});
  settle();
}

UiDriver::~UiDriver() {
  workspace_.reset();
  const std::vector<std::string> messages = device_.validation_messages();
  for (std::size_t i = messages_before_; i < messages.size(); ++i) FAIL_CHECK(messages[i]);
}

bool UiDriver::sees(const std::string& name) {
  reach_panel(name);
  return is_there(name);
}

chart::Rect UiDriver::rect(const std::string& name) {
  reach_panel(name);
  const auto found = workspace_->item_rect(name);
  REQUIRE_MESSAGE(found.has_value(), "nothing called \"", name, "\" is on screen");
  return *found;
}

std::size_t UiDriver::count_pixels(const std::string& name, shell::Color color) {
  const shell::PixelImage image = ui_.read_pixels();
  const chart::Rect box = rect(name);
  const auto pixel = [&](glm::vec2 point) { return glm::min(glm::uvec2(point * ui_.scale()), image.size); };
  std::size_t count = 0;
  for (std::uint32_t y = pixel(box.origin).y; y < pixel(box.end()).y; ++y) {
    for (std::uint32_t x = pixel(box.origin).x; x < pixel(box.end()).x; ++x) count += image.at(x, y) == color ? 1U : 0U;
  }
  return count;
}

glm::vec2 UiDriver::at(const std::string& name, float across, float down) {
  const chart::Rect item = rect(name);
  return item.origin + item.size * glm::vec2(across, down);
}

void UiDriver::reach_panel(const std::string& name) {
  const std::string panel(panel_of(name));
  const auto chip = workspace_->item_rect("chip." + panel);
  if (panel.empty() || is_there(name) || !chip || is_there("chip.panel." + panel) || has_popup()) return;
  feed(shell::click_at(chip->center() * ui_.scale()));
  if (!is_there(name)) close_panel();
}

void UiDriver::reach(const std::string& name) {
  if (is_there(name)) return;
  if (name.starts_with("menu.") && is_there("menu.Menu")) click("menu.Menu");
  if (name.starts_with("export.") && is_there("export.more")) click_within("export.more", 0.5F, 0.5F);
  if (!name.starts_with("tab.")) return;
  const std::string group = fmt::format("tabs.{}", find_view(name.substr(4)).group);
  if (is_there(group)) click(group);
  if (!is_there(name)) click("tabs.list");
}

void UiDriver::close_panel() {
  for (int i = 0; i < 2 && is_there("chip.panel"); ++i) press(shell::Key::Escape);  // the first one may leave a text field
}

glm::vec2 UiDriver::uncovered(const std::string& name, float across, float down) {
  reach(name);
  const glm::vec2 point = at(name, across, down);
  const auto panel = workspace_->item_rect("chip.panel");
  const bool is_its =
      is_there(fmt::format("chip.panel.{}", panel_of(name))) || name.starts_with("change.") || name.starts_with("chip.");
  if (panel && panel->contains(point) && !is_its && !has_popup()) close_panel();
  return at(name, across, down) * ui_.scale();
}

void UiDriver::click_within(const std::string& name, float across, float down) {
  feed(shell::click_at(uncovered(name, across, down)));
}

void UiDriver::drag(const std::string& from, const std::string& to) {
  const glm::vec2 a = uncovered(from, 0.5F, 0.5F), b = uncovered(to, 0.5F, 0.5F);
  feed(shell::drag(a, b));
}

void UiDriver::move_to(const std::string& name) { feed({shell::MouseMove{uncovered(name, 0.5F, 0.5F)}}); }

void UiDriver::click_cell(std::uint32_t query, std::uint32_t key) {
  const inference::BlockShape shape = result().shapes.at(state().selection.block);
  click_within("head.map", (static_cast<float>(key) + 0.5F) / static_cast<float>(shape.keys),
               (static_cast<float>(query) + 0.5F) / static_cast<float>(shape.queries));
}

void UiDriver::press(shell::Key key, shell::Modifiers modifiers) { feed(shell::tap(key, modifiers)); }

void UiDriver::show(std::string_view view) {
  const View& shown = find_view(view);
  press(shown.key.key, shown.key.modifiers);
  REQUIRE(state().view.tab == view);
}

void UiDriver::type(const std::string& text) { feed({shell::TextInput{text}}); }

void UiDriver::type_keys(const std::string& text, double gap_s) {
  constexpr double kFrame_s = 1.0 / 60.0;
  for (const char character : text) {
    // The characters are in the order of shell::Key.
    const std::size_t number = std::string_view("-=,./0123456789abcdefghijklmnopqrstuvwxyz").find(character);
    REQUIRE((character == ' ' || number != std::string_view::npos));
    const auto key =
        character == ' ' ? shell::Key::Space : static_cast<shell::Key>(static_cast<std::size_t>(shell::Key::Minus) + number);
    ui_.feed(shell::KeyPress{key, true});
    ui_.feed(shell::TextInput{std::string(1, character)});
    ui_.feed(shell::KeyPress{key, false});
    const double next_s = now_s_ + gap_s;
    while (now_s_ < next_s) workspace_->frame(size_, scale_, now_s_ = std::min(now_s_ + kFrame_s, next_s));
  }
  settle();
}

void UiDriver::fill_in(const std::string& field, const std::string& text) {
  click(field);
  press(shell::Key::A, shell::kControl);
  text.empty() ? press(shell::Key::Delete) : type(text);
  press(shell::Key::Escape);
}

void UiDriver::paint_cell(std::uint32_t query, std::uint32_t key) {
  if (!workspace_->is_painting()) press(shell::Key::B);
  click_cell(query, key);
  press(shell::Key::B);
}

void UiDriver::draw_every_frame() {
  ui_.draw_when_read(false);
  settle();
}

void UiDriver::resize(std::uint32_t width, std::uint32_t height, float scale) {
  size_ = {width, height};
  scale_ = scale;
  settle();
}

void UiDriver::feed(std::vector<shell::InputEvent> events) {
  now_s_ += 0.05;
  ui_.feed(events);
  settle();
}

bool UiDriver::frames_until(const std::function<bool()>& is_there) {
  for (int patience = 0; patience < 4000 && !is_there(); ++patience) {
    workspace_->frame(size_, scale_, now_s_ += 0.01);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return is_there();
}

State with_text(const std::string& text, const std::string& view) {
  State state;
  state.text() = text;
  state.view.tab = view;
  return state;
}

std::string words(std::uint32_t count) {
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}{}", i > 0 ? " " : "", i % 10 == 9 ? "extraordinarily" : "word", i % 50);
  }
  return text;
}

const attention::Tile& weights(const UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  for (const auto& [query, known] : ui.result().tiles) {
    const bool is_it = query.quantity == QuantityId(attention::Stage::Weights) && query.block == selection.block &&
                       query.batch == selection.batch && query.head == selection.head && query.pool == 1;
    if (is_it && ui.result().is_current(query)) return *known.tile;
  }
  throw Error("the selected head's weights are not among the tiles");
}

void check_tips(UiDriver& ui) {
  CHECK(ui.window().item_tips().size() > 0);
  for (const auto& item : ui.window().item_tips()) {
    const auto& name = item.first;
    const auto& tip = item.second;
    CAPTURE(name);
    CAPTURE(tip);
    CHECK_FALSE(tip.empty());
    CHECK(tip.size() <= 220);
    CHECK(tip.find('\n') == std::string::npos);
  }
}

void show_golden_model(UiDriver& ui, const std::string& model) {
  ui.window().open_model(kGoldenModels + model);
  ui.settle();
  REQUIRE_MESSAGE(model_path(ui.state().source) == kGoldenModels + model, ui.window().notice().text);
}

void start_lesson(UiDriver& ui, const std::string& id) {
  if (!ui.window().lessons().is_open()) ui.press(shell::Key::F4);
  if (ui.window().lessons().lesson()) ui.click("lesson.list");
  ui.click("lesson.start." + id);
  REQUIRE_MESSAGE(ui.window().lessons().lesson(), ui.window().notice().text);
}

}  // namespace headlight::app
