"""Captures of transformers models."""

import collections
import contextlib

from ._captures import Capture
from ._program import HeadlightError
from ._recorded import Recorded, recording

_KINDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


def _texts_of(tokenizer, ids):
    texts = tokenizer.convert_ids_to_tokens(ids.tolist())
    return [str(int(token)) if text is None else text for text, token in zip(texts, ids)]  # None: beyond the vocabulary


@contextlib.contextmanager
def _eager(model):
    """The model with attention that it can return; afterwards as it was."""
    before = getattr(model.config, "_attn_implementation", None)
    is_switched = hasattr(model, "set_attn_implementation") and before not in (None, "eager")
    try:
        if is_switched:
            model.set_attn_implementation("eager")
        yield
    finally:
        if is_switched:
            model.set_attn_implementation(before)


@contextlib.contextmanager
def _without_dropout(model):
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _attentions(model, inputs):
    """By kind a list of tensors [line, heads, queries, keys], one for each layer."""
    import torch

    refusal = f"{type(model).__name__} returned no attention"
    try:
        with torch.no_grad():
            output = model(**inputs, output_attentions=True, return_dict=True)
    except TypeError as error:
        if "output_attentions" not in str(error):
            raise
        raise HeadlightError(f"{refusal}: it takes no output_attentions") from error
    found = {kind: getattr(output, kind, None) or () for kind in _KINDS}
    found = {kind: list(layers) for kind, layers in found.items() if any(layer is not None for layer in layers)}
    if not found:
        implementation = getattr(model.config, "_attn_implementation", None)
        why = "its layers have none, or do not return it"
        if implementation not in (None, "eager"):
            why = f"it computes attention by {implementation}; load it with attn_implementation='eager'"
        raise HeadlightError(f"{refusal}: {why}")
    for kind, layers in found.items():
        for layer in layers:
            shape = [] if layer is None else list(layer.shape)
            is_map = len(shape) == 4 and (kind == "cross_attentions" or shape[2] == shape[3])
            if not is_map:
                raise HeadlightError(
                    f"{type(model).__name__} returned {kind} of a layer that are {shape}, not [batch, heads, queries, keys] with "
                    "all keys; write those of a window (Longformer) into such an array, 0 outside, and give that to view()"
                )
    return found


def _target_ids(model, tokenizer, target):
    """What the decoder reads: its start token and the target without its end, as in training and as `--target`."""
    import torch

    configs = (model.config, getattr(model, "generation_config", None))
    starts = [getattr(config, "decoder_start_token_id", None) for config in configs]
    starts += [getattr(tokenizer, name, None) for name in ("bos_token_id", "pad_token_id")]
    start = next((int(token) for token in starts if isinstance(token, int)), None)
    if start is None:
        raise HeadlightError(f"{type(model).__name__} doesn't say which token starts its decoder: set decoder_start_token_id")
    ids = [] if target is None else tokenizer(text_target=[target], return_tensors="pt")["input_ids"][0].tolist()
    if ids and ids[-1] == getattr(tokenizer, "eos_token_id", None):
        ids.pop()
    if ids and ids[0] == start:
        ids.pop(0)
    return torch.tensor([[start, *ids]])


def _inputs(model, tokenizer, texts, target):
    """What the model reads of each line, tensors [1, tokens] by name."""
    is_pair = bool(getattr(model.config, "is_encoder_decoder", False))
    if target is not None and not is_pair:
        raise HeadlightError(f"{type(model).__name__} has no decoder beside an encoder: it takes no target")
    targets = [target] * len(texts) if target is None or isinstance(target, str) else list(target)
    if len(targets) != len(texts):
        raise HeadlightError(f"there are {len(targets)} targets of {len(texts)} texts; give one, or one for each")
    lines = []
    for text, its_target in zip(texts, targets):
        inputs = dict(tokenizer([text], return_tensors="pt"))
        if not inputs["input_ids"].numel():
            raise HeadlightError(f"{text!r} has no tokens")
        if is_pair:
            inputs["decoder_input_ids"] = _target_ids(model, tokenizer, its_target)
        lines.append(inputs)
    return lines


