// Every view's figure in every format, whatever the size of the window and of the text: each is a file, or a line that says
// why there is none.
#include <doctest/doctest.h>
#include <imgui.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/ui_driver.h"
#include "app/views/view_table.h"
#include "core/error.h"
#include "core/file.h"
#include "inference/notebooks.h"
#include "support/temporary_directory.h"

namespace viewer_all_figures_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

/// Writes the figure of the view on screen as a file of each format. Returns why there is none; empty: there are three.
/// `svg`: of the last figure; one that is the same drawing isn't encoded in the other formats again.
std::string write_figures(UiDriver& ui, const fs::path& folder, const std::string& name, std::string& svg) {
  const std::vector<std::pair<std::string, std::string>> formats = {
      {".svg", "<?xml"}, {".pdf", "%PDF-"}, {".png", "\x89PNG"}};
  for (const auto& [extension, magic] : formats) {
    const fs::path file = folder / (name + extension);
    try {
      ui.window().write_figure(file);
    } catch (const Error& error) {
      return error.what();
    }
    std::string bytes = read_file(file);
    CHECK(bytes.starts_with(magic));
    CHECK(bytes.size() > 500);
    if (extension != ".svg") continue;
    if (bytes == svg) break;
    svg = std::move(bytes);
  }
  return {};
}

/// Views without a figure: the grid and two texts have no tab, patching needs a run to compare with, corpus a survey,
/// checkpoints a training, prompts a set, and notebook a preset.
bool may_have_none(std::string_view view, std::uint32_t tokens) {
  return view == "patching" || view == "notebook" || view == "corpus" || view == "checkpoints" || view == "prompts" ||
         (view == "flow" && tokens == 1);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every view has its figure in every format, at every size of the window, of 1, 12 and 300 tokens") {
    const TemporaryDirectory folder;
    std::size_t drawn = 0;
    for (const std::uint32_t tokens : {1U, 12U, 300U}) {
      State state;
      attention::MaskSet trained;
      trained[model::BlockKind::EncoderSelf].rule.causal = true;
      select_model(state, kGoldenModels + "llama", trained);
      std::vector<std::uint32_t>& ids = state.model().ids.emplace_back();
      for (std::uint32_t i = 0; i < tokens; ++i) ids.push_back(3 + i * 7 % 90);
      UiDriver ui(state);
      ui.settle();
      REQUIRE(ui.result().input);
      REQUIRE(ui.result().input->source.length == tokens);
      for (const View& view : views()) {
        CAPTURE(view.id);
        CAPTURE(tokens);
        ui.show(view.id);
        std::string svg;
        for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
          CAPTURE(size.x);
          ui.resize(size.x, size.y);
          const std::string why = write_figures(ui, folder.path(), std::string(view.id), svg);
          if (may_have_none(view.id, tokens) && !why.empty()) continue;
          CHECK(why == "");
          drawn += why.empty() ? 3U : 0U;
        }
      }
    }
    CHECK(drawn > 300);
  }

  TEST_CASE("a file gets the numbers that a view's button copies; where a view copies none there is a line") {
    State state;
    select_model(state, kGoldenModels + "gpt2", {});
    state.model().ids.push_back({3, 10, 17, 24});
    UiDriver ui(state);
    std::size_t copied = 0;
    for (const View& view : views()) {
      CAPTURE(view.id);
      ui.show(view.id);
      const std::string button = view.id == "predictions" ? "prediction.copy" : fmt::format("{}.copy", view.id);
      if (!ui.sees(button)) {
        CHECK_THROWS_AS(ui.csv(), Error);
        continue;
      }
      ++copied;
      ui.click(button);
      const std::string csv = ImGui::GetClipboardText();
      ImGui::SetClipboardText("");
      CHECK(ui.csv() == csv);
      const auto fields = [&](std::size_t from) {
        const std::string line = csv.substr(from, csv.find('\n', from) - from);
        return std::ranges::count(line, ',');
      };
      CHECK(csv.back() == '\n');
      CHECK(csv.find('\r') == std::string::npos);
      CHECK(fields(0) >= 3);
      CHECK(fields(csv.find('\n') + 1) >= fields(0));
    }
    CHECK(copied >= 5);  // heads, neuron, logits, flow and what if
  }

  TEST_CASE("Block has a figure of every notebook's layer, with an output projection or without") {
    const TemporaryDirectory folder;
    for (const std::string_view name : inference::notebook_names()) {
      CAPTURE(name);
      State state;
      select_preset(state, std::string(name));
      state.view.tab = "block";
      UiDriver ui(state);
      ui.settle();
      CHECK(ui.result().error == "");
      std::string svg;
      CHECK(write_figures(ui, folder.path(), std::string(name), svg) == "");
    }
  }
}

}  // namespace viewer_all_figures_test
