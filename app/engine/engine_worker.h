#pragma once

#include "app/engine/asked.h"
#include "app/engine/changed_runs.h"
#include "app/engine/compared_run.h"
#include "app/engine/early_run.h"
#include "app/engine/engine.h"
#include "app/engine/query_queue.h"
#include "app/engine/run_source.h"

namespace headlight::app {

/// What the engine's thread does, without the thread: opens devices, runs forward passes, evaluates tiles bit by bit. Errors
/// end in the result, never outside.
class EngineWorker {
 public:
  struct Options {
    RunnerFactory open;
    std::size_t tile_bytes = 0;  ///< budget of the tile cache
    std::shared_ptr<ModelCache> models;
    inference::LoadObserver watch_load;
    inference::CompileObserver watch_compiling = {};  ///< may be empty
    inference::PassObserver watch_passes = {};        ///< of passes that the user waits for; may be empty
    /// May a pass in the background go on? Empty: it may.
    std::function<bool(BackgroundPass pass)> may_go_on = {};
    /// Shows a result of a model's first layers while the others are being loaded. Empty: that isn't done.
    std::function<void(EngineResult)> show_early = {};
    /// The queries of a request that waits with the inputs of the one that is begun; may be empty.
    std::function<std::vector<Query>()> newer_queries = {};
    double least_rest_ms = inference::FirstLayers{}.least_rest_ms;
  };
  explicit EngineWorker(Options options)
      : options_(std::move(options)),
        source_(options_.models),
        tiles_(options_.tile_bytes),
        named_source_(options_.models) {}

  /// Opens another device and repeats the last request there; on failure the current one stays.
  void open(const std::string& device);

  /// Takes a new request: the forward pass when its inputs changed, and the lists of what to evaluate.
  void begin(const EngineRequest& request);

  /// Translates the next tokens, or answers the next queries, few enough that a newer request needn't wait long.
  void evaluate_some();
  bool has_more() const { return translation_ || !queue_.is_empty(); }

  /// Begins a task that is of no request.
  void ask(const std::shared_ptr<AskedTask>& task);
  /// Goes on with the newest of them by a step, for when nothing requested waits.
  void answer_asked();
  bool has_asked() const { return !asked_queue_.is_empty(); }
  /// Has an asked task lost the device since the last call? Then the result is another.
  bool take_failed() { return std::exchange(has_failed_, false); }

  /// A little of what makes later runs faster, for when no request waits and a first heatmap is there.
  bool has_idle_work() const { return runner_ && result_.run > 0 && !result_.capture && runner_->has_idle_work(); }
  void work_while_idle();
  /// Is it needed by the next keystroke, and therefore urgent?
  bool warms_up() const { return runner_ && runner_->warms_up(); }
  /// Gives memory that is no longer used back, the device's and the host's, for when there has been nothing to do for a
  /// while.
  void give_back_unused_memory();

  EngineResult snapshot() const;

