#include "app/run_source.h"

#include <string>
#include <utility>
#include <vector>

#include "inference/notebooks.h"

namespace headlight::app {
namespace {

/// Do both need the same network and input? Masks and gains play no part, and nothing else does beside a preset.
bool have_same_source(const RunInputs& left, const RunInputs& right) {
  if (!left.model.path.empty() || !right.model.path.empty()) {
    return left.model == right.model && left.text == right.text;
  }
  if (!left.preset.empty() || !right.preset.empty()) return left.preset == right.preset;
  return left.playground == right.playground && left.text == right.text && left.key_text == right.key_text;
}

/// None for an empty text: that side isn't given.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  if (text.empty()) return lines;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return lines;
    begin = end + 1;
  }
}

}  // namespace

inference::PromptText prompt_text(const RunInputs& inputs) {
  inference::PromptText text;
  text.ids = inputs.model.ids;
  text.target_ids = inputs.model.target_ids;
  if (text.ids.empty()) {
    text.lines = lines_of(inputs.text);
    if (text.lines.empty()) text.lines.emplace_back();
    text.pair_lines = lines_of(inputs.model.pair_text);
    if (!text.pair_lines.empty()) text.pair_lines.resize(text.lines.size());
  }
  if (text.target_ids.empty()) {
    text.target_lines = lines_of(inputs.model.target_text);
    if (!text.target_lines.empty()) text.target_lines.resize(text.ids.empty() ? text.lines.size() : text.ids.size());
  }
  text.adds_special = inputs.model.adds_special;
  text.padding = inputs.model.padding;
  return text;
}

const RunSource::Source& RunSource::build(const RunInputs& inputs) {
  if (source_.network && have_same_source(inputs, inputs_)) return source_;
  if (!inputs.model.path.empty()) {
    std::shared_ptr<const inference::LanguageModel> model = models_->open(inputs.model.path);
    auto prompt = std::make_shared<const inference::Prompt>(inference::make_prompt(*model, prompt_text(inputs)));
    source_ = {.network = model->network, .input = {prompt, &prompt->input}, .model = std::move(model), .prompt = prompt};
  } else if (inputs.preset.empty()) {
    inference::Playground playground =
        inference::make_playground(inputs.playground, inputs.text, inputs.key_text, playground_);
    playground_ = std::move(playground);
    source_ = {.network = playground_.network,
               .input = std::make_shared<const model::ModelInput>(playground_.input),
               .model = nullptr,
               .prompt = nullptr};
  } else {
    inference::Notebook notebook = inference::make_notebook(inputs.preset);
    source_ = {.network = std::move(notebook.network),
               .input = std::make_shared<const model::ModelInput>(std::move(notebook.input)),
               .model = nullptr,
               .prompt = nullptr};
  }
  inputs_ = inputs;
  return source_;
}

}  // namespace headlight::app
