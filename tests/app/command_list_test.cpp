#include "app/commands/command_list.h"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "app/fake_host.h"
#include "app/views/view_table.h"
#include "core/error.h"

namespace command_list_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// Two encoder layers, a decoder and its cross-attention, three heads and two lines each.
BlockShapes shapes() {
  const inference::BlockShape shape{.batch = 2, .heads = 3, .queries = 4, .keys = 4};
  return {{{model::BlockKind::EncoderSelf, {0}}, shape},
          {{model::BlockKind::EncoderSelf, {1}}, shape},
          {{model::BlockKind::DecoderSelf, {0}}, shape},
          {{model::BlockKind::Cross, {0}}, shape}};
}

CommandStage stage() { return {.state = {}, .transient = {}, .shapes = shapes(), .host = {}}; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("no key does two things, and keys are written as they always were") {
    std::set<std::tuple<shell::Key, bool, bool, bool>> seen;
    std::set<std::string> listed;
    for (const Command& command : commands()) {
      CAPTURE(command.id);
      for (const shell::Shortcut& key : command.keys) {
        CHECK(seen.insert({key.key, key.modifiers.control, key.modifiers.shift, key.modifiers.alt}).second);
        if (!key.text.empty()) CHECK(listed.insert(std::string(key.text)).second);
      }
      CHECK_FALSE(command.label.empty());
    }
    for (const char* key : {"Left",
                            "Right",
                            "Up",
                            "Down",
                            "Page Up",
                            "Page Down",
                            "C",
                            "P",
                            "B",
                            "K",
                            "/",
                            "Ctrl+L",
                            "Ctrl+Shift+R",
                            "Ctrl+Z",
                            "Ctrl+Y",
                            "Ctrl+O",
                            "Ctrl+E",
                            "Ctrl+Shift+Z",
                            "Ctrl+C",
                            "Ctrl+Shift+C",
                            "Ctrl+Shift+S",
                            "Ctrl+S",
                            "Ctrl+Shift+O",
                            "Ctrl+Q",
                            "1",
                            "2",
                            "3",
                            "Ctrl+B",
                            "Ctrl+G",
                            "T",
                            "Ctrl++",
                            "Ctrl+-",
                            "Ctrl+0",
                            "Ctrl+F",
                            "F3",
                            "Shift+F3",
                            "N",
                            "Shift+N",
                            "M",
                            "Esc",
                            "F2",
                            "F1",
                            "Ctrl+P"}) {
      CAPTURE(key);
      CHECK(listed.contains(key));
    }
    CHECK(keys_text(find_command("edit.redo")) == "Ctrl+Y");
    CHECK(keys_text(find_command("help.about")).empty());
  }

  TEST_CASE("every command has an id of its own, a label, a group and one sentence of help, and does something") {
    std::set<std::string> ids;
    std::set<std::string> labels;
    for (const Command& command : commands()) {
      CAPTURE(command.id);
      CHECK(ids.insert(command.id).second);
      CHECK(labels.insert(command.label).second);
      CHECK(command.id.find('.') != std::string::npos);
      CHECK_FALSE(command.group.empty());
      CHECK(command.help.ends_with('.'));
      CHECK(command.help.size() <= 220);
      CHECK(command.run != nullptr);
      CHECK(command.menu.menu.empty() == command.menu.label.empty());
      CHECK(&find_command(command.id) == &command);
    }
    CHECK_THROWS_AS(find_command("mask.nothing"), Error);
  }

  TEST_CASE("groups stand together, in the order of the list under F1") {
    std::vector<std::string> groups;
    for (const Command& command : commands()) {
      if (command.keys.empty() || (!groups.empty() && groups.back() == command.group)) continue;
      groups.push_back(command.group);
    }
    CHECK(groups == std::vector<std::string>{"Move", "Mask", "Head", "Compare", "Edit", "File", "View: Look",
                                             "View: Compute", "View: Heads", "View: Why", "View", "Panes", "Search",
                                             "Steps of training", "Help"});
  }

  TEST_CASE("layers go on from the encoder through the decoder to the cross-attention") {
    CommandStage on = stage();
    for (int i = 0; i < 3; ++i) on.run("move.next_layer");
    CHECK(on.state.selection.block.kind == model::BlockKind::Cross);
    on.run("move.next_layer");
    CHECK(on.state.selection.block.kind == model::BlockKind::Cross);
    for (int i = 0; i < 2; ++i) on.run("move.previous_layer");
    CHECK(on.state.selection.block == model::BlockRef{model::BlockKind::EncoderSelf, {1}});
  }

  TEST_CASE("heads and lines stop at their ends") {
    CommandStage on = stage();
    for (int i = 0; i < 5; ++i) on.run("move.next_head");
    CHECK(on.state.selection.head == 2);
    on.state.selection.mean = HeadMean::Layer;
    on.run("move.previous_head");
    CHECK(on.state.selection.head == 1);
    CHECK(on.state.selection.mean == HeadMean::None);
    for (int i = 0; i < 5; ++i) on.run("move.next_line");
    CHECK(on.state.selection.batch == 1);
    on.run("move.previous_line");
    on.run("move.previous_line");
    CHECK(on.state.selection.batch == 0);
  }

  TEST_CASE("moving without a run changes nothing") {
    CommandStage on;
    const State before = on.state;
    for (const char* id : {"move.next_head", "move.next_layer", "move.previous_line"}) {
      CHECK_FALSE(on.can_run(id));
      find_command(id).run(on.context());
    }
    CHECK(on.state == before);
  }

  TEST_CASE("masks are those of the selected kind") {
    CommandStage on = stage();
    on.state.selection.block.kind = model::BlockKind::Cross;
    on.run("mask.causal");
    CHECK(on.state.masks[model::BlockKind::Cross].rule.causal);
    CHECK_FALSE(on.state.masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(find_command("mask.causal").is_checked(on.context()));
    CHECK(on.tell("mask.causal", true) == "Causal mask on in the cross-attention");
    on.run("mask.reset");
    CHECK(on.state.masks == attention::MaskSet{});
    CHECK(on.tell("mask.reset", true) == "Masks reset");
    CHECK(on.tell("mask.reset", false) == "The masks are reset already");
  }

  TEST_CASE("what a tokenizer and positions do to a text has commands where a model reads it") {
    CommandStage on = stage();
    CHECK_FALSE(on.can_run("text.stretch"));
    CHECK_FALSE(on.can_run("text.special"));
    CHECK_FALSE(find_command("text.stretch").is_checked(on.context()));
    on.state.source = Model{.path = "model"};
    on.run("text.stretch");
    on.run("text.special");
    CHECK(on.state.model().stretches_positions);
    CHECK_FALSE(on.state.model().adds_special);
    CHECK(find_command("text.stretch").is_checked(on.context()));
    CHECK_FALSE(find_command("text.special").is_checked(on.context()));
  }

  TEST_CASE("a head is knocked out where there is an output projection, and the notice says which") {
    CommandStage on = stage();
    CHECK_FALSE(on.can_run("head.knock_out"));
    CHECK(find_command("head.knock_out").refusal == "No head can be knocked out here: there is no output projection");
    for (auto& [block, shape] : on.shapes) shape.d_output = 8;
    on.state.selection.head = 2;
    CHECK_FALSE(on.can_run("head.reset_model"));
    on.run("head.knock_out");
    CHECK(head_gain(on.state, on.state.selection.block, 2) == 0.0F);
    CHECK(on.tell("head.knock_out", true) == "Layer 0 · head 2 knocked out");
    CHECK(on.can_run("head.reset_model"));
    on.run("head.knock_out");
    CHECK(on.state.gains.empty());
    CHECK(on.tell("head.knock_out", true) == "Layer 0 · head 2 brought back");
  }

  TEST_CASE("solo leaves one head of the layer and brings the others back; a pattern masks all but one key of each query") {
    CommandStage on = stage();
    for (auto& [block, shape] : on.shapes) shape.d_output = 8;
    const model::BlockRef block = on.state.selection.block;
    const std::uint32_t heads = on.shapes.at(block).heads;
    REQUIRE(heads > 2);
    on.state.selection.head = 1;
    set_head_gain(on.state, block, 1, 0.0F);
    on.run("head.solo");
    for (std::uint32_t head = 0; head < heads; ++head) CHECK(head_gain(on.state, block, head) == (head == 1 ? 1.0F : 0.0F));
    CHECK(on.tell("head.solo", true) == "Layer 0: only head 1");
    on.run("head.solo");
    CHECK(on.state.gains.empty());
    CHECK(on.tell("head.solo", true) == "Layer 0: all heads");

    CHECK_FALSE(on.can_run("head.reset_patterns"));
    using attention::FixedPattern;
    for (const auto& [command, pattern] :
         {std::pair("head.look_at_all", FixedPattern::Uniform), std::pair("head.look_at_itself", FixedPattern::Diagonal),
          std::pair("head.look_at_previous", FixedPattern::Previous),
          std::pair("head.look_at_first", FixedPattern::First)}) {
      on.run(command);
      CHECK(on.state.patterns == inference::FixedPatterns{{{block, 1}, pattern}});
      CHECK(find_command(command).is_checked(on.context()));
    }
    CHECK(on.tell("head.look_at_first", true) == "Layer 0 \u00b7 head 1 attends to the first token");
    on.run("head.look_at_first");
    CHECK(on.state.patterns.empty());
    CHECK(on.tell("head.look_at_first", true) == "Layer 0 \u00b7 head 1 attends as computed");
    on.run("head.look_at_all");
    on.run("head.reset_patterns");
    CHECK(on.state.patterns.empty());
  }

  TEST_CASE("the brush is of the map: taking it up shows the head") {
    CommandStage on = stage();
    on.state.view.tab = "steps";
    on.run("mask.paint");
    CHECK(on.transient.paints);
    CHECK(on.state.view.tab == "head");
    on.run("mask.paint");
    CHECK_FALSE(on.transient.paints);
  }

  TEST_CASE("the interface grows and shrinks within its limits and comes back") {
    CommandStage on;
    for (int i = 0; i < 40; ++i) on.run("view.larger");
    CHECK(on.state.view.ui_scale == 4.0F);
    for (int i = 0; i < 40; ++i) on.run("view.smaller");
    CHECK(on.state.view.ui_scale == 0.5F);
    on.run("view.scale.monitor");
    CHECK(on.state.view.ui_scale == 0.0F);
    on.run("view.scale.150");
    CHECK(on.state.view.ui_scale == 1.5F);
    CHECK(find_command("view.scale.150").is_checked(on.context()));
  }

  TEST_CASE("what isn't a matter of the state is left to the window") {
    CommandStage on = stage();
    on.host.undoes = "Edit text";
    const State before = on.state;
    for (const char* id : {"edit.undo", "edit.redo", "file.export", "file.quit", "help.keys", "help.dismiss"}) on.run(id);
    CHECK(on.host.calls == std::vector<std::string>{"undo", "export", "quit", "help", "dismiss"});  // nothing to redo
    CHECK(find_command("edit.undo").object(on.context()) == "Edit text");
    CHECK(on.state == before);
  }

  TEST_CASE("without a run nothing is exported, without a pin no cell copied, while a model loads only some commands work") {
    CommandStage on;
    CHECK_FALSE(on.can_run("file.export"));
    CHECK_FALSE(on.can_run("file.copy_cell"));
    CHECK_FALSE(on.can_run("generation.start"));
    on.shapes = shapes();
    on.state.view.pinned = attention::Cell{};
    on.host.may_generate = true;
    for (const char* id : {"file.export", "file.copy_cell", "generation.start", "mask.causal"}) CHECK(on.can_run(id));
    CHECK_FALSE(on.can_run("generation.stop"));
    on.host.loads = true;
    for (const char* id : {"file.export", "file.copy_cell", "mask.causal", "move.next_head", "view.steps"}) {
      CHECK_FALSE(on.can_run(id));
    }
    for (const char* id : {"file.open_model", "file.quit", "help.dismiss", "view.theme", "help.palette"}) {
      CHECK(on.can_run(id));
    }
  }

  TEST_CASE("each view has a command that shows it, with its key, and an undo that names it") {
    CommandStage on = stage();
    for (const View& view : views()) {
      const std::string id = "view." + std::string(view.id);
      CAPTURE(id);
      State before = on.state;
      before.view.tab = "another";
      on.run(id.c_str());
      CHECK(on.state.view.tab == view.id);
      CHECK(keys_text(find_command(id)) == view.key.text);
      CHECK(find_command(id).menu.label == view.title);
      std::string name(view.id);
      std::ranges::replace(name, '_', ' ');
      CHECK(describe_change(before, on.state).label == "Show " + name);
    }
  }

  TEST_CASE("each value of a setting that has buttons has a command, which opens the view and chooses it") {
    std::size_t chosen = 0;
    for (const SettingGroup* group : setting_groups()) {
      for (const AnySetting* setting : group->settings) {
        const bool is_box = setting->kind == AnySetting::Kind::Switch && setting->text.options.empty();
        if (is_box && !setting->text.label.empty() && !group->view.empty()) {
          CommandStage on = stage();
          find_command(setting->path()).run(on.context());
          CHECK(on.state.value(*setting) != setting->usual);
          CHECK(on.state.view.tab == group->view);
          ++chosen;
        }
        for (std::size_t i = 0; i < setting->text.options.size(); ++i) {
          if (setting->text.options[i].label.empty()) continue;
          const Command& command = find_command(fmt::format("{}.{}", setting->path(), setting->text.options[i].name));
          CAPTURE(command.id);
          CommandStage on = stage();
          command.run(on.context());
          CHECK(choices_of(on.state, *setting).value(*setting) == setting->value_of(i));
          if (!group->view.empty()) CHECK(on.state.view.tab == group->view);
          CHECK(command.is_checked(on.context()));
          ++chosen;
        }
      }
    }
    CHECK(chosen > 50);
  }

  TEST_CASE("alignment needs cross-attention") {
    CommandStage on = stage();
    on.state.view.tab = "steps";
    on.run("map.alignment");
    CHECK(on.state.selection.mean == HeadMean::Kind);
    CHECK(on.state.selection.block.kind == model::BlockKind::Cross);
    CHECK(on.state.view.tab == "head");
    on.shapes.erase({model::BlockKind::Cross, {0}});
    CHECK_FALSE(on.can_run("map.alignment"));
  }
}

}  // namespace command_list_test
