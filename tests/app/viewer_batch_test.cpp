// Texts of several lines: one text or a batch, of which each line shows its own tokens. And what is on screen while another
// text is computed or refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/engine/continuation.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/window/offscreen_viewer.h"
#include "engine/fake_runner.h"
#include "support/temporary_directory.h"

namespace viewer_batch_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// Is there a current tile of the selected map's weights with so many rows and columns?
bool has_map_of(const UiDriver& ui, std::uint32_t rows, std::uint32_t columns) {
  return std::ranges::any_of(ui.result().tiles, [&](const auto& tile) {
    const TileQuery& query = tile.first;
    return query.quantity == QuantityId(attention::Stage::Weights) && query.batch == ui.state().selection.batch &&
           query.head == ui.state().selection.head && query.row == 0 && query.rows == rows && query.columns == columns &&
           ui.result().is_current(query);
  });
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("pasted lines are one text of a model; one click makes a batch of them, and undo one text again") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.fill_in("text.edit", "the cat");
    CHECK_FALSE(ui.sees("text.make_batch"));
    ui.wait(2.0);
    ui.fill_in("text.edit", "the cat\nsat on\n\nthe mat");
    CHECK(ui.result().error == "");
    CHECK(ui.result().input->source.batch == 1);
    CHECK(ui.state().model().joins_lines);
    REQUIRE(ui.sees("text.make_batch"));
    check_tips(ui);
    ui.wait(2.0);
    ui.click("text.make_batch");
    CHECK(ui.result().input->source.batch == 3);
    CHECK_FALSE(ui.sees("text.make_batch"));
    ui.wait(2.0);
    // A batch whose lines are edited stays one.
    ui.click("text.edit");
    ui.press(Key::End, kControl);
    ui.type("\nand the dog");
    CHECK(ui.result().input->source.batch == 4);
    ui.press(Key::Z, kControl);
    ui.press(Key::Z, kControl);
    CHECK(ui.result().input->source.batch == 1);
    CHECK(ui.state().text() == "the cat\nsat on\n\nthe mat");
    ui.press(Key::Z, kControl);  // the paste alone is one step
    CHECK(ui.state().text() == "the cat");
  }

  TEST_CASE("a model with a chat template shows the chat that it writes, and writes its answer as a turn") {
    const TemporaryDirectory directory;
    const std::filesystem::path folder = directory.path() / "chat";
    std::filesystem::copy(kGoldenModels + "gpt2", folder);
    std::ofstream(folder / "chat_template.jinja")
        << "{% for m in messages %}<|endoftext|>{{ m.role[0] }} {{ m.content }}{% endfor %}"
           "{{ '<|endoftext|>' ~ enable_thinking if add_generation_prompt }}";
    {
      UiDriver ui;
      show_golden_model(ui, "gpt2");
      CHECK_FALSE(ui.sees("text.chat"));
    }
    State state;
    state.source = Model{.path = folder.string()};
    UiDriver chat(state);
    chat.fill_in("text.edit", "the cat");
    chat.settle();
    const std::uint32_t plain = chat.result().input->source.length;
    REQUIRE(chat.sees("text.chat"));
    CHECK_FALSE(chat.sees("text.thinks.1"));
    chat.click("text.chat");
    chat.settle();
    CHECK(chat.result().error == "");
    CHECK(chat.state().model().is_chat);
    CHECK(chat.result().input->source.length > plain + 2);
    CHECK(chat.result().input->source.texts[0].front() == "<|endoftext|>");
    check_tips(chat);
    REQUIRE(chat.sees("text.thinks.1"));
    CHECK_FALSE(chat.sees("text.special"));
    // Undefined until it is chosen: nothing, then True, then False.
    const std::uint32_t unset = chat.result().input->source.length;
    chat.click("text.thinks.1");
    chat.settle();
    const std::uint32_t on = chat.result().input->source.length;
    CHECK(on > unset);
    chat.click("text.thinks.2");
    chat.settle();
    CHECK(chat.result().input->source.length != on);
    chat.click("text.thinks.0");
    chat.settle();
    CHECK(chat.result().input->source.length == unset);
    chat.fill_in("text.edit", "system: a\nuser: the cat");
    chat.settle();
    CHECK(chat.result().input->source.batch == 1);
    CHECK_FALSE(chat.sees("text.join_lines"));
    std::vector<std::string> roles;
    for (const model::TokenSpan& turn : chat.result().input->source.spans_of(0)) roles.push_back(turn.name);
    CHECK(roles == std::vector<std::string>{"system", "user", "assistant"});
    // A bar with the turn's name, as much of it as has room, is beside both axes of the map.
    const chart::Rect map = chat.rect("head.map");
    const std::string above = text_on_screen({.origin = {map.origin.x, map.origin.y - 20.0F}, .size = {map.size.x, 20.0F}});
    CHECK(above.find("us") != std::string::npos);
    State answered = chat.state();
    append_to_item(answered, chat.result(), 0, " sat");
    CHECK(answered.text() == "system: a\nuser: the cat\nassistant: sat");
    append_to_item(answered, chat.result(), 0, "\non");
    CHECK(answered.text() == "system: a\nuser: the cat\nassistant: sat\non");
  }

  TEST_CASE("a text file is one text, and a session whose lines are a batch stays a batch") {
    const TemporaryDirectory directory;
    const std::filesystem::path file = directory.path() / "lines.txt";
    std::ofstream(file) << "the cat\nsat on\n";
    {
      UiDriver ui;
      show_golden_model(ui, "gpt2");
      ui.window().open_files({file.string()});
      ui.settle();
      CHECK(ui.result().input->source.batch == 1);
    }
    State batch;
    batch.source = Model{.path = kGoldenModels + "gpt2"};
    batch.text() = "the cat\nsat on";
    UiDriver restored(batch);
    CHECK(restored.result().input->source.batch == 2);
  }

  TEST_CASE("a line of a batch shows its own tokens alone, and padding where the padding mask is off") {
    State state;
    state.source = Model{.path = kGoldenModels + "gpt2"};
    state.text() = "the cat\nthe cat sat on the mat and the dog";
    UiDriver ui(state);
    const model::TokenBatch tokens = ui.result().input->source;
    REQUIRE(tokens.batch == 2);
    const std::uint32_t own = tokens.lengths[0];
    REQUIRE(own < tokens.length);
    CHECK(has_map_of(ui, own, own));
    ui.click_within("head.map", 0.99F, 0.99F);
    CHECK(ui.state().view.pinned == attention::Cell{.query = own - 1, .key = own - 1});
    ui.press(Key::Escape);
    CHECK(ui.sees(fmt::format("chips.source.0.{}", own - 1)));
    CHECK_FALSE(ui.sees(fmt::format("chips.source.0.{}", own)));
    CHECK(ui.sees(fmt::format("chips.source.1.{}", tokens.length - 1)));
    ui.press(Key::PageDown);
    CHECK(has_map_of(ui, tokens.length, tokens.length));
    ui.press(Key::PageUp);
    ui.press(Key::P);  // weights go to padding then
    CHECK(has_map_of(ui, own, tokens.length));
  }

  TEST_CASE("padding before a line is left out as that after it is") {
    State state;
    state.source = Model{.path = kGoldenModels + "gpt2"};
    state.model().padding = inference::PaddingSide::Left;
    state.text() = "the cat\nthe cat sat on the mat and the dog";
    UiDriver ui(state);
    const model::TokenBatch tokens = ui.result().input->source;
    const std::uint32_t own = tokens.lengths[0], first = tokens.start(0);
    REQUIRE(first > 0);
    ui.click_within("head.map", 0.01F, 0.01F);
    CHECK(ui.state().view.pinned == attention::Cell{.query = first, .key = first});
    ui.click_within("head.map", 0.99F, 0.99F);
    CHECK(ui.state().view.pinned == attention::Cell{.query = first + own - 1, .key = first + own - 1});
    CHECK_FALSE(ui.sees(fmt::format("chips.source.0.{}", first - 1)));
    CHECK(ui.sees(fmt::format("chips.source.0.{}", first)));
    ui.press(Key::Escape);
    ui.move_to("grid.encoder.0.0");
    CHECK(ui.result().error == "");
  }

  TEST_CASE("what is on screen is dimmed under the reason while its text is not the one that was typed") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("stale.error"));
    std::string text;
    for (int i = 0; i < 20; ++i) text += "the cat ";  // gpt2 has 32 positions
    ui.fill_in("text.edit", text);
    CHECK(ui.result().error.find("positions") != std::string::npos);
    CHECK(ui.sees("stale.error"));
    CHECK(ui.sees("head.map"));
    ui.fill_in("text.edit", "the cat");
    CHECK_FALSE(ui.sees("stale.error"));
    ui.fill_in("text.edit", "");  // no fault: nothing warns
    REQUIRE(ui.sees("stale.error"));
    CHECK(ui.count_pixels("stale.error", ui.ui().theme().warning) == 0);
    CHECK(text_on_screen(ui.rect("stale.error")).find("There is no text yet") != std::string::npos);
  }

  TEST_CASE("a pass that takes long dims what is of the text before, and says how far it is") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("the cat sat"), fake_factory(log));
    log->layers = 3;
    log->is_pass_held = true;
    ui.ui().feed(shell::click_at(ui.rect("text.edit").center()));
    ui.ui().feed(shell::TextInput{"on "});
    REQUIRE(ui.frames_until([&] { return ui.sees("stale.progress"); }));
    log->is_pass_held = false;
    log->is_pass_held.notify_all();
    ui.settle();
    CHECK_FALSE(ui.sees("stale.progress"));
  }
}

}  // namespace viewer_batch_test
