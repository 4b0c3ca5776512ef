#include "app/state/corpus_settings.h"
#include "app/views/corpus/corpus_parts.h"
#include "app/widgets/finding.h"

namespace headlight::app {
namespace {

constexpr float kCardWidth = 186.0F, kCardGap = 18.0F, kCardBars = 60.0F, kCardTitle = 20.0F;
constexpr std::size_t kMaxListedTokens = 10;

/// Cards in columns of one width, as many as have room, each below the shortest one.
class CardFlow {
 public:
  explicit CardFlow(Frame& frame) : frame_(frame), room_(width_left()), start_(cursor_position()) {
    const auto across = static_cast<std::size_t>((room_ + kCardGap) / (kCardWidth + kCardGap));
    heights_.resize(std::max<std::size_t>(across, 1), 0.0F);
    width_ = std::floor((room_ + kCardGap) / static_cast<float>(heights_.size()) - kCardGap);
  }

  float width() const { return width_; }
  /// `draw` gets what is below the title, `height` high.
  void card(const std::string& title, float height, const std::function<void(const chart::Rect& box)>& draw) {
    const auto shortest = std::ranges::min_element(heights_);
    const auto column = static_cast<float>(shortest - heights_.begin());
    const glm::vec2 at = start_ + glm::vec2(column * (width_ + kCardGap), *shortest);
    *shortest += kCardTitle + height + kCardGap * 0.6F;
    ImFont* small = frame_.ui.fonts().small;
    put_text(small, at, frame_.ui.theme().text_dim, fit_text(small, title, width_));
    draw({.origin = at + glm::vec2(0.0F, kCardTitle), .size = {width_, height}});
  }
  void end() {
    ImGui::SetCursorScreenPos(to_imgui(start_));
    ImGui::Dummy({room_, std::ranges::max(heights_)});
  }

 private:
  Frame& frame_;
  float room_;
  glm::vec2 start_;
  float width_ = 0.0F;
  std::vector<float> heights_;  ///< [column]
};

/// Without the empty bars at the end, of values whose range says more than the texts have.
std::span<const float> without_empty_end(std::span<const float> values) {
  while (values.size() > 1 && values.back() == 0.0F) values = values.first(values.size() - 1);
  return values;
}

/// Values as bars, with what the first and the last one are of below them, and one in words under the pointer.
void draw_bars(Frame& frame, const std::string& name, chart::Rect box, std::span<const float> values, const std::string& low,
               const std::string& high, const std::function<std::string(std::size_t)>& about) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* small = frame.ui.fonts().small;
  box.size.y -= font_size(small) + 1.0F;
  put_text(small, {box.origin.x, box.end().y + 1.0F}, theme.text_dim, low);
  put_text(small, {box.end().x - text_width(small, high), box.end().y + 1.0F}, theme.text_dim, high);
  float most = 1e-12F;
  for (const float value : values) most = std::isnan(value) ? most : std::max(most, value);
  ImGui::SetCursorScreenPos(to_imgui(box.origin));
  click_area(name.c_str(), to_imgui(box.size));
  const bool is_hovered = ImGui::IsItemHovered();
  const float step = box.size.x / static_cast<float>(std::max<std::size_t>(values.size(), 1));
  const auto pointed = static_cast<std::size_t>(std::max((pointer_position().x - box.origin.x) / step, 0.0F));
  const bool has_bar = is_hovered && pointed < values.size();
  mark_pointer_item(frame, name, has_bar ? about(pointed).c_str() : "A bar says under the pointer what it is.");
  fill_rect(box, theme.panel, 2.0F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) || values[i] <= 0.0F) continue;
    const float left = box.origin.x + static_cast<float>(i) * step;
    const float height = std::max(values[i] / most * (box.size.y - 2.0F), 1.0F);
    fill_rect({left, box.end().y - height}, {left + std::max(step - 1.0F, 1.0F), box.end().y},
              has_bar && i == pointed ? theme.accent : theme.output);
  }
}

