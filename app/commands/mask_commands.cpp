#include <variant>

#include "app/commands/command_list.h"
#include "app/state/map_settings.h"
#include "attention/expression.h"

namespace headlight::app {
namespace {

using shell::kControlShift;
using shell::Key;

/// Returns whose mask it is, where "the mask" would leave that open.
const char* kind_suffix(const State& state) {
  switch (state.selection.block.kind) {
    case model::BlockKind::EncoderSelf:
      return "";
    case model::BlockKind::DecoderSelf:
      return " in the decoder";
    case model::BlockKind::Cross:
      break;
  }
  return " in the cross-attention";
}

attention::MaskRule& rule(const CommandContext& context) { return selected_mask(context.state).rule; }

/// Switches the brush, which belongs to the map: where another view is shown, the map comes first and the brush is taken up.
void toggle_brush(const CommandContext& context) {
  if (context.state.view.tab != kHeadView) context.transient.paints = false;
  context.transient.paints = !context.transient.paints;
  context.state.view.tab = kHeadView;
}

/// Adds one command for each expression of the literature; what it wrote is edited in the mask's panel.
void add_expressions(std::vector<Command>& commands) {
  for (const attention::ExpressionPreset& preset : attention::expression_presets()) {
    const bool is_mask = preset.use == attention::ExpressionUse::Mask;
    std::string id = fmt::format("mask.{}", preset.name);
    std::ranges::transform(id, id.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z'   ? static_cast<char>(letter + ('a' - 'A'))
             : letter == ' ' || letter == '-' ? '_'
                                              : letter;
    });
    commands.push_back({.id = std::move(id),
                        .label = fmt::format("Formula of the {}: {}", is_mask ? "mask" : "scores", preset.name),
                        .help = std::string(preset.help),
                        .run =
                            [&preset](const CommandContext& context) {
                              auto parsed = attention::parse_expression(preset.text, preset.use);
                              attention::MaskSpec& mask = selected_mask(context.state);
                              if (auto* expression = std::get_if<attention::Expression>(&parsed))
                                set_expression(mask, preset.use, std::move(*expression));
                              if (preset.needs_later_keys) mask.rule.causal = false;
                            },
                        .tell = [&preset](const State&, bool) { return fmt::format("{}: {}", preset.name, preset.text); }});
  }
}

bool is_one_map(const CommandContext& context) { return has_run(context) && context.state.selection.mean == HeadMean::None; }
bool has_pin_on_map(const CommandContext& context) { return is_one_map(context) && context.state.view.pinned.has_value(); }
bool has_range(const CommandContext& context) { return is_one_map(context) && context.transient.range.has_value(); }

/// Masks around the pinned cell; called only while there is one.
void mask_around_pin(const CommandContext& context, BrushShape shape) {
  const attention::Cell pinned = *context.state.view.pinned;
  const PaintedMap map = context.window.selected_map();
  paint(context.state, brush_cells(shape, pinned, pinned, map), false, map);
}

/// Paints the range; called only while there is one.
void paint_range(const CommandContext& context, bool is_visible) {
  const CellRange range = *context.transient.range;
  const PaintedMap map = context.window.selected_map();
  paint(context.state, brush_cells(BrushShape::Rectangle, range.first, range.last, map), is_visible, map);
}

/// Takes up the brush with this ink.
Command ink_command(const char* id, const char* label, const char* menu_label, BrushInk ink, const char* help) {
  return {.id = id,
          .label = label,
          .help = help,
          .menu = {"Edit", menu_label, 3, "Brush puts"},
          .run =
              [ink](const CommandContext& context) {
                context.state.set(kBrush.ink, ink);
                context.state.view.tab = kHeadView;
                context.transient.paints = true;
              },
          .is_enabled = has_run,
          .is_checked =
              [ink](const CommandContext& context) { return context.transient.paints && context.state[kBrush.ink] == ink; }};
}

}  // namespace

