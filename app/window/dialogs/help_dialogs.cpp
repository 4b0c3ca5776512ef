#include "app/window/dialogs/help_dialogs.h"

#include <array>

#include <vulkan/vulkan_core.h>

#include "app/commands/command_list.h"
#include "app/state/version.h"
#include "app/widgets/controls.h"
#include "text/unicode.h"

namespace headlight::app {
namespace {

/// In alphabetical order, one entry a word.
constexpr auto kWords = std::to_array<GlossaryEntry>(
    {{"batch", "Several texts computed together, one a line, filled up to the longest with padding."},
     {"causal", "A query sees only keys up to its own position, as in models that predict the next token."},
     {"chat template",
      "What an instruct model's files write a chat with: special tokens and names of roles around each turn."},
     {"checkpoint", "A model's weights as they were at one step of its training, in a folder or a revision."},
     {"concentration", "The mean of the rows' largest weights: 1 when every query looks at one key only."},
     {"cross-attention",
      "Queries come from one text and keys and values from another, as a decoder reads what the encoder read."},
     {"d_model, d_k, d_v", "The widths of a token's vector, of a head's queries and keys, and of a head's values."},
     {"decile", "A tenth of the texts, in order of a metric: the first one has the lowest values."},
     {"entropy", "How widely a row spreads its weights: 0 for one key, more for many."},
     {"expert", "One of several feed-forwards of a layer, of which each token is given to a few."},
     {"fill",
      "The number that a masked score becomes: \u2212\u221E gives exactly no weight, a finite one equal weights "
      "where all is masked."},
     {"gain", "A factor on what a head adds to the output."},
     {"gate", "What a chosen expert's result is multiplied by: a softmax of the router's numbers."},
     {"head", "One way of looking: each head of a layer has its own Q, K and V, and so its own map of who looks at whom."},
     {"in-context score",
      "The loss of late tokens less that of early ones, in nats: below 0 where a model learns from what it has read."},
     {"induction", "Looking at what followed the same token earlier, from which a model copies what came next."},
     {"key (K)", "What a token offers to be found by: its vector times W_K. Columns of a map are keys."},
     {"KL divergence",
      "By how much one distribution differs from another, in nats: the sum of p\u00B7ln(p \u00F7 q), 0 where "
      "they are equal."},
     {"knock out", "A gain of 0: the model goes on without this head, which shows what it is good for."},
     {"KV heads", "Heads of keys and values that several heads of queries share."},
     {"layer", "One step of the model: attention, then the feed-forward network, each added to the tokens' vectors."},
     {"LayerNorm, RMSNorm",
      "A token's vector brought to one size before a step: by its mean and spread, or by its root mean square."},
     {"linear lens",
      "A logit lens that first adds W\u00B7h + b to a layer's state h, by a matrix and a bias that were trained "
      "for that layer; also: tuned lens."},
     {"logit", "A model's score for one token of its vocabulary; the softmax of all logits are the probabilities."},
     {"logit lens", "The prediction that a layer's states would make if the model ended there."},
     {"looks at, attends to",
      "A row's token looks at, or attends to, a column's: it takes the share of that token's value that the "
      "weight says. Sentences below titles say \u201Clooks at\u201D, all else \u201Cattends to\u201D."},
     {"m, l",
      "Of a row of scores: m is the largest, l the sum of exp(score \u2212 m). A weight is exp(score \u2212 m) / l."},
     {"masked", "The scaled score, with the fill in its place where the mask denies this query this key."},
     {"massive activation",
      "A number of the residual stream above 100 and 1,000 times the median size of its layer (Sun et al. 2024)."},
     {"merge", "Putting the heads' outputs side by side again before the output projection W_O."},
     {"MLP",
      "Multi-layer perceptron, a layer's feed-forward network: linear maps with a bent function between them, "
      "for each token alone."},
     {"mul, abs",
      "Two ways to score a pattern, after TransformerLens: the share of all attention that is on it, and 1 less "
      "the mean difference from it."},
     {"nat",
      "The unit of surprise and entropy with the natural logarithm: 1 nat is 1.44 bits. A token of probability "
      "p costs \u2212ln p."},
     {"OV, QK",
      "A head's two circuits: what it writes of what it reads (W_V and W_O), and which queries look at which "
      "keys (W_Q and W_K)."},
     {"padding", "Tokens that only fill a line up; the padding mask keeps all others from looking at them."},
     {"position",
      "What gives a model the order of its tokens: added to their vectors, turned into Q and K, or added to scores."},
     {"prefix", "The first tokens, which every query sees; after them the mask is causal."},
     {"query (Q)", "What a token looks for: its vector times W_Q. Rows of a map are queries."},
     {"ReLU, GELU, SiLU",
      "Activations: what an MLP does to each number of its wide layer; negative ones become 0 or nearly so."},
     {"residual stream", "The tokens' vectors, to which attention and MLP of each layer add what they compute."},
     {"retrieval score",
      "The share of a needle\u2019s tokens in a long text that a head looks at just when they are to be written."},
     {"RoPE",
      "Rotary position embedding: queries and keys are turned by angles that grow with the position, so that "
      "scores depend on distances."},
     {"router", "The linear layer that says how well each expert fits a token; the largest numbers are chosen."},
     {"scaled",
      "The score times the scale, usually 1/\u221Ad_k, which keeps long vectors from making the softmax too sharp."},
     {"score", "Query times key: how well the two fit."},
     {"self-attention", "Queries and keys come from the same text."},
     {"sink", "The first token, which heads look at that have nothing to do."},
     {"special token",
      "A token without text, like [CLS] or <s>: the tokenizer adds it because the model was trained with it."},
     {"survey", "What headlight survey found of every head over a whole corpus of texts, in a folder."},
     {"temperature", "Logits are divided by it before drawing: below 1 the likely tokens become likelier."},
     {"to largest, per row, fixed, to 98 %",
      "What the strongest colour means: the largest weight of the head, without rows that see a single key; the "
      "largest of "
      "each row; the same value for all maps, as it was dragged or typed; or what 98 % of the map\u2019s "
      "weights are at most."},
     {"token", "A piece of the text that the model reads as one: a word, a part of a word, or a sign."},
     {"top-k, top-p", "Only the k likeliest tokens, or the likeliest that together reach probability p, are drawn from."},
     {"unembedding", "The matrix that turns a token's last vector into logits, a row for each token."},
     {"value (V)", "What a token gives to those that look at it: its vector times W_V."},
     {"W_1, W_2, W_G (WG)",
      "The weights of the MLP: into its wide layer, out of it, and of the gate that its numbers are multiplied by."},
     {"weight",
      "The softmax of a row's masked scores: the share that the query takes from each key; a row adds up to 1, "
      "and bright is much."},
     {"window", "A query sees only keys that are less than so many tokens away."}});

/// The pointer's actions on the big heatmap.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kGestures = {
    {{"Click", "Pin a cell, or unpin it"},
     {"B, then drag", "Mask or unmask cells with the brush"},
     {"Wheel", "Zoom"},
     {"Drag", "Move the map (brush: Shift+drag)"},
     {"0", "Fit the map"}}};

/// The keys' actions on the controls, wherever these are.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kControlKeys = {
    {{"Tab, Shift+Tab", "Go to the next control, or the one before"},
     {"Space, Enter", "Press it, open its list, edit its field"},
     {"Arrows", "Move in a list or row, change a slider"},
     {"Esc", "Leave the controls"}}};