void draw_metric_card(const CorpusScene& scene, CardFlow& flow, std::size_t metric, std::size_t head) {
  const SurveyedHead& found = scene.survey.head(metric, head);
  const std::string& name = scene.survey.metrics[metric];
  const std::vector<double>& all = scene.survey.column(name, 0).values;
  const auto heads = std::ranges::count_if(all, [](double value) { return std::isfinite(value); });
  const bool is_cross = scene.survey.layout.at(head).block.kind == model::BlockKind::Cross;
  const std::string title = found.texts > 0
                                ? fmt::format("{} {}, rank {} of {}", name, found.mean_text(), found.place, heads)
                                : fmt::format("{}: {}", name, is_cross ? "\u2013" : "no text has it");
  const double step = found.top / static_cast<double>(std::max<std::size_t>(found.histogram.size(), 1));
  const bool is_share = found.top == 1.0;  // all of which have one scale
  const std::span<const float> bins = is_share ? found.histogram : without_empty_end(found.histogram);
  flow.card(title, bins.empty() ? 0.0F : kCardBars, [&](const chart::Rect& box) {
    if (bins.empty()) return;  // HeadVis' folder has none
    const auto about = [&](std::size_t bin) {
      return fmt::format("{} from {:.3g} to {:.3g}: {} of {} texts", name, step * static_cast<double>(bin),
                         step * static_cast<double>(bin + 1), bins[bin], found.texts);
    };
    draw_bars(scene.frame, "corpus.histogram." + name, box, bins, "0",
              fmt::format("{:.3g}", step * static_cast<double>(bins.size())), about);
  });
}

/// "dog  0.42": the tokens of the largest mass, as many as fit, with the mean weight.
void draw_token_card(const CorpusScene& scene, CardFlow& flow, const char* name, const char* title, const char* help,
                     std::span<const CountedToken> tokens) {
  Frame& frame = scene.frame;
  const shell::Theme& theme = frame.ui.theme();
  ImFont *body = frame.ui.fonts().body, *mono = frame.ui.fonts().mono;
  const float line = font_size(body) + 3.0F;
  const std::size_t count = std::min(tokens.size(), kMaxListedTokens);
  flow.card(title, line * static_cast<float>(count), [&](const chart::Rect& box) {
    for (std::size_t i = 0; i < count; ++i) {
      const CountedToken& token = tokens[i];
      const float y = box.origin.y + line * static_cast<float>(i);
      const std::string number = fmt::format("{:.2f}", token.weight);
      const float right = box.end().x - text_width(mono, number);
      frame.ui.ensure_glyphs(token.query + token.key);
      const bool is_pair = !token.query.empty() && !token.key.empty();
      const float room = right - box.origin.x - 8.0F;
      const auto word = [&](const std::string& text, float share) {
        return fit_text(body, frame.ui.shaped(text), room * share);
      };
      const std::string first = word(token.query.empty() ? token.key : token.query, is_pair ? 0.45F : 1.0F);
      put_text(body, {box.origin.x, y}, token.query.empty() ? theme.key : theme.query, first);
      if (is_pair) {
        const std::string second = "\u2192 " + word(token.key, 0.45F);
        put_text(body, {box.origin.x + text_width(body, first) + 5.0F, y}, theme.key, second);
      }
      put_text(mono, {right, y}, theme.text_dim, number);
      ImGui::SetCursorScreenPos({box.origin.x, y});
      const std::string item = fmt::format("{}.{}", name, i);
      click_area(item.c_str(), {box.size.x, line});
      mark_pointer_item(
          frame, item,
          fmt::format("{} {:.3f} on the mean, {} times, {:.1f} together.", help, token.weight, token.count, token.mass)
              .c_str());
    }
  });
}

