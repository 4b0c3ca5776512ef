#include "app/shell_stage.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace shell_test {

using namespace headlight::shell;

TEST_SUITE_BEGIN("gpu");

namespace {

std::size_t count_near(const PixelImage& pixels, Color color) {
  std::size_t count = 0;
  for (std::uint32_t y = 0; y < pixels.size.y; ++y) {
    for (std::uint32_t x = 0; x < pixels.size.x; ++x) count += largest_difference(pixels.at(x, y), color) <= 8 ? 1U : 0U;
  }
  return count;
}

/// Everything to look at at once: every font, widgets, a heatmap with all its features.
void draw_sampler(Ui& ui, std::string& text) {
  const FontSet& fonts = ui.fonts();
  const auto line = [](ImFont* font, const char* words) {
    ImGui::PushFont(font);
    ImGui::TextUnformatted(words);
    ImGui::PopFont();
  };
  line(fonts.title, "Headlight · every head, live");
  line(fonts.body, "Body 14: The animal didn’t cross the street — ÅÄÖ ßçñ ŁŚŽ, Γειά σου, Привет");
  line(fonts.strong, "Strong: softmax(Q·Kᵀ / √dₖ + mask) ∈ ℝ,  −∞ ≤ x ≤ ∞,  a × b → c, xᵢⱼ, 10⁻⁶ ½ ▶ ● ✓");
  line(fonts.small, "Small 12: head 3 · layer 1 · query “cat” → key “mat”  0.1234");
  line(fonts.mono, "Mono 13:  0.0123  -1.0e-09  +3.1416  −∞");
  line(fonts.mono_small, "Mono 11:  0.0123  -1.0e-09  +3.1416  −∞");
  line(fonts.body, "猫は速く走る 我喜欢猫 고양이 Việt עברית ไทย");
  ui.text_field("##text", text, {.width = 360, .height = 70, .hint = "Type a sentence …"});
  bool on = true;
  bool off = false;
  int number = 4;
  float fraction = 0.35F;
  ImGui::Checkbox("Causal", &on);
  ImGui::SameLine();
  ImGui::Checkbox("Padding", &off);
  ImGui::SameLine();
  ImGui::Button("Reset masks");
  ImGui::SetNextItemWidth(160);
  ImGui::SliderInt("window", &number, 1, 16);
  ImGui::SameLine();
  ImGui::SetNextItemWidth(160);
  ImGui::SliderFloat("scale", &fraction, 0, 1);
  ImGui::Separator();
  const Theme& theme = ui.theme();
  const std::vector<std::pair<const char*, Color>> roles{{"query", theme.query},  {"key", theme.key},
                                                         {"value", theme.value},  {"output", theme.output},
                                                         {"dim", theme.text_dim}, {"warning", theme.warning}};
  for (const auto& [name, color] : roles) {
    ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(color), "%s", name);
    ImGui::SameLine();
  }
  ImGui::NewLine();

  std::vector<float> values(144);
  std::vector<std::uint8_t> masked(144);
  for (std::size_t i = 0; i < 144; ++i) {
    const std::size_t row = i / 12;
    const std::size_t column = i % 12;
    values[i] = static_cast<float>(column) / static_cast<float>(row + 1);
    masked[i] = column > row ? 1 : 0;
  }
  const auto table = ramp();
  HeatmapImage image;
  use_theme(image, theme);
  image.rows = image.columns = 12;
  image.values = values;
  image.masked = masked;
  image.color_map = table;
  image.rounding = 6;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  image.area = {{at.x, at.y}, {264, 264}};
  image.crosshair_row = 7;
  image.crosshair_column = 3;
  ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
  image.key = 1;
  image.crosshair_row.reset();
  image.crosshair_column.reset();
  image.area = {{at.x + 300, at.y}, {96, 96}};
  ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
}

}  // namespace

TEST_CASE("a shaped text is measured and drawn as a whole, at any scale") {
  Stage stage;
  const std::string drawn = stage.ui.shaped("السلام عليكم");
  CHECK(stage.ui.unshaped(drawn) == "السلام عليكم");
  float width = 0.0F;
  for (const float scale : {1.0F, 2.0F}) {
    stage.scale = scale;
    stage.size = {static_cast<std::uint32_t>(320.0F * scale), static_cast<std::uint32_t>(120.0F * scale)};
    ImVec2 low, high;
    const PixelImage pixels = stage.draw([&] {
      ImGui::TextUnformatted(drawn.c_str());
      low = ImGui::GetItemRectMin();
      high = ImGui::GetItemRectMax();
    });
    if (width > 0.0F) CHECK(high.x - low.x == doctest::Approx(width).epsilon(0.05));
    width = high.x - low.x;
    CHECK(width > 60.0F);
    std::size_t dark = 0;
    for (auto y = static_cast<std::uint32_t>(low.y * scale); y < static_cast<std::uint32_t>(high.y * scale); ++y) {
      for (auto x = static_cast<std::uint32_t>(low.x * scale); x < static_cast<std::uint32_t>(high.x * scale); ++x) {
        if (largest_difference(pixels.at(x, y), pixels.at(0, 0)) > 100) ++dark;
      }
    }
    CHECK(static_cast<float>(dark) > 100.0F * scale * scale);
  }
  CHECK(stage.ui.missing_fonts("السلام عليكم").empty());
}

