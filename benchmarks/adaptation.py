"""A pass that adapts beside the plain pass, and beside torch where it is installed.

  python -m benchmarks.adaptation                       # resnet50, batch 64, 224 px
  python -m benchmarks.adaptation --model=resnet18 --side=64 --batch=32

Prints the median seconds of a batch over some rounds, without compilation and
without corruption: evaluation, batch statistics (`bn`) and Tent; then the same of
torchvision's network, adapted as the authors of Tent do, in torch on as many
threads. Ours and torch's rounds alternate.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from absl import flags

from models import adaptation
from robust_tfds import command, models


def define_flags() -> None:
  """Define the flags."""
  flags.DEFINE_string("model", "resnet50", "Network, ours and torchvision's.")
  flags.DEFINE_integer("side", 224, "Side of the pictures, px.")
  flags.DEFINE_integer("batch", 64, "Pictures a batch.")
  flags.DEFINE_integer("rounds", 5, "Batches of each that are timed.")


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  side, count = flags.FLAGS.side, flags.FLAGS.batch
  shape = (count, side, side, 3)
  images = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
  calls = _ours(flags.FLAGS.model, images)
  if importlib.util.find_spec("torchvision"):
    calls |= _torch(flags.FLAGS.model, images)
  for call in calls.values():  # compiles
    call()
  times: dict[str, list[float]] = {name: [] for name in calls}
  for _ in range(flags.FLAGS.rounds):
    for name, call in calls.items():
      start = time.perf_counter()
      call()
      times[name].append(time.perf_counter() - start)
  print(
    f"{flags.FLAGS.model}, {count} pictures of {side} px, {jax.devices()[0]}"
  )
  for name, each in times.items():
    plain = statistics.median(times[f"{name.split()[0]} plain"])
    took = statistics.median(each)
    print(f"{name:12} {took:8.3f} s a batch, {took / plain:.2f} x plain")


def _ours(name: str, images: np.ndarray) -> dict[str, Callable[[], Any]]:
  model = models.get(name).with_fields({"flexible": True})
  variables = model.init(jax.random.key(0))
  plain = jax.jit(model.apply)
  out = {"jax plain": lambda: jax.block_until_ready(plain(variables, images))}
  for of in ("bn", "tent"):
    method = adaptation.get(of)(model)
    out[f"jax {of}"] = _stepping(method, method.init(variables), images)
  return out


def _stepping(method: Any, state: Any, images: np.ndarray) -> Callable[[], Any]:
  """Return a call that adapts to one more batch."""
  step, held = jax.jit(method.step), [state]

  def call() -> None:
    logits, held[0] = step(held[0], images, jax.random.key(0))
    jax.block_until_ready((logits, held[0]))

  return call


def _torch(name: str, images: np.ndarray) -> dict[str, Callable[[], Any]]:
  import torch
  import torchvision

  net = torchvision.models.get_model(name)
  pixels = torch.from_numpy(np.moveaxis(images, -1, 1) / np.float32(255))
  pixels = pixels.contiguous()
  norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
  net.requires_grad_(requires_grad=False)
  weights = [p for m in norms for p in m.parameters()]
  for weight in weights:
    weight.requires_grad_(requires_grad=True)
  optimizer = torch.optim.SGD(weights, 2.5e-4, momentum=0.9)

  def forward(train: bool) -> None:
    net.train(train)
    with torch.inference_mode():
      net(pixels)

  def tent() -> None:
    net.train()
    logits = net(pixels)
    loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

  return {
    "torch plain": lambda: forward(False),
    "torch bn": lambda: forward(True),
    "torch tent": tent,
  }


if __name__ == "__main__":
  command.run(main, define_flags)
