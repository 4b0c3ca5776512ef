#include "support/playground_cases.h"

#include "support/golden.h"

namespace headlight::test {

std::vector<PlaygroundCase> playground_cases() {
  const nlohmann::json file = golden("playground.json");
  std::vector<PlaygroundCase> cases;
  for (const nlohmann::json& from : file.at("cases")) {
    PlaygroundCase one{.name = from.at("name").get<std::string>(),
                       .settings = {},
                       .text = from.at("text").get<std::string>(),
                       .key_text = from.at("key_text").get<std::string>(),
                       .masks = {},
                       .stages = from.at("stages"),
                       .result = from.at("result")};
    one.settings.d_model = from.at("d_model").get<std::uint32_t>();
    one.settings.heads = from.at("heads").get<std::uint32_t>();
    one.settings.d_k = from.at("d_k").get<std::uint32_t>();
    one.settings.d_v = from.at("d_v").get<std::uint32_t>();
    one.settings.layers = from.at("layers").get<std::uint32_t>();
    one.settings.seed = from.at("seed").get<std::uint64_t>();
    one.settings.bias = from.at("bias").get<bool>();
    if (!from.at("scaled").get<bool>()) one.settings.scale.kind = model::Scale::Kind::None;
    one.settings.output_projection = from.at("output_projection").get<bool>();
    one.settings.positions = from.at("positions").get<bool>();
    if (!from.at("transpose").get<bool>()) one.settings.merge = model::MergeOrder::WithoutTranspose;
    for (attention::MaskSpec& mask : one.masks.by_kind) {
      mask.rule.causal = from.at("causal").get<bool>();
      mask.rule.window = from.at("window").get<std::uint32_t>();
      mask.rule.prefix = from.at("prefix").get<std::uint32_t>();
      mask.fill = attention::parse_fill(from.at("fill").get<std::string>()).value();
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace headlight::test
