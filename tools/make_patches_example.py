#!/usr/bin/env python3
"""Makes assets/examples/patches.safetensors and patches.jpg: a drawn landscape of 14 x 14 patches, and four heads that compare
them by hand-made queries and keys: by colour, by place, by row, by colour and place. No network is behind it; the values are the
patches' mean colours, so that each head's output is the mean colour of what a patch looks at. Needs numpy and pillow.
"""

import json
import pathlib
import struct

import numpy
from PIL import Image, ImageDraw, ImageFilter

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "assets/examples"
EDGE, PATCHES = 224, 14


def draw_landscape():
    scale = 4
    size = EDGE * scale
    rows = numpy.linspace(0, 1, size)[:, None, None]
    sky = (1 - rows) * numpy.array([70, 130, 200.0]) + rows * numpy.array([250, 190, 120.0])
    image = Image.fromarray(numpy.broadcast_to(sky, (size, size, 3)).astype(numpy.uint8))
    pen = ImageDraw.Draw(image)
    pen.ellipse([590, 150, 740, 300], fill=(255, 236, 150))
    for left, top, width in ((90, 120, 210), (330, 210, 150)):
        for shift in range(4):
            pen.ellipse([left + shift * width / 5, top - 25 * (shift % 2), left + shift * width / 5 + width / 2, top + 60], fill=(245, 245, 250))
    pen.polygon([(0, 560), (220, 400), (470, 600), (650, 470), (size, 590), (size, size), (0, size)], fill=(96, 120, 110))
    pen.polygon([(0, 650), (300, 590), (620, 680), (size, 620), (size, size), (0, size)], fill=(86, 140, 60))
    pen.ellipse([420, 740, 840, 860], fill=(90, 150, 190))
    pen.rectangle([165, 560, 195, 760], fill=(92, 60, 38))
    pen.ellipse([80, 420, 280, 620], fill=(40, 96, 44))
    return image.filter(ImageFilter.GaussianBlur(2)).resize((EDGE, EDGE), Image.LANCZOS)


def heads_of(image):
    """Queries (which are the keys) [4, 196, 8], and values [1, 196, 3]: mean colours."""
    pixels = numpy.asarray(image, numpy.float64) / 255
    step = EDGE // PATCHES
    colours = pixels.reshape(PATCHES, step, PATCHES, step, 3).mean((1, 3)).reshape(-1, 3)
    y, x = (axis.reshape(-1) * numpy.pi / PATCHES for axis in numpy.mgrid[:PATCHES, :PATCHES])
    # -|a - b|^2 / 2 = a.b - |a|^2/2 - |b|^2/2: the key's square is in a component of its own, the query's falls out of the softmax.
    square = (colours**2).sum(1) / 2
    zeros, ones = numpy.zeros(len(x)), numpy.ones(len(x))
    by_colour = numpy.stack([*colours.T, ones, zeros, zeros, zeros, zeros], 1), numpy.stack([*colours.T, -square, zeros, zeros, zeros, zeros], 1)
    place = numpy.stack([numpy.cos(x), numpy.sin(x), numpy.cos(y), numpy.sin(y), zeros, zeros, zeros, zeros], 1)
    row = numpy.stack([zeros, zeros, numpy.cos(y), numpy.sin(y), zeros, zeros, zeros, zeros], 1)
    both = tuple(numpy.concatenate([side[:, :4] * 12, place[:, :4]], 1) for side in by_colour)
    scale = numpy.sqrt(8)
    queries = numpy.stack([by_colour[0] * 120, place * 60, row * 60, both[0] * 1.5]) * scale
    keys = numpy.stack([by_colour[1], place, row, both[1] * 12])
    return queries.astype(numpy.float32), keys.astype(numpy.float32), colours[None].astype(numpy.float32)


def main():
    image = draw_landscape()
    image.save(EXAMPLES / "patches.jpg", quality=90)
    queries, keys, values = heads_of(image)
    metadata = {"patches": json.dumps([PATCHES, PATCHES]), "image": "patches.jpg"}
    values = numpy.repeat(values, len(keys), 0)
    header, data = {"__metadata__": metadata}, b""
    for name, array in {"q.0": queries, "k.0": keys, "v.0": values}.items():
        array = array.astype(numpy.float16)
        header[name] = {"dtype": "F16", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += numpy.ascontiguousarray(array).tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (EXAMPLES / "patches.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
