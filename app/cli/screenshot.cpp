#include "app/cli/subcommands.h"

#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "app/cli/export_flags.h"
#include "app/cli/output.h"
#include "app/cli/state_flags.h"
#include "app/figures/figure_settings.h"
#include "app/models/starter_view.h"
#include "app/state/map_settings.h"
#include "app/state/usage.h"
#include "app/window/viewer.h"
#include "core/text_bytes.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kSmallestSide = 200;
constexpr std::uint64_t kLargestSide = 8192;

struct ScreenshotFlags {
  ModelFlags model;
  StateFlags shown;
  ScreenshotOptions options;
};

/// Reads 1600x1000, the image's pixels, or 60mm, the longer side of a figure's maps.
void read_size(const std::string& text, ScreenshotOptions& options) {
  const std::size_t cross = text.find('x');
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const bool is_of_pixels = cross != std::string::npos && is_digit(text.back());
  if (!text.empty() && is_digit(text.front()) && !is_of_pixels) {
    options.look.put(kFigureLook.map_edge_mm, parse_edge("--size", text));
    options.is_figure = true;
    return;
  }
  if (cross == std::string::npos) throw UsageError("--size: expected WIDTHxHEIGHT as in 1600x1000, found '{}'", text);
  const auto side = [](const std::string& number) {
    return static_cast<std::uint32_t>(parse_integer("--size", number, kSmallestSide, kLargestSide));
  };
  options.width = side(text.substr(0, cross));
  options.height = side(text.substr(cross + 1));
}

/// Gives the state the looks that the window has as well, where they aren't as in a new one.
void give_look(const Choices& look, State& state) {
  const Choices usual;
  if (look[kFigureDetails.row_names] != usual[kFigureDetails.row_names])
    state.set(kMapView.row_names, look[kFigureDetails.row_names]);
  if (look[kFigureDetails.color_spread] != usual[kFigureDetails.color_spread])
    state.set(kMapView.color_spread, look[kFigureDetails.color_spread]);
  if (look[kFigureLook.is_row_normalized]) state.set(kMapView.color_range, ColorRange::PerRow);
}

void choose_what_is_shown(ScreenshotFlags& flags) {
  ScreenshotOptions& options = flags.options;
  options.models = flags.model.models();
  if (!flags.model.chooses_model()) {
    FirstState first = first_state(*options.models);
    options.state = std::move(first.state);
    options.model = std::move(first.model);
    options.warning = std::move(first.warning);
  }
  flags.model.apply(options.state);
  flags.shown.apply(options.state);
  give_look(options.look, options.state);
  State light;
  light.view.theme = Theme::Light;
  flags.shown.apply(light);
  options.look.set(kFigureDetails.is_dark, light.view.theme == Theme::Dark);  // where --theme says so
  options.lesson = flags.model.lesson();
  options.lesson_card = flags.model.lesson_card();
  options.watch_compiling = compile_bar();
}

int run_describe(ScreenshotFlags& flags) {
  choose_what_is_shown(flags);
  const std::string text = describe_view(flags.options);
  if (!output_choice().writes_json) std::cout << text;
  if (output_choice().writes_json) tell_result({}, {{"view", flags.options.state.view.tab}, {"text", text}});
  return 0;
}

int run_screenshot(ScreenshotFlags& flags) {
  ScreenshotOptions& options = flags.options;
  if (options.out.empty()) throw UsageError("--out is missing: name the .png file to write, or - for standard output");
  std::optional<PassingFile> output;
  if (options.out == kStandardInput) output.emplace(options.out = passing_place() / "headlight.png");
  constexpr std::array<std::string_view, 3> kOfView = {".svg", ".pdf", ".csv"};
  const bool is_vector = std::ranges::find(kOfView, utf8(options.out.extension())) != kOfView.end();
  if (options.out.extension() != ".png" && !is_vector) {
    throw UsageError("--out: '{}' doesn't end in .png, of a figure in .svg or .pdf, or of numbers in .csv",
                     utf8(options.out));
  }
  options.is_figure = options.is_figure || is_vector;
  check_sizes(options.look);
  check_font(options.look);
  choose_what_is_shown(flags);
  take_screenshot(options);
  if (output) print_file(*output);
  const std::string file = output ? std::string() : utf8(options.out);
  if (!output && output_choice().writes_json)
    tell_result({}, {{"file", file}, {"bytes", std::filesystem::file_size(options.out)}});
  return 0;
}

void add_shown_flags(CLI::App& command, ScreenshotFlags& flags) {
  FlagGroup(command, "Image")
      .add("--survey", "DIR", "with what `headlight survey` found, in the view Corpus and of the selected head",
           [&options = flags.options](const std::string& text) {
             options.survey = read_survey(std::filesystem::absolute(text));
           });
  flags.model.add_text_argument(command);
  flags.model.add_to(command, "--score-scale",
                     fmt::format("{}; any flag of the playground's shows that instead", kCaptionWriter));
  flags.shown.add_to(command);
  flags.model.add_lesson_flags(command);
  add_device_flag(command, flags.options.device);
  add_renderer_flag(command, flags.options.renderer);
  add_cache_flag(command, flags.options.tile_bytes);
}

}  // namespace

Subcommand add_screenshot_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "screenshot", run_screenshot);
  ScreenshotOptions& options = flags->options;
  const FlagGroup image(*command, "Image");
  image.take("-o,--out", "FILE",
             "the .png file to write, a figure as .svg or .pdf, or the numbers that the view copies as .csv; - is standard "
             "output, which gets a PNG; needed",
             options.out);
  image.turn("--figure", "the view's figure for a paper instead of the window; .svg and .pdf always are", options.is_figure);
  image.add("--size", "SIZE",
            "size of the image in pixels, WxH (default 1600x1000); or of a figure, instead of --width, the longer side of a "
            "map on paper, as 60mm",
            [&options](const std::string& text) { read_size(text, options); });
  image.take_number(
      "--scale", "S",
      "size of fonts and spacing, as on a HiDPI monitor, 0.5 to 4 (default 1, or 1.25 from 2200 pixels of width on)",
      options.scale, 0.5f, 4.0f);
  image.take("--steps", "FILE", "with the steps of a training that a window has saved (.zip)", options.steps);
  image.turn("--welcome", "with the welcome panel, as at the first start", options.shows_welcome);
  image.turn("--presentation", "in large type, as F5 shows it", options.is_presentation);
  const std::array<const AnySetting*, 3> others = {&kFigureLook.map_edge_mm, &kFigureLook.color_map,
                                                   &kFigureDetails.is_dark};
  add_look_flags(
      FlagGroup(*command, "Figures"),
      [&options](const AnySetting& setting, const SettingValue& value) {
        options.is_figure = true;
        options.look.put(setting, value);
      },
      others);
  add_shown_flags(*command, *flags);
  return made;
}

Subcommand add_describe_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "describe", run_describe);
  add_shown_flags(*command, *flags);
  return made;
}

}  // namespace headlight::app
