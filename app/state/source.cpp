#include "app/state/source.h"

#include "app/state/linked_step_path.h"

namespace headlight::app {
namespace {

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

}  // namespace headlight::app