void draw_attention_cards(const CorpusScene& scene, CardFlow& flow, std::size_t head) {
  Frame& frame = scene.frame;
  const HeadAttention& found = scene.survey.attention[head];
  const bool is_cross = scene.survey.layout.at(head).block.kind == model::BlockKind::Cross;
  const auto share = [](const char* what, const std::string& where, float value) {
    return fmt::format("{} {}: {:.1f} % of the attention", what, where, 100.0F * value);
  };
  if (!found.distances.empty()) {
    const std::string title =
        found.queries > 0 ? fmt::format("attention by distance, {:.1f} \u00B1 {:.1f}", found.distance, found.distance_spread)
                          : "attention by distance";
    flow.card(title, kCardBars, [&](const chart::Rect& box) {
      const std::span<const float> bins = without_empty_end(found.distances);
      draw_bars(frame, "corpus.distances", box, bins, "0", bin_name(bins.size() - 1),
                [&](std::size_t bin) { return share("distance", bin_name(bin), found.distances[bin]); });
    });
  }
  if (!found.positions.empty()) {
    flow.card("attention by the key\u2019s position", kCardBars, [&](const chart::Rect& box) {
      const std::span<const float> bins = without_empty_end(found.positions);
      draw_bars(frame, "corpus.positions", box, bins, "0", bin_name(bins.size() - 1),
                [&](std::size_t bin) { return share("position", bin_name(bin), found.positions[bin]); });
    });
  }
  if (!found.relative.empty()) {
    flow.card("mean weight by key \u2212 query", kCardBars, [&](const chart::Rect& box) {
      draw_bars(frame, "corpus.relative", box, found.relative, fmt::format("\u2212{}", kRelativeReach),
                fmt::format("{}", kRelativeReach), [&](std::size_t bin) {
                  const int offset = static_cast<int>(bin) - static_cast<int>(kRelativeReach);
                  return std::isnan(found.relative[bin])
                             ? fmt::format("key \u2212 query = {}: no cell", offset)
                             : fmt::format("key \u2212 query = {}: mean weight {:.3f}", offset, found.relative[bin]);
                });
    });
  }
  if (!found.map.empty()) {
    const float edge = std::min(flow.width(), 200.0F);
    flow.card(is_cross ? "mean map, texts stretched" : "mean map, texts aligned left", edge, [&](const chart::Rect& box) {
      const chart::Rect square{.origin = box.origin, .size = glm::vec2(edge)};
      draw_mean_map(frame, scene.survey, head, square, 0);
      frame.mark("corpus.map", square);
    });
  }
  if (found.queries == 0) return;
  const std::string self = fmt::format("queries \u00B7 itself {:.2f} \u00B1 {:.2f}", found.self, found.self_spread);
  const std::string first = fmt::format("keys \u00B7 first token {:.2f}", found.first);
  if (!is_cross) {  // all of whose queries attend to the source alone
    draw_token_card(scene, flow, "corpus.query", self.c_str(),
                    "Attends to others than the first token:", found.query_tokens);
  }
  draw_token_card(scene, flow, "corpus.key", first.c_str(),
                  "Gets attention from all queries of its text together:", found.key_tokens);
  draw_token_card(scene, flow, "corpus.pair", "pairs: query \u2192 its largest key", "Weight of the pair:", found.pairs);
}

struct Labels {
  std::vector<std::string> labels;
  bool are_tokens = false;  ///< those that were measured; else words
};

/// The tokens of an example by the model on show, where texts are pairs those of the target and of the source. Without one,
/// and where the ids are beyond its vocabulary, so that it differs from the measured one: the words, each mark before its
/// word.
Labels labels_of(const SurveyExample& example, const inference::LanguageModel* model) {
  try {
    inference::PromptText prompt;
    prompt.ids.push_back(example.ids);
    if (!example.target_ids.empty()) prompt.target_ids.push_back(example.target_ids);
    if (model && model->tokenizer) {
      const model::ModelInput input = inference::make_prompt(*model, prompt).input;
      Labels made{.labels = {}, .are_tokens = true};
      if (!example.target_ids.empty()) {
        made.labels = input.target->texts.at(0);
        made.labels.emplace_back("\u00B7\u2192");
      }
      made.labels.insert(made.labels.end(), input.source.texts.at(0).begin(), input.source.texts.at(0).end());
      return made;
    }
  } catch (const Error&) {
  }
  Labels words;
  std::istringstream text(
      fmt::format("{} \u2192 {}:  {} {}", example.query_token, example.key_token, example.target, example.text));
  for (std::string word; text >> word;) words.labels.push_back("\u00B7" + word);
  return words;
}

}  // namespace

