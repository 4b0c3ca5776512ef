"""The training loop: seeded, with a progress bar, and checkpoints after each epoch from which it resumes."""

import dataclasses
import json
import math
import os
import pathlib
import time

import torch
import tqdm


@dataclasses.dataclass
class Settings:
    """One run, from first to last step. A checkpoint resumes only with its own settings."""

    epochs: int
    learning_rate: float  # at its greatest
    warmup_steps: int  # to reach it; then cosine decay to 0 (Loshchilov & Hutter 2017)
    weight_decay: float = 0.0
    betas: tuple = (0.9, 0.98)
    clip_norm: float = 1.0
    seed: int = 1234
    precision: str = "bf16"  # of the matrix products; weights and sums stay float32


def learning_rate(step, steps, settings):
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    progress = (step - settings.warmup_steps) / max(1, steps - settings.warmup_steps)
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def autocast(device, precision):
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


def decayed(model, weight_decay):
    """Weight decay for matrices, not for vectors (as for GPT-2)."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]


class Checkpoint:
    """One file, replaced atomically: a stop at any moment loses at most one epoch."""

    def __init__(self, folder, settings):
        self.path = pathlib.Path(folder) / "checkpoint.pt"
        self.settings = dataclasses.asdict(settings)

    def load(self, device):
        if not self.path.exists():
            return None
        found = torch.load(self.path, map_location=device, weights_only=False)
        if found["settings"] != self.settings:
            raise SystemExit(f"{self.path} was made with other settings; give another --work folder, or delete it.")
        return found

    def save(self, **state):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        torch.save({**state, "settings": self.settings}, unfinished)
        os.replace(unfinished, self.path)


def train(model, settings, folder, device, make_batches, loss_of, validate):
    """Trains `model` and returns {"seconds": …, "history": [one entry per epoch]}.

    make_batches(epoch) → list of batches, the same for the same epoch; loss_of(model, batch) → (mean loss, tokens);
    validate(model) → {"name": number}, shown and kept for each epoch.
    """
    checkpoint = Checkpoint(folder, settings)
    optimizer = torch.optim.AdamW(decayed(model, settings.weight_decay), lr=0.0, betas=settings.betas, eps=1e-9, fused=True)
    seconds, history = 0.0, []
    if found := checkpoint.load(device):
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
        seconds, history = found["seconds"], found["history"]
        print(f"resumes after epoch {len(history)} of {settings.epochs} ({seconds / 60:.0f} minutes so far)", flush=True)
    for epoch in range(len(history), settings.epochs):
        begin = time.monotonic()
        torch.manual_seed(settings.seed * 1000 + epoch)
        batches = make_batches(epoch)
        steps = settings.epochs * len(batches)
        step = epoch * len(batches)
        model.train()
        total, tokens = 0.0, 0
        with tqdm.tqdm(batches, desc=f"epoch {epoch + 1}/{settings.epochs}", unit="batch", mininterval=2) as bar:
            for batch in bar:
                for group in optimizer.param_groups:
                    group["lr"] = learning_rate(step, steps, settings)
                with autocast(device, settings.precision):
                    loss, count = loss_of(model, batch)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
                optimizer.step()
                step += 1
                total, tokens = total + loss.item() * count, tokens + count
                bar.set_postfix(loss=f"{total / tokens:.3f}", refresh=False)
        model.eval()
        with torch.inference_mode():
            figures = {"loss": total / tokens, **validate(model)}
        seconds += time.monotonic() - begin
        history.append(figures)
        checkpoint.save(model=model.state_dict(), optimizer=optimizer.state_dict(), seconds=seconds, history=history)
        print(f"epoch {epoch + 1}: " + ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
              + f", {seconds / 60:.1f} minutes", flush=True)
        record = {"seconds": seconds, "epochs": history}
        (pathlib.Path(folder) / "history.json").write_text(json.dumps(record, indent=1) + "\n")
    return {"seconds": seconds, "history": history}