void draw_group(Frame& frame, std::string_view title) {
  ImGui::TableNextRow(0, 24.0F);
  ImGui::TableNextColumn();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 4.0F);
  write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, title);
}

void draw_row(Frame& frame, std::string_view meaning, std::string_view keys) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted(meaning.data(), meaning.data() + meaning.size());
  ImGui::PopTextWrapPos();
  ImGui::TableNextColumn();
  write_text(frame.ui.fonts().mono, frame.ui.theme().accent, keys);
}

/// A heading and the rows below it.
struct KeyGroup {
  std::string_view title;
  std::vector<std::pair<std::string_view, std::string>> rows;  ///< meaning, keys
};

/// Returns a command's keys, in one row where they are as short as "/, Ctrl+L", else in one each.
std::vector<std::string> key_rows(const Command& command) {
  constexpr std::size_t kShort = 12;
  std::vector<std::string> rows;
  for (const shell::Shortcut& key : command.keys) {
    if (key.text.empty()) continue;
    const std::string text(key.text);
    if (!rows.empty() && rows.back().size() + text.size() + 2 <= kShort) {
      rows.back() += ", " + text;
    } else {
      rows.push_back(text);
    }
  }
  return rows;
}

std::vector<KeyGroup> key_groups() {
  std::vector<KeyGroup> groups;
  for (const Command& command : commands()) {
    for (std::string& keys : key_rows(command)) {
      if (groups.empty() || groups.back().title != command.group) groups.push_back({.title = command.group, .rows = {}});
      groups.back().rows.emplace_back(command.label, std::move(keys));
    }
  }
  const auto add = [&](std::string_view title, const auto& list) {
    KeyGroup& group = groups.emplace_back();
    group.title = title;
    for (const auto& row : list) group.rows.emplace_back(row.second, std::string(row.first));
  };
  add("On the map", kGestures);
  add("On controls", kControlKeys);
  return groups;
}

