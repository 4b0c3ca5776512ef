"""Surveys of what heads do over texts of any source, and their tables as columns."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import Array, ArraysByName
from ._program import DONE, HeadlightError, bordered, program, reason

Columns = dict[str, Array]

_ARROW = (".parquet", ".arrow", ".feather")
_PLACE = ("kind", "layer", "head")  # of a head; its kind where there are several
_ROWS = 1024  # of a Parquet file in memory at once


def _arrow_files(path: str) -> list[str]:
    """The Arrow and Parquet files that a path names: itself, or those of a folder such as datasets' save_to_disk() makes."""
    if not os.path.isdir(path):
        return [path] if path.endswith(_ARROW) else []
    found = sorted(glob.glob(os.path.join(glob.escape(path), "**", "*"), recursive=True))
    files = [file for file in found if file.endswith(_ARROW)]
    if not files:
        raise HeadlightError(f"{path} has no .parquet, .arrow or .feather file")
    return files


def _batches(path: str, field: str) -> Iterator[Any]:
    """Record batches with the field, one by one."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise HeadlightError(f"{path}: install pyarrow, which reads it") from None
    try:
        if path.endswith(".parquet"):
            yield from parquet.ParquetFile(path).iter_batches(batch_size=_ROWS, columns=[field])
            return
        with arrow.memory_map(path) as source:
            try:
                yield from arrow.ipc.open_stream(source)
            except arrow.ArrowInvalid:  # a file with a footer instead
                source.seek(0)
                opened = arrow.ipc.open_file(source)
                for number in range(opened.num_record_batches):
                    yield opened.get_batch(number)
    except (arrow.ArrowException, OSError) as error:
        raise HeadlightError(f"{path}: {str(error).splitlines()[0]}") from None


def _column(batch: Any, field: str, where: str) -> Iterator[Any]:
    names = list(batch.schema.names)
    if field not in names:
        raise HeadlightError(f"{where} has no column {field!r}, but {', '.join(map(repr, names))}; name one with field=")
    for value in batch.column(field):
        yield value.as_py()


def _values(source: Any, field: str) -> Iterator[Any]:
    if isinstance(source, (str, os.PathLike)):
        for file in _arrow_files(os.fspath(source)):
            for batch in _batches(file, field):
                yield from _column(batch, field, file)
    elif hasattr(source, "to_batches"):  # a table, or a record batch's table
        for batch in source.to_batches():
            yield from _column(batch, field, "the table")
    elif hasattr(source, "iterrows") and hasattr(source, "columns"):  # pandas
        if field not in source.columns:
            raise HeadlightError(f"the table has no column {field!r}; name one with field=")
        yield from source[field]
    elif isinstance(source, Mapping):
        names = ", ".join(repr(name) for name in source)
        raise HeadlightError(f"texts are one split, a list, a table or a path, not a mapping of {names}: choose one of them")
    elif not isinstance(source, Iterable):
        raise HeadlightError(f"texts are a list, a generator, one split, a table or a path, not a {type(source).__name__}")
    else:
        for row in source:
            if isinstance(row, Mapping) and field not in row:
                raise HeadlightError(f"a row has no {field!r}, but {', '.join(map(repr, row))}; name one with field=")
            yield row[field] if isinstance(row, Mapping) else row


def _texts(source: Any, field: str) -> Iterator[str]:
    for number, value in enumerate(_values(source, field)):
        if value is None:
            continue
        if not isinstance(value, str):
            raise HeadlightError(f"text {number} is {type(value).__name__}, not str; name the member with the text with field=")
        yield value


def _rows(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """A column for each member; numbers are float64 (NaN for null) or int64, all else objects."""
    columns: Columns = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        if all(isinstance(value, int) for value in values):
            columns[name] = np.array(values, dtype=np.int64)
        elif all(value is None or isinstance(value, (int, float)) for value in values):
            columns[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        else:
            columns[name] = np.empty(len(values), dtype=object)
            columns[name][:] = values
    return columns


class Survey(ArraysByName):
    """What `headlight survey` found. As a mapping its arrays by name: "mean" [metric, layer, head], of a survey on pairs
    [metric, head] in the order of `attention`, "map", "distance" and so on (docs/SURVEY_FILES.md). Its tables are dictionaries of columns of equal length, as pandas.DataFrame(survey.heads) takes them."""

    def __init__(self, folder: str | os.PathLike[str]):
        """Reads the folder that a survey wrote."""
        folder = os.fspath(folder)
        try:
            with open(os.path.join(folder, "survey.json"), encoding="utf-8") as file:
                self.info: dict[str, Any] = json.load(file)  #: of what, and how fast, as survey.json has it
            self._arrays: dict[str, Array] = {
                os.path.splitext(name)[0]: np.load(os.path.join(folder, name), allow_pickle=False)
                for name in self.info.get("arrays", ["mean.npy", "spread.npy", "histogram.npy"])
            }
            heads = _rows(os.path.join(folder, "heads.jsonl"))
            profiles = _rows(os.path.join(folder, "tokens.jsonl"))
            self.examples = _columns(_rows(os.path.join(folder, "examples.jsonl")))  #: the best texts: place, value, text, …
            self.samples = _columns(_rows(os.path.join(folder, "samples.jsonl")))  #: a sample: decile, value, text, …
            #: A row for each metric and head (layer, head, of several kinds also kind): texts, mean, spread, least, most.
            self.heads = _columns([{key: row[key] for key in row if key != "histogram"} for row in heads])
            #: A row for each layer and head: queries, first, self, distance, their spreads, and what the lists may have missed.
            self.attention = _columns([{key: row[key] for key in row if not isinstance(row[key], list)} for row in profiles])
            self.query_tokens, self.key_tokens, self.pairs = (  #: a row for each layer, head and token: mass, count, weight
                _columns([{key: row[key] for key in _PLACE if key in row} | entry for row in profiles for entry in row[name]])
                for name in ("query_tokens", "key_tokens", "pairs")
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise HeadlightError(f"{folder} is no survey's folder: {error}") from None

    def __repr__(self) -> str:
        return f"<headlight.Survey of {self.info['texts']} texts: {', '.join(self.info['metrics'])}>"


def _run(arguments: Sequence[str], texts: Iterable[str]) -> None:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([program(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                for text in texts:
                    pipe.write(json.dumps({"text": text}).encode("ascii") + b"\n")
        except BrokenPipeError:  # it ended, and says why
            pass
        except BaseException:
            process.kill()
            process.wait()
            raise
        status = process.wait()
        said.seek(0)
        if status not in DONE:
            raise HeadlightError(reason(said.read().decode("utf-8", "replace"), status))


def survey(
    texts: Any,
    *,
    field: str = "text",
    model: Any = None,
    metrics: str | Sequence[str] | None = None,
    own: Mapping[str, str] | None = None,
    tokens: int | None = None,
    top: int | None = None,
    samples: int | None = None,
    limit: int | None = None,
    sample: float | None = None,
    pack: bool = False,
    precision: str | None = None,
    device: str | int | None = None,
    out: str | os.PathLike[str] | None = None,
    flags: Sequence[Any] = (),
) -> Survey:
    """Measures every head over texts and returns the tables, a Survey.

    texts: an iterable of texts or of rows with the member `field` (a dataset of `datasets`, streamed or not, one split), a table
    of pyarrow or pandas, or a path: .parquet, .arrow and .feather files and folders of them are read with pyarrow, all else by
    the program (a text a line, JSON lines, .gz). What is iterated over is piped, never whole in memory. model: as run() takes
    it; metrics, tokens, top, samples, limit, sample, pack, precision, device: the flags of `headlight survey`; own: metrics of
    yours, patterns or formulas by name, as its --metric; out: a folder to write into, and to go on in (default: one that is
    removed); flags: further flags.
    """
    chosen = metrics if metrics is None or isinstance(metrics, str) else ",".join(metrics)
    options = {"model": model, "metrics": chosen, "tokens": tokens, "top": top, "samples": samples, "limit": limit}
    options |= {"sample": sample, "precision": precision, "device": device}
    with tempfile.TemporaryDirectory(prefix="headlight-") as temporary:
        folder = temporary if out is None else os.fspath(out)
        arguments = ["--out", folder, *(["--pack"] if pack else []), *map(str, flags)]
        for name, pattern in (own or {}).items():
            arguments += ["--metric", f"{name}={pattern}"]
        for name, value in options.items():
            if value is not None:
                arguments += [f"--{name}", os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        is_path = isinstance(texts, (str, os.PathLike))
        if is_path and not os.path.isdir(texts) and not os.fspath(texts).endswith(_ARROW):
            _run(["survey", os.fspath(texts), "--field", field, *arguments], ())
        else:
            _run(["survey", "-", "--jsonl", *arguments], _texts(texts, field))
        return Survey(folder)
