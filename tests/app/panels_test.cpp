#include "app/panel_stage.h"

using namespace headlight;
using namespace headlight::app;

TEST_SUITE_BEGIN("gpu");

namespace {

std::string words(std::uint32_t count) {
  static constexpr const char* kWords[] = {"the", "animal", "didn't", "cross", "street",          "because",
                                           "it",  "was",    "too",    "tired", "extraordinarily", "so"};
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords[i * 7 % 12];
  }
  return text;
}

}  // namespace

TEST_CASE("pictures for people") {
  if (std::getenv("HEADLIGHT_TEST_OUT") == nullptr) return;
  PanelStage stage;
  const auto both = [&](const std::string& name) {
    for (const Theme theme : {Theme::Dark, Theme::Light}) {
      stage.state.view.theme = theme;
      const std::string suffix = theme == Theme::Dark ? "-dark" : "-light";
      stage.state.view.tab = Tab::Head;
      stage.keep(name + "-head" + suffix);
      stage.state.view.tab = Tab::Steps;
      stage.keep(name + "-steps" + suffix);
    }
    stage.state.view.tab = Tab::Head;
  };
  both("default");
  stage.state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  select_preset(stage.state, "notebook-004");
  both("004");
  select_preset(stage.state, "notebook-002");
  both("002");
  select_preset(stage.state, "notebook-003");
  both("003");
  select_preset(stage.state, "");
  stage.state.text = words(60);
  both("60");
  stage.state.text = words(400);
  stage.state.playground.layers = 1;
  both("400");
  stage.state.text = "alone";
  both("1");
  stage.state.text = "Life is short";
  stage.state.key_text = "eat dessert first and then sleep until tomorrow noon";
  stage.state.cross = true;
  both("cross");
}

TEST_SUITE_END();
