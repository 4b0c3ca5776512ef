#include "app/widgets/whole_words.h"

#include "app/engine/prompt_lines.h"
#include "app/state/map_settings.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxShownWords = 200, kMaxShownBytes = 2'048;
constexpr float kWordGap = 7.0F;

}  // namespace

void draw_whole_words(Frame& frame, const char* name, const std::string& text, bool is_target) {
  const inference::LanguageModel* model = frame.result.model.get();
  if (!frame.state[kMapView.whole_words] || model == nullptr || !model->words) return;
  const text::WordVocabulary& vocabulary = is_target ? model->words->target : model->words->source;
  const std::vector<LineRange> lines = item_lines(text, frame.state.model().joins_lines);
  const std::uint32_t item = frame.state.selection.batch;
  if (item >= lines.size()) return;
  const std::size_t bytes = std::min(lines[item].end - lines[item].begin, kMaxShownBytes);
  const std::vector<text::VocabularyWord> words = vocabulary.encode(std::string_view(text).substr(lines[item].begin, bytes));
  const shell::Theme& theme = frame.ui.theme();
  ImGui::BeginGroup();
  const auto put = [&](const std::string& shown, shell::Color color, bool is_first) {
    frame.ui.ensure_glyphs(shown);
    if (!is_first) continue_line(text_width(frame.ui.fonts().small, shown), kWordGap);
    write_text(frame.ui.fonts().small, color, shown);
  };
  put(fmt::format("{} whole words:", words.size()), theme.text_dim, true);
  for (std::size_t i = 0; i < std::min(words.size(), kMaxShownWords); ++i) {
    const text::VocabularyWord& word = words[i];
    const bool is_unknown = word.id == text::WordVocabulary::kUnknown;
    const bool is_space = word.text.find_first_not_of(" \t") == std::string::npos;
    const std::string shown = is_space ? "\u00B7" : word.text;
    put(is_unknown ? fmt::format("<unk>\u00A0({})", shown) : shown,
        is_unknown              ? theme.warning
        : word.bytes.is_empty() ? theme.text_dim
                                : theme.text,
        false);
    mark_pointer_item(frame, fmt::format("{}.{}{}", name, i, is_unknown ? ".unknown" : ""),
                      is_unknown ? "The training text has this word less than twice: the notebook's network reads <unk>."
                                 : fmt::format("Number {} of {} words.", word.id, vocabulary.size()).c_str());
  }
  if (words.size() > kMaxShownWords) put("\u2026", theme.text_dim, false);
  ImGui::EndGroup();
  frame.mark(name, last_item_rect());
}

}  // namespace headlight::app
