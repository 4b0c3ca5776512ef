#pragma once

#include <set>
#include <span>
#include <unordered_map>

#include "app/data/survey/survey_room.h"
#include "app/figures/running_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/folder_list.h"
#include "app/widgets/form.h"
#include "app/widgets/table_view.h"
#include "export/drawing.h"

namespace headlight::app {

/// What the parts of the corpus view draw and change.
struct CorpusScene {
  Frame& frame;
  SurveyRoom& room;
  const Survey& survey;
  const std::vector<std::size_t>& listed;  ///< heads of the table, in its order
  std::vector<std::size_t>& lasso;         ///< heads that were encircled, ascending; empty: none, and all are listed
  bool is_shown = false;                   ///< is the survey's model on show?

  /// The chosen head's place among all.
  std::size_t chosen() const;
  /// Chooses it here, and where the survey's model is on show in the whole window.
  void choose(std::size_t head) const;
  /// Its page.
  void open(std::size_t head) const;
  const HeadNote* note(std::size_t head) const;
  /// "L5 H1 induction?": with the user's label.
  std::string title(std::size_t head) const;
};

/// Returns the numbers that place heads from left to right and upwards: the chosen ones, else previous token and induction.
const SurveyColumn& x_column(const Survey& survey, const Choices& choices);
const SurveyColumn& y_column(const Survey& survey, const Choices& choices);
/// Returns the head's name on screen, "L5 H1"; in files and notes it is Survey::name(), "L5H1".
std::string shown_name(const Survey& survey, std::size_t head);
/// What a column's number is, in a sentence.
std::string column_help(const Survey& survey, const std::string& name);
/// "0.312"; "–" for none; of the column "kind" its name.
std::string column_number(const SurveyColumn& column, std::size_t head);

/// Heads as dots. [dot] everywhere; a dot with a NaN isn't drawn.
struct DotPlot {
  const char* name;
  std::string x_title, y_title;
  std::span<const double> x, y;
  std::span<const shell::Color> colors;
  std::span<const std::size_t> marked = {};  ///< framed, ascending; all others are paler where there are some
  std::size_t chosen = 0;
  bool has_whole_x = false;                       ///< of indices, between which there are no ticks
  std::function<std::string(std::size_t)> label;  ///< beside the chosen dot, marked ones where they are few, else outermost
};
struct DotEvents {
  std::optional<std::size_t> hovered, clicked;
  bool is_double = false;
  std::optional<std::vector<std::size_t>> lasso;  ///< a drag has ended: the dots in what it encircled
};
/// Into what is left of the region. `path`: of the drag, kept from frame to frame.
DotEvents draw_dots(Frame& frame, const DotPlot& plot, std::vector<glm::vec2>& path);
/// Says what the head's numbers are that place it among the dots.
Sentence survey_sentence(const CorpusScene& scene, std::size_t head);
/// "gpt2, 200 texts of captions.txt; 144 heads": below a figure's title.
std::string survey_in_words(const Survey& survey);
/// Is the point inside of the closed path?
bool is_inside(std::span<const glm::vec2> path, glm::vec2 point);

/// All heads by two numbers, or by layer and one.
void draw_scatter(const CorpusScene& scene, std::vector<glm::vec2>& path);
/// What it shows as a figure.
std::unique_ptr<exporting::Drawing> scatter_figure(const Survey& survey, const Choices& choices,
                                                   std::span<const std::size_t> marked, const HeadNotes& notes,
                                                   chart::ColorMap colors);

/// All heads of the survey as a table, whose rows are their places.
class CorpusTable {
 public:
  /// Lists the heads that were encircled and whose label or name has `search` in it, in the order that was chosen. Returns
  /// their places. `is_narrow`: beside the dots, with the numbers of their axes alone.
  const std::vector<std::size_t>& list(const std::shared_ptr<const Survey>& survey, const Choices& choices,
                                       const HeadNotes& notes, std::span<const std::size_t> lasso, const std::string& search,
                                       bool is_narrow);
  void draw(const CorpusScene& scene);
  const TableView& view() const { return view_; }

 private:
  /// The values that the table is made from.
  struct Shown {
    std::shared_ptr<const Survey> survey;
    HeadNotes notes;
    std::set<std::string> hidden;  ///< columns

    bool operator==(const Shown&) const = default;
  };

  TableView view_{"corpus"};
  Shown shown_;
};

/// Texts of examples as tokens in lines, which are made once for each.
class ExampleTexts {
 public:
  void draw(const CorpusScene& scene, const SurveyExample& example, const std::string& name);

 private:
  struct Tokens {
    std::vector<RunningToken> running;
    bool are_tokens = false;  ///< else words
  };
  std::unordered_map<const SurveyExample*, Tokens> tokens_;
  std::shared_ptr<const inference::LanguageModel> model_;  ///< whose tokens they are; null: their words
};

/// The mean map of a head, of the part that texts reach.
void draw_mean_map(Frame& frame, const Survey& survey, std::size_t head, const chart::Rect& box, std::uint32_t place);

/// Everything of one head.
class HeadPage {
 public:
  void draw(const CorpusScene& scene);

 private:
  void draw_notes(const CorpusScene& scene, std::size_t head);
  void draw_examples(const CorpusScene& scene, std::size_t head);

  ExampleTexts texts_;
};

/// A text file that is surveyed in the background.
class SurveyForm {
 public:
  void open(const Frame& frame);
  /// Surveys the captions that come along, into a folder of this model in the cache; the dialog says why where it can't.
  void survey_example(Frame& frame);
  /// The dialog, while it is open.
  void draw(Frame& frame);
  /// What runs, and how far it is; nothing where nothing does.
  static void draw_progress(Frame& frame);

 private:
  bool is_open_ = false, was_visible_ = false, browses_folder_ = false;
  FolderList files_{{".txt", ".jsonl", ".gz"}};
  shell::FieldFocus focus_ = shell::FieldFocus::None;  ///< of the first field, in the next frame
  std::string corpus_, folder_, trouble_;
  Choices choices_;  ///< of kSurveySettings
  NumberBeingTyped typed_;
  bool shows_all_ = false;
};

}  // namespace headlight::app
