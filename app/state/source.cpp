#include "app/state/source.h"

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

inference::Precision precision_of(const Source& source) {
  const Model* model = std::get_if<Model>(&source);
  return model ? model->precision : inference::Precision::F32;
}

}  // namespace headlight::app
