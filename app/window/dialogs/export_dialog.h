#pragma once

#include "app/figures/job.h"
#include "app/state/settings.h"
#include "app/widgets/folder_list.h"
#include "app/widgets/notice.h"
#include "app/window/dialogs/figure_form.h"
#include "app/window/dialogs/figure_preview.h"

namespace headlight::app {

/// Room for the switches of figure_kinds().
inline constexpr std::size_t kMaxFigureKinds = 16;
/// The matrices of the stages.
inline constexpr std::size_t kHiddenStates = attention::kStages, kLogitNumbers = kHiddenStates + 1,
                             kNormNumbers = kLogitNumbers + 1;

/// What becomes of a figure.
enum class FigureUse : std::uint8_t { Save, CopyImage, CopyText };
/// A figure that was used.
struct UsedFigure {
  FigureUse use = FigureUse::Save;
  std::string text;  ///< to copy, or what to say
};

/// One figure as it will be, beside what it is of and how it looks; Enter saves it. Below "More": what is rarely changed,
/// and many files at once: matrices of this head, this layer or all in any format. Both are tasks of the engine; the dialog
/// may be closed meanwhile.
class ExportDialog {
 public:
  /// Lays out what the view on screen has for a paper. Throws Error in one line where it has nothing.
  using DrawView = std::function<std::unique_ptr<exporting::Drawing>()>;

  explicit ExportDialog(Engine& engine);

  /// Figures look as they did the last time, with the window's colours, and differences are written where it shows them.
  /// `contents`: of the view on screen; they replace what was chosen before where they differ from those of the last time.
  void open(const State& state, const ExportContents& contents, const Settings& settings);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  bool is_running() const { return (job_ && !job_.is_done()) || (used_ && !used_.is_done()); }
  /// Is the preview computed?
  bool is_drawing() const { return preview_.is_busy(); }
  const FigurePreview& preview() const { return preview_; }

  /// The settings keep where the last export went and how its figures looked.
  void draw(Frame& frame, Settings& settings, const DrawView& draw_view);

  /// Puts the selected head's map on the clipboard as an image; the result comes as of an export.
  void copy_figure(const State& state, const Transient& transient, const EngineResult& result);

  /// "Exporting 3 of 12"; empty when nothing runs.
  std::string status() const;
  /// The result, once, when the job has ended and the dialog isn't there to show it.
  std::optional<Notice> take_result();

 private:
  enum class Reach : std::uint8_t { ThisHead, ThisLayer, Everything };

  void propose(const ExportContents& contents);
  /// Of many files.
  ExportOptions options(const State& state, const Transient& transient, const EngineResult& result) const;
  /// Of one figure of a kind, as far as there is such a figure. Throws UsageError where layers or heads are no numbers.
  ExportOptions figure_options(const FigureKind& kind, const State& state, const Transient& transient,
                               const EngineResult& result) const;
  WantedFigure wanted_figure(Frame& frame, const DrawView& draw_view);
  std::string proposed_name(const State& state) const;
  /// Encodes the previewed figure on the engine's thread, as soon as it is drawn.
  void use_figure(const State& state, FigureUse what, std::string& directory);
  /// The part of the maps that are written, or why there is none.
  Result<MapPart> part(const State& state, const Transient& transient, const EngineResult& result) const;
  /// Has any block of the run the stage?
  static bool has_stage(const EngineResult& result, attention::Stage stage);
  /// Can the run be compared with the baseline?
  static bool has_baseline(const State& state, const EngineResult& result);
  /// The kinds of figures that many files may have; a pair, the last of them, only where there is a baseline.
  static std::span<const FigureKind* const> offered_kinds(const State& state, const EngineResult& result);
  std::vector<const FigureKind*> chosen_kinds(const State& state, const EngineResult& result) const;
  std::vector<ExportFormat> chosen_formats() const;
  /// Is a figure chosen that isn't of the chosen matrices, and a format for it?
  bool writes_other_figures(const State& state, const EngineResult& result) const;
  /// Is there anything to write?
  bool has_choice(const State& state, const EngineResult& result) const;
  void begin(const Frame& frame, std::string& directory);
  /// Returns the job's progress so far.
  ExportProgress progress() const;
  void draw_figure_page(Frame& frame, Settings& settings, const DrawView& draw_view);
  void draw_page_group(Frame& frame, Form& form);
  void draw_look_groups(Frame& frame, Form& form);
  void draw_file_group(Frame& frame, Form& form);
  void draw_folder(Frame& frame, Form& form);
  void draw_more(Frame& frame, Form& form, std::string& directory);
  void draw_many_files(Frame& frame, std::string& directory);
  void draw_names(Frame& frame);
  void draw_progress(Frame& frame);
  void draw_figure_buttons(Frame& frame, std::string& directory);
  void take_end_of_job();

  Engine& engine_;
  RegionChoice region_;
  std::optional<ExportContents> proposed_;  ///< the last time
  std::string proposed_view_;               ///< likewise
  Choices figure_;                          ///< how figures look (figure_settings.h)
  const FigureKind* kind_ = &kHeadFigure;   ///< null: the view's own
  std::string layers_, heads_;              ///< typed: of figures of several; empty: all
  float free_width_mm_ = 0.0F;              ///< the last one that was neither a column's nor a page's; 0: auto
  bool is_width_free_ = true;
  int format_ = 0;       ///< of the figure: PDF, SVG, PNG
  std::string name_;     ///< typed, of the figure's file; empty: the proposed one
  std::string session_;  ///< of the state when the dialog was opened
  bool has_session_ = true;
  std::shared_ptr<const exporting::Drawing> drawing_;  ///< the view's own
  std::array<std::uint64_t, 4> drawn_of_{};            ///< the run, and the answers that were there
  std::string view_trouble_;                           ///< why there is none
  FigurePreview preview_;
  NumberBeingTyped typed_;
  std::string typed_directory_;
  FolderList folders_;
  Notice outcome_;  ///< of the last job; also why a job can't begin
  Asked<ExportJob> job_;
  Asked<UsedFigure> used_;
  std::optional<FigureUse> wanted_use_;  ///< once the preview is drawn
  double entered_s_ = 0.0;               ///< when Enter was pressed or repeated last
  /// The stages, then hidden states, logits, and whether weights are written as norms.
  std::array<bool, attention::kStages + 3> matrices_{};
  std::array<bool, kExportFormats> formats_{};
  std::array<bool, kMaxFigureKinds> views_{};  ///< of figure_kinds(), in their order
  Reach reach_ = Reach::ThisHead;
  bool is_open_ = false;
  bool writes_differences_ = false;  ///< of the run and the baseline, where there is one
  bool shows_more_ = false;
  bool is_outcome_seen_ = true;
  bool is_to_close_ = false;  ///< the figure is saved
  bool is_copying_ = false;   ///< the job's figure is for the clipboard
};

}  // namespace headlight::app
