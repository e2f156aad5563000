"""What a training shows: its report, its first pictures, TensorBoard, its last lines."""

import io
import pathlib
import shutil
import struct
import sys
import types
from unittest import mock

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image
from tensorboardX.proto import event_pb2

from models.training import main, run
from models.training.monitoring import closing, report, sheet, tensorboard
from models.training.recipes import base
from robust_tfds import errors
from robust_tfds.html_pages import pictures
from tests import in_folder, in_process
from tests.eval.report.pages import html_check
from tests.models.training import tiny_trainings


def _prepared(source="digits", model="digits_cnn"):
  return types.SimpleNamespace(
    model=types.SimpleNamespace(name=model),
    source=tiny_trainings.Source(validation=8),
    config=types.SimpleNamespace(
      data=types.SimpleNamespace(source=source, classes=())
    ),
  )


class ClosingTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      [{"loss": 0.1, "validation_loss": 0.2, "validation_error": 0.25}],
      "digits_cnn: 25.0 % wrong on 8 held-out examples after 1,300 steps",
    ),
    (
      [{"loss": 0.1, "validation_loss": 0.25}],
      "digits_cnn: loss 0.25 on 8 held-out examples after 1,300 steps",
    ),
    (
      [{"loss": 0.125}],
      "digits_cnn: training loss 0.125 after 1,300 steps; no examples were held"
      " out",
    ),
  )
  def test_verdict(self, measured, expected):
    self.assertEqual(closing.verdict(_prepared(), 1300, measured), expected)

  @parameterized.parameters(
    (
      "digits",
      "digits_cnn",
      "=quickstart:digits_c --config.models.digits_cnn.ch",
    ),
    (
      "digits",
      "tiny",
      " --config.models.digits_cnn.name=tiny --config.models.",
    ),
    (
      "tfds:cifar10",
      "allconv",
      "=cifar10_c:allconv --config.model.checkpoint=/w",
    ),
    ("kinetics400_train", "r3d", "=video_p:kinetics400_p,r3d --config.model."),
    (
      "ytbb_train",
      "tiny",
      "=vid_robust:tiny --config.data.name=ytbb_robust --config.model.",
    ),
    ("imagenet_vid_det_train", "tiny", "=vid_robust_detection:tiny --config.m"),
    ("ilsvrc30_train", "tiny", "=vid_robust:tiny --config.model."),
    ("voc0712_train", "tiny", "=pascal_c:tiny --config.model."),
    ("folder:/data/pets", "tiny", "=own_data:tiny --config.data.name=folder:"),
  )
  def test_command(self, source, model, expected):
    words = closing.command(_prepared(source, model), epath.Path("/w"))
    self.assertIn(expected, words)


_LINES = [
  {"step": 1, "loss": 2.0, "error": 0.5, "seconds": 9.0},
  {"step": 2, "loss": 1.0, "error": 0.4, "seconds": 10.0},
]


