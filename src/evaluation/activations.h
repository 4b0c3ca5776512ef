#pragma once

#include "attention/stage.h"
#include "inference/language_model.h"
#include "inference/run.h"

namespace headlight::evaluation {

/// A stage of one layer whose rows a survey keeps: vectors of tokens, no maps.
struct ActivationSite {
  attention::Stage stage = {};
  std::uint32_t layer = 0;

  std::string name() const;  ///< "next.3"
  bool operator==(const ActivationSite&) const = default;
};

struct ActivationChoice {
  std::vector<ActivationSite> sites = {};
  std::uint32_t every = 1;  ///< of each text the tokens at positions 0, every, 2·every, …
  bool is_half = false;     ///< float16 in files; else float32

  bool operator==(const ActivationChoice&) const = default;
};

/// The sites of names: "next", of every layer, or "next.3". Throws Error in one line for what the model has not.
std::vector<ActivationSite> activation_sites(const inference::LanguageModel& model, std::span<const std::string> names);
/// A token's numbers: [d], or [head, d] of stages that heads have; [KV head, d] of keys and values.
Shape row_shape(const inference::LanguageModel& model, const ActivationSite& site);

/// The rows that are kept of a shard, in the order of the corpus.
struct ShardActivations {
  std::vector<std::int64_t> index = {};  ///< [row, 3]: the text's byte in the corpus, the token's position, its id
  std::vector<Tensor> sites = {};        ///< [row, row_shape()] of each site

  std::uint32_t rows() const { return static_cast<std::uint32_t>(index.size() / 3); }
};

/// Copies activations out of runs of batches into the shard's order.
class ActivationKeeper {
 public:
  /// Keeps rows of these lines, whose texts begin at `offsets`. `lines` and `kept` must outlive it.
  ActivationKeeper(const inference::LanguageModel& model, const ActivationChoice& choice,
                   std::span<const std::vector<std::uint32_t>> lines, std::span<const std::uint64_t> offsets,
                   ShardActivations& kept);
  /// `batch`: which lines the run's items are.
  void keep(const inference::Run& run, std::span<const std::size_t> batch);

 private:
  const ActivationChoice& choice_;
  std::span<const std::vector<std::uint32_t>> lines_;
  ShardActivations& kept_;
  std::vector<std::size_t> first_;  ///< [line] its first row
};

}  // namespace headlight::evaluation
