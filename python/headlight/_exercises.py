"""Exercises that the notebooks set, to be solved in code: the program compares a solution's arrays, stage by stage."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import numpy as np

from ._arrays import Array, ArraysByName, as_host, expect_numbers
from ._program import HeadlightError, bordered, call

_TYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "BOOL": "|b1"}


def _save(path: str, arrays: dict[str, Array], words: dict[str, str]) -> None:
    """Writes a .safetensors file of float32."""
    header: dict[str, Any] = {"__metadata__": words}
    offset = 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.tobytes())


def _load(path: str) -> dict[str, Array]:
    with open(path, "rb") as file:
        content = file.read()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    arrays = {}
    for name, tensor in header.items():
        first, last = (begin + offset for offset in tensor["data_offsets"])
        arrays[name] = np.frombuffer(content[first:last], _TYPES[tensor["dtype"]]).reshape(tensor["shape"]).copy()
    return arrays


class Inputs(ArraysByName):
    """What an exercise begins with: x, w_q, b_q, … as nn.Linear has them, or q, k and v; and mask, True where a query sees a key."""

    def __init__(self, arrays: dict[str, Array]):
        self._arrays = {name: array.astype(bool) if name == "mask" else array for name, array in arrays.items()}

    def __repr__(self) -> str:
        return "<headlight.Inputs " + ", ".join(f"{name} {list(one.shape)}" for name, one in self.items()) + ">"


class Checked:
    """What the program says of a solution: true where the exercise is passed."""

    def __init__(self, answer: dict[str, Any]):
        self.passed: bool = answer["passed"]
        self.right: list[str] = answer["right"]  #: stages that are right, up to the first wrong one
        self.wrong: str | None = answer["wrong"] or None  #: that stage
        self.text: str = answer["says"]

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return self.text


class Exercise:
    """An exercise of a notebook: its task, inputs, and the check of a solution."""

    @bordered
    def __init__(self, name: str):
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            path = os.path.join(folder, "inputs.safetensors")
            about = json.loads(call("check-exercise", name, "--inputs", path, "--json"))
            self.inputs = Inputs(_load(path))  #: arrays by name
        self.name: str = about["exercise"]
        self.task: str = about["task"]  #: what is to be computed
        self.heads: int = about["heads"]
        self.scale: float = about["scale"]  #: what scores are multiplied by
        self.fill = float(about["fill"])  #: in place of masked scores
        self.stages: dict[str, list[int]] = about["stages"]  #: shapes by name, in their order; the last one is the result

    @bordered
    def check(self, result: Any = None, **stages: Any) -> Checked:
        """Compares the result, or stages by their names (`q=…, weights=…, output=…`), within 1e-5. Arrays are numpy's, lists
        or tensors. Once the result is right the exercise is passed, which cards of lessons in the window wait for."""
        given = dict(stages)
        if result is not None:
            given[next(reversed(self.stages))] = result
        given = {name: value for name, value in given.items() if value is not None}
        if not given:
            raise HeadlightError(f"{self.name}: give the result, or some of {', '.join(self.stages)}")
        arrays: dict[str, Array] = {}
        for name, value in given.items():
            expect_numbers(value, name)
            array = as_host(value)
            if array.dtype.kind not in "biuf":
                raise HeadlightError(f"{name} is an array of {array.dtype}, not of numbers")
            arrays[name] = np.ascontiguousarray(array, "<f4")
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            path = os.path.join(folder, "solution.safetensors")
            _save(path, arrays, {"exercise": self.name})
            return Checked(json.loads(call("check-exercise", self.name, path, "--json", also=(1,))))

    def __repr__(self) -> str:
        return f"<headlight.Exercise {self.name}: {self.task}>"


@bordered
def exercise(name: str) -> Exercise:
    """The exercise of this name, such as "001/task"."""
    return Exercise(name)


@bordered
def exercises() -> dict[str, str]:
    """All exercises: what is to be computed, by their names."""
    return {one["exercise"]: one["task"] for one in json.loads(call("check-exercise", "--json"))["exercises"]}
