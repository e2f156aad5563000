"""The sheet of a first batch: views, clips, boxes."""

import types

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.training.monitoring import sheet
from models.training.recipes import base
from robust_tfds.html_pages import pictures

_RNG = np.random.default_rng(0)


class _Twice(base.Recipe):
  """The pictures and their negatives."""

  def transform(self, images, keys):
    return jnp.concatenate([images, 255 - images])


def _prepared(batch, recipe=None, classes=("a", "b")):
  source = types.SimpleNamespace(
    classes=classes, batches=lambda **_: iter([batch])
  )
  config = types.SimpleNamespace(batch_size=9, seed=0)
  return types.SimpleNamespace(
    config=config, source=source, recipe=recipe or base.Recipe()
  )


def _batch(**more):
  keys = np.zeros((9, 2), np.uint32)
  ids = [f"e{i}" for i in range(9)]
  return {"id": ids, "key": keys, "label": np.arange(9) % 2, **more}


class SheetTest(absltest.TestCase):
  def test_views(self):
    image = _RNG.integers(0, 256, (9, 8, 8, 3)).astype(np.uint8)
    read, first, second = sheet.lines(_prepared(_batch(image=image), _Twice()))
    names = [read.name, first.name, second.name]
    self.assertEqual(names, ["as read", "view 1 of 2", "view 2 of 2"])
    self.assertLen(read.pictures, 8)
    self.assertEqual(first.pictures[3].uri, pictures.uri(image[3]))
    self.assertEqual(second.pictures[3].uri, pictures.uri(255 - image[3]))
    self.assertEqual(second.pictures[3].alt, "b, view 2 of 2")

  def test_clips_are_strips(self):
    video = _RNG.integers(0, 256, (9, 12, 8, 8, 3)).astype(np.uint8)
    lines = sheet.lines(_prepared(_batch(video=video)))
    self.assertEqual(
      [(line.name, line.note) for line in lines],
      [(n, w) for w in ("as read", "as seen") for n in ("a", "b", "a")],
    )
    self.assertLen(lines[0].pictures, 8)
    self.assertEqual(lines[4].pictures[-1].uri, pictures.uri(video[1, -1]))

  def test_boxes(self):
    image = _RNG.integers(0, 256, (9, 40, 60, 3)).astype(np.uint8)
    batch = _batch(image=image)
    batch["size"] = np.tile(np.int32([[30, 50]]), (9, 1))
    batch["boxes"] = np.tile(
      np.float32([[[5, 6, 20, 26], [0, 0, 0, 0]]]), (9, 1, 1)
    )
    batch["labels"] = np.tile(np.int32([[1, -1]]), (9, 1))
    del batch["label"]
    (line,) = sheet.lines(_prepared(batch))
    shown = line.pictures[0]
    self.assertEqual((shown.size, shown.view), ((50, 30), "0 0 50 30"))
    self.assertEqual(list(shown.boxes), [("hit", 5.0, 6.0, 15.0, 20.0)])
    self.assertEqual(shown.labels[0][1], "b")
    self.assertEqual(shown.alt, "e0: b")
