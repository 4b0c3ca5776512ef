#include "app/dialogs/glossary.h"

#include <array>

namespace headlight::app {
namespace {

constexpr std::array kWords = {
    GlossaryEntry{"token", "A piece of the text that the model reads as one: a word, a part of a word, or a sign."},
    GlossaryEntry{"special token",
                  "A token without text, like [CLS] or <s>: the tokenizer adds it because the model was trained with it."},
    GlossaryEntry{"batch", "Several texts computed together, one a line, filled up to the longest with padding."},
    GlossaryEntry{"padding", "Tokens that only fill a line up; the padding mask keeps all others from looking at them."},
    GlossaryEntry{"layer",
                  "One step of the model: attention, then the feed-forward network, each added to the tokens' vectors."},
    GlossaryEntry{"ReLU, GELU, SiLU",
                  "Activations: what an MLP does to each number of its wide layer; negative ones become 0 or nearly so."},
    GlossaryEntry{
        "W_1, W_2, W_G (WG)",
        "The weights of the MLP: into its wide layer, out of it, and of the gate that its numbers are multiplied by."},
    GlossaryEntry{"residual stream", "The tokens' vectors, to which attention and MLP of each layer add what they compute."},
    GlossaryEntry{
        "MLP",
        "Multi-layer perceptron, a layer's feed-forward network: linear maps with a bent function between them, for "
        "each token alone."},
    GlossaryEntry{"LayerNorm, RMSNorm",
                  "A token's vector brought to one size before a step: by its mean and spread, or by its root mean square."},
    GlossaryEntry{"head", "One of several attentions side by side in a layer, each with its own Q, K and V."},
    GlossaryEntry{"query (Q)", "What a token looks for: its vector times W_Q. Rows of a map are queries."},
    GlossaryEntry{"key (K)", "What a token offers to be found by: its vector times W_K. Columns of a map are keys."},
    GlossaryEntry{"value (V)", "What a token gives to those that look at it: its vector times W_V."},
    GlossaryEntry{"d_model, d_k, d_v",
                  "The widths of a token's vector, of a head's queries and keys, and of a head's values."},
    GlossaryEntry{"score", "Query times key: how well the two fit."},
    GlossaryEntry{
        "scaled",
        "The score times the scale, usually 1/\u221Ad_k, which keeps long vectors from making the softmax too sharp."},
    GlossaryEntry{"masked", "The scaled score, with the fill in its place where the mask denies this query this key."},
    GlossaryEntry{"fill",
                  "The number that a masked score becomes: \u2212\u221E gives exactly no weight, a finite one equal weights "
                  "where all is masked."},
    GlossaryEntry{"weight",
                  "The softmax of a row's masked scores: the share that the query takes from each key; a row adds up to 1."},
    GlossaryEntry{"causal", "A query sees only keys up to its own position, as in models that predict the next token."},
    GlossaryEntry{"window", "A query sees only keys that are less than so many tokens away."},
    GlossaryEntry{"prefix", "The first tokens, which every query sees; behind them the mask is causal."},
    GlossaryEntry{"self-attention", "Queries and keys come from the same text."},
    GlossaryEntry{"cross-attention",
                  "Queries come from one text and keys and values from another, as a decoder reads what the encoder read."},
    GlossaryEntry{
        "fitted, per row, fixed",
        "What the strongest colour means: the largest weight of the map, or in a long text what 98 % of its weights "
        "are at most; the largest of each row; or the same value for all maps, as it was dragged or typed."},
    GlossaryEntry{"concentration", "The mean of the rows' largest weights: 1 when every query looks at one key only."},
    GlossaryEntry{"entropy", "How widely a row spreads its weights: 0 for one key, more for many."},
    GlossaryEntry{"gain", "A factor on what a head adds to the output."},
    GlossaryEntry{"knock out", "A gain of 0: the model goes on without this head, which shows what it is good for."},
    GlossaryEntry{"KV heads", "Heads of keys and values that several heads of queries share."},
    GlossaryEntry{"merge", "Putting the heads' outputs side by side again before the output projection W_O."},
    GlossaryEntry{
        "position",
        "What tells a model the order of its tokens: added to their vectors, turned into Q and K, or added to scores."},
    GlossaryEntry{"RoPE",
                  "Rotary position embedding: queries and keys are turned by angles that grow with the position, so that "
                  "scores depend on distances."},
    GlossaryEntry{"sink", "The first token, which heads attend to that have nothing to do."},
    GlossaryEntry{"induction", "Looking at what followed the same token earlier, from which a model copies what came next."},
    GlossaryEntry{"unembedding", "The matrix that turns a token's last vector into logits, a row for each token."},
    GlossaryEntry{"logit",
                  "A model's score for one token of its vocabulary; the softmax of all logits are the probabilities."},
    GlossaryEntry{"logit lens", "The prediction that a layer's states would make if the model ended there."},
    GlossaryEntry{"temperature", "Logits are divided by it before drawing: below 1 the likely tokens become likelier."},
    GlossaryEntry{"top-k, top-p",
                  "Only the k likeliest tokens, or the likeliest that together reach probability p, are drawn from."},
};

}  // namespace

std::span<const GlossaryEntry> glossary() { return kWords; }

}  // namespace headlight::app