TEST_CASE("text, widgets and heatmaps are drawn in both themes and at every scale") {
  Stage stage;
  std::string text = "the cat sat on the mat";
  stage.ui.ensure_glyphs("猫は速く走る 我喜欢猫 고양이 Việt עברית ไทย");
  for (const auto& [kind, scale] :
       {std::pair{ThemeKind::Light, 1.0F}, {ThemeKind::Dark, 1.0F}, {ThemeKind::Light, 1.5F}, {ThemeKind::Dark, 2.0F}}) {
    stage.ui.set_theme(kind);
    stage.scale = scale;
    stage.size = {static_cast<std::uint32_t>(720 * scale), static_cast<std::uint32_t>(640 * scale)};
    const PixelImage pixels = stage.draw([&] { draw_sampler(stage.ui, text); });
    CHECK(pixels.size == stage.size);
    CHECK(stage.ui.size().x == doctest::Approx(720));
    const auto area = static_cast<std::size_t>(scale * scale * 1000);
    CHECK(count_near(pixels, theme_of(kind).text) > area / 2);
    CHECK(count_near(pixels, theme_of(kind).panel) > area * 100);
    CHECK(count_near(pixels, theme_of(kind).accent) > area / 20);
  }
}

TEST_CASE("a device closed and opened anew draws the same pixels, and what was typed stays") {
  Stage stage;
  std::string text = "the cat sat on the mat";
  stage.size = {720, 640};
  const auto draw = [&] { draw_sampler(stage.ui, text); };
  const PixelImage before = stage.draw(draw);
  for (int i = 0; i < 2; ++i) {
    stage.ui.release_device();
    stage.device.reopen();
    stage.ui.use_device();
    CHECK(stage.draw(draw).rgba == before.rgba);
    CHECK(stage.ui.heatmaps().cached_heatmaps() == 2);
  }
  // The interface is in the state after a frame that threw half-way.
  stage.ui.begin_frame(stage.size, 1.0F, 1.0 / 60.0);
  stage.ui.release_device();
  stage.device.reopen();
  stage.ui.use_device();
  CHECK(stage.draw(draw).rgba == before.rgba);
}

TEST_CASE("typed text reaches a text field, and undo keys the application") {
  Stage stage;
  std::string text;
  bool is_undo_pressed = false;
  int edits = 0;
  const auto content = [&] {
    edits += stage.ui.text_field("##text", text, {.width = 300, .height = 80}) ? 1 : 0;
    is_undo_pressed = is_undo_pressed || stage.ui.is_pressed(Key::Z, kControl);
    CHECK_FALSE(stage.ui.is_pressed(Key::C));
  };
  stage.settle(content);
  CHECK_FALSE(stage.ui.is_typing());
  stage.ui.feed(click_at({100, 30}));
  stage.settle(content);
  CHECK(stage.ui.is_typing());
  stage.ui.feed(TextInput{"the cät"});
  stage.ui.feed(tap(Key::C));
  stage.ui.feed(tap(Key::Enter));
  stage.ui.feed(TextInput{"猫"});
  stage.settle(content);
  CHECK(text == "the cät\n猫");
  CHECK(edits == 3);

  stage.ui.feed(tap(Key::Z, kControl));
  stage.settle(content);
  CHECK(is_undo_pressed);
  CHECK(text == "the cät\n猫");
  text = "undone";  // as the application's undo does while the field is being edited
  stage.settle(content);
  CHECK(text == "undone");
  CHECK(edits == 3);
  stage.ui.feed(TextInput{"!"});
  stage.settle(content);
  CHECK(text == "undone!");

  stage.ui.feed(tap(Key::Escape));
  stage.settle(content);
  CHECK(text == "undone!");
  CHECK_FALSE(stage.ui.is_typing());
}

TEST_CASE("a text field keeps its limit and cuts no character") {
  Stage stage;
  std::string text;
  const auto content = [&] { stage.ui.text_field("##text", text, {.width = 300, .limit = 6}); };
  stage.settle(content);
  stage.ui.feed(click_at({100, 20}));
  stage.ui.feed(TextInput{"ab猫猫猫"});
  stage.settle(content);
  CHECK(text == "ab猫");
}

