#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <imgui.h>

#include "app/shell/heatmap_renderer.h"
#include "app/shell/input.h"
#include "app/shell/shaped_text.h"
#include "app/shell/theme.h"
#include "app/shell/word_allocator.h"
#include "chart/missing_font.h"

namespace shell_logic_test {

using namespace headlight::shell;

TEST_SUITE_BEGIN("cpu");

TEST_CASE("only scripts whose letters depend on their neighbours are shaped") {
  for (const char* plain : {"", "the", "·été", "Привет", "語", "漢字かな", "Ωμέγα", "⏎"}) {
    CAPTURE(plain);
    CHECK_FALSE(needs_shaping(plain));
  }
  for (const char* shaped : {"سلام", "·كتاب", "שלום", "नमस्ते", "தமிழ்", "ภาษา", "𝔘", "a ب"}) {
    CAPTURE(shaped);
    CHECK(needs_shaping(shaped));
  }
}

TEST_CASE("a character is the press of its own key, on whatever key of the layout it is typed") {
  const auto keys = [](const std::string& typed, const KeyPress& before) {
    std::vector<Key> pressed;
    for (const InputEvent& event : typed_character(typed, before)) {
      const auto* press = std::get_if<KeyPress>(&event);
      if (press && press->down && press->modifiers == Modifiers{}) pressed.push_back(press->key);
    }
    return pressed;
  };
  CHECK(keys("/", {.key = Key::Slash}).empty());                                           // pressed already
  CHECK(keys("/", {.key = Key::Digit7, .modifiers = kShift}) == std::vector{Key::Slash});  // German
  CHECK(keys("6", {.key = Key::Minus, .modifiers = kShift}) == std::vector{Key::Digit6});  // French
  CHECK(keys("1", {.key = Key::Digit1, .modifiers = kShift}) == std::vector{Key::Digit1});
  CHECK(keys("A", {.key = Key::A, .modifiers = kShift}).empty());
  CHECK(keys("a", {.key = Key::A, .modifiers = kShift}).empty());  // with Caps Lock
  CHECK(keys("\u00DF", {.key = Key::Escape}).empty());
  CHECK(typed_character("/", {.key = Key::Digit7, .modifiers = kShift}).size() == 3);
  CHECK(key_of_character("+") == Key::Equal);
  CHECK(key_of_character("-") == Key::Minus);
  CHECK(key_of_character("z") == Key::Z);
  CHECK_FALSE(key_of_character("#"));
}

TEST_CASE("a shaped text is one character, the same each time, and can be told again") {
  ShapedTexts texts;
  CHECK(texts.replace("the") == "the");
  const std::string salam = texts.replace("سلام");
  CHECK(salam == "\uE000");
  CHECK(texts.replace("·كتاب") == "\uE001");
  CHECK(texts.replace("سلام") == salam);
  CHECK(texts.restore("3 " + salam + ", \uE001\uE002") == "3 سلام, ·كتاب\uE002");
  const std::string long_text(400, ' ');
  CHECK(texts.replace(long_text + "ب") == long_text + "ب");
}

TEST_CASE("Arabic is joined and runs from right to left") {
  const TextImage lam_alef = draw_text("لا", 40.0F, false);
  const TextImage lam = draw_text("ل", 40.0F, false);
  const TextImage alef = draw_text("ا", 40.0F, false);
  REQUIRE_FALSE(lam_alef.coverage.empty());
  CHECK(lam_alef.advance < lam.advance + alef.advance);  // a ligature
  // Alef, then beh: the tall stroke is at the right, and only there.
  const TextImage image = draw_text("اب", 40.0F, false);
  REQUIRE_FALSE(image.coverage.empty());
  const auto ink = [&](int from, int to) {
    int sum = 0;
    for (int y = 0; y < image.height / 4; ++y) {
      const std::size_t row = static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width);
      for (int x = from; x < to; ++x) sum += image.coverage[row + static_cast<std::size_t>(x)];
    }
    return sum;
  };
  CHECK(ink(image.width * 3 / 4, image.width) > 0);
  CHECK(ink(0, image.width * 3 / 4) == 0);
  CHECK(image.baseline > 0);
}

TEST_CASE("what to install is said script by script, each once, with its package") {
  const auto text = [](std::vector<std::uint32_t> codes) { return headlight::chart::missing_font_text(codes); };
  CHECK(text({0x0905, 0x0906}) == "No installed font has Devanagari: install fonts-noto-core, then start again");
  CHECK(text({0x8A9E, 0x0905, 0x1F600}) ==
        "No installed font has Chinese, Devanagari, emoji: install fonts-noto-cjk and fonts-noto-core and "
        "fonts-noto-color-emoji, then start again");
  CHECK(text({0x2D30}) == "No installed font has U+2D30: install fonts-noto-core, then start again");
}

TEST_CASE("black on white has WCAG's largest contrast") {
  CHECK(contrast(rgb(0x000000), rgb(0xFFFFFF)) == doctest::Approx(21.0));
  CHECK(contrast(rgb(0x777777), rgb(0xFFFFFF)) == doctest::Approx(4.48).epsilon(0.002));
  CHECK(contrast(rgb(0x123456), rgb(0x123456)) == doctest::Approx(1.0));
  CHECK(rgb(0x112233) == 0xFF332211U);
}