void ExampleTexts::draw(const CorpusScene& scene, const SurveyExample& example, const std::string& name) {
  Frame& frame = scene.frame;
  const shell::Theme& theme = frame.ui.theme();
  ImFont *body = frame.ui.fonts().body, *mono = frame.ui.fonts().mono;
  const std::shared_ptr<const inference::LanguageModel> model = scene.is_shown ? frame.result.model : nullptr;
  if (std::exchange(model_, model) != model) tokens_.clear();
  auto known = tokens_.find(&example);
  if (known == tokens_.end()) {
    Labels made = labels_of(example, model.get());
    for (const std::string& label : made.labels) frame.ui.ensure_glyphs(label);
    known = tokens_.emplace(&example, Tokens{running_tokens(made.labels, {}, 0), made.are_tokens}).first;
  }
  const std::vector<RunningToken>& tokens = known->second.running;
  constexpr float kNumberRoom = 52.0F;
  const glm::vec2 start = cursor_position();
  const float line = font_size(body) + 6.0F, width = std::max(width_left() - kNumberRoom, 60.0F);
  std::vector<float> widths;
  for (const RunningToken& token : tokens) widths.push_back(text_width(body, frame.ui.shaped(token.place.text)));
  const TextLines lines = lay_out_text(
      tokens, widths, {.width = width, .line_height = line, .token_height = line - 2.0F, .space = 5.0F, .padding = 1.0F});
  const float height = std::max(lines.height, line);
  if (click_area(name.c_str(), {kNumberRoom + width, height})) {
    scene.room.show({.example = example, .head = scene.survey.layout.at(scene.chosen())});
    frame.ui.request_redraw(2);
  }
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) frame.state.view.tab = kHeadView;
  mark_last_item(
      frame, name,
      fmt::format("{} \u2192 {}: weight {:.3f}. Click: opens the text in the window, with this cell pinned. Double "
                  "click: shows its map.",
                  example.query_token, example.key_token, example.weight)
          .c_str());
  if (is_hovered) fill_rect(start, start + glm::vec2(kNumberRoom + width, height), theme.hover, 3.0F);
  put_text(mono, start + glm::vec2(2.0F, 1.0F), theme.text_dim, fmt::format("{:.3f}", example.value));
  // The target's tokens and an arrow come before the source's.
  const model::BlockKind kind = scene.survey.layout.at(scene.chosen()).block.kind;
  const std::size_t source = example.target_ids.empty() ? 0 : example.target_ids.size() + 1;
  const std::size_t query = example.query + (kind == model::BlockKind::EncoderSelf ? source : 0),
                    key = example.key + (kind == model::BlockKind::DecoderSelf ? 0 : source);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const chart::Rect box{.origin = lines.tokens[i].origin + start + glm::vec2(kNumberRoom, 0.0F),
                          .size = lines.tokens[i].size};
    const bool has_cell = known->second.are_tokens, is_query = has_cell && i == query, is_key = has_cell && i == key;
    if (is_key) fill_rect(box, theme.key_fill, 3.0F);
    if (is_query) is_key ? outline_rect(box, theme.query, 3.0F, 2.0F) : fill_rect(box, theme.query_fill, 3.0F);
    put_text(body, box.origin + glm::vec2(1.0F, 1.0F), theme.text, frame.ui.shaped(tokens[i].place.text));
  }
}

