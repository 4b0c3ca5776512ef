#pragma once

// Patching puts activations of one run into another. This header has its questions, its results and the places of
// activations.

#include "app/engine/analyses/analysis.h"

namespace headlight::app {

/// A prediction, which is measured in passes.
struct MeasuredToken {
  std::uint32_t batch = 0;
  std::uint32_t position = 0;               ///< of the token after which is predicted, padding counted
  std::uint32_t token = 0;                  ///< its id
  std::optional<std::uint32_t> other = {};  ///< whose logit is subtracted

  auto operator<=>(const MeasuredToken&) const = default;
};

/// The numbers that a pass predicts for a token at a position.
struct PatchedNumbers {
  double logit = 0.0;            ///< the token's, less the other's where there is one
  double log_probability = 0.0;  ///< the token's: ln of softmax over the vocabulary

  /// Loss: −ln p, in nats.
  double of(PatchMeasure measure) const;
};

/// Returns the numbers for a row of logits [vocabulary]. Throws Error where they are NaN, as those of a token without a
/// counterpart in the other text are.
PatchedNumbers patched_numbers(std::span<const float> logits, const MeasuredToken& measured);

/// Returns (patched − target) / (source − target): 0 where a patch leaves the target as it is, 1 where it does what the
/// whole of the source does (TransformerLens' normalisation of activation patching, the target being its corrupted run and
/// the source its clean one). None where the two differ by less than 1e-4, of probabilities by that share of the larger one,
/// so that float32's rounding would be most of it, and where a number isn't finite.
std::optional<double> recovery(PatchMeasure measure, const PatchedNumbers& target, const PatchedNumbers& source,
                               const PatchedNumbers& patched);

/// The effects of patching each cell of a map: a layer and a token, or a layer and a head; or a query and a key of one head.
struct PatchEffects final : AnalysisResult {
  PatchedNumbers target;                               ///< of the run that is patched, as it is
  PatchedNumbers source;                               ///< of the run that the activations come from
  std::vector<std::uint32_t> layers;                   ///< [row] number of the layer; empty where rows are queries
  std::uint32_t first_query = 0;                       ///< of row 0, where rows are queries: a token's number
  std::uint32_t first = 0;                             ///< of column 0: a token's number; 0 of heads
  std::size_t columns = 0;                             ///< tokens or heads
  std::vector<std::optional<PatchedNumbers>> patched;  ///< [row, column]; none: not known yet
  std::size_t known = 0, all = 0;                      ///< cells

  bool is_complete() const { return known == all; }
  std::size_t rows() const { return columns == 0 ? 0 : patched.size() / columns; }
  void keep(std::size_t row, std::size_t column, const PatchedNumbers& numbers) {
    patched[row * columns + column] = numbers;
    ++known;
  }
  const std::optional<PatchedNumbers>& at(std::size_t row, std::size_t column) const;
  /// Returns the recovery of a cell; none: it isn't known, or there is none.
  std::optional<double> recovery_at(std::size_t row, std::size_t column, PatchMeasure measure) const;
  /// Do source and target differ enough?
  bool can_recover(PatchMeasure measure) const;
};

/// A cell, and what patching it does.
struct PatchCell {
  std::size_t row = 0, column = 0;
  double recovery = 0.0;

  bool operator==(const PatchCell&) const = default;
};

/// Returns the cells whose recovery is farthest from 0, at most so many; equal ones by row and column.
std::vector<PatchCell> strongest_patches(const PatchEffects& effects, PatchMeasure measure, std::size_t most);

/// Activations of one layer in a run that can be put into another: of some tokens, of a head or of the whole layer.
struct PatchPlace {
  model::Site site = model::Site::Residual;
  model::BlockRef block = {};
  std::uint32_t batch = 0, head = 0;   ///< a query head, of keys and values too; 0 where the site has no heads
  std::uint32_t first = 0, count = 0;  ///< tokens: keys where these or values are put, else queries

