#pragma once

#include "app/figures/job.h"
#include "app/widgets/folder_list.h"
#include "app/widgets/notice.h"
#include "app/window/dialogs/figure_form.h"
#include "app/window/dialogs/figure_preview.h"
#include "app/window/dialogs/picture_form.h"

namespace headlight::app {

/// Room for the switches of figure_kinds().
inline constexpr std::size_t kMaxFigureKinds = 16;
/// The matrices of the stages.
inline constexpr std::size_t kHiddenStates = attention::kStages, kLogitNumbers = kHiddenStates + 1,
                             kNormNumbers = kLogitNumbers + 1;

/// What to write (this head, this layer, everything; which part of the maps; which stages and formats), where to, what the
/// files will be called and how much it is.
/// The export is a task of the engine; the dialog may be closed meanwhile.
class ExportDialog {
 public:
  explicit ExportDialog(Engine& engine);

  /// Figures look as the window does until the user changes them, and differences are written where it shows them.
  /// `contents`: of the view on screen; they replace what was chosen before where they differ from those of the last time.
  void open(const State& state, const ExportContents& contents);
  /// The same where what is on screen is to be saved, with the name of a file in `folder`.
  void open_picture(const State& state, const ExportContents& contents, const std::string& folder, ScreenshotArea area);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  bool is_running() const { return job_ && !job_.is_done(); }
  /// Is the preview computed?
  bool is_drawing() const { return preview_.is_busy(); }

  /// `directory`: where the last export went; set by the next one.
  void draw(Frame& frame, std::string& directory);

  /// Puts the selected head's map on the clipboard as an image; the result comes as of an export.
  void copy_figure(const State& state, const Transient& transient, const EngineResult& result);

  /// The picture that was asked for, once the dialog is gone from the window.
  std::optional<Picture> take_picture() { return picture_.take(); }
  bool is_picture_waiting() const { return picture_.is_waiting(); }

  /// "Exporting 3 of 12"; empty when nothing runs.
  std::string status() const;
  /// The result, once, when the job has ended and the dialog isn't there to show it.
  std::optional<Notice> take_result();

 private:
  enum class Reach : std::uint8_t { ThisHead, ThisLayer, Everything };

  void propose(const ExportContents& contents);
  ExportOptions options(const State& state, const Transient& transient, const EngineResult& result) const;
  /// The part of the maps that are written, or why there is none.
  Result<MapPart> part(const State& state, const Transient& transient, const EngineResult& result) const;
  /// Has any block of the run the stage?
  static bool has_stage(const EngineResult& result, attention::Stage stage);
  /// Can the run be compared with the baseline?
  static bool has_baseline(const State& state, const EngineResult& result);
  /// The chosen kinds of figures; a pair only where there is a baseline.
  std::vector<const FigureKind*> chosen_kinds(const State& state, const EngineResult& result) const;
  /// Is a format chosen that holds hidden states and logits?
  bool holds_chosen_arrays() const;
  /// Is a figure chosen that isn't of the chosen matrices, and a format for it?
  bool writes_other_figures(const State& state, const EngineResult& result) const;
  /// Is there anything to write?
  bool has_choice(const State& state, const EngineResult& result) const;
  void begin(const Frame& frame, std::string& directory);
  /// Returns the job's progress so far.
  ExportProgress progress() const;
  /// What is written: numbers and figures of some heads, or what is on screen.
  void draw_reach(Frame& frame, const std::string& directory);
  void draw_files(Frame& frame, std::string& directory);
  void draw_choices(Frame& frame);
  void draw_look(Frame& frame);
  void draw_folder(Frame& frame);
  void draw_names(Frame& frame);
  void draw_progress(Frame& frame);
  void draw_buttons(Frame& frame, std::string& directory);
  void take_end_of_job();

  Engine& engine_;
  RegionChoice region_;
  std::optional<ExportContents> proposed_;  ///< the last time
  Choices figure_;                          ///< how figures look (figure_settings.h)
  FigurePreview preview_;
  NumberBeingTyped typed_;
  std::string typed_directory_;
  FolderList folders_;
  PictureForm picture_;
  Notice outcome_;  ///< of the last job; also why a job can't begin
  Asked<ExportJob> job_;
  int previewed_ = 0;  ///< of the chosen kinds of figures
  /// The stages, then hidden states, logits, and whether weights are written as norms.
  std::array<bool, attention::kStages + 3> matrices_{};
  std::array<bool, kExportFormats> formats_{};
  std::array<bool, kMaxFigureKinds> views_{};  ///< of figure_kinds(), in their order
  Reach reach_ = Reach::ThisHead;
  bool is_open_ = false;
  bool writes_differences_ = false;  ///< of the run and the baseline, where there is one
  bool shows_look_ = false;          ///< draw_look() in place of the choices
  bool shows_picture_ = false;       ///< in place of files
  bool is_outcome_seen_ = true;
  bool is_copying_ = false;  ///< the job's figure is for the clipboard
};

}  // namespace headlight::app
