// Properties that a teacher can rely on: a picture at once, fixed colours, linked views, animations that can be
// switched off, words that are explained, keys for everything, and no network.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "app/commands/command_list.h"
#include "app/shell/theme.h"
#include "app/state/block_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"
#include "app/window/dialogs/help_dialogs.h"

namespace teaching_bar_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// 0 … 360 degrees: red 0, green 120, blue 240.
double hue(shell::Color color) {
  const double red = color & 0xFFU, green = color >> 8 & 0xFFU, blue = color >> 16 & 0xFFU;
  const double most = std::max({red, green, blue}), range = most - std::min({red, green, blue});
  if (range == 0.0) return std::numeric_limits<double>::quiet_NaN();
  double sixths = most == red     ? (green - blue) / range
                  : most == green ? (blue - red) / range + 2.0
                                  : (red - green) / range + 4.0;
  if (sixths < 0.0) sixths += 6.0;
  return 60.0 * sixths;
}

/// The pixels of a box that differ: their number, and the rows and columns that have any.
struct Changed {
  std::set<std::uint32_t> rows, columns;
  std::size_t pixels = 0;
};
Changed changed(const shell::PixelImage& before, const shell::PixelImage& after, const chart::Rect& box) {
  Changed found;
  for (auto y = static_cast<std::uint32_t>(box.origin.y); y < static_cast<std::uint32_t>(box.end().y); ++y) {
    for (auto x = static_cast<std::uint32_t>(box.origin.x); x < static_cast<std::uint32_t>(box.end().x); ++x) {
      if (before.at(x, y) == after.at(x, y)) continue;
      ++found.pixels;
      found.rows.insert(y);
      found.columns.insert(x);
    }
  }
  return found;
}

