"""Multi30k's text (Elliott et al. 2016, "Multi30K: Multilingual English-German Image Descriptions", W16-3210).

A folder serves that holds the files side by side, or a clone of github.com/multi30k/dataset. Lines are as they are there:
neither lower-cased nor tokenised.
"""

import gzip
import pathlib
import re

WHERE = ("Give the folder of train.de.gz, train.en.gz, val.*, test_2016_flickr.* and captions.1.en.gz to captions.5.en.gz, "
         "or of a clone of github.com/multi30k/dataset")


WORD = r"\w+|[^\w\s]"


class MissingText(Exception):
    """One line: which file is missing, and what to do."""


def find(folder, name):
    """The path of a text; the dataset's own repository calls the independent captions train.1.en to train.5.en."""
    folder = pathlib.Path(folder)
    theirs = name.replace("captions", "train")
    places = [folder / name, folder / "data/task1/raw" / name, folder / "data/task2/raw" / theirs]
    for place in places:
        if place.is_file():
            return place
    raise MissingText(f"{folder}: no {name}. {WHERE}.")


def lines(folder, name):
    """A text's lines, spaces at their ends and doubled ones taken out."""
    with gzip.open(find(folder, name), "rt", encoding="utf-8", newline="\n") as file:
        return [" ".join(line.split()) for line in file.read().removesuffix("\n").split("\n")]


def pairs(folder, part):
    """[(German, English)] of "train", "val" or "test_2016_flickr"."""
    german, english = lines(folder, f"{part}.de.gz"), lines(folder, f"{part}.en.gz")
    if len(german) != len(english):
        raise MissingText(f"{folder}: {part}.de has {len(german)} lines and {part}.en {len(english)}; download them again.")
    return list(zip(german, english))


def captions(folder):
    """145,000 English captions: five, by five authors, of each of the 29,000 training images; [image][5]."""
    return list(zip(*(lines(folder, f"captions.{number}.en.gz") for number in range(1, 6))))


def words(text):
    """Lower-cased, each punctuation mark a word of its own: the words of BLEU and of perplexity per word."""
    return re.findall(WORD, text.lower())
