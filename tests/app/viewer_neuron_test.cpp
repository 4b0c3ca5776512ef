// The neuron view in the window: pairs are chosen by chips, keys and rows, and their numbers are copied.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "app/shapes/sentence.h"
#include "app/state/neuron_settings.h"
#include "app/ui_driver.h"

namespace viewer_neuron_test {

using namespace headlight;
using namespace headlight::app;

namespace {

State neuron_state(const std::string& text) {
  State state;
  state.view.tab = "neuron";
  state.text() = text;
  return state;
}

std::string clipboard() {
  const char* text = ImGui::GetClipboardText();
  return text ? text : "";
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("chips and Ctrl with the arrows choose the pair of the neuron view") {
    UiDriver ui(neuron_state("one two three four five"));
    REQUIRE(ui.sees("neuron.products"));
    CHECK(ui.sees("neuron.chain.0"));
    CHECK_FALSE(ui.state().view.pinned.has_value());
    ui.click("neuron.query.2");
    REQUIRE(ui.state().view.pinned.has_value());
    CHECK(ui.state().view.pinned->query == 2);
    ui.click("neuron.key.4");
    CHECK(ui.state().view.pinned == attention::Cell{.query = 2, .key = 4});
    ui.press(shell::Key::Up, shell::kControl);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 1, .key = 4});
    ui.press(shell::Key::Right, shell::kControl);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 1, .key = 4});  // the last one
    ui.press(shell::Key::Left, shell::kControl);
    ui.press(shell::Key::Down, shell::kControl);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 2, .key = 3});
    ui.click("neuron.key.previous");
    CHECK(ui.state().view.pinned == attention::Cell{.query = 2, .key = 2});
    ui.press(shell::Key::Right);
    CHECK(ui.state().selection.head == 1);  // arrows alone choose the head, as everywhere
  }

  TEST_CASE("in a large window rows of products are higher, and the row's weights below the chain choose another key") {
    UiDriver ui(neuron_state("one two three four five"));
    ui.resize(2560, 1440);
    CHECK(ui.rect("neuron.product.0").size.y == 36.0F);
    ui.click("neuron.weight.1");
    CHECK(ui.state().view.pinned == attention::Cell{.query = 4, .key = 1});
    const std::string said = plain_text(ui.window().sentence());
    CHECK(said.starts_with("q\u00B7k of \u201Cfive\u201D and \u201Ctwo\u201D sums to "));
    CHECK(said.find(fmt::format("divided by \u221A{}, softmax", ui.result().shapes.begin()->second.d_k)) !=
          std::string::npos);
  }

  TEST_CASE("the neuron view copies a pair, and the rows of all keys") {
    UiDriver ui(neuron_state("one two three four five"));
    ui.click("neuron.copy");
    CHECK(clipboard().starts_with("part,q,k,value,text\nquery,,,,4 five\nkey,,,,"));
    CHECK(clipboard().find("\nweight,,,") != std::string::npos);
    const std::uint32_t d_k = ui.result().shapes.begin()->second.d_k;
    CHECK(lines_of(clipboard()) == 3 + d_k + 6);  // sum, scale, mask, m, l, weight
    ui.click("neuron.form.1");
    CHECK(ui.state()[kNeuronView.form] == NeuronForm::AllKeys);
    CHECK(ui.sees("neuron.keys"));
    ui.click("neuron.copy");
    CHECK(clipboard().starts_with("key,token,q·k 0,"));
    CHECK(lines_of(clipboard()) == 6);
    ui.click("neuron.key row.1");
    CHECK(ui.state().view.pinned == attention::Cell{.query = 4, .key = 1});
    ui.click("neuron.order.1");
    CHECK(ui.state()[kNeuronView.order] == ProductOrder::BySize);
  }

  TEST_CASE("other sizes of heads, and a shorter text, end the pair that the neuron view shows") {
    for (const NeuronForm form : {NeuronForm::Pair, NeuronForm::AllKeys}) {
      CAPTURE(form);
      State state = neuron_state("one two three four five");
      state.set(kNeuronView.form, form);
      state.view.pinned = attention::Cell{.query = 4, .key = 4};
      UiDriver ui(state);
      const std::uint32_t d_k = ui.result().shapes.at(ui.state().selection.block).d_k;
      for (const char* d_model : {"16", "96", "32"}) {
        ui.fill_in("model.d_model", d_model);
        CHECK(ui.result().shapes.at(ui.state().selection.block).d_k != d_k);
        CHECK(ui.sees(form == NeuronForm::Pair ? "neuron.products" : "neuron.keys"));
      }
      ui.fill_in("text.edit", "one two");
      CHECK(ui.result().shapes.at(ui.state().selection.block).keys == 2);
      CHECK(ui.sees(form == NeuronForm::Pair ? "neuron.products" : "neuron.keys"));
    }
  }

  TEST_CASE("the neuron view draws grouped and rotated heads, position biases and cross-attention") {
    UiDriver ui(neuron_state("one two three"));
    for (const char* model : {"llama", "qwen3", "bloom", "t5"}) {
      CAPTURE(model);
      show_golden_model(ui, model);
      CHECK(ui.state().view.tab == "neuron");
      CHECK(ui.sees("neuron.products"));
      CHECK(ui.sees("neuron.chain.3"));
    }
  }

  TEST_CASE("the neuron view draws queries and keys that are given as numbers") {
    State notebook = neuron_state("");
    select_preset(notebook, "notebook-003");
    UiDriver given(notebook);
    CHECK(given.sees("neuron.chain.5"));
  }

  TEST_CASE("the rows of all keys of a long text are asked for where they are in sight") {
    State many = neuron_state("");
    for (int i = 0; i < 300; ++i) many.text() += "word ";
    many.playground().settings.d_model = 16;
    many.playground().settings.layers = 1;
    many.set(kNeuronView.form, NeuronForm::AllKeys);
    UiDriver long_text(many);
    long_text.click("neuron.query.299");
    for (int i = 0; i < 2; ++i) long_text.press(shell::Key::Right, shell::kControl);
    CHECK_FALSE((long_text.sees("neuron.key row.0") && long_text.sees("neuron.key row.299")));
    std::uint32_t asked = 0;
    for (const auto& [query, tile] : long_text.result().tiles) {
      if (query.quantity == QuantityId(attention::Stage::K)) asked += query.rows;
    }
    CHECK(asked < 300);
  }
}

}  // namespace viewer_neuron_test
