#!/usr/bin/env python3
"""Writes tests/golden/bleu.json: BLEU as sacrebleu computes it, and words as Python's re cuts them.

    pip install sacrebleu
    tools/make_bleu_golden.py

The sentences are our own. sacrebleu gets words with spaces between them (tokenize="none", no smoothing), so that both sides
count the same words.
"""

import json
import pathlib
import re

import sacrebleu

PAIRS = [
    ("A lamp hangs over the long table.", "A lamp is hanging above the long table."),
    ("Two gardeners carry a ladder across the wet lawn.", "Two gardeners carry a ladder across the wet lawn."),
    ("the baker, who rose at four, sells warm bread", "The baker, who gets up at four, is selling warm bread."),
    ("Three children are counting the wagons of a train.", "Three children count the cars of a passing train."),
    ("An old clock without hands.", "An old clock that has lost its hands leans against the wall."),
    ("The ferry ferry ferry ferry leaves.", "The ferry leaves the harbour at dusk."),
    ("A woman in a yellow raincoat repairs her bicycle's chain.", "A woman wearing a yellow raincoat fixes the chain of her bicycle."),
    ("Snow lies on the roofs of the village.", "Snow lies on the roofs of the village."),
    ("Someone has drawn a map on the back of an envelope!", "Somebody has drawn a map on the back of an envelope."),
    ("A violinist tunes up beside the window, eyes closed.", "Beside the window a violinist is tuning up with closed eyes."),
    ("", "A cat sleeps."),
    ("Pears.", "A bowl of pears."),
    ("The two-storey house at no. 7 costs 310,000 euros.", "The two-storey house at number 7 costs 310,000 euros."),
    ("\"Come in,\" says the owner of the café.", "\"Come in\", the café's owner says."),
    ("A goat stands on a stone wall and looks at the camera.", "A goat is standing on a stone wall, looking into the camera."),
    ("Fishermen mend their nets on the quay in the early morning light.", "Fishermen are mending nets on the quay in early morning light."),
    ("He throws the ball; she catches it; it bursts.", "He throws the ball, she catches it, and it bursts."),
    ("A kite is tangled in the branches of the only tree on the beach.", "A kite got tangled in the branches of the only tree on the beach."),
    ("Grandmother pours tea into blue cups.", "Grandmother pours the tea into blue cups."),
    ("A crowd, a flag, a drum, a song.", "A crowd with a flag, a drum and a song."),
]

TEXTS = [
    "", "  \t ", "Don't stop!", "snake_case and x2", "Ein Bär läuft über die Straße.", "ÄÖÜ ẞ", "İstanbul", "50 % of ½ or Ⅷ",
    "one—two…three", "naïve café", "cafe\u0301", "中文，日本語。", "हिन्दी", "a\u00a0b\u3000c\u2028d\u200be\u001cf", "🙂👍🏽 ok", "€5+7=$12",
    "rock'n'roll (live)", "don’t", "٣٤ ১২", "\u200cx\u200dy", "²³ ①", "a\u0000b",
]


def words(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


def score(pairs):
    joined = [[" ".join(words(text)) for text in side] for side in zip(*pairs)]
    bleu = sacrebleu.corpus_bleu(joined[0], [joined[1]], tokenize="none", lowercase=False, smooth_method="none",
                                 force=True)
    return {"score": bleu.score, "precisions": bleu.precisions, "brevity_penalty": bleu.bp,
            "hypothesis_words": bleu.sys_len, "reference_words": bleu.ref_len}


def main():
    parts = {"all": PAIRS, "longer than the references": [(right + " and more", right) for _, right in PAIRS[:5]],
             "identical": [(right, right) for _, right in PAIRS], "one": PAIRS[8:9],
             "no four words in a row": [PAIRS[9], PAIRS[11]], "nothing written": [PAIRS[10]],
             "nothing in common": [("x y z w v", "a b c d e")]}
    golden = {"sacrebleu": sacrebleu.__version__,
              "corpora": [{"name": name, "pairs": pairs, "bleu": score(pairs)} for name, pairs in parts.items()],
              "words": [{"text": text, "words": words(text)} for text in TEXTS]}
    path = pathlib.Path(__file__).parent.parent / "tests/golden/bleu.json"
    path.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
