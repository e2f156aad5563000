"""Segmentation: counting pixels, and pictures x conditions a second, beside peers.

  taskset -c 0 python -m benchmarks.segmentation

The metric: a picture of 1024 x 2048 px, 19 classes, beside torchmetrics (its
confusion matrix, with and without its checks of the arguments) and the histograms
of mmsegmentation's IoUMetric in torch. The run: pictures of 512 x 1024 px under
four corruptions at severities 1, 3 and 5, answered by a function that compares
channels, and counted; ours on JAX's device, beside a loop of imagecorruptions on one
core. Peers that are not there are left out; how to install them:
`benchmarks/corruptions.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from absl import app, flags

from benchmarks import corruptions as peers
from eval.metrics import segmentation as metrics
from eval.pipeline import predict
from eval.tasks import segmentation
from robust_tfds import conditions, devices

_NAMES = ("gaussian_noise", "fog", "contrast", "jpeg_compression")
_PICTURES = flags.DEFINE_integer("pictures", 4, "Pictures of the run.")
_ROUNDS = 9
_CLASSES = 19


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  rng = np.random.default_rng(0)
  truth, answer = _maps(rng, 1024, 2048)
  ours = _ms(lambda: metrics.confusion(truth, answer, _CLASSES))
  print(f"metric, 1024 x 2048 px, {_CLASSES} classes: {ours:.1f} ms of CPU")
  for name, count in _counting_peers(truth, answer):
    other = _ms(count)
    print(f"  {name}: {other:.1f} ms, ratio {other / ours:.1f}")
  _run(rng)


def _maps(
  rng: np.random.Generator, height: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
  """Return a mask of blocks with ignored rows, and an answer right by 9 in 10."""
  blocks = rng.integers(0, _CLASSES, (height // 16, width // 16))
  truth = np.kron(blocks, np.ones((16, 16), int)).astype(np.uint8)
  wrong = rng.random(truth.shape) < 0.1
  answer = np.where(wrong, rng.integers(0, _CLASSES, truth.shape), truth)
  truth[: height // 20] = metrics.IGNORE
  return truth, answer.astype(np.uint8)


def _counting_peers(
  truth: np.ndarray, answer: np.ndarray
) -> list[tuple[str, Callable[[], Any]]]:
  try:
    import torch
  except ImportError as e:
    print(f"No peers of the metric: {e}")
    return []
  torch.set_num_threads(1)
  labels, said = torch.from_numpy(truth), torch.from_numpy(answer)

  def histograms() -> list[Any]:
    counted = labels != metrics.IGNORE
    right, true = said[counted], labels[counted]
    parts = right[right == true], right, true
    ends = {"bins": _CLASSES, "min": 0, "max": _CLASSES - 1}
    return [torch.histc(part.float(), **ends) for part in parts]

  out = [("mmsegmentation's histograms", histograms)]
  try:
    from torchmetrics.functional import classification
  except (ImportError, RuntimeError) as e:  # of a torchvision that is broken
    print(f"No torchmetrics: {e}")
    return out
  wide = said.long(), labels.long()

  def confusion(checked: bool) -> Any:
    return classification.multiclass_confusion_matrix(
      *wide, _CLASSES, ignore_index=metrics.IGNORE, validate_args=checked
    )

  out.append(("torchmetrics", lambda: confusion(True)))
  return [*out, ("torchmetrics, unchecked", lambda: confusion(False))]


def _run(rng: np.random.Generator) -> None:
  """Time pictures x conditions, ours and imagecorruptions' loop."""
  names = _NAMES
  cells = [conditions.Condition(n, s) for n in names for s in (1, 3, 5)]
  count = _PICTURES.value
  images = rng.integers(0, 256, (count, 512, 1024, 3), np.uint8)
  truth = images.argmax(-1).astype(np.uint8)
  mesh = devices.mesh(jax.local_devices()[:1])
  corrupt = predict.canvas_corruptor(mesh, "any")
  placed, masks = (devices.put_batch(x, mesh) for x in (images, truth))
  sizes = devices.put_batch(np.tile([512, 1024], (count, 1)), mesh)
  ids = [str(i) for i in range(count)]

  @jax.jit
  def counted(pictures: jax.Array, labels: jax.Array) -> jax.Array:
    outputs = {"classes": jnp.argmax(pictures, -1)}
    return segmentation.reduce(outputs, labels, classes=3)["areas"]

  def ours() -> None:
    for cell in cells:
      keys = cell.keys(0, "benchmark", ids)
      np.asarray(counted(corrupt(placed, sizes, cell, keys), masks))

  fast = len(cells) * count / _seconds(ours)
  where = devices.description()
  print(
    f"run, 512 x 1024 px, {where}: {fast:.1f} pictures x conditions a second"
  )
  try:
    peer = peers.imagecorruptions_peer()
  except ImportError as e:
    print(f"No imagecorruptions: {e}")
    return

  def theirs() -> None:
    for cell in cells:
      seen = np.asarray(peer(images[0], cell.name, cell.level))
      metrics.confusion(truth[0], seen.argmax(-1), 3)

  slow = len(cells) / _seconds(theirs)
  print(f"  imagecorruptions, one core: {slow:.1f}, ratio {fast / slow:.1f}")


def _ms(do: Callable[[], Any]) -> float:
  """Return the median CPU time of a call in ms."""
  do()
  times = []
  for _ in range(_ROUNDS):
    start = time.process_time()
    do()
    times.append(time.process_time() - start)
  return 1e3 * float(np.median(times))


def _seconds(do: Callable[[], None]) -> float:
  """Return the least wall time of two calls after a first one."""
  do()
  times = []
  for _ in range(2):
    start = time.perf_counter()
    do()
    times.append(time.perf_counter() - start)
  return min(times)


if __name__ == "__main__":
  app.run(main)