  auto operator<=>(const PatchPlace&) const = default;
};

/// Returns the site whose activations a map puts into the other run.
model::Site patched_site(const PatchingChoices& choices);
/// Returns the tokens that have activations at the site.
const model::TokenBatch& patched_tokens(model::Site site, model::BlockKind kind, const model::ModelInput& input);
/// Returns how many numbers a token's activations have: weights have one for each key.
std::uint32_t patch_width(model::Site site, const inference::BlockShape& shape);
/// Returns how many query heads receive what is put at the site of one: for keys and values, all that share the KV head.
std::uint32_t patched_heads(model::Site site, const inference::BlockShape& shape);
/// Reads them, of a run with such a shape.
void read_place(const PatchPlace& place, const inference::BlockShape& shape, Reads& reads);
/// Returns the values [token, width] that were read, of several places one after the other.
std::vector<float> place_values(const Answers& answers);
/// Returns the mean of rows [row, width], in double precision, without those of tokens that the run has no counterpart of
/// (NaN). Throws Error where nothing is left.
std::vector<double> mean_row(std::span<const float> rows, std::size_t width);
/// Replaces each of some rows by their mean.
void spread_mean(std::span<float> rows, std::size_t width);
/// Makes activations of two runs equal where either has none (NaN): a token without a counterpart stays as it is.
void match_missing(std::span<float> source, std::span<float> target);
/// Tokens, padding counted.
struct TokenRange {
  std::uint32_t first = 0, count = 0;
};

/// Returns the state whose prediction is measured, after the last layer. Throws Error where the run has none, or no such
/// ids.
inference::StateRef measured_state(const MeasuredToken& measured, const AnalysisSubject& subject);
/// Returns what the state predicts in one of the runs, unchanged.
Task<PatchedNumbers> prediction_in(WhichRun run, inference::StateRef state, MeasuredToken measured);
/// Returns an intervention that puts these rows [token, width] at the place. Rows of weights become a painted pattern: a
/// query attends by them to the keys that its own mask shows, divided by their sum; one whose weights are all 0 or not
/// numbers keeps its own.
inference::Intervention replaced(const PatchPlace& place, const inference::BlockShape& shape, std::vector<float> rows);
/// Returns an intervention at the place, without an operation.
inference::Intervention intervention_at(const PatchPlace& place, const inference::BlockShape& shape);

/// Activation patching between the run and the baseline (Meng et al. 2022; Wang et al. 2022): for every cell of a map one
/// pass of the one in which the cell's activations are those of the other, and what that does to a prediction. The two have
/// the same shapes, so that tokens correspond by their numbers. A cell whose activations are the same in both, bit by bit,
/// needs no pass. Queries and keys change a head through its weights alone, values leave the weights as they are; where
/// several query heads share keys and values, all of them receive these, and their cells are equal.
struct PatchingQuestion {
  model::Site site = model::Site::Residual;
  model::BlockKind kind = {};
  bool into_baseline = false;               ///< the run's activations go into the baseline
  std::optional<std::uint32_t> token = {};  ///< of sites with heads: at that token alone
  MeasuredToken measured = {};
  std::vector<std::uint32_t> tokens = {};  ///< of maps of tokens: cells of these alone, ascending; empty: of all

  auto operator<=>(const PatchingQuestion&) const = default;
  bool compares() const { return true; }
};
/// Reports its result layer by layer.
Task<PatchEffects> analyse(PatchingQuestion question, AnalysisSubject subject);

/// Returns the choices' question.
PatchingQuestion patching_query(const PatchingChoices& choices, model::BlockKind kind, std::uint32_t batch,
                                std::uint32_t position, std::uint32_t token, std::optional<std::uint32_t> other);

/// Queries, and keys, of a head whose weights are patched one by one, at most: a pass each.
inline constexpr std::uint32_t kMaxPatchedWeights = 64;

/// Asks for one pass for every query and key of a head, in which this one weight is the other run's: the query's output
/// becomes z + (w' − w) · v of the key. The row's other weights stay, so that their sum changes. A weight that is 0 in both
/// has no numbers. Throws Error where a line has more than kMaxPatchedWeights tokens, and where the head's output isn't the
/// sum of its weighted values: it is changed.
struct WeightPatchingQuestion {
  HeadRef head = {};
  bool into_baseline = false;  ///< the run's weights go into the baseline
  MeasuredToken measured = {};

