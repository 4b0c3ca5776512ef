"""Which tokens of a vision-language model's text are patches of images."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._arrays import Array, as_host, as_pixels
from ._program import HeadlightError

_BEYOND = "give Capture() positions= and the recorded arrays (docs/CAPTURES.md)"


def _runs(line: Iterable[Any], token: int | None) -> list[list[int]]:
    """[first, count] of tokens one after another that are patches."""
    runs: list[list[int]] = []
    for index, one in enumerate(line):
        if one != token:
            continue
        if runs and sum(runs[-1]) == index:
            runs[-1][1] += 1
        else:
            runs.append([index, 1])
    return runs


def _square(count: int, height: int, width: int) -> tuple[int, int, int] | None:
    """Rows, columns and how many tokens are before them, of so many tokens for an image of this shape."""
    edge = math.isqrt(count)
    if edge * edge == count:
        return edge, edge, 0
    for rows in range(1, count + 1):
        if count % rows == 0 and abs(rows * width - count // rows * height) <= max(height, width):
            return rows, count // rows, 0
    edge = math.isqrt(count - 1)
    return (edge, edge, 1) if edge * edge == count - 1 else None


def _grids(
    config: Any, inputs: Mapping[str, Any], runs: Sequence[Sequence[int]]
) -> list[tuple[int, int, int, int, int]] | None:
    """Of each image, by its number in the order of the text: rows, columns, tokens from row to row, tokens before them."""
    vision = getattr(config, "vision_config", config)
    sizes = inputs.get("image_grid_thw")
    if sizes is not None:
        merge = int(getattr(vision, "spatial_merge_size", 1))
        return [
            (image, int(height) // merge, int(width) // merge, 0, 0)
            for image, (frames, height, width) in enumerate(as_host(sizes).tolist())
            for _ in range(int(frames))
        ]
    sizes = inputs.get("image_sizes")
    if sizes is not None and getattr(vision, "model_type", "") == "pixtral":
        edge = int(vision.patch_size) * int(getattr(config, "spatial_merge_size", 1))
        grids = [(int(height) // edge, int(width) // edge) for height, width in as_host(sizes).tolist()]
        return [(image, rows, columns, columns + 1, 0) for image, (rows, columns) in enumerate(grids)]
    pixels = inputs.get("pixel_values")
    if pixels is None or pixels.ndim not in (4, 5):
        return None
    total = sum(count for _, count in runs)
    images = len(runs)
    if pixels.ndim == 4 and total % pixels.shape[0] == 0:
        images = pixels.shape[0]  # of which several may be side by side
    if total % images:
        return None
    found = _square(total // images, *pixels.shape[-2:])
    return None if found is None else [(image, found[0], found[1], 0, found[2]) for image in range(images)]


def _placed(
    lines: Iterable[Iterable[Any]], token: int | None, grids: Iterable[tuple[int, int, int, int, int]]
) -> list[list[dict[str, Any]]] | None:
    """By line the images' positions; None: the tokens aren't these grids."""
    waiting, placed = list(grids), []
    for line in lines:
        spans = []
        runs = _runs(line, token)
        while runs:
            if not waiting:
                return None
            image, rows, columns, step, leading = waiting.pop(0)
            first, count = runs[0]
            span = {"image": image, "patches": [rows, columns], "first": first + leading}
            if step:
                if any(len(runs) <= row or runs[row] != [first + row * step, columns] for row in range(rows)):
                    return None
                del runs[:rows]
                span["step"] = step
            else:
                size = rows * columns + leading
                if count < size:
                    return None
                runs[0] = [first + size, count - size]
                runs = [run for run in runs if run[1]]
            spans.append(span)
        placed.append(spans)
    return None if waiting else placed


def pictures_of(processor: Any, inputs: Mapping[str, Any], count: int) -> list[Array] | None:
    """The images as the model reads them, before they were normalised; None: they are cut into patches already."""
    pixels = inputs.get("pixel_values")
    if pixels is None or pixels.ndim not in (4, 5):
        return None
    pixels = as_host(pixels).astype("float32").reshape(-1, *pixels.shape[-3:])
    if pixels.shape[0] != count or pixels.shape[1] != 3:
        return None
    of_images = getattr(processor, "image_processor", processor)
    mean, spread = (getattr(of_images, name, None) for name in ("image_mean", "image_std"))
    if mean is None or spread is None:
        low, high = float(pixels.min()), float(pixels.max())
        mean, spread = [low] * 3, [high - low or 1.0] * 3
    planes = [pixels[:, channel] * spread[channel] + mean[channel] for channel in range(3)]
    return [as_pixels([[plane[image] for plane in planes]])[0].clip(0, 1) for image in range(count)]


def of_images(
    model: Any,
    processor: Any,
    lines: Sequence[Sequence[Any]],
    inputs: Mapping[str, Any],
    images: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Options of Capture: `positions` and `images` of a model whose text has images in it; none where it has no such tokens.

    lines: ids of each line. inputs: what the model read beside them. images: as they were given, in their order."""
    config = model.config
    names = ("image_token_id", "image_token_index")
    token = next((getattr(config, name) for name in names if getattr(config, name, None) is not None), None)
    runs = [run for line in lines for run in _runs(line, token)] if token is not None else []
    if not runs:
        return {}
    grids = _grids(config, inputs, runs)
    placed = _placed(lines, token, grids) if grids else None
    if grids is None or placed is None:
        warnings.warn(
            f"headlight: {type(model).__name__}: its image tokens are no grid of patches that is known; they are shown as "
            f"tokens ({_BEYOND})",
            stacklevel=3,
        )
        return {}
    count = 1 + max(grid[0] for grid in grids)
    pictures = pictures_of(processor, inputs, count)
    if pictures is None and images:
        if len(images) != count:
            raise HeadlightError(f"there are {len(images)} images, but the text has {count}")
        pictures = [as_pixels(image) for image in images]
    options: dict[str, Any] = {"positions": placed}
    if pictures is not None:
        options["images"] = pictures
    return options
