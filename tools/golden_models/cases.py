"""The inputs: short, long, and a batch of three lines padded on either side."""

import torch

from . import weights

LENGTHS = (8, 5, 3)
LEAST_GAP = 1e-4
FORMAT_CASES = ("case0", "case2")  # enough where only the file's format is new


def draw(numbers, config, shape, family):
    """Ids that are never the padding id, because RoBERTa finds its padding by id."""
    low = family.get("first_id", 5)
    high = config.mask_token_id if family.get("masked") else config.vocab_size
    return torch.randint(low, high, shape, generator=numbers)


def batch(numbers, config, lengths, family, left=False):
    """(ids, mask), both [batch, token], with the padding id where the mask is 0."""
    width = max(lengths)
    ids = torch.full((len(lengths), width), config.pad_token_id if config.pad_token_id is not None else 0)
    mask = torch.zeros((len(lengths), width), dtype=torch.long)
    for line, length in enumerate(lengths):
        where = slice(width - length, width) if left else slice(0, length)
        ids[line, where] = draw(numbers, config, (length,), family)
        mask[line, where] = 1
    return ids, mask


def settled(name, model, family, only=None):
    """Cases under which the largest logits of each token differ clearly, so that their order can be compared.

    The first draw nearly always does for most tokens and rarely for all; the first that does for all is taken.
    """
    for attempt in range(60):
        cases = make(name if attempt == 0 else f"{name} {attempt}", model.config, family)
        cases = {key: case for key, case in cases.items() if only is None or key in only}
        if all(smallest_gap(model, case, family["kind"]) > LEAST_GAP for case in cases.values()):
            return cases
    raise RuntimeError(f"{name}: no inputs with clear orders found")


def smallest_gap(model, case, kind):
    """Between neighbours of the eleven largest logits of any token, divided by the logits' root mean square; or of a router's
    logits at its choice, where that is too small."""
    routers, gaps = [module for module in model.modules() if type(module).__name__.endswith("TopKRouter")], [1.0]

    def note(router, _, result):  # between the last expert that is chosen and the next
        best = result[0].topk(router.top_k + 1).values
        gaps.append(((best[:, -2] - best[:, -1]).min() / result[0].square().mean().sqrt()).item())

    hooks = [router.register_forward_hook(note) for router in routers]
    with torch.no_grad():
        logits = getattr(model(**arguments(case, kind)), "logits", None)
    for hook in hooks:
        hook.remove()
    if logits is None or min(gaps) <= LEAST_GAP:
        return min(gaps)
    logits = logits[case["target_mask" if kind == "encoder-decoder" else "mask"].bool()]
    best = logits.topk(11).values
    return ((best[:, :-1] - best[:, 1:]).min() / logits.square().mean().sqrt()).item()


def make(name, config, family):
    """{name: {"ids", "mask", "positions"?, "types"?, "target_ids"?, "target_mask"?}}"""
    numbers = weights.generator(name + " cases")
    kind = family["kind"]
    plans = [((7,), (5,), False), ((18,), (13,), False), (LENGTHS, (4, 7, 5), False)]
    if kind == "decoder":
        plans.append((LENGTHS, None, True))
    cases = []
    for index, (lengths, targets, left) in enumerate(plans):
        if left:  # the lines of case 2 again
            numbers_again = weights.generator(name + " cases")
            for earlier, _, _ in plans[:2]:
                batch(numbers_again, config, earlier, family)
            ids, mask = batch(numbers_again, config, lengths, family, left=True)
        else:
            ids, mask = batch(numbers, config, lengths, family)
        case = {"ids": ids, "mask": mask}
        if family.get("positions") and index >= 2:
            case["positions"] = (mask.cumsum(1) - 1).clamp(min=0) * mask
        if family.get("masked") and index > 0:  # another share of each line
            for line in range(len(lengths)):
                case["ids"][line, 1:2 + line % 2] = config.mask_token_id
        if family.get("types") and index == 1:
            case["types"] = (torch.arange(ids.shape[1])[None] >= 10).long()
        if kind == "encoder-decoder":
            case["target_ids"], case["target_mask"] = batch(numbers, config, targets, family)
            case["target_ids"][:, 0] = config.decoder_start_token_id
        cases.append(case)
    named = {f"case{index}": case for index, case in enumerate(cases)}
    if family.get("painted"):
        named["painted"] = painted(name, config, family)
    return named


def painted(name, config, family):
    """A user's mask in addition to the family's: some cells masked, never the diagonal."""
    numbers = weights.generator(name + " painted")
    ids, mask = batch(numbers, config, (10,), family)
    visible = torch.rand((10, 10), generator=numbers) < 0.7
    visible |= torch.eye(10, dtype=torch.bool)
    if family["kind"] == "decoder":
        visible &= torch.ones(10, 10, dtype=torch.bool).tril()
    return {"ids": ids, "mask": mask, "visible": visible.long()}


def arguments(case, kind):
    """The arguments of `forward`."""
    given = {"input_ids": case["ids"], "attention_mask": case["mask"]}
    if "visible" in case:  # a mask with four axes is added to the scores unchanged
        hidden = torch.zeros(case["visible"].shape).masked_fill(case["visible"] == 0, float("-inf"))
        given["attention_mask"] = hidden[None, None]
    if "positions" in case:
        given["position_ids"] = case["positions"]
    if "types" in case:
        given["token_type_ids"] = case["types"]
    if kind == "encoder-decoder":
        given |= {"decoder_input_ids": case["target_ids"], "decoder_attention_mask": case["target_mask"]}
    return given
