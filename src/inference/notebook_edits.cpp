#include "inference/notebook_edits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/tensor.h"
#include "core/utf8.h"
#include "inference/notebooks.h"

namespace headlight::inference {
namespace {

constexpr std::array<std::string_view, 6> kRecipeNames = {"sentence", "d_model", "heads", "d_k", "d_v", "seed"};
constexpr std::size_t kMaxNameBytes = 40;  // of a user's word in a message
constexpr std::size_t kMaxNamedCells = 3;  // of one matrix; more are counted

/// A matrix of a network or an input: of one of both.
struct EditPlace {
  std::string name;
  model::Parameter* parameter = nullptr;
  Tensor* tensor = nullptr;

  Tensor numbers() const { return parameter != nullptr ? parameter->tensor() : *tensor; }
};

/// A notebook's network and input as values that can be changed.
struct EditableParts {
  model::Embedding source, target;
  model::Layers layers;
  model::ModelInput input;

  EditableParts(const model::Network& network, const model::ModelInput& of_input)
      : layers(*network.layers), input(of_input) {
    if (network.source_embedding) source = *network.source_embedding;
    if (network.target_embedding) target = *network.target_embedding;
  }
};

class EditPlaces {
 public:
  explicit EditPlaces(EditableParts& parts) {
    add_embedding("", parts.source);
    add("x", parts.input.source.vectors);
    if (parts.input.qkv) {
      add("q", parts.input.qkv->query);
      add("k", parts.input.qkv->key);
      add("v", parts.input.qkv->value);
    }
    const auto prefix = [&](model::BlockKind kind, std::size_t layer) {
      return block_prefix(parts.layers, {.kind = kind, .layer = LayerIndex{static_cast<std::uint32_t>(layer)}});
    };
    for (std::size_t i = 0; i < parts.layers.encoder.size(); ++i)
      add_layer(prefix(model::BlockKind::EncoderSelf, i), parts.layers.encoder[i]);
    add_embedding("target_", parts.target);
    for (std::size_t i = 0; i < parts.layers.decoder.size(); ++i) {
      model::DecoderLayer& layer = parts.layers.decoder[i];
      if (layer.self) add_layer(prefix(model::BlockKind::DecoderSelf, i), *layer.self);
      add_layer(prefix(model::BlockKind::Cross, i), layer.cross);
    }
    if (parts.layers.unembedding) add("unembedding", "unembedding_bias", parts.layers.unembedding->linear);
  }

  const std::vector<EditPlace>& all() const { return places_; }

 private:
  void add(std::string name, model::Parameter& parameter) {
    if (!parameter.is_empty()) places_.push_back({.name = std::move(name), .parameter = &parameter});
  }
  void add(std::string name, Tensor& tensor) {
    if (!tensor.is_empty()) places_.push_back({.name = std::move(name), .tensor = &tensor});
  }
  void add(std::string weight, std::string bias, model::Linear& linear) {
    add(std::move(weight), linear.weight);
    add(std::move(bias), linear.bias);
  }
  void add_norm(const std::string& name, std::optional<model::Norm>& norm) {
    if (!norm) return;
    add(name, norm->weight);
    add(name + "_bias", norm->bias);
  }
  void add_embedding(const std::string& prefix, model::Embedding& embedding) {
    add(prefix + "embedding", embedding.table);
    add(prefix + "positions", embedding.positions);
  }
  void add_layer(const std::string& prefix, model::AttentionLayer& layer) {
    if (layer.weights) {
      add(prefix + "w_q", prefix + "b_q", layer.weights->query);
      add(prefix + "w_k", prefix + "b_k", layer.weights->key);
      add(prefix + "w_v", prefix + "b_v", layer.weights->value);
      if (layer.weights->output) add(prefix + "w_o", prefix + "b_o", *layer.weights->output);
    }
    add_norm(prefix + "norm_after_attention", layer.norms.after);
    if (layer.feed_forward) {
      add(prefix + "ffn_in", prefix + "ffn_in_bias", layer.feed_forward->in);
      add(prefix + "ffn_out", prefix + "ffn_out_bias", layer.feed_forward->out);
    }
    add_norm(prefix + "norm_after_ffn", layer.feed_forward_norms.after);
  }