std::vector<Command> mask_commands() {
  std::vector<Command> commands{
      {.id = "mask.causal",
       .label = "Causal mask on or off",
       .help = "Whether a query sees only keys up to its own position.",
       .keys = {{Key::C, {}, "C"}},
       .run = [](const CommandContext& context) { rule(context).causal ^= true; },
       .is_checked = [](const CommandContext& context) { return rule(context).causal; },
       .tell =
           [](const State& after, bool) {
             return fmt::format("Causal mask {}{}", selected_mask(after).rule.causal ? "on" : "off", kind_suffix(after));
           }},
      {.id = "mask.padding",
       .label = "Padding mask on or off",
       .help = "Whether padding is kept from being attended to.",
       .keys = {{Key::P, {}, "P"}},
       .run = [](const CommandContext& context) { rule(context).key_padding ^= true; },
       .is_checked = [](const CommandContext& context) { return rule(context).key_padding; },
       .tell =
           [](const State& after, bool) {
             return fmt::format("Padding mask {}{}", selected_mask(after).rule.key_padding ? "on" : "off",
                                kind_suffix(after));
           }},
      {.id = "mask.paint",
       .label = "Take up the brush, or lay it down",
       .help = "Turns the brush on or off: with it the mask is painted onto the map.",
       .keys = {{Key::B, {}, "B"}},
       .menu = {"Edit", "Paint the mask", 3},
       .run = toggle_brush,
       .is_checked = [](const CommandContext& context) { return context.transient.paints; }},
      {.id = "mask.hide_key",
       .label = "Hide the pinned cell's key from every query",
       .help = "Masks the pinned cell's column: the token gives nothing to any token.",
       .menu = {"Edit", "The pinned cell's column", 3, "Mask"},
       .menus_of = kOfCell,
       .run = [](const CommandContext& context) { mask_around_pin(context, BrushShape::Column); },
       .is_enabled = has_pin_on_map},
      {.id = "mask.blind_query",
       .label = "Hide every key from the pinned cell's query",
       .help = "Masks the pinned cell's row: the token receives nothing from any token.",
       .menu = {"Edit", "The pinned cell's row", 3, "Mask"},
       .menus_of = kOfCell,
       .run = [](const CommandContext& context) { mask_around_pin(context, BrushShape::Row); },
       .is_enabled = has_pin_on_map},
      {.id = "mask.hide_range",
       .label = "Mask the chosen range",
       .help = "Masks the rectangle that was chosen by dragging over the map.",
       .menu = {"Edit", "The chosen range", 3, "Mask", 1},
       .menus_of = kOfRange,
       .run = [](const CommandContext& context) { paint_range(context, false); },
       .is_enabled = has_range},
      {.id = "mask.show_range",
       .label = "Show the chosen range",
       .help = "Shows every cell of the rectangle that was chosen by dragging over the map, also later tokens.",
       .menu = {"Edit", "Show the chosen range", 3, "Mask", 1},
       .menus_of = kOfRange,
       .run = [](const CommandContext& context) { paint_range(context, true); },
       .is_enabled = has_range},
      {.id = "mask.part_documents",
       .label = "Make documents of what separator tokens part",
       .help = "A token sees only tokens of its own document; documents begin after separators such as </s>.",
       .menu = {"Edit", "Documents after separators", 3, "Mask", 2},
       .run =
           [](const CommandContext& context) {
             attention::set_documents(selected_mask(context.state), context.state.selection.batch,
                                      context.window.selected_map().behind_separators);
           },
       .is_enabled = has_run,
       .tell = [](const State& after, bool) -> std::string {
         const auto& documents = selected_mask(after).documents;
         const bool has_some = documents && documents->contains(after.selection.batch);
         if (!has_some) return "The text has no separators: right click on a token to begin a document there";
         return fmt::format("{} documents", documents->at(after.selection.batch).size() + 1);
       }},
      {.id = "mask.join_documents",
       .label = "Join all documents",
       .help = "Every token sees those of all documents again.",
       .menu = {"Edit", "Join documents", 3, "Mask", 2},
       .run =
           [](const CommandContext& context) {
             attention::set_documents(selected_mask(context.state), context.state.selection.batch, {});
           },
       .is_enabled = [](const CommandContext& context) { return selected_mask(context.state).documents.has_value(); }},
      ink_command("mask.paint_mask", "The brush puts masks", "Masks", BrushInk::Mask,
                  "The brush masks cells, or shows masked ones again."),
      ink_command("mask.paint_bias", "The brush puts biases", "Biases", BrushInk::Bias,
                  "The brush adds a bias to the scores of cells, or takes it away."),
      ink_command("mask.paint_pattern", "The brush paints the head's pattern", "The head's pattern", BrushInk::Pattern,
                  "The brush paints weights that take the place of the head's own."),
      {.id = "mask.reset",
       .label = "Reset the masks",
       .help = "Puts all masks back to what the model was trained with.",
       .keys = {{Key::R, kControlShift, "Ctrl+Shift+R"}},
       .menu = {"Edit", "Reset masks", 2},
       .run = [](const CommandContext& context) { reset_masks(context.state); },
       .tell = [](const State&, bool is_changed) -> std::string {
         return is_changed ? "Masks reset" : "The masks are reset already";
       }},
  };
  add_expressions(commands);
  return commands;
}

}  // namespace headlight::app
