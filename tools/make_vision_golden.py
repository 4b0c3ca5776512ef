#!/usr/bin/env python3
"""Makes tests/golden/captures/vision*: what a vision transformer of transformers attends to, its image, and image files.

A ViT of two layers with weights from a seed, in float64, reads an image of 32 x 48 pixels as 4 x 6 patches and a class token.
`vision.safetensors` has the attentions that it returns and the image as uint8. `vision_values.safetensors` has queries, keys
and values of both layers as float32, and names the image's file `vision.jpg`; `vision_expected.json` has the weights and the
heads' outputs that the model computed, and what Pillow decodes of `vision.jpg` (progressive), `vision_alpha.png` (on white),
`vision_palette.png` and `vision_grey16.png`.

Needs the packages torch, transformers and pillow.
"""

import json
import pathlib
import struct

import numpy
import torch
from PIL import Image, PngImagePlugin
from transformers import ViTConfig, ViTModel

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/captures"
NAMES = {"float32": "F32", "uint8": "U8"}
ROWS, COLUMNS, PATCH = 4, 6, 8


def save_safetensors(path, arrays, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, array in arrays.items():
        raw = numpy.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_image():
    """A red disc on a ramp from blue to green."""
    y, x = numpy.mgrid[: ROWS * PATCH, : COLUMNS * PATCH]
    image = numpy.stack([x * 0, x * 5, 255 - x * 5], -1).astype(numpy.uint8)
    image[(x - 30) ** 2 + (y - 14) ** 2 < 80] = [220, 30, 20]
    return image


def run_model(image):
    torch.manual_seed(11)
    config = ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=(32, 48),
                       patch_size=PATCH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.6)
    config._attn_implementation = "eager"  # the only one that returns attentions
    model = ViTModel(config, add_pooling_layer=False).double().eval()
    seen = {}

    def keep(name):
        def hook(_module, inputs, output):
            seen[name] = (output[0] if isinstance(output, tuple) else output).detach()

        return hook

    for index, layer in enumerate(model.encoder.layer):
        attention = layer.attention.attention
        for name, linear in (("q", attention.query), ("k", attention.key), ("v", attention.value)):
            linear.register_forward_hook(keep(f"{name}.{index}"))
        attention.register_forward_hook(keep(f"merged.{index}"))
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None].double() / 127.5 - 1
    with torch.no_grad():
        output = model(pixels, output_attentions=True)
    return output.attentions, seen


def heads_of(merged, heads=4):
    return merged.reshape(*merged.shape[:2], heads, -1).transpose(1, 2)


def rounded(tensor):
    return [round(number, 12) for number in tensor.flatten().tolist()]


def main():
    image = make_image()
    attentions, seen = run_model(image)
    grid = json.dumps([ROWS, COLUMNS])
    arrays = {f"attention.{i}": weights.float().numpy() for i, weights in enumerate(attentions)}
    save_safetensors(GOLDEN / "vision.safetensors", {**arrays, "image": image}, {"patches": grid})
    arrays = {name: heads_of(value).float().numpy() for name, value in seen.items() if not name.startswith("merged")}
    save_safetensors(GOLDEN / "vision_values.safetensors", arrays, {"patches": grid, "image": "vision.jpg"})

    picture = Image.fromarray(image)
    picture.save(GOLDEN / "vision.jpg", quality=92, progressive=True, subsampling=0)
    alpha = picture.copy()
    alpha.putalpha(Image.fromarray((numpy.mgrid[: ROWS * PATCH, : COLUMNS * PATCH][0] * 8).astype(numpy.uint8)))
    words = PngImagePlugin.PngInfo()
    words.add_text("Comment", "x" * 5000, zip=True)  # which no reader needs
    alpha.save(GOLDEN / "vision_alpha.png", pnginfo=words)
    palette = picture.quantize(16)
    palette.save(GOLDEN / "vision_palette.png")
    grey = Image.fromarray(image[..., 2].astype(numpy.uint16) * 257)
    grey.save(GOLDEN / "vision_grey16.png")
    white = Image.new("RGBA", picture.size, "white")
    decoded = {
        "vision.jpg": Image.open(GOLDEN / "vision.jpg").convert("RGB"),
        "vision_alpha.png": Image.alpha_composite(white, Image.open(GOLDEN / "vision_alpha.png")).convert("RGB"),
        "vision_palette.png": Image.open(GOLDEN / "vision_palette.png").convert("RGB"),
    }
    expected = {
        "weights": rounded(torch.stack(attentions)),
        "heads": rounded(torch.stack([heads_of(seen[f"merged.{i}"]) for i in range(2)])),
        "images": {name: numpy.asarray(found).reshape(-1).tolist() for name, found in decoded.items()},
    }
    expected["images"]["vision_grey16.png"] = numpy.repeat(image[..., 2].reshape(-1), 3).tolist()
    (GOLDEN / "vision_expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