TEST_CASE("text and marks are seen on any ground") {
  CHECK(blended(rgb(0x336699), rgb(0xFFFFFF)) == rgb(0x336699));
  CHECK(blended(with_alpha(rgb(0x336699), 0), rgb(0x102030)) == rgb(0x102030));
  CHECK(blended(with_alpha(rgb(0xFF0000), 128), rgb(0x000000)) == rgb(0x800000));
  double least_text = 21.0, least_mark = 21.0;
  for (std::uint32_t color = 0; color < 0x1000000U; color += 0x0B0D11U) {
    const Color ground = rgb(color);
    for (const Color preferred : {rgb(0xFFFFFF), rgb(0x1B2027), rgb(0xA4ADBB)}) {
      least_text = std::min(least_text, contrast(ground, text_on(ground, preferred)));
    }
  }
  CHECK(least_text >= 4.5);
  for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark, ThemeKind::HighContrast}) {
    const Theme& theme = theme_of(kind);
    CHECK(text_on(theme.panel, theme.text_dim) == theme.text_dim);  // which can be read there already
    CHECK(mark_on(theme.background, theme.query, theme.text) == theme.query);
    for (std::uint32_t color = 0; color < 0x1000000U; color += 0x0B0D11U) {
      for (const std::uint32_t alpha : {0U, 110U, 255U}) {
        const Color mark = mark_on(theme.background, with_alpha(rgb(color), alpha), theme.text);
        least_mark = std::min(least_mark, contrast(theme.background, mark));
      }
    }
  }
  CHECK(least_mark >= 3.0);
}

TEST_CASE("every text colour can be read on every ground it stands on") {
  for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark, ThemeKind::HighContrast}) {
    const Theme& theme = theme_of(kind);
    const double least = kind == ThemeKind::HighContrast ? 7.0 : 4.5;
    CAPTURE(static_cast<int>(kind));
    for (const Color ground : {theme.background, theme.panel, theme.field, theme.popup}) {
      for (const Color text :
           {theme.text, theme.text_dim, theme.accent, theme.warning, theme.query, theme.key, theme.value, theme.output}) {
        CAPTURE(text);
        CAPTURE(ground);
        CHECK(contrast(text, ground) >= least);
      }
    }
    for (const Color ground :
         {theme.hover, theme.active, theme.padding, theme.query_fill, theme.key_fill, theme.value_fill, theme.output_fill}) {
      CAPTURE(ground);
      CHECK(contrast(theme.text, ground) >= 7.0);
      CHECK(contrast(theme.text_dim, ground) >= 4.5);
    }
    CHECK(contrast(theme.query, theme.query_fill) >= 4.5);
    CHECK(contrast(theme.key, theme.key_fill) >= 4.5);
    CHECK(contrast(theme.value, theme.value_fill) >= 4.5);
    CHECK(contrast(theme.output, theme.output_fill) >= 4.5);
    CHECK(contrast(theme.text_on_accent, theme.accent) >= 4.5);
    CHECK(contrast(theme.text_on_accent, theme.accent_hover) >= 4.5);
    CHECK(contrast(theme.hatch, theme.hatch_ground) >= 1.5);
    // A slider's number is over its grab.
    ImGuiStyle style;
    apply(theme, style);
    const auto color_of = [&](ImGuiCol slot) { return ImGui::ColorConvertFloat4ToU32(style.Colors[slot]); };
    CHECK(contrast(theme.text, blended(color_of(ImGuiCol_SliderGrab), theme.field)) >= 4.5);
    CHECK(contrast(theme.text, blended(color_of(ImGuiCol_SliderGrab), theme.hover)) >= 4.5);
    CHECK(contrast(theme.text, blended(color_of(ImGuiCol_SliderGrabActive), theme.active)) >= 4.5);
  }
}

namespace {

std::vector<std::size_t> frame_sizes(const std::vector<InputEvent>& events) {
  InputQueue queue;
  for (const InputEvent& event : events) queue.push(event);
  std::vector<std::size_t> sizes;
  while (!queue.is_empty()) sizes.push_back(queue.take_frame().size());
  return sizes;
}

}  // namespace

TEST_CASE("a press and its release reach different frames") {
  CHECK(frame_sizes(click_at({3, 4})) == std::vector<std::size_t>{2, 1, 1});
  CHECK(frame_sizes(tap(Key::F1)) == std::vector<std::size_t>{1, 1});
  CHECK(frame_sizes(drag({0, 0}, {9, 9})) == std::vector<std::size_t>{2, 1, 1, 1});
}

