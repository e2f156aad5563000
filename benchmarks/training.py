"""Transforms of training compared with Pillow and with a training step.

  python -m benchmarks.training                     # 224 px, batch 32
  python -m benchmarks.training --model=resnet18    # and a step of it
  python -m benchmarks.training --model=resnet50 --dtype=bfloat16 --batch=256

Prints ms a picture of `training.augmix` (a batch, warm) and of the same chain in
Pillow and numpy as google-research/augmix writes it, with the same draws; their
ratio; ms a picture of the other transforms; and what they add to a step of a
network. On a CPU all is on one core, and CPU time counts; on an accelerator ours is
on the device, Pillow on a core beside it, and the clock counts. Ours and Pillow's
calls alternate, and the least time of each counts.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import flags
from PIL import Image, ImageEnhance, ImageOps

from robust_tfds import command, conditions

if TYPE_CHECKING:
  from models.training.transforms import augmix

# ImageNet's, of normalised floats.
_MEAN, _STD = (
  np.float32((0.485, 0.456, 0.406)),
  np.float32((0.229, 0.224, 0.225)),
)


def define_flags() -> None:
  """Define the flags; not at import, because tests import the chain."""
  flags.DEFINE_integer("size", 224, "Side of the pictures, px.")
  flags.DEFINE_integer("batch", 32, "Pictures a call.")
  flags.DEFINE_integer("rounds", 5, "Calls of each that are timed.")
  flags.DEFINE_float("severity", 3, "Of operations.")
  flags.DEFINE_string("model", "", "Network whose step is timed.")
  flags.DEFINE_string("dtype", "float32", "That it computes in.")


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  where = _place()
  side, count = flags.FLAGS.size, flags.FLAGS.batch
  images, keys = _pictures(count, side), _keys(count)
  print(
    f"{count} pictures of {side} px, severity {flags.FLAGS.severity:g}, {where}"
  )
  ours, pillow = _augmix_beside_pillow(images, keys)
  print(
    f"augmix: ours {ours:.2f} ms a picture, Pillow {pillow:.2f};"
    f" {pillow / ours:.1f} times as fast"
  )
  costs = {"augmix": ours} | _others(images, keys)
  for name, cost in costs.items():
    print(f"{name:16s} {cost:7.2f} ms a picture")
  if flags.FLAGS.model:
    step = _step(flags.FLAGS.model, images)
    print(f"a step of {flags.FLAGS.model}: {step:.1f} ms a picture")
    for name, cost in costs.items():
      print(f"{name:16s} {100 * cost / step:7.1f} % of it")


def _place() -> str:
  """Return what is measured on: one core from here on, or an accelerator."""
  import jax

  from robust_tfds import devices

  usable = os.sched_getaffinity(0)
  os.sched_setaffinity(0, {min(usable)})  # threads take it from who starts them
  if jax.default_backend() == "cpu":
    return "one core"
  for thread in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(thread), usable)
  return devices.description()


def _augmix_beside_pillow(
  images: np.ndarray, keys: np.ndarray
) -> tuple[float, float]:
  import jax

  from models import training

  on_device = jax.numpy.asarray(images)
  options: dict[str, Any] = {"severity": flags.FLAGS.severity, "overlap": False}
  host = drawn_of(keys, width=3, depth=-1, alpha=1.0, **options)

  def ours() -> None:
    jax.block_until_ready(training.augmix(on_device, keys=keys, **options))

  def pillow() -> None:
    for image, one in zip(images, host):
      pillow_mixture(image, one)

  return _least(ours, pillow, len(images))


def drawn_of(keys: np.ndarray, **options: Any) -> list[augmix.Drawn]:
  """Return what `augmix` draws from each key, on the host.

  Args:
    keys: uint32 `[B, 2]`.
    **options: all of `augmix.draw`.
  """
  import jax

  from models.training.transforms import augmix

  draw = functools.partial(augmix.draw, **options)
  drawn = jax.tree.map(np.asarray, jax.jit(jax.vmap(draw))(keys))
  return [jax.tree.map(lambda x: x[i], drawn) for i in range(len(keys))]


def pillow_mixture(image: np.ndarray, drawn: augmix.Drawn) -> np.ndarray:
  """Return a mixture of google-research/augmix with given draws.

  Args:
    image: uint8 `[H, W, 3]`.
    drawn: of numpy arrays.

  Returns:
    Normalised float32 `[H, W, 3]`.
  """
  from models.training.transforms import operations

  own, *weights = np.float32(drawn.weights / 2**16)
  total = own * normalised(image)
  steps = drawn.operations
  for chain, weight in enumerate(weights):
    picture = Image.fromarray(image)
    for i in range(drawn.depths[chain]):
      picture = pillow_operation(
        picture,
        operations.NAMES[steps.operation[chain, i]],
        steps.strength[chain, i] / operations.UNIT,
        bool(steps.negative[chain, i]),
      )
    total += weight * normalised(np.asarray(picture))
  return total


def normalised(image: np.ndarray) -> np.ndarray:
  """Return levels normalised for the network, float32."""
  return (image.astype(np.float32) / 255 - _MEAN) / _STD


def levels(mixed: np.ndarray) -> np.ndarray:
  """Undo `normalised` without rounding."""
  return (mixed * _STD + _MEAN) * 255


def pillow_operation(
  picture: Image.Image, name: str, u: float, negative: bool
) -> Image.Image:
  """Apply an operation of google-research/augmix (augmentations.py).

  Args:
    picture: RGB.
    name: of `transforms.operations.NAMES`.
    u: its strength.
    negative: the sign of what has one.
  """
  sign, factor = -1 if negative else 1, u * 1.8 / 10 + 0.1
  if name in ("autocontrast", "equalize"):
    return getattr(ImageOps, name)(picture)
  if name == "posterize":
    return ImageOps.posterize(picture, 4 - int(u * 4 / 10))
  if name == "solarize":
    return ImageOps.solarize(picture, 256 - int(u * 256 / 10))
  if name == "rotate":
    degrees = sign * int(u * 30 / 10)
    return picture.rotate(degrees, Image.Resampling.BILINEAR)
  if name in ("color", "contrast", "brightness", "sharpness"):
    return getattr(ImageEnhance, name.capitalize())(picture).enhance(factor)
  kind, axis = name.split("_")
  place = sign * u * 0.3 / 10
  if kind == "translate":
    side = picture.width if axis == "x" else picture.height
    place = sign * int(u * (side / 3) / 10)
  matrix = [1, 0, 0, 0, 1, 0]
  where = {"shear_x": 1, "shear_y": 3, "translate_x": 2, "translate_y": 5}
  matrix[where[name]] = place
  bilinear = Image.Resampling.BILINEAR
  return picture.transform(
    picture.size, Image.Transform.AFFINE, matrix, resample=bilinear
  )


def _others(images: np.ndarray, keys: np.ndarray) -> dict[str, float]:
  """Return the ms per picture of the other transforms."""
  import jax

  from models import training

  on_device = jax.numpy.asarray(images)
  pictures = jax.numpy.asarray(training.fractals(8, images.shape[1]))
  calls = {
    "pixmix": functools.partial(training.pixmix, pictures=pictures),
    "texture": functools.partial(training.stylize, styles=pictures),
    "gaussian_noise": functools.partial(
      training.corruption_mix, names="gaussian_noise"
    ),
    "digital": functools.partial(training.corruption_mix, names="digital"),
  }

  def timed(call: Callable[..., jax.Array]) -> float:
    def ours() -> None:
      jax.block_until_ready(call(on_device, keys=keys))

    return _least(ours, lambda: None, len(images))[0]

  return {name: timed(call) for name, call in calls.items()}


def _step(name: str, images: np.ndarray) -> float:
  """Return the ms per picture of one gradient of a network's cross-entropy."""
  import jax
  import jax.numpy as jnp

  from robust_tfds import models

  model = models.get(name, dtype=flags.FLAGS.dtype)
  variables = jax.jit(model.init)(jax.random.key(0))

  @jax.jit
  def gradient(variables: Any, batch: Any) -> Any:
    def loss(variables: Any) -> Any:
      logits = model.apply(variables, batch)
      return -jax.nn.log_softmax(logits)[:, 0].mean()

    return jax.grad(loss)(variables)

  batch = jnp.asarray(images)

  def call() -> None:
    jax.block_until_ready(gradient(variables, batch))

  return _least(call, lambda: None, len(images))[0]


