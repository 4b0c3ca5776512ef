#pragma once

#include "app/commands/command.h"
#include "app/window/dialogs/command_palette.h"
#include "app/window/lessons.h"
#include "app/window/sessions.h"

namespace headlight::app {

/// The entries that Ctrl+P finds: commands, models, recent files, notebooks, examples, lessons and heads.
class Palette final : public Feature {
 public:
  Palette(Desk& desk, Models& models, Lessons& lessons, Sessions& sessions, CommandHost& host)
      : Feature(desk), models_(models), lessons_(lessons), sessions_(sessions), host_(host) {}

  const CommandPalette& list() const { return list_; }
  void open();
  bool close() override {
    const bool was_open = list_.is_open();
    list_.close();
    return was_open;
  }
  void dialog(Frame& frame) override;

 private:
  std::vector<PaletteEntry> entries();
  void add_commands(std::vector<PaletteEntry>& entries);
  void add_models(std::vector<PaletteEntry>& entries);
  void add_presets(std::vector<PaletteEntry>& entries);
  void add_examples(std::vector<PaletteEntry>& entries);
  void add_lessons(std::vector<PaletteEntry>& entries);
  void add_heads(std::vector<PaletteEntry>& entries);

  Models& models_;
  Lessons& lessons_;
  Sessions& sessions_;
  CommandHost& host_;
  CommandPalette list_;
  std::uint64_t run_ = 0;          ///< whose heads are listed
  std::size_t models_listed_ = 0;  ///< found, when it was filled
};

}  // namespace headlight::app
