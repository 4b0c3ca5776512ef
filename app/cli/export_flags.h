#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/model_flags.h"
#include "app/engine/runner.h"
#include "app/figures/job.h"
#include "app/state/field.h"
#include "platform/signals.h"

namespace headlight::app {

/// What `headlight export` was given.
struct ExportFlags {
  ModelFlags model;
  std::filesystem::path out;
  /// The changes of the options, in the order of the flags; they are made after a figure's own options were read.
  std::vector<std::function<void(ExportOptions&)>> choices;
  std::optional<chart::ValueLimits> range;  ///< of every figure
  std::vector<StateEdit> comparisons;       ///< each sets the baseline that is subtracted; one at most
  std::string texts;                        ///< file of --texts; "-": standard input; empty: one export
  bool is_jsonl = false;                    ///< its lines are objects
  std::string field = "text";               ///< of these objects, with the text
  std::vector<StateEdit> edits;             ///< of what lines, prompts and checkpoints show
  bool has_session = true;                  ///< figures carry what they are made from
  bool checks_record = false;               ///< compute the session anew, and compare it with its record
  bool writes_record = false;               ///< the same, and write what was computed as its record
  bool is_dry_run = false;                  ///< say what would be written, and write nothing
  std::string device;
};

/// All but those of the model and the device.
void add_export_flags(CLI::App& app, ExportFlags& flags);

/// Adds the flags of how figures look; `use` gets what each chooses. Of those that the command has already it adds none.
void add_look_flags(const FlagGroup& group, const std::function<void(const AnySetting& setting, SettingValue value)>& use,
                    std::span<const AnySetting* const> without = {});
/// Throw where a figure is given two sizes, and where its letters aren't installed.
void check_sizes(const Choices& given);
void check_font(const Choices& look);

/// From now on a signal that ends the program says that `what` is in the folder.
void say_if_interrupted(std::optional<platform::LastWords>& left, const std::string& what,
                        const std::filesystem::path& folder);

/// Says what an export has written, or a dry run would.
void tell_report(const ExportReport& report, const std::filesystem::path& folder, bool is_dry_run);

/// Computes a session as its file has it, and says how the numbers compare with the file's record. Returns the exit status:
/// 1 where they differ by more than rounding explains. `writes_record`: writes them as the file's record.
int check_record(const std::filesystem::path& path, bool writes_record, const std::string& device,
                 const std::shared_ptr<ModelCache>& models);

/// Exports every line of a file or of standard input into a folder of its own, as docs/EXPORT.md describes it, and goes on
/// where an earlier call with the same flags was interrupted. `state`: what the flags say, without a text. Returns the exit
/// status; throws Error naming the line. `runner`: null of a dry run.
int export_texts(Runner* runner, const ExportFlags& flags, const ExportOptions& options, const State& state);

}  // namespace headlight::app
