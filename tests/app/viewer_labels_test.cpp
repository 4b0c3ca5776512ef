// No label covers another or is cut off at its side: every view, at three sizes, with texts of three lengths.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/models/starter_view.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"

namespace viewer_labels_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

/// Glyphs of neighbouring characters and of slanted labels touch; what can't be read covers more.
constexpr float kMaxCovered = 0.4F;
constexpr float kMaxCut = 0.3F;

std::string text_of(std::uint32_t words) {
  constexpr std::array<const char*, 12> kWords = {"a",    "girl", "with",     "red",  "hair", "and",
                                                  "blue", "eyes", "watching", "five", "dogs", "running"};
  std::string text;
  for (std::uint32_t i = 0; i < words; ++i) text += fmt::format("{}{}", i == 0 ? "" : " ", kWords[i % kWords.size()]);
  return text;
}

void check_labels() {
  const std::vector<DrawnGlyph> glyphs = glyphs_on_screen();
  CHECK(glyphs.size() > 100);
  constexpr std::size_t kMaxTold = 4;
  std::size_t told = 0;
  for (const auto& [one, other] : overlapping(glyphs, kMaxCovered)) {
    if (++told > kMaxTold) break;
    FAIL_CHECK(fmt::format("\"{}\" and \"{}\" overlap at {:.0f}, {:.0f}", text_around(glyphs, one),
                           text_around(glyphs, other), glyphs[one].low.x, glyphs[one].low.y));
  }
  told = 0;
  for (const std::size_t cut : cut_at_the_side(glyphs, kMaxCut)) {
    if (++told > kMaxTold) break;
    FAIL_CHECK(
        fmt::format("\"{}\" is cut off at {:.0f}, {:.0f}", text_around(glyphs, cut), glyphs[cut].low.x, glyphs[cut].low.y));
  }
}

constexpr std::array kThemes = {Theme::Dark, Theme::Light, Theme::HighContrast};

/// All views of what the window shows now, in these themes, which follow each other.
void check_views(UiDriver& ui, const std::string& what, std::span<const Theme> themes) {
  for (const View& view : views()) {
    ui.show(view.id);
    for (const Theme theme : themes) {
      REQUIRE(ui.state().view.theme == theme);
      INFO(fmt::format("{}, theme {}, {}", what, static_cast<int>(theme), view.id));
      // A drawn frame has only its changed rectangles: new glyphs and a new time may come with further frames.
      std::size_t glyphs = 0;
      for (int i = 0; i < 8 && glyphs != glyphs_on_screen().size(); ++i) {
        glyphs = glyphs_on_screen().size();
        ui.settle();
      }
      check_labels();
      if (themes.size() > 1) ui.press(Key::T);
    }
  }
}

/// Checks the views at three sizes, in three themes.
void check_sizes(UiDriver& ui, const std::string& what) {
  for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
    ui.resize(size.x, size.y);
    check_views(ui, fmt::format("{}, {} × {}", what, size.x, size.y), kThemes);
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("glyphs that cover each other, and those that a border cuts, are found") {
    const auto glyph = [](std::size_t number, glm::vec2 at) {
      return DrawnGlyph{.outline = {at, at + glm::vec2(8, 0), at + glm::vec2(8, 10), at + glm::vec2(0, 10)},
                        .area = 80.0F,
                        .clip_low = {0, 0},
                        .clip_high = {100, 100},
                        .low = at,
                        .high = at + glm::vec2(8, 10),
                        .number = number};
    };
    const std::vector<DrawnGlyph> glyphs = {glyph(0, {10, 10}), glyph(1, {11, 10}),  glyph(2, {20, 10}),
                                            glyph(9, {12, 13}), glyph(20, {95, 40}), glyph(30, {98, 60})};
    // 6 × 7 and 7 × 7 of 80 pixels; those of numbers 0 and 1 are neighbours.
    CHECK(overlapping(glyphs, 0.4F) == std::vector<std::array<std::size_t, 2>>{{0, 3}, {1, 3}});
    CHECK(overlapping(glyphs, 0.6F) == std::vector<std::array<std::size_t, 2>>{{1, 3}});
    CHECK(overlapping(glyphs, 0.62F).empty());
    CHECK(cut_at_the_side(glyphs, 0.3F) == std::vector<std::size_t>{4, 5});
    CHECK(cut_at_the_side(glyphs, 0.5F) == std::vector<std::size_t>{5});
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("labels of the playground neither overlap nor are cut off") {
    for (const std::uint32_t words : {1U, 12U, 300U}) {
      UiDriver ui(with_text(text_of(words)), open_gpu_runner);
      check_sizes(ui, fmt::format("{} words", words));
    }
  }

  TEST_CASE("labels of a language model neither overlap nor are cut off") {
    for (const std::uint32_t words : {1U, 12U, 300U}) {
      State state;
      change_to_model(state, find_bundled_model("captions-gpt2")->string());
      state.text() = text_of(words);
      std::get<Model>(state.source).stretches_positions = words > 256;
      UiDriver ui(state, open_gpu_runner);
      REQUIRE(ui.result().input);
      REQUIRE(ui.result().input->source.length >= words);
      check_sizes(ui, fmt::format("captions-gpt2, {} words", words));
    }
  }

  TEST_CASE("labels of a 4K window, whose letters are twice as large, neither overlap nor are cut off") {
    for (const std::uint32_t words : {12U, 300U}) {
      State state;
      change_to_model(state, find_bundled_model("captions-gpt2")->string());
      state.text() = text_of(words);
      std::get<Model>(state.source).stretches_positions = words > 256;
      const Theme theme = state.view.theme = words > 256 ? Theme::Light : Theme::Dark;
      UiDriver ui(state, open_gpu_runner);
      ui.resize(3840, 2160, 2.0F);
      REQUIRE(ui.ui().scale() == 2.0F);
      check_views(ui, fmt::format("captions-gpt2, {} words, 3840 × 2160", words), std::array{theme});
    }
  }
}

}  // namespace viewer_labels_test
