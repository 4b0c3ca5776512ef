#!/usr/bin/env python3
"""Writes tests/golden/words/spacy.json: how spaCy splits sentences of ours. Needs `pip install spacy`.

make_words_golden.py --lists DIR writes assets/models/multi30k-de-en/notebook_words.json from Multi30k's training text.
zcat DIR/train.de.gz | headlight tokenize --words de | make_words_golden.py --compare de DIR/train.de.gz
    counts the lines that both split in the same way.
"""

import argparse
import collections
import gzip
import json
import pathlib
import sys

import spacy

ROOT = pathlib.Path(__file__).resolve().parent.parent

GERMAN = [
    "Ein kleiner Hund läuft am Strand.",
    "Zwei Männer in T-Shirts spielen Fußball, und ein schwarz-weißer Hund sieht zu!",
    "Er kommt z.B. um 14:30 Uhr bzw. später.",
    "„Halt!“, ruft sie (laut).",
    "Das Kind (3) isst ca. 2,5 kg Äpfel usw.",
    "Nr. 7 fährt nach St. Pauli.",
    "Wie geht's dir? Ich hab's gesehen.",
    "Er sitzt auf'm Dach und wir's auch.",
    "Obst- und Gemüsestand",
    "rot/weiß gestreift, 50% billiger",
    "Der Preis: 20€ oder $5.",
    "Die Straße ist 5km lang.",
    "Dr. Müller u.a. wohnen in Berlin-Mitte.",
    "Seiten 3-5 und 1990-1995",
    "Ein Mann,der läuft.Ein Hund",
    "zwei  Leerzeichen",
    "Am 2. Mai...",
    "McDonald's und IKEA",
    "www.beispiel.de ist eine Seite",
    "U-Bahn-Station",
    "'n Kaffee, bitte",
    "Mutter & Tochter",
    "Frau Dr. A. B. Klein; Herr C.",
    "ein Mädchen - sieben Jahre alt -",
    "Was?! Wirklich??",
    "Er ruft: \"Komm!\"",
    "Über 18",
    "Die USA. Die EU.",
    "d.h. i.d.R. ohne",
    "[links] und {rechts}",
    "1.000 Leute, 3,14 und -5",
    "Haus--Garten",
    "90° und 20°C.",
    "das Haus, 's geht",
    "#wald @see",
]
ENGLISH = [
    "A small dog runs along the beach.",
    "They don't know, can't say and won't tell.",
    "It's the dog's ball; she's happy.",
    "I'd've gone, I'm sure they're here, we've seen him.",
    "He cannot go. I'm gonna leave, it's gotta rain.",
    "Mr. and Mrs. Smith met Dr. Brown at St. James.",
    "A black-and-white dog, a T-shirt and a three-year-old",
    "\"Stop!\" he said (loudly).",
    "At 10am or 9 p.m. he eats 5kg, 3.5 km away.",
    "It costs $20.50 or 30€; 50% off!",
    "U.S. soldiers, the N.Y. police and the U.S.A.",
    "either/or, and/or, w/o",
    "two  spaces and three   more",
    "wait... what?!",
    "visit example.com or https://example.com/a?b=1 now",
    "the boys' room and James' bike",
    "rock 'n' roll, 'em and o'clock",
    "word.Another sentence",
    "one,two;three:four",
    "10,000 people at 11:27",
    "a man--tall--walks",
    "2-3 people, 1990-1995, 3*4",
    "id whats Shes lets its well were shed",
    "mother & daughter, R&B",
    "[left] {right} <tag>",
    "end of line.)",
    "S.C.U.B.A. divers",
    "e.g. this, i.e. that, etc.",
    "C++ and C#",
    "He's 6'2\" tall",
    "it\u2019s \u201cquoted\u201d \u2013 yes\u2014no",
    "a 3-wheeler, a 5-person band",
    "Y'all come, let's go",
    "#hash @name",
    "fighting- racing-",
    "That'll do, who'd know, there's one, this'll",
]


def words(tokenizer, text):
    return [token.text for token in tokenizer(text)]


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def compare(language, path):
    tokenizer = spacy.blank(language).tokenizer
    total = equal = 0
    for line, answer in zip(lines_of(path), sys.stdin):
        total += 1
        ours, theirs = json.loads(answer)["words"], words(tokenizer, line)
        equal += ours == theirs
        if ours != theirs:
            print(sorted(set(ours) ^ set(theirs)), file=sys.stderr)
    print(f"{equal} of {total} lines, {100 * equal / total:.3f} %")


def write_lists(folder):
    lists = {}
    for side, language in (("source", "de"), ("target", "en")):
        tokenizer = spacy.blank(language).tokenizer
        counts = collections.Counter()
        for line in lines_of(folder / f"train.{language}.gz"):
            counts.update(word.lower() for word in words(tokenizer, line))
        kept = sorted((word for word, count in counts.items() if count >= 2), key=lambda word: (-counts[word], word))
        lists[side] = {"language": language, "words": kept}
    path = ROOT / "assets/models/multi30k-de-en/notebook_words.json"
    path.write_text(json.dumps(lists, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print({side: len(entry["words"]) + 4 for side, entry in lists.items()})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compare", nargs=2, metavar=("LANGUAGE", "FILE"))
    parser.add_argument("--lists", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    if options.lists:
        return write_lists(options.lists)
    cases = {}
    for language, sentences in (("de", GERMAN), ("en", ENGLISH)):
        tokenizer = spacy.blank(language).tokenizer
        cases[language] = [{"text": text, "words": words(tokenizer, text)} for text in sentences]
    path = ROOT / "tests/golden/words/spacy.json"
    path.write_text(json.dumps({"spacy": spacy.__version__, "cases": cases}, ensure_ascii=False, indent=1) + "\n",
                    encoding="utf-8")


if __name__ == "__main__":
    main()
