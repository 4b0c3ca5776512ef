#include "inference/notebook_builders.h"

// clang-format off
namespace headlight::inference {
namespace {

// Q and K as notebook 000 prints them, four decimals: [batch 2, head 2, token 3, 4].
constexpr float kQuery000[] = {
    -0.2101f, -0.3526f, 0.2313f, -0.2076f, 0.3132f, -0.7180f, -0.4983f, -0.1015f, 0.0373f, 0.0739f, 0.2784f, 0.5304f,
    -0.6798f, -0.0843f, -0.4807f, 0.4135f, -0.0967f, 0.1530f, 0.2631f, -0.0825f, 0.2237f, -0.7869f, -0.9946f, 0.8966f,
    0.8011f, -0.2928f, 0.1292f, -0.6189f, 0.4967f, -0.3740f, 0.0132f, -0.6353f, 0.2963f, -0.3409f, -0.2049f, -0.0806f,
    -0.1394f, 0.5197f, 0.2627f, 0.4689f, -0.8985f, 0.1501f, -0.5515f, -0.3980f, 0.6988f, 0.1840f, -0.6014f, 0.3676f};
constexpr float kKey000[] = {
    -0.1720f, -0.0974f, -0.4074f, -0.3137f, -0.3618f, -0.0844f, -0.5938f, -0.0148f, -0.1265f, 0.2863f, 0.0526f, 0.3498f,
    -0.7831f, -1.3113f, 0.1043f, -0.3691f, -0.2940f, -0.6218f, 0.5029f, -0.4131f, -0.4518f, -0.1813f, -0.0158f, -0.1033f,
    -0.0239f, -1.1511f, -0.4069f, -1.3810f, -1.4270f, 0.5460f, 0.1839f, 0.6636f, -0.1410f, -0.6418f, -0.3549f, -0.5290f,
    0.2647f, -0.6113f, -0.0314f, 0.5024f, -0.1671f, -0.5133f, 0.8250f, -0.3704f, -0.7715f, -0.4057f, 0.6064f, 0.0792f};
// Its values are cut off in print; these solve weights · V = heads as printed, good to about 5e-4.
constexpr float kValue000[] = {
    0.5662f, 1.2474f, 0.6110f, 0.3846f, 0.3910f, 0.2874f, 0.0759f, 0.7672f, -0.3290f, -0.8720f, 1.3447f, -0.0020f,
    0.7495f, 0.0327f, -0.5575f, -0.4441f, 0.7780f, 0.0808f, -0.5371f, -0.4978f, 0.5525f, 0.3308f, 0.4050f, -0.3110f,
    0.7716f, 0.8189f, -0.1598f, 0.7462f, -0.4825f, 0.3339f, 0.0198f, 0.0350f, -0.0620f, -0.6016f, 1.0995f, 0.6104f,
    -0.2320f, 0.1364f, -0.8177f, -0.1223f, 0.6213f, 0.2088f, 0.4030f, -0.8069f, -0.0697f, 0.9557f, -0.4313f, -0.1890f};
// mask_random, true keeps: [batch 2, query 3, key 3]. The second sequence's second row is masked altogether.
constexpr std::uint8_t kKeep000[] = {
    0, 1, 1, 1, 0, 0, 1, 1, 0,
    1, 0, 1, 0, 0, 0, 1, 0, 0};

// Q, K and V as notebook 003 prints them, eight decimals: [token 6, 4].
constexpr float kQuery003[] = {
    -0.17726915f, -0.60715105f, 0.27040047f, 1.32262995f, -0.35466501f, -1.00190095f, 0.49971724f, 0.52404003f,
    -0.96664612f, -0.92880235f, 0.31031606f, 1.47667384f, 2.58801299f, 0.91252951f, 0.47811754f, -1.90542747f,
    0.39023975f, 1.89121848f, -0.77398807f, 0.55986816f, -0.11781247f, 0.66704404f, 0.74030888f, 0.80908705f};
constexpr float kKey003[] = {
    1.31088812f, 0.03025595f, 0.02526448f, -0.61109740f, 0.03582415f, 0.53263921f, -0.34596446f, 0.67464531f,
    -0.21136000f, 1.38581759f, -2.44668208f, -0.46287517f, -0.40300990f, -0.90153947f, -0.72863338f, -1.69069868f,
    -0.05841235f, 0.88533137f, 0.23723818f, 1.64457024f, 0.90458896f, -0.71120042f, -0.77826392f, 1.28070143f};
constexpr float kValue003[] = {
    0.76514641f, -1.69868336f, -1.59656269f, -0.76914076f, -0.81664305f, -0.10608875f, -1.38933315f, -2.52314108f,
    0.20812633f, 0.43433177f, -1.68935144f, -0.07477778f, 1.00473554f, 0.71972715f, -0.40171648f, -0.90225516f,
    -1.03943008f, -2.32277988f, 1.68366562f, 0.53501308f, 1.49572558f, 0.46566221f, -0.26506452f, 1.31825037f};
// clang-format on

/// A network that is nothing but the middle of one attention: its input brings Q, K and V.
std::shared_ptr<const model::Network> bare_attention(const model::AttentionConfig& config) {
  return encoder_network({{.config = config}});
}

template <std::size_t N>
Tensor given(Shape shape, const float (&values)[N]) {
  return Tensor(std::move(shape), std::vector<float>(values, values + N));
}

}  // namespace

Notebook boolean_mask() {
  const Shape shape = {2, 2, 3, 4};
  Notebook notebook{
      .name = "notebook-000",
      .title = "000 · random boolean mask",
      .summary =
          "Q, K and V as printed. One random boolean mask for both heads of each sequence, filled with -1e9: a query whose "
          "keys are all masked attends to every key alike.",
      .network = bare_attention({.d_model = 8, .heads = 2, .d_k = 4, .d_v = 4}),
      .input = {.source = numbered_tokens(2, 3),
                .target = {},
                .qkv = model::GivenQkv{given(shape, kQuery000), given(shape, kKey000), given(shape, kValue000)}},
      .masks = {}};
  notebook.masks[model::BlockKind::EncoderSelf] = {
      .rule = {.key_padding = false},
      .fill = attention::MaskFill::MinusOneBillion,
      .matrix =
          attention::BooleanMask{
              .batch = 2, .heads = 1, .queries = 3, .keys = 3, .keep = {std::begin(kKeep000), std::end(kKeep000)}},
      .painted = {}};
  return notebook;
}

Notebook single_head() {
  const Shape shape = {1, 1, 6, 4};
  Notebook notebook{
      .name = "notebook-003",
      .title = "003 · one head in numpy",
      .summary = "Q, K and V as printed. One head whose scores are not scaled, causal, filled with -inf.",
      .network = bare_attention({.d_model = 4, .heads = 1, .d_k = 4, .d_v = 4, .scale = {.kind = model::Scale::Kind::None}}),
      .input = {.source = labelled_tokens({{"The", "cat", "sat", "on", "the", "mat."}}),
                .target = {},
                .qkv = model::GivenQkv{given(shape, kQuery003), given(shape, kKey003), given(shape, kValue003)}},
      .masks = {}};
  notebook.masks[model::BlockKind::EncoderSelf].rule = {.causal = true, .key_padding = false};
  return notebook;
}

}  // namespace headlight::inference
