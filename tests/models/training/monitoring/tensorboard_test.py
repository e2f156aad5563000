"""Events for TensorBoard: each step once, also of a training that went back."""

import io
import pathlib
import shutil
import struct
import sys
from unittest import mock

import numpy as np
from etils import epath
from PIL import Image
from tensorboardX.proto import event_pb2

from models.training import main, run
from models.training.monitoring import tensorboard
from robust_tfds import errors
from tests import in_folder, in_process
from tests.models.training import tiny_trainings


def _events(folder: pathlib.Path) -> list:
  """Of the one file: a record is its length, a checksum, bytes, a checksum."""
  (file,) = folder.iterdir()
  data, events = file.read_bytes(), []
  while data:
    (size,) = struct.unpack("<Q", data[:8])
    events.append(event_pb2.Event.FromString(data[12 : 12 + size]))
    data = data[12 + size + 4 :]
  return events


class TensorboardTest(in_folder.TestCase):
  def _train(self):
    source = tiny_trainings.Source(validation=8)
    prepared = tiny_trainings.prepared(
      source, keep__tensorboard=True, data__validation=0.1
    )
    workdir = epath.Path(self.root) / "w"
    run.train(prepared, workdir, say=lambda text: None)

  def test_a_training_that_goes_on(self):
    self._train()
    shutil.rmtree(self.root / "w" / "checkpoints" / "12")  # goes on after 10
    self._train()
    events = _events(self.root / "w" / "tensorboard")
    values = [(e.step, v) for e in events for v in e.summary.value]
    for tag in ("loss", "validation_error", "learning_rate"):
      measured = {s: v.simple_value for s, v in values if v.tag == tag}
      steps = [step for step, v in values if v.tag == tag]
      expected = dict(_column(self.root / "w" / "metrics.csv", tag))
      self.assertEqual(steps, list(expected))
      got = [*measured.values()]
      np.testing.assert_allclose(got, [*expected.values()], 1e-6)
    seconds = [s for _, s in _column(self.root / "w/metrics.csv", "seconds")]
    self.assertEqual(seconds, sorted(seconds))
    times = [
      e.wall_time for e in events for v in e.summary.value if v.tag == "loss"
    ]
    self.assertEqual(times, sorted(times))
    np.testing.assert_allclose(  # the lines before it went on
      np.diff(times[:10]), np.diff(seconds[:10]), atol=0.2
    )
    images = {v.tag: v.image for _, v in values if v.HasField("image")}
    self.assertEqual(set(images), {"as_read", "as_seen"})
    png = io.BytesIO(images["as_read"].encoded_image_string)
    pixels = np.asarray(Image.open(png).convert("RGB"))
    one = tiny_trainings.Source(validation=8).image[_first()]
    self.assertTrue(
      any(
        np.array_equal(pixels[y : y + 32, x : x + 32], one)
        for y in range(pixels.shape[0] - 31)
        for x in range(pixels.shape[1] - 31)
      )
    )

  def test_where_the_package_is_not(self):
    with mock.patch.dict(sys.modules, {"tensorboardX": None}):
      done = in_process.run(
        main,
        "--config=train_standard",
        "--config.keep.tensorboard=True",
        "--plan",
      )
    words = (
      "tensorboardX, which is not installed: pip install 'robust_tfds[tens"
    )
    in_process.check_refused(self, done, words)

  def test_in_a_bucket(self):
    with self.assertRaisesRegex(errors.UserError, "no folder of this machine"):
      tensorboard.Events(epath.Path("gs://bucket/w"))


def _first() -> int:
  """The place of the first picture of the first batch."""
  source = tiny_trainings.Source(validation=8)
  batch = next(source.batches(batch_size=8, seed=3, epoch=0))
  return int(batch["id"][0].removeprefix("e"))


def _column(file: pathlib.Path, name: str):
  lines = [line.split(",") for line in file.read_text().splitlines()]
  at = lines[0].index(name)
  return [(int(row[0]), float(row[at])) for row in lines[1:] if row[at]]