/// Draws the groups [first, end) in a table as wide as `width`.
void draw_groups(Frame& frame, const char* name, std::span<const KeyGroup> groups, float width) {
  if (!ImGui::BeginTable(name, 2, ImGuiTableFlags_SizingFixedFit, {width, 0.0F})) return;
  float widest = 0.0F;
  for (const KeyGroup& group : groups) {
    for (const auto& [meaning, keys] : group.rows) {
      widest = std::max(widest, text_width(frame.ui.fonts().mono, keys));
    }
  }
  ImGui::TableSetupColumn("action", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("keys", ImGuiTableColumnFlags_WidthFixed, std::ceil(widest) + 4.0F);
  for (const KeyGroup& group : groups) {
    draw_group(frame, group.title);
    for (const auto& [meaning, keys] : group.rows) draw_row(frame, meaning, keys);
  }
  ImGui::EndTable();
}

/// Draws the keys in two columns of about equal length where the dialog is wide enough.
void draw_keys(Frame& frame) {
  constexpr float kTwoColumns = 640.0F;
  constexpr float kHelpGap = 32.0F;
  const std::vector<KeyGroup> groups = key_groups();
  const float width = ImGui::GetContentRegionAvail().x;
  const std::span<const KeyGroup> all(groups);
  std::size_t left = groups.size();
  if (width >= kTwoColumns) {
    std::size_t rows = 0;
    for (const KeyGroup& group : groups) rows += group.rows.size() + 1;
    std::size_t above = 0;
    for (left = 0; left < groups.size() && 2 * above < rows; ++left) above += groups[left].rows.size() + 1;
  }
  const float column = left < groups.size() ? (width - kHelpGap) * 0.5F : width;
  const ImVec2 start = ImGui::GetCursorPos();
  draw_groups(frame, "left", all.first(left), column);
  const float left_end = ImGui::GetCursorPosY();
  if (left < groups.size()) {
    ImGui::SetCursorPos({start.x + column + kHelpGap, start.y});
    draw_groups(frame, "right", all.subspan(left), column);
    ImGui::SetCursorPosY(std::max(left_end, ImGui::GetCursorPosY()));
  }
  ImGui::Spacing();
  write_wrapped(
      frame.ui.fonts().small, frame.ui.theme().text_dim,
      "While a text is being edited, plain keys are the text's. Esc leaves it. Outside of a text a letter alone is a "
      "shortcut; letters typed in a row start nothing and are offered to the text.");
}

void draw_words(Frame& frame, std::string& search) {
  frame.ui.text_field("##search", search, {.width = 240.0F, .hint = "Find a word", .limit = 100});
  mark_last_item(frame, "help.search", "Lists the words that have this in their name or their meaning.");
  const std::string wanted = text::lower_cased(search);
  if (!ImGui::BeginTable("words", 2, ImGuiTableFlags_SizingFixedFit)) return;
  float widest = 0.0F;
  for (const GlossaryEntry& entry : glossary()) {
    widest = std::max(widest, text_width(frame.ui.fonts().strong, std::string(entry.word)));
  }
  ImGui::TableSetupColumn("word", ImGuiTableColumnFlags_WidthFixed, std::ceil(widest) + 4.0F);
  ImGui::TableSetupColumn("meaning", ImGuiTableColumnFlags_WidthStretch);
  for (const GlossaryEntry& entry : glossary()) {
    if (text::lower_cased(fmt::format("{} {}", entry.word, entry.meaning)).find(wanted) == std::string::npos) continue;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    write_text(frame.ui.fonts().strong, frame.ui.theme().text, entry.word);
    frame.mark(fmt::format("help.word.{}", entry.word), last_item_rect());
    ImGui::TableNextColumn();
    ImGui::PushTextWrapPos(0.0F);
    ImGui::TextUnformatted(entry.meaning.data(), entry.meaning.data() + entry.meaning.size());
    ImGui::PopTextWrapPos();
  }
  ImGui::EndTable();
}

}  // namespace