def _batches(model, lines):
    """Lines of the same sizes, which are run together: their numbers, and what the model reads."""
    import torch

    together = collections.defaultdict(list)
    for line, inputs in enumerate(lines):
        together[tuple((name, tuple(value.shape)) for name, value in inputs.items())].append(line)
    device = getattr(model, "device", None)
    for members in together.values():
        inputs = {name: torch.cat([lines[line][name] for line in members]) for name in lines[members[0]]}
        yield members, inputs if device is None else {name: value.to(device) for name, value in inputs.items()}


def _record(model, lines):
    """Queries, keys and values of all layers, whose weights then are nowhere n x n; None: the layers, or one stack's, don't give them."""
    import torch

    recorded = Recorded(model)
    for members, inputs in _batches(model, lines):
        with recording(model) as calls, torch.no_grad():
            if calls is None:
                return None
            model(**inputs, return_dict=True)
            if not calls:
                return None
            recorded.add(calls, members)
    return recorded if recorded.is_whole else None


def _run(model, lines):
    """By kind the layers' tensors [line, heads, queries, keys], with zeros for padding."""
    found = collections.defaultdict(dict)  # by kind and layer: by line
    with _eager(model):
        for members, inputs in _batches(model, lines):
            for kind, layers in _attentions(model, inputs).items():
                for index, layer in enumerate(layers):
                    found[kind, index].update(zip(members, layer))
    kinds = collections.defaultdict(list)
    for (kind, _), weights in sorted(found.items()):
        rows, keys = (max(part.shape[axis] for part in weights.values()) for axis in (1, 2))
        first = weights[0]
        whole = first.new_zeros((len(lines), first.shape[0], rows, keys))
        for line, part in weights.items():
            whole[line, :, : part.shape[1], : part.shape[2]] = part
        kinds[kind].append(whole)
    return kinds


def _words(tokenizer, ids, tokens="tokens", mask="attention_mask"):
    """Options of Capture: the lines' tokens and, where they have different lengths, which of them are padding."""
    lines = [_texts_of(tokenizer, line) for line in ids]
    most = max(map(len, lines))
    padding = getattr(tokenizer, "pad_token", None) or "<pad>"
    words = {tokens: [line + [padding] * (most - len(line)) for line in lines]}
    if any(len(line) != most for line in lines):
        words[mask] = [[1] * len(line) + [0] * (most - len(line)) for line in lines]
    return words


def capture(model, tokenizer, text, target=None, *, opens=True, **options):
    """Runs a transformers model on a text, or a list of texts, and opens its attention in the window.

    Of a model that looks its attention function up (AttentionInterface) queries, keys and values are kept, and the window
    computes their weights; of others the weights that it returns with output_attentions=True.
    Each line has the attention that it has alone: lines of different lengths are run one after another, and the tokenizer
    needs no padding. Dropout is off; afterwards the model is in training again if it was.
    target: the decoder's text of an encoder-decoder, or one for each line; without one it reads the start token alone. opens:
    False returns the Capture without opening it. options: those of view(), such as tab="model".
    """
    texts = [text] if isinstance(text, str) else list(text)
    if not texts:
        raise HeadlightError("there is no text; give one, or a list of some")
    lines = _inputs(model, tokenizer, texts, target)
    with _without_dropout(model):
        recorded = _record(model, lines)
        layers = _run(model, lines) if recorded is None else {}
    source = [inputs["input_ids"][0] for inputs in lines]
    if "decoder_input_ids" in lines[0]:
        words = _words(tokenizer, source, "encoder_tokens")
        read = [inputs["decoder_input_ids"][0] for inputs in lines]
        words.update(_words(tokenizer, read, "decoder_tokens", "decoder_attention_mask"), causal=True)
    else:
        words = _words(tokenizer, source)
    if recorded is not None:
        made = Capture(recorded.tensors(), scores=recorded.scores(), **dict(words, causal=recorded.is_causal))
    else:
        if "causal" not in words:
            first = layers["attentions"][0]
            words["causal"] = bool((first.triu(1) == 0).all()) and first.shape[-1] > 1
        made = Capture(**layers, **words)
    if opens:
        made.view(**options)
    return made
