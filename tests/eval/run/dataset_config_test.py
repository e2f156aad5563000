"""Every benchmark has a config; runs over one's own data, wherever these lie."""

import contextlib
import io
import pathlib
import shutil
import types
from unittest import mock

import jax
import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from etils import epath

from configs import own_data
from eval import score as score_command
from eval import tasks
from eval.compare import runs, scores
from eval.compare.boards import build
from eval.run import dataset_config
from eval.run import spec as spec_lib
from eval.submissions import checker, writer
from models.convert import report
from robust_tfds import datasets, errors, evaluate, models
from robust_tfds.building import base, frames, pictures, source
from tests import in_process, tiny_files
from tests.eval import tiny_runs
from tests.user_data import made


class DatasetConfigTest(parameterized.TestCase):
  @parameterized.parameters(*datasets.names())
  def test_every_set(self, name):
    builder = datasets.builder_class(name)
    if not builder.CODECS and builder.KIND != "pictures":
      with self.assertRaisesRegex(
        errors.UserError, f"{name} holds clean {builder.KIND} alone. .*{name}_"
      ):
        dataset_config.config_values(name)
      return
    spec = spec_lib.from_values(dataset_config.config_values(name))
    expected = name if builder.CODECS else f"tfds_{name}"  # as any set of TFDS
    self.assertEqual(spec.data.name, expected)
    self.assertEqual(tasks.get(spec.task).set_kind, builder.KIND)
    self.assertContainsSubset(spec.data.split.split("+"), builder.splits())

  @parameterized.parameters(
    *(n for n in datasets.names() if datasets.builder_class(n).RUN_BY)
  )
  def test_without_its_config(self, name):
    """What a builder says is enough: the same task, over the same data."""
    builder = datasets.builder_class(name)
    spec = spec_lib.from_values(dataset_config.config_values(name))
    with mock.patch.object(builder, "RUN_BY", ""):
      if builder.KIND == "frames":  # which two tasks run
        with self.assertRaisesRegex(
          errors.UserError, "builder, e.g. RUN_BY = "
        ):
          spec_lib.from_values(dataset_config.config_values(name))
        return
      derived = spec_lib.from_values(dataset_config.config_values(name))
    self.assertEqual(derived.task, spec.task)
    for key in ("name", "codec"):
      self.assertEqual(getattr(derived.data, key), getattr(spec.data, key))
    self.assertEqual(derived.data.split, builder.SPLIT)


class ForeignBuilderTest(absltest.TestCase):
  """A builder that somebody's code derives from a kind of ours, and imports."""

  def test_it_runs_by_its_name(self):
    class Greys(pictures.Builder):
      VERSION = tfds.core.Version("1.0.0")
      EDITION = "cifar10"
      CLASSES = ("dark", "light")
      SIDE_PX = 32

      def _sources(self, dl_manager):
        return [
          pictures.Source(f"{level}", int(level > 127), source.Pixels(grey))
          for level in (40, 90, 200, 250)
          for grey in [np.full((32, 32, 3), level, np.uint8)]
        ]

    def predict(images):
      light = images.reshape(len(images), -1).mean(1) / 255 - 0.5
      return np.stack([-light, light], axis=1).astype(np.float32)

    folder = pathlib.Path(self.create_tempdir().full_path)
    run = folder / "run"
    asked = {"conditions": "fog", "severities": (1,), "workdir": run}
    with contextlib.redirect_stdout(io.StringIO()):
      result = evaluate(predict, "greys", **asked)
      self.assertEqual(result.summary["clean_error"], 0)
      # Also where nobody imports the builder.
      del base.REGISTERED["greys"]
      score = in_process.run(
        score_command, f"--predictions={run}", f"--out={folder}/again"
      )
    self.assertEqual(score.returncode, 0, score.stderr)
    tables = [p / "table.csv" for p in (run, folder / "again")]
    self.assertEqual(*(table.read_text("utf-8") for table in tables))

  def test_what_it_does_not_say_is_refused_with_the_line_to_write(self):
    kinds = {"no_classes": pictures.Builder, "no_kind": base.Builder}
    kinds |= {"of_frames": frames.Builder}
    for name, words in (
      ("no_classes", "Write into it CLASSES = "),
      (
        "no_kind",
        "expected a class of one of the kinds of robust_tfds/building",
      ),
      ("of_frames", "RUN_BY = "),
    ):
      body = {"VERSION": tfds.core.Version("1.0.0"), "name": name}
      body |= {"CODECS": ("raw",), "KIND": kinds[name].KIND}
      types.new_class(
        name, (kinds[name],), {}, lambda space: space.update(body)
      )
      with self.assertRaisesRegex(errors.UserError, f"{name}: .*{words}"):
        spec_lib.from_values(dataset_config.config_values(name))


