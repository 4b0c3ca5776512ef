#include "app/widgets/tooltips.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headlight::app {
namespace {

using Line = std::pair<std::string_view, std::string_view>;

/// By name, in the order of the names' bytes. Tooltips of form fields are at the fields.
constexpr std::array kLines = {
    Line{"browser.browse", "Goes through folders to the model."},
    Line{"browser.close", "Leaves the model as it is (Esc)."},
    Line{"browser.open", "Opens what the field names."},
    Line{"browser.path", "A folder as Hugging Face writes it, a .gguf or .safetensors file, or organisation/name."},
    Line{"export.browse", "Looks for the folder."},
    Line{"export.cancel", "Stops the export; files that are finished stay."},
    Line{"export.close", "Leaves the dialog; an export that has begun goes on."},
    Line{"export.copy_figure", "Puts the selected head's figure on the clipboard, as a PNG."},
    Line{"export.folder", "The folder to write into; it is made when it isn't there."},
    Line{"export.format.csv", "Numbers with token names, for spreadsheets."},
    Line{"export.format.json", "Numbers with tokens and settings, for programs."},
    Line{"export.format.npy", "Numbers for NumPy: float32, row-major, one file a stage."},
    Line{"export.format.png", "A raster image."},
    Line{"export.format.svg", "A vector image with text, for papers."},
    Line{"export.format.tiles", "A folder for each map: PNGs with a pixel for each cell."},
    Line{"export.open_folder", "Shows the folder in the file manager."},
    Line{"export.reach.0", "The selected head of the selected layer, for the selected line."},
    Line{"export.reach.1", "All heads of the selected layer, each in a file and together on one sheet."},
    Line{"export.reach.2", "Every head of every layer and line."},
    Line{"export.stage.heads", "The head's output: weights times V."},
    Line{"export.stage.hidden", "The vectors of every token behind every layer; written as npy."},
    Line{"export.stage.k", "K: the keys, what each token offers to be found by."},
    Line{"export.stage.logits", "The scores of every token of the vocabulary at every position; written as npy."},
    Line{"export.stage.masked", "Masked scores: the fill where the mask denies."},
    Line{"export.stage.merged", "All heads side by side."},
    Line{"export.stage.output", "The layer's output, after the output projection."},
    Line{"export.stage.q", "Q: the queries, what each token looks for."},
    Line{"export.stage.scaled", "Scaled scores: raw scores times the scale."},
    Line{"export.stage.scores", "Raw scores: query times key."},
    Line{"export.stage.v", "V: the values, what each token gives."},
    Line{"export.stage.weights", "Weights: the softmax over the keys."},
    Line{"export.stage.x", "X: the vectors that go into the layer."},
    Line{"export.start", "Writes the files listed above."},
    Line{"fold.grid", "Folds the grid of heads (Ctrl+G)."},
    Line{"fold.sidebar", "Folds the panel with the text, the model and the masks (Ctrl+B)."},
    Line{"folder.back", "Goes back and keeps the folder as it was."},
    Line{"folder.up", "Goes to the folder above."},
    Line{"folder.use", "Takes the folder whose name is above."},
    Line{"generate.start", "Lets the model write on, token by token, behind the text."},
    Line{"generate.stop", "Ends the writing; what was written stays."},
    Line{"grid.kind.0", "Self-attention of the first stack."},
    Line{"grid.kind.1", "Self-attention of the decoder: its tokens look at each other."},
    Line{"grid.kind.2", "Cross-attention: the decoder's tokens look at the encoder's."},
    Line{"grid.next_line", "The next line of the batch (Page Down)."},
    Line{"grid.order.0", "Layer by layer, each with its heads from 0 on."},
    Line{"grid.order.1",
         "Concentration is the mean of the rows' largest weights: heads that look at few tokens come first."},
    Line{"grid.previous_line", "The line before of the batch (Page Up)."},
    Line{"head.gain",
         "Gain: what this head adds to the output is multiplied by it; 0 knocks the head out. Ctrl and click to type."},
    Line{"head.knock_out", "Knock out: the rest of the model goes on as if this head added nothing (K)."},
    Line{"head.mean", "One head's map, or the mean of several heads' weights."},
    Line{"head.mean.kind", "The mean of all heads of this kind of attention, over all layers."},
    Line{"head.mean.layer", "The mean of this layer's heads."},
    Line{"head.mean.none", "The selected head alone."},
    Line{"head.range.0", "Absolute: the strongest colour is the map's largest weight, so all cells can be compared."},
    Line{"head.range.1", "Per row: the strongest colour is the row's own largest weight, so weak rows show their shape."},
    Line{"head.rows.0", "Rows are named by the word that the model writes there."},
    Line{"head.rows.1", "Rows are named by the word that the model reads there, the one before the word it writes."},
    Line{"head.stage.0", "Raw scores: query times key, before the scale."},
    Line{"head.stage.1", "Scaled scores: raw scores times the scale, usually 1/\u221Ad_k."},
    Line{"head.stage.2", "Masked scores: scaled scores with the fill where the mask denies."},
    Line{"head.stage.3", "Weights: the softmax of the masked scores, what each query takes from each key."},
    Line{"head.title", "Which layer and head the map is of; arrow keys choose others."},
    Line{"help.0", "All keys, by what they do."},
    Line{"help.1", "What the words on screen mean."},
    Line{"loading.cancel", "Stops loading and keeps the model that was open."},
    Line{"mask.fill.0",
         "Masked scores become \u2212\u221E: their weight is exactly 0, and a row that is all masked has no weights."},
    Line{"mask.fill.1", "Masked scores become \u22121e9: a row that is all masked gets equal weights."},
    Line{"mask.fill.2", "Masked scores become \u22121e10: a row that is all masked gets equal weights."},
    Line{"mask.reach.0", "Painting masks cells of this head only."},
    Line{"mask.reach.1", "Painting masks cells of all heads of this layer."},
    Line{"mask.reach.2", "Painting masks cells of all heads of all layers."},
    Line{"mask.reset", "Takes back everything that was changed about the mask, painted cells too."},
    Line{"menu.Bundled models", "The trained models that come with the program."},
    Line{"menu.Colour map", "The colours from small to large weights."},
    Line{"menu.Colour range", "What the darkest or brightest colour stands for."},
    Line{"menu.Device", "The Vulkan device that computes."},
    Line{"menu.Edit", "Takes back what was done, and puts masks and gains back."},
    Line{"menu.File", "Models, exports, screenshots, and the way out."},
    Line{"menu.Help", "Where to begin, what keys and words mean, and what this program is."},
    Line{"menu.Interface scale", "How large letters and everything else are."},
    Line{"menu.Map", "Which step of the calculation the map shows."},
    Line{"menu.Next strongest cell", "Pins the cell that comes next by value."},
    Line{"menu.Order of the grid", "In which order the heads stand in the grid."},
    Line{"menu.Playground", "A small network with random weights and every setting free."},
    Line{"menu.Presets", "The playground and the notebooks' exact computations."},
    Line{"menu.View", "What is shown, in which colours and how large."},
    Line{"model.back", "Leaves the notebook for the playground, where every setting is free."},
    Line{"model.close", "Goes back to the playground and frees the device's memory."},
    Line{"model.open", "Looks for models on this computer."},
    Line{"model.scale.0", "Scores are divided by the root of a head's width, as in the paper."},
    Line{"model.scale.1", "Scores stay as they are."},
    Line{"model.scale.2", "Scores are multiplied by a number of your own."},
    Line{"notice.close", "Takes the message away (Esc)."},
    Line{"prediction.mask", "Puts the model's mask token into the text, so that it predicts the token there."},
    Line{"prediction.next", "The prediction one token later."},
    Line{"prediction.previous", "The prediction one token earlier."},
    Line{"rail.grid", "Opens the grid of heads (Ctrl+G)."},
    Line{"rail.sidebar", "Opens the panel with the text, the model and the masks (Ctrl+B)."},
    Line{"screenshot.area.0", "The window as it is without this dialog."},
    Line{"screenshot.area.1", "What is between the panels: the view under its tab."},
    Line{"screenshot.cancel", "Writes nothing (Esc)."},
    Line{"screenshot.path", "The .png file to write."},
    Line{"screenshot.save", "Writes the file; an older one of that name is replaced."},
    Line{"section.mask", "Folds or opens the mask: which tokens may see which."},
    Line{"section.model", "Folds or opens the model and its settings."},
    Line{"section.text", "Folds or opens the text and its tokens."},
    Line{"status.reset.button", "Puts masks and heads back to what the model was trained with."},
    Line{"text.examples", "Texts that are worth a look."},
    Line{"text.from_text", "Goes back from the ids to the text."},
    Line{"text.ids", "Token ids, with anything between them; each line is one item of the batch."},
    Line{"toast.button", "Takes back what the key has just changed."},
};
static_assert(std::ranges::is_sorted(kLines, {}, &Line::first));

/// Of names that end in a number or a variable name, by prefix.
constexpr std::array kFamilies = {
    Line{"control.kind.", "Which attention: within the source, within the target, or from the target to the source."},
    Line{"folder.file.", "Opens this file."},
    Line{"folder.", "Goes into this folder."},
    Line{"grid.line.", "Which line of the batch is shown (Page Up, Page Down)."},
    Line{"menu.device.", "Computes on this device from now on."},
    Line{"menu.notebook-", "A notebook's exact computation, with its tokens, weights and masks."},
    Line{"text.example.", "Puts this text into the box."},
};

}  // namespace

std::string_view tooltip_of(std::string_view name) {
  const auto* line = std::ranges::lower_bound(kLines, name, {}, &Line::first);
  if (line != kLines.end() && line->first == name) return line->second;
  const auto* family = std::ranges::find_if(kFamilies, [&](const Line& some) { return name.starts_with(some.first); });
  return family == kFamilies.end() ? std::string_view() : family->second;
}

}  // namespace headlight::app
