#include "app/models/starter_view.h"

#include <system_error>

#include "core/error.h"
#include "inference/language_model.h"
#include "platform/folders.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array kStarterViews = {&kCaptionsStarter, &kTranslatorStarter, &kCopyStarter};

/// Returns the bundled model, or step of a training, that the path's last names are those of.
std::optional<fs::path> bundled_like(const fs::path& path) {
  if (std::optional<fs::path> model = find_bundled_model(utf8(path.filename()))) return model;
  return find_bundled_model(utf8(path.parent_path().filename() / path.filename()));
}

bool is_bundled(const fs::path& path, std::string_view name) {
  if (path.filename() != fs::path(name).filename()) return false;
  const std::optional<fs::path> bundled = find_bundled_model(name);
  std::error_code failure;
  return bundled && fs::equivalent(path, *bundled, failure);
}

/// Returns where a model is now that isn't at its path any more; `path` where it is there, or can't be found.
std::string path_now(const std::string& path) {
  std::error_code failure;
  if (fs::exists(path, failure)) return path;
  if (const std::optional<fs::path> bundled = bundled_like(path)) return bundled->string();
  try {  // a name as on the Hugging Face hub, whose cache may have the model
    return utf8(fs::absolute(inference::find_model(path)).lexically_normal());
  } catch (const Error&) {  // opening it says what is missing
    return path;
  }
}

}  // namespace

const StarterView* find_starter_view(const inference::LanguageModel& model) {
  for (const StarterView* starter : kStarterViews) {
    if (is_bundled(model.path, starter->model)) return starter;
  }
  return nullptr;
}

void select_first_head(State& state, const inference::LanguageModel& model) {
  state.selection = {};
  if (const StarterView* starter = find_starter_view(model)) {
    state.selection.block = starter->block;
    state.selection.head = starter->head;
  } else if (model.description.is_encoder_decoder && model.description.decoder_layers > 0) {
    state.selection.block = {.kind = model::BlockKind::Cross, .layer = {model.description.decoder_layers - 1}};
  }
}

FirstState first_state(ModelCache& models) {
  FirstState first;
  const std::optional<fs::path> path = find_bundled_model(kCaptionsStarter.model);
  if (!path) {
    first.warning = fmt::format("The bundled model {} isn't installed, so this is the playground with random weights",
                                kCaptionsStarter.model);
    return first;
  }
  try {
    first.model = models.open(*path);
    first.state.text() = kCaptionsStarter.text;
    select_model(first.state, path->string(), first.model->masks);
    select_first_head(first.state, *first.model);
  } catch (const Error& error) {
    first = {.state = {}, .model = nullptr, .warning = error.what()};
  }
  return first;
}

void find_moved_model(State& state) {
  if (Model* model = std::get_if<Model>(&state.source)) model->path = path_now(model->path);
  if (!state.compare.baseline || !is_model(state.compare.baseline->inputs.source)) return;
  BaselineRun baseline = *state.compare.baseline;
  std::string& path = std::get<Model>(baseline.inputs.source).path;
  const std::string now = path_now(path);
  if (now == path) return;
  path = now;
  state.compare.baseline = std::move(baseline);
}

namespace fs = std::filesystem;

fs::path shared_folder() {
  std::error_code failure;
  return fs::weakly_canonical(platform::program_file().parent_path() / "../share/headlight", failure);
}

std::optional<fs::path> find_bundled_model(std::string_view name) {
  fs::path path = shared_folder() / "models" / name;
  std::error_code failure;
  if (!fs::is_regular_file(path / "config.json", failure)) return std::nullopt;
  return path;
}

std::string named_model(const std::string& name) {
  std::error_code failure;
  if (name.empty() || fs::exists(name, failure)) return name;
  const std::optional<fs::path> bundled = bundled_like(name);
  return bundled ? bundled->string() : name;
}

fs::path chosen_model(const std::string& given, std::string_view bundled) {
  if (!given.empty()) return fs::absolute(inference::find_model(given)).lexically_normal();
  if (const std::optional<fs::path> found = find_bundled_model(bundled)) return *found;
  throw Error("this installation lacks the model {}: name another one with --model", bundled);
}

}  // namespace headlight::app
