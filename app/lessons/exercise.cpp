#include "app/lessons/exercise.h"

#include <chrono>

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/lessons/wrong_ways.h"
#include "core/file.h"
#include "core/json.h"
#include "export/file_array.h"
#include "inference/notebook_builders.h"
#include "platform/folders.h"

namespace headlight::app {
namespace {

using attention::Stage;
using model::reference::Array;

/// What notebook 001 draws up to its masked layer: three Linear and the input of its first half, the input of its class, and
/// the four Linear of the layer before.
void become_class_of_001(inference::Notebook& notebook) {
  const inference::NotebookRecipe& recipe = inference::notebook_preset("notebook-001").recipe;
  constexpr std::uint32_t kWidth = 16;
  const std::uint32_t narrow = *recipe.d_model, heads = *recipe.heads;
  model::TorchRandom random(*recipe.seed);
  for (int drawn = 0; drawn < 3; ++drawn) random.linear(narrow, narrow);
  random.randn(notebook.input.source.vectors.shape);
  notebook.input.source.vectors = random.rand({2, 5, kWidth});
  inference::draw_weights(random, kWidth);
  model::AttentionWeights weights = inference::draw_weights(random, kWidth);
  const model::AttentionConfig config{.d_model = kWidth, .heads = heads, .d_k = kWidth / heads, .d_v = kWidth / heads};
  notebook.network = inference::encoder_network({inference::attention_layer(config, std::move(weights))});
}

void fill_with_infinity(inference::Notebook& notebook) {
  notebook.masks[model::BlockKind::EncoderSelf].fill = attention::MaskFill::NegativeInfinity;
}

constexpr std::array kExercises = {
    Exercise{"000/attention", "Two heads under a boolean mask that is filled with -1e9, merged and projected.",
             "notebook-000"},
    Exercise{"000/minus-infinity", "The same, filled with -inf: rows whose keys are all masked have weights of 0, not NaN.",
             "notebook-000", &fill_with_infinity},
    Exercise{"000/class", "The class, whose four projections are copies of one Linear; no mask, no dropout.",
             "notebook-000-class"},
    Exercise{"001/attention", "Four causal heads, filled with -inf, merged; no output projection.", "notebook-001"},
    Exercise{"001/task", "The class MultiHeadAttention: four causal heads of a width of 16, merged and projected.",
             "notebook-001", &become_class_of_001},
    Exercise{"002/encoder", "An encoder layer: four heads, padding filled with -1e10, residuals, LayerNorms, feed-forward.",
             "notebook-002"},
    Exercise{"002/decoder", "The decoder's own attention: causal, padding masked, filled with -1e10, residual, LayerNorm.",
             "notebook-002", nullptr, model::BlockKind::DecoderSelf},
    Exercise{"003/attention",
             "One causal head in numpy, from the Q, K and V that the notebook prints; scores aren't scaled.",
             "notebook-003"},
    Exercise{"003/multi-head", "Four causal heads of one fused projection, merged with a transpose and projected.",
             "notebook-003-fused"},
    Exercise{"004/attention", "One head whose values are wider than its keys; no bias, no mask.", "notebook-004"},
    Exercise{"004/heads", "Three heads with weights of their own, merged; no bias, no mask.", "notebook-004-heads"},
    Exercise{"004/encoder", "An encoder layer: two heads of width 1, residuals, LayerNorms, a feed-forward 2 to 4 to 2.",
             "notebook-004-encoder"},
};

constexpr double kWithin = 1e-5, kHidden = -1e8;
constexpr JsonLimits kPassedLimits{.bytes = 4'096, .values = 100, .depth = 4};

/// Compares numbers; those of masked cells are alike whatever they were filled with.
bool agrees(double given, double right) {
  if (given <= kHidden && right <= kHidden) return true;
  return given == right || std::abs(given - right) <= kWithin * std::max(1.0, std::abs(right));
}

bool agree(std::span<const float> given, std::span<const double> right) {
  return std::ranges::equal(given, right, [](float a, double b) { return agrees(double{a}, b); });
}

Shape without_leading_ones(Shape shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

std::string_view axes_of(Stage stage) {
  if (attention::is_map(stage)) return "[batch, head, query, key]";
  return attention::is_per_head(stage) ? "[batch, head, token, d]" : "[batch, token, d]";
}

std::vector<std::size_t> place_of(std::size_t index, const Shape& shape) {
  std::vector<std::size_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) place[axis] = index % shape[axis];
  return place;
}

/// "q, k and v"
std::string listed(const std::vector<std::string>& names) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

const Array* find(const ExerciseStages& stages, Stage stage) {
  const auto found = std::ranges::find(stages, stage, &ExerciseStages::value_type::first);
  return found == stages.end() ? nullptr : &found->second;
}

/// Stages that a name may stand for: scores before and after the scale and the mask.
std::vector<Stage> meant_by(Stage stage) {
  return stage == Stage::Scores ? std::vector{Stage::Scores, Stage::Scaled, Stage::Masked} : std::vector{stage};
}

/// Returns the reason of a wrong stage as a clause.
std::string reason_of(const Exercise& exercise, const ExerciseStages& right, Stage stage, const Array& expected,
                      const Tensor& given) {
  const auto is_like = [&](const ExerciseStages& stages) {
    return std::ranges::any_of(meant_by(stage), [&](Stage meant) {
      const Array* array = find(stages, meant);
      return array && agree(given.values, array->values);
    });
  };
  std::vector<std::string_view> mistakes;  // several may give the same numbers, such as scales where d_k is √d_model
  for (const WrongWay& way : wrong_ways()) {
    if (is_like(stages_by(exercise, way, right))) mistakes.push_back(way.says);
  }
  if (!mistakes.empty()) return fmt::format("{}", fmt::join(mistakes, ", or "));
  for (const auto& [other, array] : right) {
    if (other != stage && agree(given.values, array.values))
      return fmt::format("these are the numbers of {}", to_string(other));
  }
  std::size_t first = given.values.size(), count = 0;
  for (std::size_t i = 0; i < given.values.size(); ++i) {
    if (agrees(double{given.values[i]}, expected.values[i])) continue;
    first = std::min(first, i);
    ++count;
  }
  return fmt::format("{} of {} numbers differ, the first at {}: {:.6g} instead of {:.6g}", count, given.values.size(),
                     place_of(first, given.shape), given.values[first], expected.values[first]);
}

/// Returns why an array can't be compared, as a sentence; empty: it can.
std::string trouble_of(const Tensor& given, const std::string& name, const Array& right) {
  const auto odd = std::ranges::find_if(given.values, [](float value) { return std::isnan(value); });
  if (odd == given.values.end()) return {};
  const auto index = static_cast<std::size_t>(odd - given.values.begin());
  const std::size_t row = index - index % right.shape.back();
  const bool is_empty_row = std::ranges::all_of(std::span(right.values).subspan(row, right.shape.back()),
                                                [](double value) { return value == 0.0; });
  return fmt::format("{} has {} NaN, the first at {}{}.", name,
                     std::ranges::count_if(given.values, [](float value) { return std::isnan(value); }),
                     place_of(index, given.shape),
                     is_empty_row ? ": all keys of that row are masked with -inf, so that softmax divides 0 by 0" : "");
}

}  // namespace

inference::Notebook Exercise::notebook() const {
  inference::Notebook notebook = inference::make_notebook(preset);
  if (change) change(notebook);
  return notebook;
}

std::span<const Exercise> exercises() { return kExercises; }

const Exercise& exercise(std::string_view name) {
  const auto found = std::ranges::find(kExercises, name, &Exercise::name);
  if (found != kExercises.end()) return *found;
  std::vector<std::string_view> names;
  for (const Exercise& one : kExercises) names.push_back(one.name);
  throw Error("there is no exercise '{}': choose from {}", name, fmt::join(names, ", "));
}

ExerciseStages stages_of(const Exercise& exercise) { return stages_by(exercise, {}, {}); }

void write_inputs(const Exercise& exercise, const std::filesystem::path& path) {
  const inference::Notebook notebook = exercise.notebook();
  const ExerciseStages stages = stages_of(exercise);
  const model::BlockRef block{.kind = exercise.kind};
  const std::string prefix = inference::block_prefix(*notebook.network->layers, block);
  std::vector<Tensor> tensors;
  std::vector<exporting::FileArray> arrays;
  const auto add = [&](std::string name, Tensor tensor) {
    arrays.push_back(exporting::array_of(std::move(name), std::move(tensor)));
  };
  for (inference::NotebookMatrix& matrix : inference::notebook_matrices(*notebook.network, notebook.input)) {
    if (matrix.name == "x" || (!prefix.empty() && !matrix.name.starts_with(prefix))) continue;
    add(matrix.name.substr(prefix.size()), std::move(matrix.tensor));
  }
  if (Array x = input_of(exercise); !x.values.empty()) add("x", Tensor(x.shape, {x.values.begin(), x.values.end()}));
  const Shape& map = find(stages, Stage::Weights)->shape;
  const auto rules = inference::reference_rules(*notebook.network, notebook.input, notebook.masks, {});
  Tensor mask(map);
  for (std::uint32_t i = 0; i < mask.values.size(); ++i) {
    const std::vector<std::size_t> at = place_of(i, map);
    const auto index = [&](std::size_t axis) { return static_cast<std::uint32_t>(at[axis]); };
    mask.values[i] = rules.is_visible(block, index(0), index(1), index(2), index(3)) ? 1.0F : 0.0F;
  }
  add("mask", std::move(mask));
  const auto file = exporting::open_safetensors(path, arrays, {{"exercise_inputs", std::string(exercise.name)}});
  while (const auto part = file->next()) {
    std::string bytes;
    arrays[part->array].read(part->part, bytes);
    file->append(bytes);
  }
  file->finish();
}

ExerciseVerdict check_exercise(const Exercise& exercise, const model::SafetensorsFile& solution) {
  const ExerciseStages right = stages_of(exercise);
  const std::string result(to_string(right.back().first));
  std::map<std::string, std::string, std::less<>> names;  // of the stages' arrays in the file
  for (const model::StoredTensor& tensor : solution.tensors().all()) {
    std::string name = tensor.name.ends_with(".0") ? tensor.name.substr(0, tensor.name.size() - 2) : tensor.name;
    if (name == "attention") name = "weights";
    if (name == "output" && !find(right, Stage::Output)) name = result;
    names[name] = tensor.name;
  }
  std::vector<std::string> known;
  for (const auto& [stage, array] : right) known.emplace_back(to_string(stage));
  for (const auto& [name, stored] : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw Error("{} has no stage '{}'; its stages are {}", exercise.name, model::printable(name), fmt::join(known, ", "));
  }
  if (names.empty())
    throw Error("{}: there is nothing to compare; give at least one of {}", exercise.name, fmt::join(known, ", "));
  ExerciseVerdict verdict;
  for (const auto& [stage, array] : right) {
    const auto name = names.find(to_string(stage));
    if (name == names.end()) continue;
    const Shape& shape = solution.shape(name->second);
    verdict.wrong = name->first;
    if (without_leading_ones(shape) != without_leading_ones(array.shape)) {
      const bool is_split = attention::is_per_head(stage) && element_count(shape) == array.values.size();
      verdict.says = fmt::format("{} has the shape {}, expected {}: {}{}.", name->first, headlight::to_string(shape),
                                 headlight::to_string(array.shape), axes_of(stage),
                                 is_split ? "; reshape into heads first, then transpose" : "");
      return verdict;
    }
    const Tensor given = solution.tensor(name->second);
    verdict.says = trouble_of(given, name->first, array);
    if (!verdict.says.empty()) return verdict;
    const std::vector<Stage> meant = meant_by(stage);
    const bool is_right =
        std::ranges::any_of(meant, [&](Stage one) { return agree(given.values, find(right, one)->values); });
    if (!is_right) {
      const std::string reason = reason_of(exercise, right, stage, array, given);
      verdict.says = fmt::format("Wrong: {} \u2013 {}.", name->first, reason);
      if (!verdict.right.empty()) verdict.says = fmt::format("Right: {}. {}", listed(verdict.right), verdict.says);
      return verdict;
    }
    verdict.right.push_back(name->first);
  }
  verdict.wrong.clear();
  verdict.is_passed = verdict.right.back() == result;
  verdict.says = verdict.is_passed
                     ? fmt::format("Right: {}, within {:g} of {}.", listed(verdict.right), kWithin, exercise.preset)
                     : fmt::format("Right so far: {}. Give {} too.", listed(verdict.right), result);
  return verdict;
}

std::string exercise_of(const std::filesystem::path& file) {
  if (file.extension() != ".safetensors") return {};
  try {
    const model::SafetensorsFile solution(file);
    const auto found = solution.metadata().find("exercise");
    return found == solution.metadata().end() ? "" : found->second;
  } catch (const Error&) {  // opening it as something else says what is wrong
    return {};
  }
}

std::filesystem::path result_file(std::string_view name) {
  std::string file(name), trouble;
  std::ranges::replace(file, '/', '-');
  const std::filesystem::path folder = platform::user_folder(platform::UserFolder::State, trouble);
  return folder.empty() ? folder : folder / "headlight" / "exercises" / (file + ".json");
}

ExerciseVerdict take_solution(std::string_view name, const std::filesystem::path& file) {
  const Exercise& asked = exercise(name);
  ExerciseVerdict verdict = check_exercise(asked, model::SafetensorsFile(file));
  const std::filesystem::path path = result_file(asked.name);
  if (!verdict.is_passed || path.empty()) return verdict;
  const std::string now = fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()));
  const nlohmann::ordered_json result = {
      {"headlight_exercise", 1}, {"exercise", asked.name}, {"stages", verdict.right}, {"passed", now}};
  write_private_file(path, to_text(result) + "\n");
  return verdict;
}

bool is_exercise_passed(std::string_view name) {
  try {
    const std::filesystem::path path = result_file(name);
    std::error_code failure;
    if (path.empty() || !std::filesystem::exists(path, failure)) return false;
    const nlohmann::json result = read_json(path, kPassedLimits);
    return result.is_object() && result.value("headlight_exercise", 0) == 1 && result.value("exercise", "") == name;
  } catch (const std::exception&) {  // a damaged file says nothing
    return false;
  }
}

}  // namespace headlight::app
