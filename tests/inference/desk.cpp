#include "inference/desk.h"

#include <algorithm>
#include <utility>

#include "inference/random_network.h"
#include "support/golden_model.h"

namespace headlight::test {
namespace {

using model::BlockKind;

model::TokenBatch batch_of(const std::vector<std::vector<std::uint32_t>>& texts, bool pads_left) {
  model::TokenBatch tokens{.batch = static_cast<std::uint32_t>(texts.size())};
  for (const auto& text : texts) tokens.length = std::max(tokens.length, static_cast<std::uint32_t>(text.size()));
  for (const auto& text : texts) {
    const auto padding = tokens.length - static_cast<std::uint32_t>(text.size());
    if (pads_left) tokens.ids.insert(tokens.ids.end(), padding, 0u);
    tokens.ids.insert(tokens.ids.end(), text.begin(), text.end());
    if (!pads_left) tokens.ids.insert(tokens.ids.end(), padding, 0u);
    tokens.lengths.push_back(static_cast<std::uint32_t>(text.size()));
    tokens.starts.push_back(pads_left ? padding : 0);
  }
  return tokens;
}

class Editor {
 public:
  Editor(Random& random, const OpenModel& model, Desk& desk) : random_(random), model_(model), desk_(desk) {}

  std::string edit() {
    const bool in_target = !desk_.target.empty() && random_.chance(0.6);
    auto& texts = in_target ? desk_.target : desk_.source;
    auto& text = texts[random_.below(static_cast<std::uint32_t>(texts.size()))];
    const auto length = static_cast<std::uint32_t>(text.size());
    const std::string where = in_target ? " in the target" : "";
    switch (random_.below(12)) {
      case 0:
      case 1:
        return append(text, random_.between(1, 3)) + where;
      case 2:
        return append(text, is_limited() ? 9 : 58) + where;
      case 3:
        text[random_.below(length)] = id();
        return "change a token" + where;
      case 4:
        text.resize(length - random_.below(std::min(length, 12u)));
        return "delete at the end" + where;
      case 5:
        if (length >= most()) return "nothing";
        text.insert(text.begin() + random_.below(length + 1), id());
        return "insert" + where;
      case 6:
        return change_batch();
      case 7:
      case 8:
        return paint();
      case 9: {
        attention::MaskRule& rule = desk_.masks[kind()].rule;
        rule.causal = !rule.causal;
        return "toggle causal";
      }
      case 10:
        return intervene();
      default:
        break;
    }
    desk_.pads_left = !desk_.pads_left;
    return "pad on the other side";
  }

 private:
  std::uint32_t id() { return random_.below(model_.description.vocabulary); }
  bool is_limited() const { return model_.description.is_length_limited; }
  std::uint32_t most() const { return is_limited() ? model_.description.max_length : 140; }
  std::uint32_t heads() const { return model_.description.heads; }
  model::BlockRef block() {
    const auto blocks = model_.network->blocks();
    return blocks[random_.below(static_cast<std::uint32_t>(blocks.size()))];
  }
  BlockKind kind() { return block().kind; }

  std::string append(std::vector<std::uint32_t>& text, std::uint32_t count) {
    if (text.size() + count > most()) {
      text.resize(4);
      return "cut";
    }
    for (std::uint32_t i = 0; i < count; ++i) text.push_back(id());
    return "append " + std::to_string(count);
  }

  std::string change_batch() {
    for (auto* texts : {&desk_.source, &desk_.target}) {
      if (texts->empty()) continue;
      if (texts->size() > 2) {
        texts->pop_back();
      } else {
        texts->push_back(random_text(random_, random_.between(1, 10), model_.description.vocabulary));
      }
    }
    return "change the batch";
  }

  std::string paint() {
    attention::MaskSpec& mask = desk_.masks[kind()];
    if (mask.painted.size() > 3) {
      mask.painted.clear();
      return "erase the paint";
    }
    attention::PaintScope scope;
    if (random_.chance(0.7)) scope.layer = random_.below(model_.description.layers);
    if (random_.chance(0.5)) scope.head = random_.below(heads());
    const bool is_visible = random_.chance(0.4);
    const std::uint32_t query = random_.below(10);
    if (random_.chance(0.3)) {
      if (mask.biases.size() > 2) mask.biases.clear();
      mask.biases[scope].paint({query, random_.below(10)}, random_.number(2.0f));
      return "paint a bias";
    }
    if (random_.chance(0.2)) {
      attention::toggle_document(mask, random_.below(2), query);
      return "begin or join a document";
    }
    mask.painted[scope].paint({query, random_.chance(0.7) ? random_.below(query + 1) : random_.below(10)}, is_visible);
    return is_visible ? "show a cell" : "hide a cell";
  }

  std::string intervene() {
    inference::Interventions& all = desk_.interventions;
    if (all.size() > 2) {
      all.erase(all.begin() + random_.below(static_cast<std::uint32_t>(all.size())));
      return "drop an intervention";
    }
    all.push_back(random_intervention(random_, *model_.network));
    return "add an intervention on the " + std::string(to_string(all.back().site));
  }

  Random& random_;
  const OpenModel& model_;
  Desk& desk_;
};

}  // namespace

OpenModel open_golden_model(std::string_view name) {
  model::LoadedNetwork loaded = model::load_network(golden_model_path(name));
  return {std::make_shared<const model::Network>(std::move(loaded.network)), std::move(loaded.description)};
}

model::ModelInput Desk::input() const {
  model::ModelInput input{.source = batch_of(source, pads_left)};
  if (!target.empty()) input.target = batch_of(target, pads_left);
  return input;
}

std::vector<std::uint32_t> random_text(Random& random, std::uint32_t length, std::uint32_t vocabulary) {
  std::vector<std::uint32_t> text(length);
  for (std::uint32_t& id : text) id = random.below(vocabulary);
  return text;
}

Desk make_desk(Random& random, const OpenModel& model) {
  Desk desk;
  desk.source = {random_text(random, 9, model.description.vocabulary)};
  if (model.description.is_encoder_decoder) desk.target = {random_text(random, 6, model.description.vocabulary)};
  for (const BlockKind kind : {BlockKind::EncoderSelf, BlockKind::DecoderSelf, BlockKind::Cross}) {
    desk.masks[kind].rule.causal = is_causal(model.description, kind);
    desk.masks[kind].rule.key_padding = true;
  }
  return desk;
}

std::string edit_at_random(Random& random, const OpenModel& model, Desk& desk) { return Editor(random, model, desk).edit(); }

}  // namespace headlight::test