void draw_help_dialog(Frame& frame, bool& is_open, HelpMemory& memory) {
  constexpr float kFrame = 150.0F;  // title bar, pages' names and margins
  const Dialog dialog(frame, "Help", is_open, 820.0F);
  if (!dialog.is_visible()) return;
  const std::vector<std::string> pages = {"Keys", "Words"};
  choose_segment(frame, "help", pages, memory.page);
  ImGui::Spacing();
  // The page is as high as the window allows, so that the dialog doesn't jump from one page to the other; in a small one
  // they scroll.
  const float height = std::clamp(frame.ui.size().y - kFrame, 120.0F, 700.0F);
  ImGui::BeginChild("page", {0.0F, height});
  memory.page == HelpPage::Keys ? draw_keys(frame) : draw_words(frame, memory.search);
  const ImVec2 page_low = ImGui::GetWindowPos();
  frame.mark("help.page", {.origin = to_glm(page_low), .size = {ImGui::GetWindowWidth(), height}});
  frame.mark("help.end", {.origin = {page_low.x, ImGui::GetCursorScreenPos().y}, .size = {1.0F, 1.0F}});
  ImGui::EndChild();
}

void draw_about_dialog(Frame& frame, bool& is_open, const std::string& renderer) {
  const Dialog dialog(frame, "About", is_open, 440.0F);
  if (!dialog.is_visible()) return;
  write_text(frame.ui.fonts().title, frame.ui.theme().text, "Headlight " + program_version());
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted("Type a sentence and see every head of a transformer attend to it.");
  ImGui::Spacing();
  const TextStyleScope ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const std::string computes = frame.result.device.empty() ? "none" : frame.result.device;
  ImGui::TextUnformatted(fmt::format("Computes on: {}", computes).c_str());
  ImGui::TextUnformatted(fmt::format("Draws on: {}", renderer).c_str());
  ImGui::TextUnformatted(fmt::format("Dear ImGui {}, Vulkan headers 1.{}.{}", ImGui::GetVersion(),
                                     VK_API_VERSION_MINOR(VK_HEADER_VERSION_COMPLETE), VK_HEADER_VERSION)
                             .c_str());
  ImGui::TextUnformatted("MIT licence");
  ImGui::PopTextWrapPos();
}

std::string keys_in_words() {
  std::string text;
  for (const KeyGroup& group : key_groups()) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", group.title);
    for (const auto& [meaning, keys] : group.rows) text += fmt::format("  {:<18} {}\n", keys, meaning);
  }
  return text;
}

std::span<const GlossaryEntry> glossary() { return kWords; }

}  // namespace headlight::app
