"""A metric of one's own at the public door: answers, targets, runs, refusals."""

import contextlib
import csv
import importlib
import io
import json
import pathlib
import sys
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from eval.compare import runs, scores
from eval.compare.boards import build, printed
from eval.run.execution import one_pass
from robust_tfds import corruptions, errors, evaluate, models
from tests import in_folder, tiny_files
from tests.user_data import made

_IDS = ("a/0.png", "a/1.png", "b/2.png", "b/3.jpg", "4.png")
_SIZES = ((20, 24), (20, 24), (32, 18), (20, 24), (32, 18))
_FOG = {"conditions": "gaussian_noise", "severities": (3,)}


def _folder(root: pathlib.Path) -> dict[str, np.ndarray]:
  """Pictures of two sizes, with and without a folder; id -> pixels."""
  out = {}
  for i, (name, (high, wide)) in enumerate(zip(_IDS, _SIZES, strict=True)):
    pixels = np.full((high, wide, 3), 30 + 40 * i, np.uint8)
    form = "JPEG" if name.endswith("jpg") else "PNG"
    tiny_files.put(root, {name: tiny_files.encoded(pixels, form)})
    out[name] = pixels
  return out


def _mean(pictures: np.ndarray) -> np.ndarray:
  """The mean grey of each picture: float `[B, 1]`."""
  return pictures.mean((1, 2, 3))[:, None] / 255


def _distance(output, target):
  return abs(float(output[0]) - float(np.ravel(target)[0]))


def _run(model, data, metric=_distance, better="lower", **options):
  """The result, and what was printed."""
  out = io.StringIO()
  options = {"conditions": "none", **options}
  with contextlib.redirect_stdout(out):
    result = evaluate(model, data, metric=metric, better=better, **options)
  return result, out.getvalue()


def _values(result, config="clean", metric="_distance", label=None):
  (row,) = [
    r
    for r in result.table
    if (r.config, r.metric) == (config, metric) and label in (None, r.model)
  ]
  return row.value


class StructureTest(in_folder.TestCase):
  """Answers come to the metric as the model gave them, one example's part."""

  @parameterized.parameters(
    (lambda x: x[:, :2, :2, 0], (2, 2)),
    (lambda x: x.mean((1, 2, 3)), ()),
    (lambda x: [f"a picture {len(p)}" for p in x], ()),
    (lambda x: {"k": x[:, 0, 0], "s": _mean(x)}, {"k": (3,), "s": (1,)}),
    (lambda x: (_mean(x), [_mean(x), x[:, 0, 0]]), ((1,), ((1,), (3,)))),
  )
  def test_structure(self, predict, expected):
    _folder(self.root)
    seen = []

    def metric(output, target):
      seen.append((jax.tree.map(np.shape, output), target))
      return 1.0

    result, _ = _run(predict, f"folder:{self.root}", {"m": metric}, "higher")
    self.assertEqual(seen, [(expected, None)] * len(_IDS))
    self.assertEqual(_values(result, metric="m"), 1)

  def test_pictures_are_whole_and_of_their_own_sizes(self):
    _folder(self.root)
    shapes = {}

    def metric(output, target):
      shapes[target] = tuple(output.tolist())
      return 0.0

    sizes = lambda x: np.tile(x.shape[1:3], (len(x), 1))  # noqa: E731
    data = f"folder:{self.root}"
    _run(sizes, data, {"m": metric}, targets=str)
    self.assertEqual(shapes, dict(zip(_IDS, _SIZES, strict=True)))
    _run(sizes, data, {"m": metric}, targets=str, size=16)
    self.assertEqual(set(shapes.values()), {(16, 16)})

  def test_adapters(self):
    _folder(self.root)
    whole = models.Spec(resize="whole", outputs="any")
    adapter = models.adapters.get("callable")(
      lambda x: {"grey": x.mean((1, 2, 3))}, whole, name="mine"
    )
    result, _ = _run(
      adapter,
      f"folder:{self.root}",
      {"m": lambda output, _: float(np.isfinite(output["grey"]))},
    )
    self.assertEqual(_values(result, metric="m"), 1)
    with self.assertRaisesRegex(errors.UserError, "is for a metric of one's"):
      evaluate(adapter, "digits_c", conditions="none")


