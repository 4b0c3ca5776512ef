#include "app/state/source.h"

#include <fmt/format.h>

#include "core/utf8.h"

namespace headlight::app {
namespace {

constexpr const char* kStepsExtension = ".steps";

const std::string kNone;

}  // namespace

const std::string& notebook_name(const Source& source) {
  const Notebook* notebook = std::get_if<Notebook>(&source);
  return notebook ? notebook->name : kNone;
}

const std::string& model_path(const Source& source) {
  const Model* model = std::get_if<Model>(&source);
  return model ? model->path : kNone;
}

const std::string& capture_path(const Source& source) {
  const Capture* capture = std::get_if<Capture>(&source);
  return capture ? capture->path : kNone;
}

bool names_same(const Source& a, const Source& b) {
  if (are_linked_steps(capture_path(a), capture_path(b))) return true;
  return model_path(a) == model_path(b) && notebook_name(a) == notebook_name(b) && capture_path(a) == capture_path(b);
}

inference::Precision precision_of(const Source& source) {
  const Model* model = std::get_if<Model>(&source);
  return model ? model->precision : inference::Precision::F32;
}

std::filesystem::path linked_steps_folder(const std::filesystem::path& socket) {
  return std::filesystem::path(socket).replace_extension(kStepsExtension);
}

std::filesystem::path linked_step_path(const std::filesystem::path& folder, std::int64_t step, std::uint64_t serial) {
  return folder / fmt::format("step-{}.{}.safetensors", step, serial);
}

bool is_linked_step(const std::filesystem::path& file) {
  return file.parent_path().extension() == kStepsExtension && utf8(file.filename()).starts_with("step-");
}

bool are_linked_steps(const std::filesystem::path& a, const std::filesystem::path& b) {
  return is_linked_step(a) && is_linked_step(b) && a.parent_path() == b.parent_path();
}

std::string typed_text(const Source& source) {
  if (const auto* model = std::get_if<Model>(&source)) return model->ids.empty() ? model->text : std::string();
  const auto* playground = std::get_if<Playground>(&source);
  return playground != nullptr ? playground->text : std::string();
}

}  // namespace headlight::app
