#include "app/run_source.h"

#include <utility>

#include "inference/notebooks.h"

namespace headlight::app {
namespace {

/// Do both need the same network and input? Masks play no part, and nothing else does beside a preset.
bool have_same_source(const RunInputs& left, const RunInputs& right) {
  if (!left.preset.empty() || !right.preset.empty()) return left.preset == right.preset;
  return left.playground == right.playground && left.text == right.text && left.key_text == right.key_text;
}

}  // namespace

const RunSource::Source& RunSource::build(const RunInputs& inputs) {
  if (source_.network && have_same_source(inputs, inputs_)) return source_;
  if (inputs.preset.empty()) {
    inference::Playground playground =
        inference::make_playground(inputs.playground, inputs.text, inputs.key_text, playground_);
    playground_ = std::move(playground);
    source_ = {.network = playground_.network, .input = std::make_shared<const model::ModelInput>(playground_.input)};
  } else {
    inference::Notebook notebook = inference::make_notebook(inputs.preset);
    source_ = {.network = std::move(notebook.network),
               .input = std::make_shared<const model::ModelInput>(std::move(notebook.input))};
  }
  inputs_ = inputs;
  return source_;
}

}  // namespace headlight::app
