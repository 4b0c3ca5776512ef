#pragma once

#include <utility>
#include <variant>

#include "attention/mask.h"
#include "inference/language_model.h"
#include "inference/notebook_edits.h"
#include "inference/playground.h"
#include "inference/session.h"

namespace headlight::app {

/// Freely chosen sizes and seeded weights over words.
struct Playground {
  std::string text = "Life is short, eat dessert first";  ///< lines are batch items
  std::string key_text = {};                              ///< the second text; kept while `cross` is off
  bool cross = false;                                     ///< text attends to key_text instead of itself
  inference::PlaygroundSettings settings = {};
  attention::MaskSet kept_masks = {};  ///< its masks while another source is shown; none while it is shown itself

  bool operator==(const Playground&) const = default;
};

/// A network with its input and masks from a published notebook; its tokens are its own.
struct Notebook {
  std::string name = {};                ///< of inference::notebook_names()
  inference::NotebookEdits edits = {};  ///< what the user changed of it

  bool operator==(const Notebook&) const = default;
};

/// A model from a file, and how text becomes its tokens.
struct Model {
  std::string path = {};         ///< of inference::open_model()
  std::string text = {};         ///< its first (or only) sentences, or the source of an encoder–decoder, line by line
  std::string pair_text = {};    ///< second sentences (BERT), line by line; may be empty
  std::string target_text = {};  ///< the decoder's side of encoder–decoders, line by line; may be empty
  /// Used instead of the texts, unchanged; empty: the texts. One list for each item of the batch.
  std::vector<std::vector<std::uint32_t>> ids = {}, target_ids = {};
  /// An encoder–decoder writes its target itself, as long as neither `target_text` nor `target_ids` gives one.
  bool translates = true;
  bool adds_special = true;  ///< [CLS], <s>, …
  bool is_chat = false;      ///< a text is a chat, which the model's template writes (text/chat_template.h)
  text::Thinking thinking = text::Thinking::Unset;
  inference::PaddingSide padding = inference::PaddingSide::Right;
  inference::Precision precision = inference::Precision::F32;
  bool applies_adapter = true;  ///< of a LoRA adapter's folder; false: the model that it changes, as it is
  bool joins_lines = false;     ///< all lines of a text are one item of the batch
  /// A learned table of positions is interpolated for texts that are longer than it; others are as they were.
  bool stretches_positions = false;
  attention::MaskSet trained_masks = {};  ///< those of its training

  bool operator==(const Model&) const = default;
};

/// Attention that another program saved (docs/CAPTURES.md): its numbers are read from the file.
struct Capture {
  std::string path = {};  ///< of capture::CaptureFile

  bool operator==(const Capture&) const = default;
};

/// The source of a run's computation. A new alternative doesn't compile until every match() has a case for it.
using Source = std::variant<Playground, Notebook, Model, Capture>;

/// Calls the case for the alternative that `source` holds, as match(source, [](const Playground&) {…}, …).
template <typename AnySource, typename... Cases>
decltype(auto) match(AnySource&& source, Cases... cases) {
  struct All : Cases... {
    using Cases::operator()...;
  };
  return std::visit(All{cases...}, std::forward<AnySource>(source));
}

inline bool is_playground(const Source& source) { return std::holds_alternative<Playground>(source); }
inline bool is_notebook(const Source& source) { return std::holds_alternative<Notebook>(source); }
inline bool is_model(const Source& source) { return std::holds_alternative<Model>(source); }
inline bool is_capture(const Source& source) { return std::holds_alternative<Capture>(source); }
/// Returns the shown notebook's name; empty without one.
const std::string& notebook_name(const Source& source);
/// Returns the shown model's path; empty without one.
const std::string& model_path(const Source& source);
/// Returns the shown capture's path; empty without one.
const std::string& capture_path(const Source& source);
/// Are both of the same file, or the same notebook? Texts and settings may differ.
bool names_same(const Source& a, const Source& b);
/// Returns the precision in which the shown model's weights are kept on the device; other sources have float32.
inference::Precision precision_of(const Source& source);

/// Returns the name of the folder in which a window keeps the steps of a live link, and of the file of a step; `serial`
/// differs for each capture, so that a step that was sent again has a file of its own.
std::filesystem::path linked_steps_folder(const std::filesystem::path& socket);
std::filesystem::path linked_step_path(const std::filesystem::path& folder, std::int64_t step, std::uint64_t serial);
/// Is this the capture of a step of a live link? It is gone when its window closes.
bool is_linked_step(const std::filesystem::path& file);
/// Are both captures steps of the same window's link?
bool are_linked_steps(const std::filesystem::path& a, const std::filesystem::path& b);

/// Returns the text of a source that has one of its own, a line for each batch item; empty where ids, a file or a notebook
/// give the tokens.
std::string typed_text(const Source& source);

}  // namespace headlight::app
