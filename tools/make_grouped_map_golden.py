#!/usr/bin/env python3
"""Makes tests/golden/grouped_map.json: weights between words instead of tokens, by products of matrices.

G = M·(D·A·K)·S with A [query, key] the weights; S [key, word] sums the keys of a word, K is diagonal and 0 for keys that are
left out, D divides rows by what K leaves of them (or is the identity), M [word, query] is the mean of a word's queries.
Needs nothing but Python.
"""

import json
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parent.parent


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def words_of(tokens, joins_words, leaves_out):
    """Lists of the tokens of each group."""
    groups, open_word = [], False
    for index, (begins, special) in enumerate(tokens):
        if special and leaves_out:
            open_word = False
        elif joins_words and open_word and not begins and not special:
            groups[-1].append(index)
        else:
            groups.append([index])
            open_word = not special
    return groups


def grouped(weights, tokens, joins_words, special):
    groups = words_of(tokens, joins_words, special != "shown")
    kept = {index for group in groups for index in group}
    left = [[weight if key in kept else 0.0 for key, weight in enumerate(row)] for row in weights]
    if special == "renormalized":
        left = [[weight / sum(row) if sum(row) > 0 else 0.0 for weight in row] for row in left]
    summed = [[1.0 if key in group else 0.0 for group in groups] for key in range(len(tokens))]
    means = [[1.0 / len(group) if query in group else 0.0 for query in range(len(tokens))] for group in groups]
    return {"groups": groups, "values": product(product(means, left), summed)}


def case(rng, count, is_causal):
    tokens = [(rng.random() < 0.5, rng.random() < 0.2) for _ in range(count)]
    weights = []
    for query in range(count):
        row = [rng.random() ** 3 if key <= query or not is_causal else 0.0 for key in range(count)]
        weights.append([round(weight / sum(row), 7) for weight in row])
    return {
        "tokens": [[int(begins), int(special)] for begins, special in tokens],
        "weights": weights,
        "grouped": [
            {"joins_words": joins, "special": special, **grouped(weights, tokens, joins, special)}
            for joins in (False, True)
            for special in ("shown", "hidden", "renormalized")
        ],
    }


def main():
    rng = random.Random(12)
    cases = [case(rng, count, is_causal) for count in (1, 2, 7, 13) for is_causal in (False, True)]
    path = ROOT / "tests/golden/grouped_map.json"
    rounded = json.loads(json.dumps(cases), parse_float=lambda text: round(float(text), 9))
    path.write_text(json.dumps(rounded, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