class TargetsTest(in_folder.TestCase):
  """Targets by id, of every kind."""

  def _kinds(self):
    greys = {
      n: float(p.mean() / 255) for n, p in _folder(self.root / "d").items()
    }
    (self.root / "t.json").write_text(
      json.dumps({k: [v] for k, v in greys.items()})
    )
    with (self.root / "t.csv").open("w", newline="") as file:
      csv.writer(file).writerows([("path", "grey"), *greys.items()])
    folder = self.root / "beside"
    for i, (name, grey) in enumerate(greys.items()):
      path = (folder / name).with_suffix((".npy", ".json", ".png")[i % 3])
      path.parent.mkdir(parents=True, exist_ok=True)
      if i % 3 == 0:
        np.save(path, np.array([grey]))
      elif i % 3 == 1:
        path.write_text(json.dumps(grey))
      else:
        pixels = np.full((2, 2, 3), round(grey * 255), np.uint8)
        path.write_bytes(tiny_files.encoded(pixels, "PNG"))
    return {
      "mapping": {k: np.array([v]) for k, v in greys.items()},
      "json": self.root / "t.json",
      "csv": str(self.root / "t.csv"),
      "folder": f"folder:{folder}",
      "function": greys.get,
    }

  @parameterized.parameters("mapping", "json", "csv", "folder", "function")
  def test_kind(self, kind):
    targets = self._kinds()[kind]

    def metric(output, target):
      value = float(np.ravel(target)[0])
      return abs(float(output[0]) - (value if value <= 1 else value / 255))

    data = f"folder:{self.root / 'd'}"
    result, _ = _run(_mean, data, {"m": metric}, targets=targets)
    self.assertLess(_values(result, metric="m"), 0.005)

  @pytest.mark.slow
  def test_feature_of_a_tfds_set(self):
    builder = tiny_files_set(self.root)
    result, _ = _run(
      lambda x: x.mean((1, 2, 3)) * 0,
      builder,
      {"m": lambda output, target: float(target)},
      targets="tfds:number",
      data_dir=self.root,
    )
    self.assertEqual(_values(result, metric="m"), 2.0)  # of 1, 2, 3

  def test_clean_answer(self):
    pictures = _folder(self.root)
    data = f"folder:{self.root}"
    result, _ = _run(_mean, data, target="clean", name="mine", **_FOG)
    self.assertEqual(_values(result), 0)
    expected = []
    for name, pixels in pictures.items():
      if name.endswith("png"):
        key = corruptions.example_key(0, "mine", "gaussian_noise", 3, name)
        noisy = corruptions.corrupt(
          pixels, "gaussian_noise", 3, edition="any", key=key
        )
        expected.append(abs(noisy.mean() - pixels.mean()) / 255)
    every = _values(result, "gaussian_noise_3")
    self.assertAlmostEqual(every, np.mean(expected), delta=0.01)
    self.assertNotIn("part__distance_retained", result.summary)  # of 0