  std::vector<EditPlace> places_;
};

Shape without_leading_ones(const Shape& shape) {
  const auto first = std::ranges::find_if(shape, [](std::uint32_t size) { return size != 1; });
  const auto kept =
      std::min(static_cast<std::ptrdiff_t>(first - shape.begin()), std::max<std::ptrdiff_t>(std::ssize(shape) - 2, 0));
  return {shape.begin() + kept, shape.end()};
}

/// "[2,1]" of a row-major index.
std::string indices_text(const Shape& shape, std::uint32_t index) {
  std::vector<std::uint32_t> indices(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(indices, ","));
}

/// The index of "v[2,1]". Throws Error.
std::uint32_t cell_index(const Shape& shape, std::string_view name) {
  const std::size_t bracket = name.find('[');
  const Result<Tensor> indices = read_tensor_text(name.substr(bracket));
  bool fits = indices && indices->shape == Shape{static_cast<std::uint32_t>(shape.size())};
  std::uint32_t index = 0;
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    const float at = indices->values[axis];
    fits = at >= 0.0F && at < static_cast<float>(shape[axis]) && at == std::floor(at);
    if (fits) index = index * shape[axis] + static_cast<std::uint32_t>(at);
  }
  if (!fits) {
    throw Error("{} is no cell of {}, which has the shape {}; indices count from 0", one_line(name, kMaxNameBytes),
                matrix_title(name.substr(0, bracket)), to_string(shape));
  }
  return index;
}

float one_number(std::string_view text) {
  const Result<Tensor> read = read_tensor_text(text);
  if (!read) throw Error("{}", read.error());
  if (read->values.size() != 1) throw Error("expected one number, found {}", read->values.size());
  return read->values[0];
}

/// Is the name one of a recipe's? Then it takes the text. Limits are checked where the notebook is made.
bool set_recipe(NotebookRecipe& recipe, std::string_view name, std::string_view text) {
  bool is_known = name == "sentence";
  if (is_known) recipe.sentence = text;
  for_each_number([&](std::string_view number, auto member, auto /*least*/, auto /*most*/) {
    if (name != number) return;
    is_known = true;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), (recipe.*member).emplace());
    if (error != std::errc() || end != text.data() + text.size())
      throw Error("{}: expected a whole number, found '{}'", name, one_line(text, kMaxNameBytes));
  });
  return is_known;
}

void add_words(const std::string& name, const MatrixEdit& edit, std::vector<std::string>& words) {
  const std::string title = matrix_title(name);
  if (edit.cells.size() > kMaxNamedCells) {
    const bool is_whole = edit.cells.size() == element_count(edit.shape);
    words.push_back(is_whole ? title + " pasted" : fmt::format("{} numbers of {} typed", edit.cells.size(), title));
    return;
  }
  for (const auto& [index, value] : edit.cells) words.push_back(title + indices_text(edit.shape, index) + " typed");
}

}  // namespace

std::vector<NotebookMatrix> notebook_matrices(const model::Network& network, const model::ModelInput& input) {
  EditableParts parts(network, input);
  std::vector<NotebookMatrix> matrices;
  const EditPlaces places(parts);
  for (const EditPlace& place : places.all()) {
    Tensor numbers = place.numbers();
    numbers.shape = without_leading_ones(numbers.shape);
    matrices.push_back({.name = place.name, .tensor = std::move(numbers)});
  }
  return matrices;
}

std::string block_prefix(const model::Layers& layers, model::BlockRef block) {
  if (block.kind != model::BlockKind::EncoderSelf)
    return fmt::format("decoder.{}.{}.", block.layer.value, block.kind == model::BlockKind::Cross ? "cross" : "self");
  const bool is_single = layers.encoder.size() == 1 && layers.decoder.empty();
  return is_single ? std::string() : fmt::format("encoder.{}.", block.layer.value);
}

std::string cell_name(std::string_view matrix, const Shape& shape, std::span<const std::uint32_t> indices) {
  return fmt::format("{}[{}]", matrix, fmt::join(indices.last(without_leading_ones(shape).size()), ","));
}

void apply_matrices(std::string_view name, const std::map<std::string, MatrixEdit>& matrices, Notebook& notebook) {
  if (matrices.empty()) return;
  EditableParts parts(*notebook.network, notebook.input);
  const EditPlaces places(parts);
  for (const auto& [matrix, edit] : matrices) {
    const auto place = std::ranges::find(places.all(), matrix, &EditPlace::name);
    if (place == places.all().end()) {
      std::vector<std::string_view> names;
      for (const EditPlace& known : places.all()) names.push_back(known.name);
      throw Error("{} has no matrix '{}': choose from {}", name, matrix, fmt::join(names, ", "));
    }
    Tensor numbers = place->numbers();
    const Shape shape = without_leading_ones(numbers.shape);
    if (shape != edit.shape) {
      throw Error("{} was typed for the shape {} and has {} now: type it again, or go back to the notebook's numbers",
                  matrix_title(matrix), to_string(edit.shape), to_string(shape));
    }
    for (const auto& [index, value] : edit.cells) numbers.values.at(index) = value;
    if (place->parameter != nullptr) {
      *place->parameter = std::move(numbers);
    } else {
      *place->tensor = std::move(numbers);
    }
  }
  model::Network network = *notebook.network;
  if (network.source_embedding) network.source_embedding = std::make_shared<model::Embedding>(std::move(parts.source));
  if (network.target_embedding) network.target_embedding = std::make_shared<model::Embedding>(std::move(parts.target));
  network.layers = std::make_shared<model::Layers>(std::move(parts.layers));
  notebook.network = std::make_shared<model::Network>(std::move(network));
  notebook.input = std::move(parts.input);
}