def _least(
  ours: Callable[[], None], theirs: Callable[[], None], count: int
) -> tuple[float, float]:
  """Return the least ms per picture of each, see the header; calls alternate."""
  import jax

  on_cpu = jax.default_backend() == "cpu"
  clock = time.process_time if on_cpu else time.perf_counter
  times = np.full((1 + flags.FLAGS.rounds, 2), np.inf)
  for turn in range(1 + flags.FLAGS.rounds):
    for place, call in enumerate((ours, theirs)):
      start = clock()
      call()
      times[turn, place] = 1e3 * (clock() - start) / count
  own, other = times[1:].min(axis=0)
  return float(own), float(other)


def _pictures(count: int, side: int) -> np.ndarray:
  """Return coarse spots with some noise, uint8 `[count, side, side, 3]`."""
  rng = np.random.default_rng(0)
  spots = rng.integers(0, 256, (count, 8, 8, 3), np.uint8)
  picked = np.arange(side) * 8 // side
  wide = spots[:, picked][:, :, picked].astype(np.float32)
  return np.clip(wide + rng.normal(0, 12, wide.shape), 0, 255).astype(np.uint8)


def _keys(count: int) -> np.ndarray:
  ids = [str(i) for i in range(count)]
  return conditions.raw_keys(0, "bench", "training", 1, ids)


if __name__ == "__main__":
  command.run(main, define_flags)