TEST_CASE("input that can share a frame does, the rest keeps its order") {
  CHECK(frame_sizes({MouseMove{{1, 1}}, MouseMove{{2, 2}}}) == std::vector<std::size_t>{1});
  CHECK(frame_sizes({TextInput{"a"}, TextInput{"b"}}) == std::vector<std::size_t>{2});
  CHECK(frame_sizes({TextInput{"a"}, KeyPress{Key::Enter}}) == std::vector<std::size_t>{1, 1});
  CHECK(frame_sizes({KeyPress{Key::LeftShift}, KeyPress{Key::A}}) == std::vector<std::size_t>{2});
  CHECK(frame_sizes({KeyPress{Key::Left}, KeyPress{Key::Left}}) == std::vector<std::size_t>{1, 1});
  CHECK(frame_sizes({}).empty());
}

TEST_CASE("a typed character costs one frame") {
  std::vector<InputEvent> typed;
  for (const auto& [key, text] : {std::pair{Key::O, "o"}, {Key::N, "n"}, {Key::Space, " "}, {Key::Digit1, "1"}}) {
    typed.insert(typed.end(), {KeyPress{key}, TextInput{text}, KeyPress{key, false}});
  }
  CHECK(frame_sizes(typed) == std::vector<std::size_t>{2, 3, 3, 3, 1});
  CHECK(frame_sizes({KeyPress{Key::Backspace}, TextInput{"a"}}) == std::vector<std::size_t>{1, 1});
  CHECK(frame_sizes({KeyPress{Key::V, true, kControl}, TextInput{"a"}}) == std::vector<std::size_t>{1, 1});
  CHECK(frame_sizes({TextInput{"a"}, KeyPress{Key::A, true, kControl}}) == std::vector<std::size_t>{1, 1});
}

TEST_CASE("a frame has one state of the modifiers") {
  // Ctrl+A with both keys released before the next frame, Ctrl first.
  CHECK(frame_sizes({KeyPress{Key::LeftControl, true, kControl}, KeyPress{Key::A, true, kControl},
                     KeyPress{Key::LeftControl, false}, KeyPress{Key::A, false}}) == std::vector<std::size_t>{2, 2});
  CHECK(frame_sizes({KeyPress{Key::A, true, kControl}, KeyPress{Key::LeftControl, false}}) ==
        std::vector<std::size_t>{1, 1});
  CHECK(frame_sizes({MouseWheel{{0, 1}, kControl}, MouseWheel{{0, 1}}}) == std::vector<std::size_t>{1, 1});
}

TEST_CASE("freed words join their neighbours and are given out again") {
  WordAllocator allocator;
  CHECK_FALSE(allocator.allocate(1));
  allocator.grow(100);
  const auto a = allocator.allocate(40);
  const auto b = allocator.allocate(40);
  REQUIRE((a && b));
  CHECK_FALSE(allocator.allocate(30));
  allocator.free(*a, 40);
  CHECK(allocator.allocate(41) == std::nullopt);
  allocator.free(*b, 40);
  CHECK(allocator.allocate(100) == 0U);
  CHECK(allocator.used() == 100);
  allocator.grow(150);
  CHECK(allocator.allocate(50) == 100U);
}

TEST_CASE("characters are added once, small alphabets as a whole") {
  GlyphSet glyphs;
  CHECK_FALSE(glyphs.add("plain, äöü, Ωλ, Привет, √ᵀₖ−∞·×∈→≤≥"));
  CHECK(glyphs.add("猫"));
  CHECK(glyphs.contains(0x732B));
  CHECK_FALSE(glyphs.contains(0x732C));
  CHECK_FALSE(glyphs.add("猫"));
  CHECK(glyphs.add("ひ"));
  CHECK_FALSE(glyphs.add("らがな"));
  CHECK(glyphs.requested() == std::vector<std::uint32_t>{0x732B, 0x3072});
}

TEST_CASE("malformed text and characters beyond the fonts' reach are passed over") {
  GlyphSet glyphs;
  CHECK_FALSE(glyphs.add("\xC3"));
  CHECK_FALSE(glyphs.add("\x80\xFF"));
  CHECK_FALSE(glyphs.add("😀"));
  CHECK(glyphs.add("\xE3猫"));
}

TEST_CASE("cells are found under the mouse and know where they are drawn") {
  HeatmapImage image;
  image.rows = 4;
  image.columns = 10;
  image.area = {{100, 50}, {200, 80}};
  const auto cell = HeatmapRenderer::cell_at(image, {139.9F, 129.9F});
  REQUIRE(cell);
  CHECK(cell->row == 3);
  CHECK(cell->column == 1);
  CHECK_FALSE(HeatmapRenderer::cell_at(image, {300.0F, 60.0F}));
  CHECK_FALSE(HeatmapRenderer::cell_at(image, {99.9F, 60.0F}));
  const headlight::chart::Rect rect = HeatmapRenderer::cell_rect(image, 3, 1);
  CHECK(rect.origin.x == doctest::Approx(120));
  CHECK(rect.origin.y == doctest::Approx(110));
  CHECK(rect.size.x == doctest::Approx(20));
  CHECK(rect.size.y == doctest::Approx(20));
  image.clip = headlight::chart::Rect{{100, 50}, {20, 80}};
  CHECK_FALSE(HeatmapRenderer::cell_at(image, {139.9F, 60.0F}));
}

TEST_SUITE_END();

}  // namespace shell_logic_test
