#pragma once

#include "evaluation/batches.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// Texts of several lengths with a needle at several depths.
struct NeedleGrid {
  std::uint32_t longest = 256;  ///< tokens of the longest texts, where the model has positions for so many
  std::uint32_t lengths = 5;    ///< from four needles to `longest`, at equal distances
  std::uint32_t depths = 5;     ///< from the haystack's beginning (0) to its end (1), at equal distances; one: 0.5
  std::uint32_t needle = 8;     ///< tokens, at least 2
  std::uint64_t seed = 1;

  auto operator<=>(const NeedleGrid&) const = default;
};

/// A haystack with a needle of random tokens, each of them once, and the needle again at the end, where it is read token by
/// token (teacher forcing): the one before the i-th answer is the question, and the needle's token i + 1 is the answer.
struct NeedleText {
  std::vector<std::uint32_t> ids = {};
  double depth = 0.0;          ///< the share of the haystack before the needle, rounded down to tokens
  std::uint32_t needle = 0;    ///< where the needle begins
  std::uint32_t question = 0;  ///< the first query; its rows are [question, ids.size())

  std::uint32_t answers() const { return static_cast<std::uint32_t>(ids.size()) - question; }
  std::uint32_t answer(std::uint32_t i) const { return ids[needle + i + 1]; }
};

/// All texts of a grid, by length and depth. The haystack is `text` over and over, after its begin token where it has one;
/// of an empty text random tokens. Needles are drawn from the model's vocabulary without special tokens and, as far as it
/// has others, without those of the haystack, with std::mt19937_64, text by text. Throws Error in one line for models that
/// don't predict the next token with one stack, and where the longest text has no room.
std::vector<NeedleText> needle_texts(const inference::LanguageModel& model, std::span<const std::uint32_t> text,
                                     const NeedleGrid& grid);

/// The pass of one text, with the masks that the model was trained with, on a network of the model.
inference::PassInputs needle_pass(const inference::LanguageModel& model, std::shared_ptr<const model::Network> network,
                                  const NeedleText& text);
/// The states whose logits predict the answers.
std::vector<inference::StateRef> needle_states(const inference::LanguageModel& model, const NeedleText& text);
/// The weights of all heads of a layer [head], of the rows that precede the answers.
std::vector<attention::TileRequest> needle_rows(const inference::LanguageModel& model, const NeedleText& text,
                                                std::uint32_t layer);

/// Counts of a head's behaviour at the answers of a text.
struct NeedleHits {
  std::uint32_t attended = 0;  ///< answers whose largest weight is on their place in the needle
  std::uint32_t copied = 0;    ///< those among them that the model predicts

  bool operator==(const NeedleHits&) const = default;
};

/// The results of one text.
struct NeedleFound {
  NeedleText text;
  std::vector<bool> is_predicted = {};  ///< [answer] is it the most probable token?
  std::vector<NeedleHits> heads = {};   ///< [layer][head]

  /// [answer, vocabulary] of all answers.
  void add_logits(std::span<const float> logits);
  /// [answer, key] of the next head, after add_logits().
  void add_head(std::span<const float> weights);
  std::uint32_t predicted() const;
};

/// The retrieval score of a head (Wu et al. 2024, "Retrieval Head Mechanistically Explains Long-Context Factuality",
/// section 2): the share of answers that it copies, over these texts. A token is copied where the head's largest weight is
/// on the needle's token that is written. Teacher forcing writes the needle's token in any case; with `is_predicted` an
/// answer counts only where the model would write it, after the needle's own tokens. None: no answers.
std::optional<double> retrieval_score(std::span<const NeedleFound> found, std::size_t head, bool is_predicted);
/// The share of answers that the model predicts.
std::optional<double> predicted_share(std::span<const NeedleFound> found);

/// "length,depth,layer,head,answers,predicted,attended,copied", a line for each text and head.
std::string needle_csv(std::span<const NeedleFound> found, std::uint32_t heads_of_layer);

/// Computes and measures these texts, one by one.
std::vector<NeedleFound> survey_needles(inference::Session& session, const inference::LanguageModel& model,
                                        std::vector<NeedleText> texts, const Progress& progress = {});

}  // namespace headlight::evaluation
