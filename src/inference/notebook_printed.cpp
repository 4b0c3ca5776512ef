#include "inference/notebook_builders.h"

// clang-format off
namespace headlight::inference {
namespace {

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

template <std::size_t N>
Tensor given(Shape shape, const float (&values)[N]) {
  return Tensor(std::move(shape), std::vector<float>(values, values + N));
}

}  // namespace

Notebook single_head(const NotebookRecipe& /*recipe*/) {
  const Shape shape = {1, 1, 6, 4};
  Notebook notebook{
      .network = encoder_network(
          {{.config = {.d_model = 4, .heads = 1, .d_k = 4, .d_v = 4, .scale = {.kind = model::Scale::Kind::None}}}}),
      .input = {.source = labelled_tokens({{"The", "cat", "sat", "on", "the", "mat."}}),
                .qkv = model::GivenQkv{given(shape, kQuery003), given(shape, kKey003), given(shape, kValue003)}}};
  notebook.masks[model::BlockKind::EncoderSelf].rule = {.causal = true, .key_padding = false};
  return notebook;
}

}  // namespace headlight::inference