TEST_CASE("a text of lines that is cut at its limit says so") {
  Stage stage;
  std::string text;
  const auto content = [&] { stage.ui.text_field("##text", text, {.width = 300, .height = 60, .limit = 6}); };
  stage.settle(content);
  stage.ui.feed(click_at({100, 20}));
  stage.ui.feed(TextInput{"123456"});
  stage.settle(content);
  CHECK_FALSE(stage.ui.take_cut());
  stage.ui.feed(TextInput{"7"});
  stage.settle(content);
  CHECK(text == "123456");
  CHECK(stage.ui.take_cut() == 6U);
  CHECK_FALSE(stage.ui.take_cut());
}

TEST_CASE("copy and paste go through the clipboard") {
  Stage stage;
  std::string text = "copied";
  std::string clipboard;
  stage.ui.set_clipboard(
      {.read = [&] { return clipboard; }, .write = [&](const std::string& content) { clipboard = content; }});
  const auto content = [&] { stage.ui.text_field("##text", text, {.width = 300}); };
  stage.settle(content);
  stage.ui.feed(click_at({100, 20}));
  stage.ui.feed(tap(Key::A, kControl));
  stage.ui.feed(tap(Key::C, kControl));
  stage.settle(content);
  CHECK(clipboard == "copied");
  clipboard = "貼る";
  stage.ui.feed(tap(Key::V, kControl));
  stage.settle(content);
  CHECK(text == "貼る");
}

TEST_CASE("shortcuts need exactly their modifiers and are heard once a press or repeat") {
  Stage stage;
  int plain = 0;
  int control = 0;
  const auto content = [&] {
    plain += stage.ui.is_pressed(Key::E) ? 1 : 0;
    control += stage.ui.is_pressed(Key::E, kControl) ? 1 : 0;
  };
  stage.ui.feed(tap(Key::E));
  stage.ui.feed(tap(Key::E, kControl));
  stage.ui.feed(KeyPress{Key::E, true, kControl});
  stage.ui.feed(KeyPress{Key::E, true, kControl});
  stage.ui.feed(KeyPress{Key::E, false, kControl});
  stage.settle(content);
  CHECK(plain == 1);
  CHECK(control == 3);
}

TEST_CASE("an interface at rest wants no frames, a caret a few, an event three") {
  Stage stage;
  std::string text;
  const auto content = [&] { stage.ui.text_field("##text", text, {.width = 300}); };
  stage.settle(content);
  CHECK(stage.ui.redraw_after_s() == std::numeric_limits<double>::infinity());
  stage.ui.request_redraw();
  CHECK(stage.ui.redraw_reason() == fmt::format("shell_test.cpp:{}", __LINE__ - 1));
  stage.settle(content);
  stage.ui.feed(MouseMove{{5, 5}});
  CHECK(stage.ui.redraw_after_s() == 0.0);
  CHECK(stage.ui.redraw_reason() == "input");
  stage.ui.feed(click_at({100, 20}));
  stage.settle(content);
  CHECK(stage.ui.redraw_after_s() > 0.2);
  CHECK(stage.ui.redraw_after_s() < 1.0);
}

TEST_CASE("glyphs lie on whole pixels at fractional scales") {
  // A word looks the same wherever it stands; off the pixels' grid each place would blur it in its own way.
  Stage stage;
  for (const float scale : {1.0F, 1.25F, 1.5F, 1.75F}) {
    stage.scale = scale;
    CAPTURE(scale);
    std::set<std::vector<std::uint32_t>> looks;
    const PixelImage pixels = stage.draw([&] {
      for (int i = 0; i < 8; ++i) {
        ImGui::SetCursorPos({21.0F + static_cast<float>(i), static_cast<float>(10 + i * 31)});
        ImGui::TextUnformatted("Hillel");
      }
    });
    for (int i = 0; i < 8; ++i) {
      std::vector<std::uint32_t> look;
      const auto top = static_cast<std::uint32_t>(static_cast<float>(5 + i * 31) * scale);
      const auto bottom = static_cast<std::uint32_t>(static_cast<float>(35 + i * 31) * scale);
      for (std::uint32_t y = top; y < bottom; ++y) {
        for (std::uint32_t x = 10; x < pixels.size.x - 10; ++x) {
          if (pixels.at(x, y) != stage.ui.theme().panel) look.push_back(pixels.at(x, y));
        }
      }
      CHECK(look.size() > 50);
      looks.insert(look);
    }
    CHECK(looks.size() == 1);
  }
}

TEST_CASE("what can't be drawn is refused in one line") {
  CHECK_THROWS_WITH_AS(
      RenderDevice({.device = "no such device"}),
      doctest::Contains("there is no Vulkan device 'no such device' to draw with; choose by number or name among 0: "),
      headlight::Error);
  Stage stage;
  stage.size = {100000, 10};
  CHECK_THROWS_WITH_AS(stage.frame([] {}), doctest::Contains("can't draw an image of 100000 x 10 pixels"), headlight::Error);
}

TEST_SUITE_END();

}  // namespace shell_test
