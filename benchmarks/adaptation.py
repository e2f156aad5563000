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
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from absl import flags

from models import adaptation
from robust_tfds import command, models

# Of torch's network: blocks a stage, whether they are bottlenecks.
_STAGES = {
  "resnet18": ((2, 2, 2, 2), False),
  "resnet34": ((3, 4, 6, 3), False),
  "resnet50": ((3, 4, 6, 3), True),
  "resnet101": ((3, 4, 23, 3), True),
}


def define_flags() -> None:
  """Define the flags."""
  flags.DEFINE_enum("model", "resnet50", list(_STAGES), "Network.")
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
  if importlib.util.find_spec("torch"):
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

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  net = _resnet(*_STAGES[name])
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


def _resnet(depths: Sequence[int], wide: bool) -> Any:
  """Return a ResNet in torch, of He et al. 2016 with strides in the 3x3."""
  from torch import nn

  class Block(nn.Module):
    """A residual block of two convolutions, or of three if it is wide."""

    def __init__(self, inputs: int, width: int, stride: int):
      super().__init__()
      outputs = 4 * width if wide else width
      shapes = [(inputs, width, 3, stride), (width, outputs, 3, 1)]
      if wide:
        shapes = [
          (inputs, width, 1, 1),
          (width, width, 3, stride),
          (width, outputs, 1, 1),
        ]
      layers: list[nn.Module] = []
      for shape in shapes:
        layers += [*_conv(*shape), nn.ReLU()]
      self.body = nn.Sequential(*layers[:-1])
      same = inputs == outputs and stride == 1
      skip = [] if same else _conv(inputs, outputs, 1, stride)
      self.skip = nn.Sequential(*skip)

    def forward(self, x: Any) -> Any:
      return (self.body(x) + self.skip(x)).relu()

  layers = [*_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
  channels = 64
  for i, depth in enumerate(depths):
    for j in range(depth):
      width, stride = 64 * 2**i, 2 if i and not j else 1
      layers.append(Block(channels, width, stride))
      channels = 4 * width if wide else width
  layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
  return nn.Sequential(*layers)


def _conv(inputs: int, outputs: int, size: int, stride: int) -> list[Any]:
  """Return a convolution and its norm."""
  from torch import nn

  conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
  return [conv, nn.BatchNorm2d(outputs)]


if __name__ == "__main__":
  command.run(main, define_flags)