void HeadPage::draw_notes(const CorpusScene& scene, std::size_t head) {
  constexpr float kLabelField = 150.0F;
  Frame& frame = scene.frame;
  const std::string name = scene.survey.name(head);
  HeadNote note = scene.note(head) ? *scene.note(head) : HeadNote();
  const HeadNote before = note;
  ImGui::BeginDisabled(!scene.room.can_write_notes());
  continue_line(2.0F * kLabelField, 12.0F);
  frame.ui.text_field(("##label" + name).c_str(), note.label, {.width = kLabelField, .hint = "label", .limit = 200});
  mark_last_item(frame, "corpus.label",
                 "A few words of yours, by which the head is found; kept in notes.json beside the survey.");
  ImGui::SameLine(0.0F, 6.0F);
  frame.ui.text_field(("##note" + name).c_str(), note.text,
                      {.width = std::max(width_left(), 60.0F), .hint = "note", .limit = 20'000});
  mark_last_item(frame, "corpus.note", "What you found of this head; kept in notes.json beside the survey.");
  ImGui::EndDisabled();
  if (note != before) scene.room.write_note(name, std::move(note));
  if (!scene.room.notes_error().empty())
    write_note(frame, scene.room.notes_error(), frame.ui.theme().warning, "corpus.notes_error");
}

void HeadPage::draw_examples(const CorpusScene& scene, std::size_t head) {
  Frame& frame = scene.frame;
  const std::vector<std::string>& metrics = scene.survey.metrics;
  std::size_t metric =
      static_cast<std::size_t>(std::ranges::find(metrics, frame.state[kCorpusView.metric]) - metrics.begin());
  if (metric == metrics.size()) {  // the first that has a value
    metric = 0;
    while (metric + 1 < metrics.size() && scene.survey.head(metric, head).texts == 0) ++metric;
  }
  write_label(frame.ui.fonts().strong, frame.ui.theme().text, "Examples by");
  ImGui::SameLine(0.0F, 8.0F);
  ImGui::SetNextItemWidth(130.0F);
  if (OpenList list(frame, "corpus.metric", metrics[metric].c_str(), "Whose texts are listed."); list) {
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (list.entry(metrics[i].c_str(), metrics[i], i == metric, column_help(scene.survey, metrics[i]).c_str()))
        frame.state.set(kCorpusView.metric, metrics[i]);
    }
  }
  static const std::vector<std::string> kLabels = {"highest", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
  continue_line(segmented_width(frame, kLabels, 7.0F), 12.0F);
  std::size_t decile = frame.state[kCorpusView.decile];
  if (draw_segmented(frame, "corpus.decile", kLabels, decile, 7.0F))
    frame.state.set(kCorpusView.decile, static_cast<std::uint32_t>(decile));
  const SurveyedHead& shown = scene.survey.head(metric, head);
  if (decile > 0 && shown.samples.empty()) {
    return write_note(
        frame,
        "This survey has no texts of the tenths, or no text has the metric: an earlier Headlight made it, or it kept none.",
        {}, "corpus.no_samples");
  }
  const shell::ControlGroup group(frame.ui.keyboard(), "examples");
  std::size_t row = 0;
  for (const SurveyExample& example : decile == 0 ? shown.examples : shown.samples) {
    if (example.decile != decile) continue;
    texts_.draw(scene, example, fmt::format("corpus.example.{}", row++));
  }
  if (row > 0) return;
  write_note(frame, shown.texts > 0 ? std::string("No text of the corpus is here.")
                                    : fmt::format("This head has no value of {}: no text has what it measures, or it "
                                                  "compares positions of one text, and cross-attention's are of two.",
                                                  metrics[metric]));
}

void HeadPage::draw(const CorpusScene& scene) {
  Frame& frame = scene.frame;
  const std::size_t head = scene.chosen();
  const auto at = std::ranges::find(scene.listed, head);
  const auto go = [&](bool is_next) {
    if (scene.listed.empty()) return;
    const std::size_t last = scene.listed.size() - 1;
    const auto place = static_cast<std::size_t>(at - scene.listed.begin());
    scene.choose(scene.listed[at == scene.listed.end() ? 0
                              : is_next                ? std::min(place + 1, last)
                                                       : place - std::min<std::size_t>(place, 1)]);
  };
  if (draw_arrow_button(frame, "corpus.previous", ImGuiDir_Left, "The head before it in the table (Left).")) go(false);
  ImGui::SameLine(0.0F, 4.0F);
  if (draw_arrow_button(frame, "corpus.next", ImGuiDir_Right, "The head after it in the table (Right).")) go(true);
  if (!has_popup()) {
    if (frame.ui.is_pressed(shell::Key::Left)) go(false);
    if (frame.ui.is_pressed(shell::Key::Right)) go(true);
  }
  ImGui::SameLine(0.0F, 10.0F);
  write_label(frame.ui.fonts().strong, frame.ui.theme().text, shown_name(scene.survey, head));
  frame.mark("corpus.head", last_item_rect());
  draw_notes(scene, head);
  begin_bare_region("page", {0.0F, 0.0F});
  CardFlow flow(frame);
  for (std::size_t metric = 0; metric < scene.survey.metrics.size(); ++metric) draw_metric_card(scene, flow, metric, head);
  draw_attention_cards(scene, flow, head);
  flow.end();
  const HeadAttention& attention = scene.survey.attention[head];
  if (attention.map.empty() && attention.queries == 0) {
    write_note(frame,
               "This survey says nothing of tokens, distances and mean maps: an earlier Headlight made it. Make it again to "
               "see them.",
               {}, "corpus.older");
  }
  draw_examples(scene, head);
  ImGui::EndChild();
}

}  // namespace headlight::app
