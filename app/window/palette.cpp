#include "app/window/palette.h"

#include <set>

#include "app/commands/command_list.h"
#include "app/models/starter_view.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/examples.h"

namespace headlight::app {
namespace {

/// Puts the entries that were chosen last first, the newest at the top; the others keep their order.
void put_recent_first(std::vector<PaletteEntry>& entries, const std::vector<std::string>& recent) {
  auto next = entries.begin();
  for (const std::string& id : recent) {
    const auto found = std::find_if(next, entries.end(), [&](const PaletteEntry& entry) { return entry.id == id; });
    if (found == entries.end()) continue;
    found->is_recent = true;
    std::rotate(next, found, std::next(found));
    ++next;
  }
}

}  // namespace

void Palette::open() {
  if (models_.jobs().found().empty()) models_.look();
  list_.open(entries());
}

std::vector<PaletteEntry> Palette::entries() {
  run_ = desk_.result.run;
  models_listed_ = models_.jobs().found().size();
  std::vector<PaletteEntry> entries;
  add_commands(entries);
  add_models(entries);
  add_presets(entries);
  add_examples(entries);
  add_lessons(entries);
  add_heads(entries);
  put_recent_first(entries, desk_.settings.recent_choices);
  return entries;
}

void Palette::add_commands(std::vector<PaletteEntry>& entries) {
  const CommandContext context{
      .state = desk_.state, .transient = desk_.transient, .shapes = desk_.result.shapes, .window = host_};
  for (const Command& command : commands()) {
    if (command.id == "help.palette" || !is_enabled(command, context)) continue;
    const std::string object = command.object ? command.object(context) : std::string();
    entries.push_back({.id = "command " + command.id,
                       .title = object.empty() ? command.label : command.label + ": " + object,
                       .detail = command.is_checked && command.is_checked(context) ? "on" : "",
                       .words = command.words.empty() ? command.menu.label : command.menu.label + ", " + command.words,
                       .kind = command.group,
                       .keys = std::string(keys_text(command)),
                       .help = command.help,
                       .run = [this, &command] { desk_.commands.push_back(command.id); }});
  }
}

void Palette::add_models(std::vector<PaletteEntry>& entries) {
  std::set<std::string> known;
  const auto add = [&](const std::string& path, std::string name, std::string detail, const char* kind = "Model") {
    if (!known.insert(path).second) return;
    entries.push_back({.id = "model " + path,
                       .title = std::move(name),
                       .detail = std::move(detail),
                       .kind = kind,
                       .help = path,
                       .run = [this, path] { sessions_.open_recent(path); }});
  };
  for (const ListedModel& model : models_.jobs().found()) {
    if (model.problem.empty()) add(utf8(model.path), model.name, model.about());
  }
  for (const char* name : {kCaptionWriter, kTranslator}) {  // known before the search for the others has ended
    if (const std::optional<std::string>& path = desk_.catalog.bundled_model(name)) add(*path, name, "comes along");
  }
  for (const std::string& path : sessions_.recent()) add(path, utf8(std::filesystem::path(path).filename()), "", "Recent");
}

void Palette::add_presets(std::vector<PaletteEntry>& entries) {
  const auto add = [&](const std::string& name, const std::string& title, const std::string& help) {
    entries.push_back(
        {.id = "preset " + name, .title = title, .detail = name, .kind = "Notebook", .help = help, .run = [this, name] {
           desk_.undo.seal();
           select_preset(desk_.state, name);
         }});
  };
  for (const PresetInfo& preset : desk_.catalog.presets()) add(preset.name, preset.title, preset.summary);
  add("", "Playground", "A small network with random weights and every setting free.");
  entries.back().kind = "Network";
  entries.back().words = "Back to the playground";
}

void Palette::add_examples(std::vector<PaletteEntry>& entries) {
  for (const Example& example : examples_for(desk_.state)) {
    entries.push_back({.id = std::string("example ") + example.title,
                       .title = example.title,
                       .kind = "Example",
                       .help = example.text,
                       .run = [this, example] { show_example(desk_.state, example); }});
  }
  for (const WelcomeCard& card : models_.welcome_cards()) {
    const bool is_example = card.kind == WelcomeCard::Kind::Captions || card.kind == WelcomeCard::Kind::Translator;
    if (!is_example) continue;
    entries.push_back(
        {.id = "example " + card.title, .title = card.title, .kind = "Example", .help = card.summary, .run = [this, card] {
           models_.begin_with(card);
         }});
  }
}

void Palette::add_lessons(std::vector<PaletteEntry>& entries) {
  for (const Lesson& lesson : lessons_.list().lessons) {
    entries.push_back({.id = "lesson " + lesson.id,
                       .title = "Lesson: " + lesson.title,
                       .kind = "Lesson",
                       .help = lesson.summary,
                       .run = [this, id = lesson.id] { lessons_.start(id); }});
  }
}

void Palette::add_heads(std::vector<PaletteEntry>& entries) {
  if (desk_.is_arriving()) return;  // the heads on screen are another model's
  std::set<model::BlockKind> kinds;
  for (const auto& [block, shape] : desk_.result.shapes) kinds.insert(block.kind);
  for (const auto& [block, shape] : desk_.result.shapes) {
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      entries.push_back({.id = fmt::format("head {}.{}.{}", model::to_string(block.kind), block.layer.value, head),
                         .title = fmt::format("Layer {} \u00B7 head {}", block.layer.value, head),
                         .detail = fmt::format("L{}H{}", block.layer.value, head),
                         .kind = "Head",
                         .help = head_title(desk_.result, block, head),
                         .run = [this, block = block, head] {
                           select_head(desk_.state.selection, {block, head});
                           clamp_selection(desk_.state, desk_.result.shapes);
                         }});
      if (kinds.size() > 1) entries.back().title += fmt::format(" \u00B7 {}", kind_text(block.kind));
    }
  }
}

void Palette::dialog(Frame& frame) {
  if (!list_.is_open()) return;
  if (run_ != desk_.result.run || models_listed_ != models_.jobs().found().size()) list_.replace(entries());
  std::optional<PaletteEntry> choice = list_.draw(frame, models_.jobs().is_looking() ? "looking for models\u2026" : "");
  if (!choice) return;
  remember_choice(desk_.settings, choice->id);
  desk_.post(std::move(choice->run));
}

}  // namespace headlight::app