  auto operator<=>(const WeightPatchingQuestion&) const = default;
  bool compares() const { return true; }
};
/// Reports its result row by row, a row being a query.
Task<PatchEffects> analyse(WeightPatchingQuestion question, AnalysisSubject subject);

/// Returns z + (w' − w) · v of a head at one query, as the weight of one key changes from w to w' [d_v].
std::vector<float> output_with_weight(std::span<const float> output, double change, std::span<const float> value);

/// Returns the choices' question.
WeightPatchingQuestion weight_patching_query(const PatchingChoices& choices, const HeadRef& head, MeasuredToken measured);

/// Path patching between the run and the baseline (Wang et al. 2022; Goldowsky-Dill et al. 2023): it asks, for every head of
/// a kind (a sender), how its output in the other run changes a prediction where only one input of another head (the
/// receiver) receives it. Two passes a sender. In the first the sender's output z is the other run's; the attention outputs
/// of all blocks between sender and receiver are those of the patched run, and so are the outputs of the MLPs between,
/// unless they are recomputed; norms always are. The receiver's queries, keys or values are read there. In the second they
/// alone are replaced, in the run that is patched. Passes of senders of one layer are computed together (Reads::passes).
/// Several heads may share one KV head's keys and values: all of them receive then. A sender whose output is the same in
/// both runs, bit by bit, needs no pass.
struct PathQuestion {
  HeadRef receiver = {};
  PathInput input = PathInput::Query;
  model::BlockKind senders = {};  ///< their kind of attention
  bool into_baseline = false;     ///< the run's outputs go into the baseline
  bool recomputes_mlps = false;
  std::optional<std::uint32_t> token = {};  ///< senders are patched at that token alone
  MeasuredToken measured = {};

  auto operator<=>(const PathQuestion&) const = default;
  bool compares() const { return true; }
};
/// Effects of the senders' layers, reported sender by sender.
Task<PatchEffects> analyse(PathQuestion question, AnalysisSubject subject);

/// Returns the receiver that is meant: the last layer or head where there is none of that number. None where the run has no
/// attention of the kind.
std::optional<HeadRef> receiver_in(const PathReceiver& receiver, const BlockShapes& shapes);

/// Returns the choices' question.
PathQuestion path_patching_query(const PatchingChoices& choices, const HeadRef& receiver, model::BlockKind senders,
                                 std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                                 std::optional<std::uint32_t> other);

/// Activations that the user keeps as a change of the present run: the baseline's at one place (Replace, of weights
/// ReplacePattern); or a steering vector (Add; "activation addition", Turner et al. 2023): the baseline's there less the
/// present run's, their mean over the place's tokens; or the baseline's mean over these tokens for each of them (Replace;
/// mean ablation over a reference text); or what a head gives at one query with the baseline's weight of one key (Replace).
struct KeptActivationQuestion {
  enum class Kept : std::uint8_t { Activations, SteeringVector, Mean, Weight };

  PatchPlace place = {};
  Kept kept = Kept::Activations;
  std::uint32_t key = 0;  ///< of Weight

  auto operator<=>(const KeptActivationQuestion&) const = default;
  bool compares() const { return true; }
};

struct KeptActivation final : AnalysisResult {
  inference::Intervention intervention;
};

Task<KeptActivation> analyse(KeptActivationQuestion question, AnalysisSubject subject);

/// Return questions about tokens [first, first + count). A steering vector is the mean of the residual stream over them.
KeptActivationQuestion keeping_query(model::Site site, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                     std::uint32_t first, std::uint32_t count);
KeptActivationQuestion steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count);
/// Returns the question about a head's mean output over these tokens of the baseline, repeated for each of them.
KeptActivationQuestion baseline_mean_query(model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                           std::uint32_t first, std::uint32_t count);

/// Returns the question about one weight of a head.
KeptActivationQuestion weight_query(const HeadRef& head, std::uint32_t batch, std::uint32_t query, std::uint32_t key);

/// Moves the activations to another place of the same kind: another layer or head (for keys and values, a KV head) and,
/// except for patterns, another first token. They must be as wide there.
inference::Intervention moved(inference::Intervention patch, std::uint32_t layer, std::uint32_t head, std::uint32_t first);

}  // namespace headlight::app
