#include <imgui.h>

#include "app/figures/figure_kind.h"
#include "app/state/session_file.h"
#include "app/state/version.h"
#include "app/window/offscreen_viewer.h"
#include "app/window/workspace.h"
#include "core/error.h"
#include "core/file.h"

namespace headlight::app {

std::unique_ptr<exporting::Drawing> Workspace::shown_figure() const {
  std::unique_ptr<exporting::Drawing> figure = views_.figure(desk_.state);
  if (!figure) throw Error("{}", views_.says().empty() ? "this view has no figure of what it shows now" : views_.says());
  const std::optional<exporting::Rgb> ground = figure->output().ground;
  const bool is_dark = ground && ground->g < 128;
  const EngineResult& result = desk_.result;
  std::string changes = changes_on_screen(desk_.state, result);
  if (!result.input || !result.inputs) return figure;
  const Source& source = result.inputs->source;
  const std::string name = source_name(source);
  if (figure->text().find(name) == std::string::npos) changes = name + (changes.empty() ? "" : ". ") + changes;
  return exporting::with_note(
      std::move(figure),
      caption(changes, *result.input, desk_.state.selection.batch, source, desk_.state.compare.baseline.get()), is_dark);
}

std::string Workspace::describe() const {
  const View& view = find_view(desk_.state.view.tab);
  const Selection& chosen = desk_.state.selection;
  std::string text = fmt::format("# {} (Headlight {})\n\n{}\n\n", view.title, program_version(), view.help);
  if (!sentence().empty()) text += fmt::format("{}\n\n", desk_.ui.unshaped(plain_text(sentence())));
  text += shown_figure()->text();
  const FormulaSubject subject{.block = chosen.block,
                               .layer = &desk_.result.network->layer(chosen.block),
                               .head = chosen.head,
                               .mask = &desk_.state.masks[chosen.block.kind],
                               .pattern = fixed_pattern(desk_.state, chosen.block, chosen.head)};
  text += "\nFormulas:\n\n";
  for (const attention::Stage stage : view.exported(desk_.state).stages) {
    const Quantity& shown = quantity(stage);
    if (desk_.result.shapes.at(chosen.block).extent(stage))
      text += fmt::format("- {}: {}\n", shown.title, shown.formula(subject));
  }
  return text;
}

std::string Workspace::csv(glm::uvec2 size, float content_scale, double now_s) {
  desk_.transient.copies = desk_.state.view.tab;
  settle(size, content_scale, now_s);
  if (std::exchange(desk_.transient.copies, {}).empty()) return ImGui::GetClipboardText();
  throw Error("{}", views_.says().empty()
                        ? "this view copies no numbers of what it shows now; `headlight export` writes those of a run"
                        : views_.says());
}

std::vector<std::string> Workspace::write_figure(const std::filesystem::path& path, const Choices& look) const {
  const std::optional<exporting::DrawingFormat> format = exporting::drawing_format(path);
  if (!format) throw Error("'{}' doesn't end in .svg, .pdf or .png", utf8(path));
  const std::unique_ptr<exporting::Drawing> noted = on_page(*shown_figure(), desk_.state.view.tab, look);
  exporting::DrawingOutput output = noted->output();
  output.session = portable_session(desk_.state, path.parent_path());
  const auto draw = [&](exporting::Canvas& canvas) { noted->draw(canvas); };
  write_file_atomically(path, exporting::encode(noted->size(), output, *format, draw));
  return exporting::notes_of(*noted);
}

void Workspace::save_screenshot() {
  if (picture_.frames_to_wait == 0) return;
  desk_.ui.request_redraw();
  if (--picture_.frames_to_wait > 0) return;
  desk_.attempt([&] {
    std::vector<std::string> said = {fmt::format("Saved {}", utf8(picture_.path))};
    if (picture_.path.extension() != ".png") {
      std::ranges::move(write_figure(picture_.path), std::back_inserter(said));
    } else {
      const shell::PixelImage window = desk_.ui.read_pixels();
      const bool is_view = picture_.area == ScreenshotArea::View;
      write_png(picture_.path, is_view ? cropped(window, desk_.layout.center, desk_.ui.scale()) : window);
    }
    desk_.tell(fmt::format("{}", fmt::join(said, "; ")));
  });
}

}  // namespace headlight::app