 private:
  /// Throws Error when no device is open.
  Runner& runner();
  /// The newest run, or the one that it is compared with, if it is of these inputs.
  std::optional<KnownRun> find(const RunInputs& inputs);
  void begin_asked(std::uint64_t number);
  /// On another device, so that no task has numbers of two.
  void begin_asked_again();
  /// Returns whether a task's pass may go on: not while an answer on screen waits, nor after the task was let go.
  bool may_go_on_asked() const;
  /// Drops tasks that are answered, and those that were let go.
  void forget_ended();
  FoundRuns find_named(const std::shared_ptr<const NamedRun>& named);
  KnownRun compute_named(const RunInputs& inputs);
  /// Returns the runner of the named runs: the one on screen, or another one on the same device. Throws Error when none can
  /// be opened.
  Runner& named_runner();
  /// Its numbers are computed anew when a task reads of it.
  void forget_named();
  void run_forward(const RunInputs& inputs);
  void run(const RunSource::Source& source, const RunInputs& inputs);
  void translate_some();
  void load_weights(const RunSource::Source& source, const RunInputs& inputs);
  /// Loads a model, and shows maps of its first layers on the way where that is worth it.
  void load_in_order(const RunSource::Source& source, const RunInputs& inputs);
  /// Computes the first layers' run, and shows it. Where it can't be computed, the whole network's will say why.
  void begin_early_run(const RunSource::Source& source, const RunInputs& inputs,
                       const std::shared_ptr<const model::Layers>& layers);
  /// Evaluates what is asked of it, and shows that.
  void answer_early(std::span<const Query> queries);
  void compare();
  /// What was found of the run that is compared with, which is another one now.
  void forget_comparisons();
  /// What an analysis of the newest run, or of the baseline, knows from its beginning.
  AnalysisSubject analysis_subject(bool is_of_baseline);
  /// Puts those of the request's queries into the queue that aren't answered, and takes out what is no longer asked.
  void collect();
  std::vector<TileQuery> missing_tiles();
  /// Finer tiles of this run that a tile of a map's pyramid is made from, and the rest of it, which a device evaluates.
  struct KnownParts {
    std::vector<std::shared_ptr<const attention::Tile>> known;
    std::vector<TileQuery> missing;
  };
  KnownParts known_parts(const TileQuery& query) const;
  /// Makes a tile from its parts, where all of them are known. Returns whether it has.
  bool reduce_tile(const TileQuery& query);
  Evaluation evaluation_of(const TileQuery& query, const EvaluationSubject& subject) const;
  std::vector<PredictionQuery> missing_predictions();
  bool misses_memory() const;
  std::vector<AnalysisQuery> missing_analyses();
  QueryTask predict_at(PredictionQuery query);
  QueryTask read_memory();
  /// Puts what an analysis finds into the result, and whatever Error it throws.
  QueryTask analyse(AnalysisQuery query, AnalysisSubject subject);
  /// Frees the run and closes the device.
  void close();
  /// Tells the error; a lost device is opened again instead, and the request repeated there.
  void fail(const std::exception& error);
  void tell(const std::string& message, ErrorKind kind = ErrorKind::Other);
  void reopen();

  Options options_;
  std::unique_ptr<Runner> runner_;  ///< outlives the runs
  std::string device_error_;
  std::string device_;        ///< as requested
  bool was_lost_ = false;     ///< since the last request that was answered in full
  bool is_given_up_ = false;  ///< lost again by the repeated request, or can't be opened: waits for another request
  std::unique_ptr<Runner>
      beside_;  ///< of NamedRun::is_beside; outlives its runs, closed where nothing has been asked for a while
  RunSource source_;
  std::unique_ptr<EarlyRun> early_;              ///< of a model that is being loaded, or has just been
  std::uint64_t run_count_ = 0;                  ///< passes, those of first layers counted
  std::optional<RunInputs> attempted_;           ///< inputs of the newest forward pass, whether it succeeded or not
  std::uint64_t opening_ = 0;                    ///< EngineRequest::opening of the newest request
  std::optional<RunInputs> lost_baseline_;       ///< a baseline whose weights were changed on disk: not computed again
  std::shared_ptr<const model::Layers> loaded_;  ///< a model's weights that are on the device
  inference::Precision loaded_precision_ = inference::Precision::F32;
  std::shared_ptr<const inference::Run> run_;  ///< that result_ describes; none: it is gone with its device or weights
  ComparedRun compared_;
  ChangedRuns changes_;  ///< kept until the queue is empty; a pass is cancelled where a newer request doesn't want it
  std::optional<EngineRequest> request_;
  BlockShapes laid_out_for_;  ///< the run that the caller knew when it listed its tiles
  EngineResult result_;       ///< all but the tiles
  TileCache tiles_;
  std::shared_ptr<HeadNormsCache> norms_ = std::make_shared<HeadNormsCache>();
  std::optional<Translation> translation_;  ///< while it is being written
  QueryQueue queue_;
  std::map<std::uint64_t, std::shared_ptr<AskedTask>> asked_;  ///< by TaskQuery::number
  std::uint64_t asked_count_ = 0;                              ///< in all
  QueryQueue asked_queue_;
  RunSource named_source_;
  std::shared_ptr<const NamedRun> named_;   ///< whose runs are kept
  std::optional<KnownRun> named_baseline_;  ///< until its run is there
  FoundRuns named_runs_;
  ChangedRuns named_changes_;
  bool is_computing_named_ = false, has_failed_ = false;
  int cancelled_ = 0;                  ///< how often requests have cancelled the asked step that is read next
  std::uint64_t compared_number_ = 0;  ///< of the run that the queue's differences are taken from
  bool is_first_chunk_ = true;
};

}  // namespace headlight::app
