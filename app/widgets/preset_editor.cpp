#include "app/widgets/preset_editor.h"

#include <fmt/ranges.h>

#include "app/widgets/controls.h"
#include "core/error.h"
#include "core/tensor.h"

namespace headlight::app {
namespace {

using inference::NotebookEdits;
using inference::NotebookMatrix;
using inference::NotebookRecipe;

constexpr std::size_t kMaxTypedNumbers = 1'024;  // of a matrix that the field takes
constexpr const char* kSentenceHelp = "Split as the notebook splits it: commas are dropped, words are sorted and numbered.";
constexpr const char* kMatrixHelp =
    "Takes what numpy and PyTorch print, nested lists, and rows of numbers. Weights are [out, in], as PyTorch keeps them.";

/// A size of a recipe, and what the user put in its place.
struct SizeField {
  const char* name;
  const char* label;
  std::optional<std::uint32_t> NotebookRecipe::*value;
  std::uint32_t most;
  const char* help;
};
constexpr std::array kSizeFields{
    SizeField{"d_model", "d_model", &NotebookRecipe::d_model, inference::kMaxNotebookWidth,
              "Width of a token\u2019s vector."},
    SizeField{"heads", "Heads", &NotebookRecipe::heads, inference::kMaxNotebookHeads,
              "Attentions side by side in each layer."},
    SizeField{"d_k", "d_k", &NotebookRecipe::d_k, inference::kMaxNotebookWidth, "Width of a head\u2019s queries and keys."},
    SizeField{"d_v", "d_v", &NotebookRecipe::d_v, inference::kMaxNotebookWidth, "Width of a head\u2019s values."}};

/// Puts a value into the changes; one that is the notebook's own is no change.
template <typename Value>
void put(std::optional<Value>& edit, const std::optional<Value>& own, Value value) {
  edit = own == value ? std::nullopt : std::optional(std::move(value));
}

void draw_sentence_field(Frame& frame, Form& form, const NotebookRecipe& own, NotebookRecipe& recipe) {
  std::string sentence = recipe.sentence.value_or(*own.sentence);
  const shell::TextFieldOptions options{.width = form.label("Sentence", kSentenceHelp),
                                        .height = shell::text_field_height(1.0F),
                                        .most_height = shell::text_field_height(4.0F),
                                        .limit = inference::kMaxNotebookSentence};
  if (frame.ui.text_field("##preset.sentence", sentence, options)) put(recipe.sentence, own.sentence, sentence);
  mark_last_item(frame, "preset.sentence", kSentenceHelp);
}

void draw_recipe(Frame& frame, Form& form, const NotebookRecipe& own, NotebookRecipe& recipe) {
  if (own.sentence) draw_sentence_field(frame, form, own, recipe);
  for (const SizeField& field : kSizeFields) {
    const std::optional<std::uint32_t>& own_size = own.*field.value;
    if (!own_size) continue;
    std::uint32_t size = (recipe.*field.value).value_or(*own_size);
    const bool divides = field.value == &NotebookRecipe::d_model && own.heads && !own.d_k;
    const std::uint32_t step = divides ? std::max(recipe.heads.value_or(*own.heads), 1U) : 1U;
    const NumberRange range{
        .low = 1, .high = field.most, .below = size > step ? size - step : size, .above = std::min(size + step, field.most)};
    if (form.number(field.name, field.label, size, range, field.help)) put(recipe.*field.value, own_size, size);
  }
  if (!own.seed) return;
  std::uint64_t seed = recipe.seed.value_or(*own.seed);
  const NumberRange range{.below = seed > 0 ? seed - 1 : 0, .above = seed < UINT64_MAX ? seed + 1 : seed};
  if (form.number("seed", "Seed", seed, range, "Of torch.manual_seed(): what PyTorch draws with it.")) {
    put(recipe.seed, own.seed, seed);
  }
}

/// Makes the recipe's own matrices again where notebook or recipe changed.
void refresh_own(PresetEditor& editor, const std::string& name, const NotebookEdits& edits) {
  const NotebookRecipe& recipe = edits.recipe;
  if (editor.name == name && editor.recipe == recipe) return;
  editor.name = name;
  editor.recipe = recipe;
  editor.text.clear();
  editor.own.clear();
  try {
    const inference::Notebook notebook = inference::make_notebook(name, {.recipe = recipe});
    editor.own = inference::notebook_matrices(*notebook.network, notebook.input);
  } catch (const Error&) {  // the run says why
    return;
  }
  const auto is_known = [&](const NotebookMatrix& matrix) { return matrix.name == editor.matrix; };
  if (std::ranges::any_of(editor.own, is_known)) return;
  const auto is_changed = [&](const NotebookMatrix& matrix) { return edits.matrices.contains(matrix.name); };
  const auto changed = std::ranges::find_if(editor.own, is_changed);
  editor.matrix = changed == editor.own.end() ? editor.own.front().name : changed->name;
}

/// Returns the matrix with the user's numbers.
Tensor present(const NotebookMatrix& own, const NotebookEdits& edits) {
  Tensor tensor = own.tensor;
  const auto edit = edits.matrices.find(own.name);
  if (edit == edits.matrices.end() || edit->second.shape != tensor.shape) return tensor;
  for (const auto& [index, value] : edit->second.cells) tensor.values[index] = value;
  return tensor;
}

void draw_matrix(Frame& frame, Form& form, PresetEditor& editor, NotebookEdits& edits) {
  std::vector<std::string> titles;
  for (const NotebookMatrix& matrix : editor.own) {
    titles.push_back(fmt::format("{}  {}{}", inference::matrix_title(matrix.name),
                                 fmt::join(matrix.tensor.shape, " \u00D7 "),
                                 edits.matrices.contains(matrix.name) ? "  changed" : ""));
  }
  std::vector<const char*> names;
  for (const std::string& title : titles) names.push_back(title.c_str());
  auto found = std::ranges::find(editor.own, editor.matrix, &NotebookMatrix::name);
  int choice = static_cast<int>(found - editor.own.begin());
  if (form.choose("matrix", "Matrix", names, choice, kMatrixHelp)) editor.text.clear();
  found = editor.own.begin() + choice;
  editor.matrix = found->name;
  if (found->tensor.values.size() > kMaxTypedNumbers) {
    form.note(fmt::format("{} numbers are too many for a field: start with --set {}=FILE.", found->tensor.values.size(),
                          found->name));
    return;
  }
  if (editor.text.empty() || editor.shown != edits) {
    editor.text = tensor_text(present(*found, edits));
    editor.error.clear();
    editor.shown = edits;
  }
  const shell::TextFieldOptions options{.height = shell::text_field_height(2.0F),
                                        .most_height = shell::text_field_height(10.0F)};
  const bool is_edited = [&] {
    const TextStyleScope ink(frame.ui.fonts().mono, frame.ui.theme().text);
    return frame.ui.text_field("##preset.numbers", editor.text, options);
  }();
  mark_last_item(frame, "preset.numbers", kMatrixHelp);
  if (is_edited) {
    try {
      inference::set_matrix(edits, *found, inference::read_matrix(*found, editor.text));
      editor.error.clear();
      editor.shown = edits;
    } catch (const Error& error) {
      editor.error = error.what();
    }
  }
  if (!editor.error.empty()) form.warning(editor.error);
  if (found->name.find("w_") != std::string::npos) form.note("[out, in], as PyTorch keeps it; Steps draws it transposed.");
}

}  // namespace

void draw_preset_editor(Frame& frame, Form& form, PresetEditor& editor) {
  const std::string name = notebook_name(frame.state.source);
  NotebookEdits edits = notebook_edits(frame.state.source);
  const float width = ImGui::GetContentRegionAvail().x;
  if (!edits.is_empty()) {
    form.warning(fmt::format("Changed: {}", fmt::join(inference::words_of(edits), " \u00B7 ")));
    if (form.button("own_numbers", "Back to the notebook's numbers", width)) {
      edit_notebook(frame.state, {});
      return;
    }
  }
  if (!form.fold("edit", "Edit", editor.is_open, "Sentence, sizes, seed and the numbers of any matrix.")) return;
  draw_preset_fields(frame, form, editor);
  if (form.button("copy_torch", "Copy as PyTorch", width)) frame.start_command("file.copy_torch");
}

void draw_preset_fields(Frame& frame, Form& form, PresetEditor& editor) {
  const std::string name = notebook_name(frame.state.source);
  NotebookEdits edits = notebook_edits(frame.state.source);
  const NotebookRecipe& own = inference::notebook_preset(name).recipe;
  draw_recipe(frame, form, own, edits.recipe);
  if (const std::string_view fixed = inference::notebook_preset(name).fixed; !fixed.empty()) form.note(fixed);
  refresh_own(editor, name, edits);
  if (!editor.own.empty()) draw_matrix(frame, form, editor, edits);
  if (edits != notebook_edits(frame.state.source)) edit_notebook(frame.state, std::move(edits));
}

}  // namespace headlight::app