class ReportTest(in_folder.TestCase):
  def _trained(self, **changes):
    prepared = tiny_trainings.prepared(
      tiny_trainings.Source(validation=8), data__validation=0.25, **changes
    )
    workdir, said = epath.Path(self.root) / "run", []
    run.train(prepared, workdir, say=said.append)
    return workdir, said

  def test_a_training(self):
    workdir, _ = self._trained()
    text = (workdir / report.FILE).read_text()
    page = html_check.Page(text, images=True)
    self.assertEmpty(page.faults)
    for words in (
      "tiny, standard on tones train",
      "tones train: standard, 12 steps",
      "model.name",
      "as read",
      "as seen",
    ):
      self.assertIn(words, text)
    self.assertIn("12 steps, done", text)
    self.assertIn("weights.npz", page.links)
    pictures = text.count('<img class="small" src="data:image/png')
    self.assertEqual(pictures, 2 * 8)
    for name in ("loss", "error", "learning rate"):
      self.assertIn(f'aria-label="{name}: ', text)
    self.assertIn("; on validation data: ", text)

  def test_one_that_is_stopped_has_a_page(self):
    prepared = tiny_trainings.prepared()
    workdir = epath.Path(self.root) / "run"
    with mock.patch.object(
      run.handover, "write", side_effect=KeyboardInterrupt
    ):
      with self.assertRaises(KeyboardInterrupt):
        run.train(prepared, workdir)
    self.assertIn("tones train", (workdir / report.FILE).read_text())

  def test_a_page_that_fails_stops_nothing(self):
    broken = mock.Mock(side_effect=ValueError("no sheet"))
    with mock.patch.object(report.sheet, "lines", broken):
      workdir, said = self._trained()
    self.assertTrue((workdir / "weights.npz").exists())
    self.assertFalse((workdir / report.FILE).exists())
    self.assertIn(
      "report.html could not be written: ValueError: no sheet", said
    )

  def test_trainings_of_seconds_have_none(self):
    workdir, _ = self._trained(keep__last=0)
    self.assertFalse((workdir / report.FILE).exists())

  def test_several_views_and_what_it_must_say(self):
    prepared = tiny_trainings.prepared(
      recipe={"name": "corruption_mix", "names": ("fog",)},
      allow_benchmark_conditions=True,
      model__checkpoint="/somewhere/else.npz",
    )
    page = report.Report(prepared, epath.Path(self.root), 12, self.fail)
    page.write(_LINES[:1])
    text = (epath.Path(self.root) / report.FILE).read_text()
    self.assertIn("on fog at 1, 2, 3", text)
    self.assertIn("what that was trained on is not stated", text)


class SentencesTest(parameterized.TestCase):
  @parameterized.parameters(
    ([], ["No line yet, of 9 steps."]),
    (
      _LINES,
      [
        "Step 2 of 9, 10s of training, about 7s left.",
        "loss 1, error 0.4",
      ],
    ),
    (
      [*_LINES, {"step": 4, "loss": 1.0, "seconds": 14.0}],
      ["Step 4 of 9, 14s of training, about 10s left.", "loss 1"],
    ),
    (
      [*_LINES, {"step": 9, "validation_error": 0.1, "seconds": 12.0}],
      [
        "9 steps, done; 12s of training.",
        "validation error 0.1",
        "Least validation error: 0.1, after step 9.",
      ],
    ),
  )
  def test_sentences(self, lines, expected):
    self.assertEqual(list(report.sentences(lines, 9)), expected)

  def test_validation_is_dashed(self):
    lines = [dict(_LINES[0], validation_loss=3.0), _LINES[1]]
    loss, error = report.drawn(lines)
    self.assertEqual([loss.title, error.title], ["loss", "error"])
    dashed = [chart.svg.count("stroke-dasharray") for chart in (loss, error)]
    self.assertGreater(*dashed)
    self.assertIn("<title>validation loss\n1: 3</title>", loss.svg)


_RNG = np.random.default_rng(0)


class _Twice(base.Recipe):
  """The pictures and their negatives."""

  def transform(self, images, keys):
    return jnp.concatenate([images, 255 - images])


def _sheet_prepared(batch, recipe=None, classes=("a", "b")):
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
    read, first, second = sheet.lines(
      _sheet_prepared(_batch(image=image), _Twice())
    )
    names = [read.name, first.name, second.name]
    self.assertEqual(names, ["as read", "view 1 of 2", "view 2 of 2"])
    self.assertLen(read.pictures, 8)
    self.assertEqual(first.pictures[3].uri, pictures.uri(image[3]))
    self.assertEqual(second.pictures[3].uri, pictures.uri(255 - image[3]))
    self.assertEqual(second.pictures[3].alt, "b, view 2 of 2")

  def test_clips_are_strips(self):
    video = _RNG.integers(0, 256, (9, 12, 8, 8, 3)).astype(np.uint8)
    lines = sheet.lines(_sheet_prepared(_batch(video=video)))
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
    (line,) = sheet.lines(_sheet_prepared(batch))
    shown = line.pictures[0]
    self.assertEqual((shown.size, shown.view), ((50, 30), "0 0 50 30"))
    self.assertEqual(list(shown.boxes), [("hit", 5.0, 6.0, 15.0, 20.0)])
    self.assertEqual(shown.labels[0][1], "b")
    self.assertEqual(shown.alt, "e0: b")


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
