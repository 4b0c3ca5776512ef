"""Captures of transformers models."""

from ._captures import Capture
from ._program import HeadlightError


def _texts_of(tokenizer, ids):
    return [list(tokenizer.convert_ids_to_tokens(line)) for line in ids.tolist()]


def _run(model, inputs):
    """The model's output with attentions; models that compute attention without them are switched to eager."""
    import torch

    with torch.no_grad():
        output = model(**inputs, output_attentions=True, return_dict=True)
    found = [getattr(output, name, None) for name in ("attentions", "encoder_attentions", "decoder_attentions")]
    return output if any(layers and layers[0] is not None for layers in found) else None


def capture(model, tokenizer, text, target=None, *, opens=True, **options):
    """Runs a transformers model on a text, or a list of texts, and opens its attention in the window.

    target: the decoder's text of an encoder-decoder; without one it reads the start token alone. opens: False returns the
    Capture without opening it. options: those of view(), such as tab="model".
    """
    texts = [text] if isinstance(text, str) else list(text)
    inputs = dict(tokenizer(texts, return_tensors="pt", padding=len(texts) > 1))
    device = getattr(model, "device", None)
    is_pair = bool(getattr(model.config, "is_encoder_decoder", False))
    if is_pair:
        import torch

        if target is None:
            start = model.config.decoder_start_token_id
            inputs["decoder_input_ids"] = torch.full((len(texts), 1), start, dtype=torch.long)
        else:
            targets = [target] if isinstance(target, str) else list(target)
            inputs["decoder_input_ids"] = tokenizer(text_target=targets, return_tensors="pt", padding=len(targets) > 1).input_ids
    if device is not None:
        inputs = {name: value.to(device) for name, value in inputs.items()}
    output = _run(model, inputs)
    if output is None and hasattr(model, "set_attn_implementation"):
        before = getattr(model.config, "_attn_implementation", None)
        model.set_attn_implementation("eager")
        try:
            output = _run(model, inputs)
        finally:
            if before:
                model.set_attn_implementation(before)
    if output is None:
        raise HeadlightError("the model returned no attentions; load it with attn_implementation='eager'")
    if is_pair:
        made = Capture(
            output,
            encoder_tokens=_texts_of(tokenizer, inputs["input_ids"]),
            decoder_tokens=_texts_of(tokenizer, inputs["decoder_input_ids"]),
            causal=True,
        )
    else:
        first = output.attentions[0]
        is_causal = bool((first.triu(1) == 0).all()) and first.shape[-1] > 1
        made = Capture(output, _texts_of(tokenizer, inputs["input_ids"]), causal=is_causal)
    if opens:
        made.view(**options)
    return made
