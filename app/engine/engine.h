#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model_cache.h"
#include "app/engine/predictions.h"
#include "app/engine/runner.h"
#include "app/engine/tile_cache.h"
#include "app/engine/translation.h"
#include "app/state/state.h"
#include "core/tensor.h"

namespace headlight::app {

/// What the window wants to show. Newer requests replace older ones that nobody has begun.
struct EngineRequest {
  std::uint64_t revision = 0;  ///< the caller's counter; comes back in the results
  RunInputs inputs;
  /// Every tile on screen, most important first (the selected head, then the thumbnails). Tiles outside their matrix are
  /// ignored: the caller may lay out a run it hasn't seen.
  std::vector<attention::TileRequest> tiles = {};
  /// Places outside the run, and all where the model has no logits, are ignored.
  std::vector<PredictionRequest> predictions = {};
  bool wants_memory = false;  ///< EngineResult::memory is on screen
  /// Of the run for which the tiles were listed: one that showed a whole matrix shows the whole of a later run's. Empty: the
  /// newest run's.
  BlockShapes laid_out_for = {};
};

/// A model on its way to the device.
struct LoadProgress {
  std::size_t done_bytes = 0, total_bytes = 0;
};

/// Kernels that the driver compiles before the newest request can be computed.
struct CompileProgress {
  std::size_t done = 0, total = 0;
};

/// A consistent picture of what is known; cheap to copy.
struct EngineResult {
  std::uint64_t revision = 0;  ///< of the newest request that this answers
  std::uint64_t run = 0;       ///< counts forward passes; 0: there has been none yet, and everything below is empty
  std::shared_ptr<const model::Network> network;
  std::shared_ptr<const model::ModelInput> input;         ///< tokens of both sides
  std::shared_ptr<const inference::LanguageModel> model;  ///< none: playground or notebook
  std::shared_ptr<const inference::Prompt> prompt;        ///< of the model's text; none without a model
  std::shared_ptr<const RunInputs> inputs;                ///< what the run was asked to compute
  std::shared_ptr<const Translated> translated;           ///< the target that the model has written itself; none: it doesn't
  std::vector<model::BlockRef> blocks;                    ///< in the order of computation
  BlockShapes shapes;
  inference::RunTiming timing;
  std::string device;  ///< name; empty when there is none
  std::size_t parameter_count = 0;
  /// Tiles of this run, and until they are evaluated anew those of the run before whose block has the same shape, so that
  /// nothing flickers.
  EngineTiles tiles;
  bool has_all_tiles = false;  ///< false: more are coming
  bool has_logits = false;     ///< the network predicts tokens
  Predictions predictions;     ///< those wished for; like the tiles perhaps of the run before
  /// What the keys and values of cross-attention are made from [batch, token, d_model]: the encoder's output. Of this run,
  /// and only where it was asked for; none where there is no encoder.
  std::shared_ptr<const Tensor> memory;
  /// One line when the newest request can't be done; then everything above is the last good run and `is_stale`.
  std::string error;
  bool is_stale = false;
  bool is_load_error = false;  ///< `error` says why a model's weights aren't on the device
  /// How often the device was lost and opened again, and everything above computed anew.
  std::uint32_t reopenings = 0;

  /// The tile, perhaps of the run before; nullptr while there is none.
  const attention::Tile* tile(const attention::TileRequest& request) const;
  /// Does the tile show this run?
  bool is_current(const attention::TileRequest& request) const;
  /// The prediction, perhaps of the run before; nullptr while there is none.
  const Prediction* prediction(const PredictionRequest& request) const;
};

struct EngineOptions {
  RunnerFactory open = open_gpu_runner;
  std::string device;                               ///< name or index; empty: the best
  std::function<void()> wake = {};                  ///< called from the worker when poll() has something new; may be empty
  inference::CompileObserver watch_compiling = {};  ///< called from the worker while a request waits for kernels
  std::size_t tile_bytes = std::size_t{256} << 20;  ///< budget of the tile cache
  std::shared_ptr<ModelCache> models = std::make_shared<ModelCache>();
};

/// Computes on its own thread, so that nobody blocks in a frame. The device is opened on that thread too; until then, and
/// when there is none, results carry just the error. A device that is lost (a driver reset) is opened again and the newest
/// request repeated there; when the same work loses it twice, the result says so and the next other request opens it.
/// All functions are for one thread, the window's.
class Engine {
 public:
  explicit Engine(EngineOptions options);
  /// Waits for the work in progress.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns at once. The forward pass runs again only when `inputs` changed, and only tiles not known yet are evaluated.
  void request(EngineRequest request);

  /// The newest picture if it changed since the last call.
  std::optional<EngineResult> poll();

  /// Changes the device and computes everything anew there. When it can't be opened, the error says so and the device in
  /// use stays.
  void set_device(std::string device);

  /// How far a model's weights are; nothing while none is being loaded.
  std::optional<LoadProgress> load_progress() const;
  /// How many kernels are compiled while a request waits for some; else nothing.
  std::optional<CompileProgress> compile_progress() const;
  /// Gives up the load in progress: its request ends in an error. A request for another model or another device does the
  /// same.
  void cancel_load();

  /// Makes Runners on this engine's device, whatever device is named, for other threads (EngineRunner); may outlive the
  /// engine.
  RunnerFactory shared_device() const;

  /// Is anything requested that poll() hasn't fully answered?
  bool is_busy() const;
  /// Blocks until poll() has something for this revision or a newer one, but no longer than that. Returns whether it has.
  bool wait_for(std::uint64_t revision, std::chrono::microseconds longest) const;
  /// Blocks until everything requested is done (tests, screenshots, exports).
  void wait_until_idle();

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace headlight::app
