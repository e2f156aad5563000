"""`evaluate`: the run of `eval.main`, with objects in place of names."""

import contextlib
import io
import pathlib
import tempfile
import traceback

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath
from PIL import Image

from configs import cifar10_c, imagenet_c
from eval.cells import table
from eval.cells.files import config_file
from eval.run import keywords, runner
from eval.run import plan as plan_lib
from eval.run import spec as spec_lib
from models.convert import report
from robust_tfds import corruptions, errors, evaluate, models
from tests.eval import read_counts

_SMALL = {"conditions": "fog", "severities": 3, "limit": 8, "batch_size": 8}


def levels(images: np.ndarray) -> np.ndarray:
  """The mean level of each tenth of the rows of pixels."""
  parts = np.array_split(images.astype(np.float32).mean((2, 3)), 10, axis=1)
  return np.stack([part.mean(1) for part in parts], 1)


def build():
  """The same as a model."""
  spec = models.spec.Spec(num_classes=10, flexible=True, weights="robust_tfds")
  return models.adapters.get("on_host")(levels, spec, name="levels")


def give_levels():
  """The function itself."""
  return levels


def _files(folder) -> dict[str, bytes]:
  """Predictions and table by place."""
  root = pathlib.Path(folder)
  paths = [*root.rglob("cells/**/*.npz"), root / "table.csv"]
  return {str(p.relative_to(root)): p.read_bytes() for p in paths}


