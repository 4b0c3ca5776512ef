#pragma once

#include "attention/mask.h"
#include "inference/prompt.h"
#include "model/load_network.h"
#include "model/network.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "text/word_vocabulary.h"

namespace headlight::inference {

/// A model from a file: its network, its tokenizer, and the masks it was trained with. Weights stay in the mapped file until
/// a session uploads them.
struct LanguageModel {
  std::filesystem::path path;
  model::ModelDescription description;
  std::shared_ptr<const model::Network> network;
  /// With a LoRA adapter's folder, the network that the adapter changes, without the adapter; else null.
  std::shared_ptr<const model::Network> without_adapter;
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< null where the files have none: only ids can be given
  /// The tokenizer of the text that an encoder–decoder writes; the same object as `tokenizer` but for Marian's folders.
  std::shared_ptr<const text::Tokenizer> target_tokenizer;
  std::string tokenizer_problem;                   ///< why there is no tokenizer, in one line
  std::shared_ptr<const text::ChatTemplate> chat;  ///< null where the files have none, or one that Headlight can't run
  std::string chat_problem;                        ///< why it can't, in one line
  std::vector<std::string> notes;                  ///< what was guessed or rounded, in one line each
  attention::MaskSet masks;
  std::shared_ptr<const text::WordVocabularies> words;  ///< whole words of its training text, beside its pieces; may be null

  /// The tokenizer of the tokens that the model predicts, in an encoder–decoder the target's; null where there is none.
  const text::Tokenizer* predicted_tokenizer() const { return target_tokenizer ? target_tokenizer.get() : tokenizer.get(); }
};

/// Opens a folder as Hugging Face writes it, or a GGUF file; reads headers only, milliseconds. Where there is no such path,
/// "organisation/name" is looked up in the local Hugging Face cache. Throws Error in one line when it isn't a model that
/// Headlight can show.
std::shared_ptr<const LanguageModel> open_model(const std::filesystem::path& path);

/// Is the model made for pairs of sentences too (BERT and its kin)?
bool takes_pairs(const model::ModelDescription& description);

/// The folder or file of a model that the user named by path or as "organisation/name". Throws Error in one line when
/// there is none.
std::filesystem::path find_model(const std::filesystem::path& name);

/// The tokenizer of a model's folder or GGUF file, without the model. Throws Error in one line.
text::Tokenizer open_tokenizer(const std::filesystem::path& path);

/// Returns the format in which the model writes chats. Throws Error in one line where the model has no template, or
/// none that Headlight can run.
const text::ChatTemplate& chat_template(const LanguageModel& model);
/// Returns the chat template of a model's folder or GGUF file; null where it has none. Throws Error in one line.
std::shared_ptr<const text::ChatTemplate> open_chat_template(const std::filesystem::path& path,
                                                             const text::Tokenizer& tokenizer);

/// Does what an encoder–decoder writes have a tokenizer of its own (Marian's target.spm)?
bool has_target_tokenizer(const std::filesystem::path& path);
/// Opens that tokenizer; the model's only one where there is no other.
text::Tokenizer open_target_tokenizer(const std::filesystem::path& path);

}  // namespace headlight::inference
