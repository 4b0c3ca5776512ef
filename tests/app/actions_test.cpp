#include "app/commands/actions.h"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

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

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("no key does two things") {
    std::set<std::tuple<shell::Key, bool, bool, bool>> seen;
    for (const Shortcut& shortcut : shortcuts()) {
      CAPTURE(shortcut.keys);
      const shell::Modifiers& modifiers = shortcut.modifiers;
      CHECK(seen.insert({shortcut.key, modifiers.control, modifiers.shift, modifiers.alt}).second);
      CHECK_FALSE(shortcut.label.empty());
    }
    CHECK(keys_of(Action::Redo) == "Ctrl+Y");
    CHECK(keys_of(Action::ShowAbout).empty());
  }

  TEST_CASE("layers go on from the encoder through the decoder to the cross-attention") {
    State state;
    for (int i = 0; i < 3; ++i) CHECK(apply_action(Action::NextLayer, state, shapes()));
    CHECK(state.selection.block.kind == model::BlockKind::Cross);
    apply_action(Action::NextLayer, state, shapes());
    CHECK(state.selection.block.kind == model::BlockKind::Cross);
    for (int i = 0; i < 2; ++i) apply_action(Action::PreviousLayer, state, shapes());
    CHECK(state.selection.block == model::BlockRef{model::BlockKind::EncoderSelf, {1}});
  }

  TEST_CASE("moving without a run changes nothing") {
    State state;
    const State before = state;
    for (const Action action : {Action::NextHead, Action::NextLayer, Action::PreviousItem}) apply_action(action, state, {});
    CHECK(state == before);
  }

  TEST_CASE("masks are those of the selected kind") {
    State state;
    state.selection.block.kind = model::BlockKind::Cross;
    apply_action(Action::ToggleCausal, state, shapes());
    CHECK(state.masks[model::BlockKind::Cross].rule.causal);
    CHECK_FALSE(state.masks[model::BlockKind::EncoderSelf].rule.causal);
    apply_action(Action::ResetMasks, state, shapes());
    CHECK(state.masks == attention::MaskSet{});
  }

  TEST_CASE("the interface grows and shrinks within its limits and comes back") {
    State state;
    for (int i = 0; i < 40; ++i) apply_action(Action::LargerUi, state, {});
    CHECK(state.view.ui_scale == 4.0F);
    for (int i = 0; i < 40; ++i) apply_action(Action::SmallerUi, state, {});
    CHECK(state.view.ui_scale == 0.5F);
    apply_action(Action::ResetUiScale, state, {});
    CHECK(state.view.ui_scale == 0.0F);
  }

  TEST_CASE("what isn't a matter of the state is left to the window") {
    State state;
    const State before = state;
    for (const Action action : {Action::Undo, Action::Export, Action::Quit, Action::ShowShortcuts, Action::Dismiss}) {
      CHECK_FALSE(apply_action(action, state, shapes()));
    }
    CHECK(state == before);
  }
}