class EvaluationTest(parameterized.TestCase):
  """On the embedded digits, prepared once."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls.folder.cleanup)

  def _evaluate(self, model, dataset="digits_c", **options):
    data_dir = f"{self.folder.name}/data"
    with contextlib.redirect_stdout(io.StringIO()):
      return evaluate(
        model, dataset, **{**_SMALL, "data_dir": data_dir, **options}
      )

  def _temporary(self) -> str:
    return self.create_tempdir().full_path

  def test_a_plain_function(self):
    seen = []

    def predict(images):
      seen.append((type(images), images.dtype.name, images.shape))
      return levels(images)

    result = self._evaluate(predict)
    self.assertEqual(set(seen[-2:]), {(np.ndarray, "uint8", (8, 32, 32, 3))})
    self.assertEqual({r.model for r in result.table}, {"predict"})
    self.assertIn("clean_error", result.summary)
    missing = result.missing["mean_corruption_error"]
    self.assertEqual(missing, "missing: all but fog 3 (74 of 75)")
    part = result.summary["part_mean_corruption_error"]
    self.assertEqual(part, result.summary["part_mean_error/fog"])
    verdict, empty, *numbers, empty_again, lacking = str(result).split("\n")
    self.assertRegex(verdict, r"predict: .* % wrong clean, .* % under fog 3$")
    self.assertEqual([empty, empty_again], ["", ""])
    self.assertRegex(numbers[0], r"^clean_error +[01]\.\d{4} \[0\.\d")
    self.assertIn("mean over 1 of 75 cells: fog 3", numbers[1])
    self.assertStartsWith(lacking, "not measured: mean_corruption_error, ")
    self.assertIn(", ...; why: result.missing", lacking)
    self.assertIn("needs a baseline", result.missing["mce"])
    with self.assertRaisesRegex(KeyError, "mean_corruption_error: missing"):
      result.summary["mean_corruption_error"]
    folder = result.workdir
    self.assertTrue(folder.exists())
    del result
    self.assertFalse(folder.exists())

  def test_reports(self):
    result = self._evaluate(build())
    self.assertFalse(result.workdir.joinpath("reports").exists())
    out = pathlib.Path(self._temporary()) / "report"
    result.report(out)
    page, text = (
      (out / name).read_text("utf-8") for name in ("report.html", "summary.txt")
    )
    self.assertIn("levels", page)
    self.assertIn("was trained on: not stated", page)
    for shown in (page, text):
      self.assertIn("Mean error (part)", shown)
      self.assertIn("mean over 1 of 75 cells: fog 3", shown)
    self.assertRegex(text, r"(?m)^fog +\d+\.\d$")
    self.assertEqual(
      (out / "table.csv").read_bytes(),
      (result.workdir / "table.csv").read_bytes(),
    )
    with self.assertRaisesRegex(errors.UserError, "is a file"):
      result.report(out / "table.csv")

  def test_equal_to_the_command_and_continued(self):
    model = models.get("digits_linear")
    variables = jax.tree.map(np.asarray, model.init(jax.random.key(3)))
    checkpoint = f"{self._temporary()}/linear.npz"
    report.write_npz(variables, epath.Path(checkpoint))
    named, given, run = (self._temporary() for _ in range(3))
    self._evaluate("digits_linear", checkpoint=checkpoint, workdir=named)
    first = self._evaluate(model, variables=variables, workdir=given)
    config = cifar10_c.get_config("digits_linear").unlock()
    config.data.name, config.data.data_dir = (
      "digits_c",
      f"{self.folder.name}/data",
    )
    config.data.update(corruptions="fog", severities=(3,), limit=8)
    config.model.checkpoint, config.reports = checkpoint, False
    config.batch_size = 16
    with contextlib.redirect_stdout(io.StringIO()):
      runner.Runner(plan_lib.make(config.lock()), pathlib.Path(run)).run()
    self.assertLen(_files(run), 3)
    self.assertEqual(_files(named), _files(run))
    self.assertEqual(_files(given), _files(run))
    # Continued: nothing is read again.
    again = self._evaluate(model, variables=variables, workdir=given)
    self.assertEqual(set(read_counts.of(pathlib.Path(given)).values()), {0})
    self.assertEqual(repr(again.table), repr(first.table))  # nan is not nan

  @pytest.mark.slow
  def test_a_function_and_its_module(self):
    given, run = self._temporary(), self._temporary()
    self._evaluate(build(), workdir=given)
    self._evaluate(f"{__name__}:build", workdir=run)
    place = "cells/levels/digits_c/fog_3/seed0/predictions.npz"
    first, second = (pathlib.Path(folder) / place for folder in (given, run))
    self.assertEqual(first.read_bytes(), second.read_bytes())
    marks = [
      [r.fingerprint for r in table.read(pathlib.Path(f) / "table.csv")]
      for f in (given, run)
    ]
    self.assertEqual(*marks)
    for plain in ("levels", "give_levels"):  # is, or gives, a plain function
      run = self._temporary()
      self._evaluate(f"{__name__}:{plain}", workdir=run)
      other = (pathlib.Path(run) / place).read_bytes()
      self.assertEqual(other, first.read_bytes())

  def test_the_config_is_the_commands(self):
    config = imagenet_c.get_config("resnet50").unlock()
    config.data.corruptions = "common"
    given = keywords.DEFAULTS
    ours, _ = keywords.spec_of("resnet50", "imagenet_c", given)
    theirs = spec_lib.from_config(config)
    self.assertEqual(
      config_file.differences(
        config_file.plain(theirs.written), config_file.plain(ours.written)
      ),
      {},
    )

  @parameterized.parameters(
    ({}, ("common", None)),
    ({"perturbations": "tilt"}, ("tilt", None)),
    ({"conditions": "tilt"}, ("tilt", None)),
  )
  def test_conditions_have_the_name_of_their_family(self, options, expected):
    given = {**keywords.DEFAULTS, **options}
    spec, _ = keywords.spec_of("digits_linear", "digits_p", given)
    data = spec.written.data
    self.assertEqual((data.perturbations, data.get("corruptions")), expected)

  @parameterized.parameters("others", "published")
  def test_a_name_without_weights_over_a_folder(self, classes):
    """Its known checkpoints are said, also where the classes are others."""
    names = ["a", "b"] if classes == "others" else ["goldfish", "tench"]
    folder = pathlib.Path(self._temporary(), classes)
    for name in names:
      (folder / name).mkdir(parents=True)
      picture = np.zeros((32, 32, 3), np.uint8)
      Image.fromarray(picture).save(folder / name / "1.png")
    known = r"torchvision:ResNet50_Weights.IMAGENET1K_V1, sha256 .*\.pth"
    with self.assertRaisesRegex(errors.UserError, known) as caught:
      self._evaluate("resnet50", f"folder:{folder}")
    is_other = "Wrong label space" in str(caught.exception)
    self.assertEqual(is_other, classes == "others")

  def test_the_whole_line_is_offered_where_something_lacks(self):
    options = {"conditions": ["fog"], "seed": 3}
    with self.assertRaises(errors.UserError) as caught:
      evaluate("resnet50", "imagenet_c", **options)
    self.assertEndsWith(
      str(caught.exception),
      '  2. evaluate("resnet50", "imagenet_c", conditions=[\'fog\'], seed=3,'
      ' checkpoint="torchvision:ResNet50_Weights.IMAGENET1K_V1",'
      ' manual_dir="FOLDER")',
    )

  @parameterized.parameters(
    ({"dataset": "imagenet_z"}, "Unknown benchmark 'imagenet_z'"),
    ({"conditions": "fogg"}, "Did you mean 'fog'"),
    ({"severities": 6}, "Severity must be 1-5"),
    ({"severities": "3"}, "severities"),
    ({"batch_size": 0}, "batch_size: got 0"),
    ({"limit": -1}, "limit: got -1"),
    ({"limit": "all"}, "limit: got 'all', expected a whole number"),
    ({"seed": 0.5}, "seed: got 0.5, expected a whole number"),
    ({"seed": -1}, "seed: got -1"),
    ({"frobnicate": 1}, "frobnicate"),
    ({"dataset": "digits_p"}, "severities=3: digits_p has none"),
    ({"dataset": "digits_vid_robust"}, "conditions='fog': .* natural"),
    ({"model": 3}, "Got a int as a model"),
    ({"model": "resnet51"}, "Did you mean 'resnet50'"),
    ({"model": "digits_linear"}, "Neither a checkpoint nor"),
    ({"model": models.get("digits_linear")}, "Neither a checkpoint nor"),
    ({"variables": {}}, "a function has its own weights"),
    ({"checkpoint": "x.npz"}, "a function has its own weights"),
    ({"model": build(), "checkpoint": "x.npz"}, "brings its own weights"),
    ({"baseline": "alexnett"}, "Did you mean 'alexnet'"),
  )
  def test_refusals(self, options, words):
    options = {"model": levels, **options}
    with self.assertRaisesRegex(errors.UserError, words):
      self._evaluate(**options)

  @parameterized.parameters(
    lambda: evaluate(levels, "digits_c", conditions="fogg"),
    lambda: corruptions.corrupt(np.zeros((32, 32, 3), np.uint8), "fogg", 3),
    lambda: models.get("resnet51"),
    lambda: models.convert.load("resnet51", "x.npz"),
    lambda: models.adapters.get("onnx")("nowhere.onnx", models.spec.Spec()),
  )
  def test_a_refusal_is_one_message(self, call):
    with pytest.raises(errors.UserError) as caught:  # it keeps the traceback
      call()
    error = caught.value
    self.assertEqual(
      (error.__cause__, error.__suppress_context__), (None, True)
    )
    names = [f.name for f in traceback.extract_tb(error.__traceback__)]
    self.assertEqual(names[-1], "called")
    self.assertLess(len(names), 5)  # the test's own, and the door
    printed = "".join(traceback.format_exception(error))
    self.assertNotIn("direct cause", printed)

  @parameterized.parameters((8, 10, 7, 7), (8,), (8, 1))
  def test_what_is_not_here_is_said(self, *shape):
    def predict(images):
      return np.zeros((len(images), *shape[1:]), np.float32)

    with self.assertRaisesRegex(
      errors.UserError, "Pose, .* metric= of evaluate"
    ):
      self._evaluate(predict)

  def test_a_notebook_shows_the_verdict_and_a_table(self):
    result = self._evaluate({"a & b": levels})
    page = result._repr_html_()
    self.assertRegex(page, "^<pre>a &amp; b: .* % wrong clean")
    self.assertRegex(page, r"\nclean_error +1\.0000 \[")
    self.assertEndsWith(page, "why: result.missing</pre>")