def _boards(*workdirs) -> list[tuple[str, ...]]:
  """Labels of the models of every board."""
  read = runs.read([str(w) for w in workdirs])
  return [
    tuple(entry.label for entry in board.entries)
    for board in build.boards(scores.score_runs(read))
  ]


class OwnDataTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.root = made.folder(self.folder / "pets")

  def test_one_set_on_two_paths_and_another_picture(self):
    moved = shutil.copytree(self.root, self.folder / "x" / "pets")
    other = shutil.copytree(self.root, self.folder / "y" / "pets")
    tiny_files.put(other, {"cat/0.png": tiny_files.encoded(made.picture(99))})
    workdirs = [self.folder / name for name in ("one", "two", "three")]
    for workdir, root in zip(workdirs, (self.root, moved, other)):
      made.evaluate(
        {workdir.name: made.Seen()}, f"folder:{root}", workdir=workdir
      )
    one, two, three = (list(made.cells(w).values()) for w in workdirs)
    self.assertEqual(one, two)
    self.assertNotEqual(one, three)
    facts = [runs.read_one([str(w)]).cells[0].data for w in workdirs]
    self.assertEqual(facts[0], facts[1])
    self.assertNotIn(str(self.folder), repr(facts))
    self.assertCountEqual(
      [sorted(b) for b in _boards(*workdirs)], [["one", "two"], ["three"]]
    )

  def test_continued_after_the_folder_moved(self):
    workdir = self.folder / "run"
    made.evaluate(made.Seen(), f"folder:{self.root}", workdir=workdir)
    before = made.cells(workdir)
    moved = shutil.move(self.root, self.folder / "elsewhere")
    again = {"workdir": workdir, "name": "pets"}
    _, said = made.evaluate(made.Seen(), f"folder:{moved}", **again)
    self.assertNotIn("ETA", said)
    self.assertEqual(made.cells(workdir), before)
    with self.assertRaisesRegex(
      errors.UserError, "'pets' there, 'elsewhere' now"
    ):
      made.evaluate(made.Seen(), f"folder:{moved}", workdir=workdir)
    tiny_files.put(moved, {"cat/5.png": tiny_files.encoded(made.picture(7))})
    with self.assertRaisesRegex(
      errors.UserError, "other weights, data or code"
    ):
      made.evaluate(made.Seen(), f"folder:{moved}", **again)

  def test_a_submission(self):
    model = models.get("digits_linear", num_classes=3)
    variables = jax.tree.map(np.asarray, model.init(jax.random.key(3)))
    checkpoint = epath.Path(self.folder) / "linear.npz"
    report.write_npz(variables, checkpoint)
    config = own_data.get_config("digits_linear").unlock()
    config.data.name = f"folder:{self.root}"
    config.data.corruptions, config.data.severities = "fog", (3,)
    config.model.update(num_classes=3, checkpoint=str(checkpoint))
    run, out = self.folder / "run", self.folder / "out"
    with contextlib.redirect_stdout(io.StringIO()):
      tiny_runs.start(config.lock(), run)
    self.assertIn("pets", (run / "reports/summary.txt").read_text("utf-8"))
    writer.export([run], out, {"digits_linear": "nothing"}, {})
    self.assertNotIn("folder:", (out / "config.json").read_text("utf-8"))
    said = checker.check(out)
    self.assertIn("that pets has these examples and no others", said)
    with self.assertRaisesRegex(errors.UserError, "say where: --own_data"):
      checker.check(out, 1)
    moved = shutil.move(self.root, self.folder / "theirs")
    said = checker.check(out, 2, 0, f"folder:{moved}")
    self.assertIn("reproduced, 2 of 2 cells", said)
    tiny_files.put(moved, {"cat/5.png": tiny_files.encoded(made.picture(7))})
    with self.assertRaisesRegex(errors.UserError, "the data: version: '1.0.0-"):
      checker.check(out, 1, 0, f"folder:{moved}")