def tiny_files_set(root):
  """A prepared TFDS set of three pictures without classes, by its builder."""
  import tensorflow_datasets as tfds

  class Numbered(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Pictures with a number."""

    VERSION = tfds.core.Version("1.0.0")
    name = "numbered"
    pkg_dir_path = root

    def _info(self):
      return self.dataset_info_from_configs(
        features=tfds.features.FeaturesDict(
          {
            "image": tfds.features.Image(shape=(16, 16, 3)),
            "number": np.float32,
          }
        )
      )

    def _split_generators(self, dl_manager):
      return {"test": self._generate_examples()}

    def _generate_examples(self):
      for i in range(3):
        pixels = np.full((16, 16, 3), 40 * i, np.uint8)
        yield i, {"image": pixels, "number": i + 1.0}

  builder = Numbered(data_dir=root)
  builder.download_and_prepare(file_format="array_record")
  return builder


class NumbersTest(in_folder.TestCase):
  """Means, retention and intervals, by hand; several models and metrics."""

  def test_two_models_and_two_metrics(self):
    greys = {n: p.mean() / 255 for n, p in _folder(self.root).items()}
    metrics = {
      "near": lambda output, target: 1 - abs(output[0] - target),
      "far": lambda output, target: 1 + abs(output[0] - target),
    }
    result, said = _run(
      {"a": _mean, "b": lambda x: _mean(x) + 0.5},
      f"folder:{self.root}",
      metrics,
      {"near": "higher", "far": "lower"},
      targets=greys,
      conditions=("gaussian_noise", "elastic_transform"),
      severities=3,
    )
    self.assertEqual(said.count("targets stay where they were"), 1)
    summary = result.summary
    self.assertAlmostEqual(summary["b/clean_near"], 0.5, 2)
    self.assertAlmostEqual(summary["b/clean_far"], 1.5, 2)
    for label in ("a", "b"):
      for name, sign in (("near", 1), ("far", -1)):
        cells = [
          _values(result, f"{c}_3", name, label)
          for c in ("gaussian_noise", "elastic_transform")
        ]
        mean, clean = np.mean(cells), summary[f"{label}/clean_{name}"]
        self.assertAlmostEqual(summary[f"{label}/part_mean_{name}"], mean)
        kept = mean / clean if sign > 0 else clean / mean
        self.assertAlmostEqual(summary[f"{label}/part_{name}_retained"], kept)
    facts = result._run.plan.task.facts
    self.assertEqual(facts.metric("far").sense, "lower")
    self.assertIn("b: near 0.5", str(result))

  def test_no_printed_row_stands_beside_it(self):
    result, _ = _run(
      lambda x: x.mean((1, 2, 3)),
      "digits_c",
      {"m": lambda output, target: 1.0},
      limit=4,
      workdir=self.root / "run",
    )
    with mock.patch.object(printed, "entries", return_value=[mock.Mock()]):
      listed = scores.score_runs(runs.read([str(result.workdir)]))
      (board,) = build.boards(listed)
    self.assertLen(board.entries, 1)


class ContinuedTest(in_folder.TestCase):
  """Killed runs go on; a changed metric is measured anew."""

  def setUp(self):
    super().setUp()
    _folder(self.root / "data")
    self.calls, self.last = 0, None
    self.enter_context(
      mock.patch.object(sys, "path", [str(self.root), *sys.path])
    )

  def _metric(self, factor: int):
    """The function of a module that is written anew."""
    text = (
      f"def scaled(output, target):\n  return {factor} * float(output[0])\n"
    )
    path = self.root / "my_scaled.py"
    path.write_text(text)
    sys.modules.pop(path.stem, None)
    importlib.invalidate_caches()
    return importlib.import_module(path.stem).scaled

  def _counted(self, pictures):
    self.calls += 1
    if self.calls == self.last:
      raise OSError("the power went")
    return _mean(pictures)

  def _of(self, factor, **options):
    self.calls = 0
    options = {"workdir": self.root / "run", **options}
    data = f"folder:{self.root / 'data'}"
    return _run(self._counted, data, self._metric(factor), **options)

  def test_a_stopped_run_goes_on(self):
    options = {"batch_size": 2, **_FOG}
    whole, _ = self._of(1, workdir=self.root / "whole", **options)
    needed = self.calls

    self.last = needed - 2
    at_once = {"_PART_S": 0, "_CELLS_S": 0}
    with (
      self.assertRaisesRegex(errors.UserError, "the power went"),
      mock.patch.multiple(one_pass, **at_once),
    ):
      self._of(1, **options)
    self.last = None
    result, _ = self._of(1, **options)
    self.assertLess(self.calls, needed)
    self.assertEqual(result.table, whole.table)

  @parameterized.parameters(False, True)
  def test_a_changed_metric(self, keep_outputs):
    first, _ = self._of(1, keep_outputs=keep_outputs)
    asked = self.calls
    again, said = self._of(2, keep_outputs=keep_outputs)
    value = _values(again, metric="scaled")
    self.assertAlmostEqual(value, 2 * _values(first, metric="scaled"))
    if keep_outputs:
      self.assertIn("measured again from kept answers: 1", said)
      self.assertLess(self.calls, asked)  # the probe alone
    else:
      self.assertIn("cells made anew: 1", said)
      self.assertEqual(self.calls, asked)
    _, said = self._of(2, keep_outputs=keep_outputs)
    self.assertNotIn("changed", said)

  def test_changed_targets(self):
    first, _ = self._of(1, targets=dict.fromkeys(_IDS, 0), keep_outputs=True)
    _, said = self._of(1, targets=dict.fromkeys(_IDS, 1), keep_outputs=True)
    self.assertIn("measured again", said)
    self.assertNotEmpty(first.table)


class VideosTest(in_folder.TestCase):
  @pytest.mark.slow
  def test_groups_and_moving(self):
    made.videos(self.root / "clips")
    result, said = _run(
      lambda clips: clips.mean((1, 2, 3, 4)),
      f"videos:{self.root / 'clips'}",
      {"m": lambda output, target: float(output)},
      "higher",
      conditions="translation",
      severities=1,
      size=32,
      groups=r"(s\d)_",
    )
    self.assertIn("stay where they were under translation", said)
    self.assertIn("clean_m", result.summary)
    self.assertEqual(result._run.plan.task.facts.task, "own_videos")


_TARGETS = dict.fromkeys(_IDS, 0.0)


def _by_size(pictures):
  """Another structure for pictures of the second size."""
  grey = _mean(pictures)
  return {"a": grey} if pictures.shape[2] == 18 else grey


_REFUSED = (
  ({"targets": {"4.png": 0}}, '4 of 5 .* have none: "a/0.png", "a/1'),
  ({"targets": {**_TARGETS, "x": 0}}, '1 belong to no example: "x"'),
  ({"targets": {1: 0}}, r"the id 1 \(int\), expected texts"),
  ({"targets": {}}, '5 of 5 examples have none: "4.png"'),
  ({"targets": "no.json"}, "no.json"),
  ({"targets": "folder:/no"}, "no such folder"),
  ({"targets": "labels.xml"}, "expected a mapping from ids"),
  (
    {"targets": "tfds:x"},
    "target='x': only tfds: has this option, folder: has not",
  ),
  ({"targets": [1]}, r"targets=\[1\]: expected a mapping"),
  ({"targets": {}.__getitem__}, "fails on the id '4.png': KeyE"),
  ({"target": "clean"}, "no targets= beside"),
  ({"f": lambda o, t: o["x"]}, "clean: metric m of example '4.png' fails"),
  ({"f": lambda o, t: np.nan}, "'4.png': got float nan, expected o"),
  ({"f": lambda o, t: o}, r"got an array float64\[1\], expected"),
  ({"f": lambda o, t: "good"}, "got str 'good', expected one"),
  ({"f": lambda o, t: o.sort()}, "read-only"),
  ({"f": 3}, "m is a int, expected a function"),
  ({"better": None}, "better: got ''; say of every metric"),
  ({"better": "more"}, "better: got 'more'"),
  ({"better": {"n": "lower"}}, "better: got 'n=lower'"),
  ({"name": "error"}, "'error' cannot name a metric"),
  ({"name": "my metric"}, "cannot name a metric: expected letters"),
  ({"name": "mean_k"}, "'k' cannot name a metric"),
  ({"net": lambda x: x.mean()}, r"float64\[\] to 4 inputs, expec"),
  ({"net": lambda x: [object()] * len(x)}, r"at \[0\] of object\[\] to 4"),
  ({"net": lambda x: {}}, "answered with nothing"),
  ({"net": _by_size}, r'and before with (\["a"\]|\[\]) of 2'),
  ({"classes": ["a", "b"]}, "gets the answers as they are"),
  ({"views": 2}, "views=2"),
  ({"baseline": "alexnet"}, "has no baseline"),
  ({"net": lambda x: x[..., 0], "keep_outputs": True}, "answers of the shapes"),
)


class BadInputTest(in_folder.TestCase):
  """What is refused: the first example by its id, and what came."""

  @parameterized.parameters(*_REFUSED)
  def test_refused(self, given, message):
    _folder(self.root)
    given = {"targets": _TARGETS, "better": "lower", **given}
    net, metric = given.pop("net", _mean), given.pop("f", lambda o, t: 0.0)
    named = {given.pop("name", "m"): metric, "k": metric}
    with self.assertRaisesRegex(errors.UserError, message):
      _run(net, f"folder:{self.root}", named, batch_size=2, **given)

  def test_keys_without_a_metric(self):
    with self.assertRaisesRegex(
      errors.UserError, "better: belongs to a custom metric"
    ):
      evaluate(_mean, "digits_c", better="lower")

  def test_boxes_are_no_pictures(self):
    with self.assertRaisesRegex(errors.UserError, "data set of the task detec"):
      _run(_mean, "digits_detection_c")
