"""The flags that the training commands with data have."""

import argparse
import os
import pathlib
import sys

import torch

from . import multi30k

MODELS = pathlib.Path(__file__).resolve().parents[2] / "assets/models"


def parse(description, name, epochs):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HEADLIGHT_MULTI30K"), help=multi30k.WHERE
                        + " (default: the variable HEADLIGHT_MULTI30K)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("out/training") / name,
                        help="folder of the checkpoint; an interrupted run goes on from there (default: %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, default=MODELS / name,
                        help="the model's folder (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=epochs, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1234, help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the processor (default: all)")
    parser.add_argument("--precision", choices=("bf16", "f32"), default="bf16",
                        help="of matrix products (default: %(default)s)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="(default: %(default)s)")
    arguments = parser.parse_args()
    if not arguments.data:
        parser.error(f"no --data. {multi30k.WHERE}.")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    arguments.device = torch.device(arguments.device)
    return arguments


def run(main):
    """main(), with one line for expected errors."""
    try:
        main()
    except multi30k.MissingText as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on after the last whole epoch")