/// Frames that a continuation of three tokens takes on the Head's map.
std::uint64_t frames_of_generation(bool reduces_motion, float speed) {
  State state = with_text("the cat sat on the mat");
  state.generation.tokens = 3;
  state.set(kBlockView.reduces_motion, reduces_motion);
  state.set(kBlockView.speed, speed);
  UiDriver ui(state);
  show_golden_model(ui, "gpt2");
  REQUIRE(ui.state().view.tab == "head");
  ui.draw_every_frame();
  const std::uint64_t before = ui.ui().frames_drawn();
  ui.press(Key::P, kControl);
  ui.type("Let the model write");
  ui.press(Key::Enter);
  CHECK(ui.window().generation().count() == 3);
  return ui.ui().frames_drawn() - before;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("teaching: query is blue, key red, value green, output purple in every theme") {
    for (const auto kind : {shell::ThemeKind::Light, shell::ThemeKind::Dark, shell::ThemeKind::HighContrast}) {
      CAPTURE(static_cast<int>(kind));
      const shell::Theme& theme = shell::theme_of(kind);
      for (const shell::Color query : {theme.query, theme.query_fill}) CHECK(std::abs(hue(query) - 215.0) < 35.0);
      for (const shell::Color key : {theme.key, theme.key_fill}) CHECK(std::abs(std::remainder(hue(key), 360.0)) < 30.0);
      for (const shell::Color value : {theme.value, theme.value_fill}) CHECK(std::abs(hue(value) - 135.0) < 35.0);
      for (const shell::Color output : {theme.output, theme.output_fill}) CHECK(std::abs(hue(output) - 280.0) < 35.0);
    }
  }

  TEST_CASE("teaching: every command can be reached by a key, or by the palette, whose key is Ctrl+P") {
    std::set<std::string> labels;
    for (const Command& command : commands()) {
      CAPTURE(command.id);
      CHECK_FALSE(command.label.empty());
      CHECK(labels.insert(command.label).second);  // so that typing it finds it and nothing else of that name
    }
    const auto palette = std::ranges::find(commands(), "help.palette", &Command::id);
    REQUIRE(palette != commands().end());
    CHECK_FALSE(palette->keys.empty());
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("teaching: the colours of queries, keys, values and outputs stand beside their names") {
    State state = with_text("the cat sat on the mat");
    state.view.tab = "steps";
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    for (const char* tab : {"steps", "block"}) {
      CAPTURE(tab);
      ui.press(find_view(tab).key.key);
      ui.settle();
      const std::string text = text_on_screen();
      for (const std::string& name : {std::string("Q"), std::string("K"), std::string("V")}) {
        CAPTURE(name);
        CHECK(text.find(name) != std::string::npos);
      }
    }
  }

  TEST_CASE("teaching: a cell under the pointer lights its row and its column in every map and its tokens") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    const std::uint32_t count = ui.result().input->source.length;
    ui.move_to("tabs.Look");
    const shell::PixelImage before = ui.ui().read_pixels();
    const chart::Rect map = ui.rect("head.map");
    ui.feed({shell::MouseMove{map.origin + map.size * glm::vec2(1.5F, 4.5F) / static_cast<float>(count)}});
    CHECK(ui.window().followed_query() == 4U);
    const shell::PixelImage lit = ui.ui().read_pixels();
    for (const char* name : {"grid.encoder.0.0", "grid.encoder.1.3"}) {
      CAPTURE(name);
      const chart::Rect box = ui.rect(name);
      const Changed found = changed(before, lit, box);
      // A row of cells and a column of cells are outlined, the rest is as it was.
      CHECK(found.pixels > static_cast<std::size_t>(box.size.x + box.size.y));
      CHECK(found.pixels < static_cast<std::size_t>(4.0F * (box.size.x + box.size.y)));
      const std::string badge = std::string(name) + ".badge";  // covers the lowest rows
      const float seen = ui.sees(badge) ? ui.rect(badge).origin.y - box.origin.y : box.size.y;
      CHECK(found.rows.size() >= static_cast<std::size_t>(0.95F * seen));
    }
    ui.move_to("tabs.Look");
    CHECK(changed(before, ui.ui().read_pixels(), ui.rect("grid.encoder.0.0")).pixels == 0);

    // Pointing at a thumbnail marks the large map, the other thumbnails and the tokens, too.
    const chart::Rect small = ui.rect("grid.encoder.1.2");
    ui.feed({shell::MouseMove{small.origin + small.size * glm::vec2(1.5F, 4.5F) / static_cast<float>(count)}});
    CHECK(ui.window().followed_query() == 4U);
    const shell::PixelImage from_grid = ui.ui().read_pixels();
    CHECK(changed(before, from_grid, ui.rect("grid.encoder.0.0")).pixels ==
          changed(before, lit, ui.rect("grid.encoder.0.0")).pixels);
    CHECK(changed(before, from_grid, ui.rect("head.map")).pixels > 0);

    ui.press(Key::Digit6);
    ui.move_to("tabs.Look");
    const shell::PixelImage model = ui.ui().read_pixels();
    const chart::Rect one = ui.rect("model.map.0.1");
    ui.feed({shell::MouseMove{one.origin + one.size * glm::vec2(1.5F, 4.5F) / static_cast<float>(count)}});
    CHECK(ui.window().followed_query() == 4U);
    CHECK(changed(model, ui.ui().read_pixels(), ui.rect("model.map.0.3")).pixels > 0);
    ui.move_to("tabs.Look");
    CHECK(changed(model, ui.ui().read_pixels(), ui.rect("model.map.0.3")).pixels == 0);
  }

  TEST_CASE("teaching: sampling acts at once, over the whole vocabulary, without another run; the seed is visible") {
    State state = with_text("the cat sat on the mat");
    state.view.tab = "predictions";
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    const std::uint64_t run = ui.result().run;
    CHECK_FALSE(ui.sees("generate.seed"));
    ui.click("generate.method.1");
    for (const char* control : {"generate.temperature", "generate.top_k", "generate.top_p", "generate.seed"}) {
      CAPTURE(control);
      CHECK(ui.sees(control));
    }
    ui.settle();
    const std::string before = text_on_screen();
    const std::size_t vocabulary = ui.result().model->network->layers->unembedding->linear.out();
    CHECK(before.find(fmt::format("of {} tokens", vocabulary)) != std::string::npos);
    CHECK(before.find("Seed") != std::string::npos);
    ui.drag("generate.temperature", "generate.start");
    CHECK(ui.state().generation.sampling.temperature != 1.0F);
    ui.settle();
    CHECK(text_on_screen() != before);
    CHECK(text_on_screen().find("at temperature") != std::string::npos);
    CHECK(ui.result().run == run);
  }

  TEST_CASE("teaching: a written token's row appears by itself, slower or not at all where that is chosen") {
    const std::uint64_t still = frames_of_generation(true, 1.0F);
    const std::uint64_t moving = frames_of_generation(false, 1.0F);
    const std::uint64_t slow = frames_of_generation(false, 0.25F);
    MESSAGE("frames of three tokens: still ", still, ", moving ", moving, ", slow ", slow);
    CHECK(moving >= still + 20);  // half a second at 60 frames a second
    CHECK(slow >= moving + 60);   // two seconds
  }

  TEST_CASE("teaching: motion is switched from the palette, too") {
    UiDriver ui(with_text("the cat sat on the mat"));
    ui.press(Key::P, kControl);
    ui.type("Reduce motion");
    ui.press(Key::Enter);
    CHECK(ui.state()[kBlockView.reduces_motion]);
  }

  TEST_CASE("teaching: queries and keys are named in every view of a map") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    for (const char* tab : {"head", "steps", "lines", "text", "model", "neuron", "block", "side_by_side"}) {
      CAPTURE(tab);
      ui.show(tab);
      ui.settle();
      std::string text = text_on_screen();
      std::ranges::transform(text, text.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      });
      CHECK(text.find("quer") != std::string::npos);
      CHECK(text.find("key") != std::string::npos);
    }
  }

  TEST_CASE("teaching: every abbreviation on screen is among the words that F1 explains") {
    // Names of files' formats, keys of the keyboard and roman numbers are no words of the field.
    const std::set<std::string_view> others = {"CSV", "PNG", "SVG", "PDF", "TSV", "OK", "CPU", "GPU", "MiB", "GPT"};
    // Products of the matrices X, Q, K, V, W and their transposes, whose letters stand beside their names.
    constexpr std::string_view kMatrices = "XQKVWOHTA";
    std::set<std::string> unexplained;
    const auto look_at = [&](const std::string& text) {
      const auto is_letter = [](char letter) {
        return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
      };
      for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_letter(text[end])) ++end;
        const std::string word = text.substr(at, end - at);
        at = std::max(end, at + 1);
        const auto capitals = std::ranges::count_if(word, [](char letter) { return letter <= 'Z'; });
        const bool is_product = word.find_first_not_of(kMatrices) == std::string::npos && word != "KV";
        const bool is_of_tabs = std::ranges::any_of(views(), [&](const View& view) {  // groups' titles in capitals
          std::string title(view.group);
          std::ranges::transform(title, title.begin(),
                                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
          return title.find(word) != std::string::npos;
        });
        if (capitals < 2 || is_product || is_of_tabs || others.contains(word)) continue;
        const bool is_explained = std::ranges::any_of(glossary(), [&](const GlossaryEntry& entry) {
          return std::string_view(entry.word).find(word) != std::string_view::npos;
        });
        if (!is_explained) unexplained.insert(word);
      }
    };
    UiDriver ui(with_text("the cat sat on the mat"));
    for (const char* model : {"gpt2", "llama", "marian"}) {
      show_golden_model(ui, model);
      for (const View& view : views()) {
        ui.show(view.id);
        ui.settle();
        look_at(text_on_screen());
      }
    }
    std::string list;
    for (const std::string& word : unexplained) list += word + " ";
    CHECK_MESSAGE(list.empty(), list);
  }

  TEST_CASE("teaching: the window opens no connection to a network") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    for (const View& view : views()) ui.show(view.id);
    std::size_t open = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int descriptor = std::stoi(entry.path().filename().string());
      sockaddr_storage address{};
      socklen_t size = sizeof(address);
      ++open;
      if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;  // no socket
      CHECK(address.ss_family != AF_INET);
      CHECK(address.ss_family != AF_INET6);
    }
    CHECK(open > 2);
  }
}

}  // namespace teaching_bar_test