void set_matrix(NotebookEdits& edits, const NotebookMatrix& own, std::span<const float> values) {
  MatrixEdit edit{.shape = own.tensor.shape};
  for (std::uint32_t i = 0; i < own.tensor.values.size(); ++i) {
    if (values[i] != own.tensor.values[i]) edit.cells[i] = values[i];
  }
  std::size_t others = 0;
  for (const auto& [name, other] : edits.matrices) others += name == own.name ? 0 : other.cells.size();
  if (edit.cells.size() + others > kMaxEditedNumbers) {
    throw Error("{} numbers of {} differ from the notebook's; at most {} numbers can be changed", edit.cells.size(),
                matrix_title(own.name), kMaxEditedNumbers - others);
  }
  if (edit.cells.empty()) {
    edits.matrices.erase(own.name);
  } else {
    edits.matrices[own.name] = std::move(edit);
  }
}

std::vector<float> read_matrix(const NotebookMatrix& own, std::string_view text) {
  Result<Tensor> read = read_tensor_text(text);
  if (!read) throw Error("{}", read.error());
  Tensor numbers = std::move(read).value();
  const Shape shape = without_leading_ones(numbers.shape), &own_shape = own.tensor.shape;
  const bool is_row = own_shape.size() == 1 && numbers.values.size() == own_shape[0] && shape.back() == own_shape[0];
  if (shape != own_shape && !is_row) {
    throw Error("{} has the shape {}, the text {}", matrix_title(own.name), to_string(own_shape), to_string(shape));
  }
  return std::move(numbers.values);
}

bool names_matrix(std::string_view name) {
  return name.find('[') == std::string_view::npos && std::ranges::find(kRecipeNames, name) == kRecipeNames.end();
}

void set_by_name(NotebookEdits& edits, std::string_view preset, std::string_view name, std::string_view text) {
  if (set_recipe(edits.recipe, name, text)) return;
  const std::size_t bracket = name.find('[');
  const std::string_view matrix = name.substr(0, bracket);
  const Notebook own = make_notebook(preset, {.recipe = edits.recipe});
  const std::vector<NotebookMatrix> matrices = notebook_matrices(*own.network, own.input);
  const auto found = std::ranges::find(matrices, matrix, &NotebookMatrix::name);
  if (found == matrices.end()) {
    std::vector<std::string_view> names(kRecipeNames.begin(), kRecipeNames.end());
    for (const NotebookMatrix& known : matrices) names.push_back(known.name);
    throw Error("{} has no '{}': choose from {}", preset, one_line(matrix, kMaxNameBytes), fmt::join(names, ", "));
  }
  if (bracket == std::string_view::npos) return set_matrix(edits, *found, read_matrix(*found, text));
  std::vector<float> values = found->tensor.values;
  const auto earlier = edits.matrices.find(found->name);
  if (earlier != edits.matrices.end()) {
    for (const auto& [index, value] : earlier->second.cells) values.at(index) = value;
  }
  values[cell_index(found->tensor.shape, name)] = one_number(text);
  set_matrix(edits, *found, values);
}

std::vector<std::string> words_of(const NotebookEdits& edits) {
  std::vector<std::string> words;
  const NotebookRecipe& recipe = edits.recipe;
  if (recipe.sentence) words.emplace_back("sentence typed");
  for_each_number([&](std::string_view name, auto member, auto /*least*/, auto /*most*/) {
    if (!(recipe.*member)) return;
    const auto number = *(recipe.*member);
    words.push_back(name != "heads" ? fmt::format("{} {}", name, number)
                                    : fmt::format("{} {}", number, number == 1 ? "head" : "heads"));
  });
  for (const auto& [name, edit] : edits.matrices) add_words(name, edit, words);
  return words;
}

std::string matrix_title(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view place = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  std::string title(dot == std::string_view::npos ? name : name.substr(dot + 1));
  const auto upper = [](char& c) { c = static_cast<char>(c - 'a' + 'A'); };
  if (title.size() == 1) upper(title[0]);
  if (title.size() == 3 && title[1] == '_') {
    if (title[0] == 'w') upper(title[0]);
    upper(title[2]);
  }
  return place.empty() ? title : fmt::format("{} {}", place, title);
}

}  // namespace headlight::inference
