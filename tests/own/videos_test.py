"""`videos:PATH`: clips of all kinds through the doors; what is refused by file."""

import json
import pathlib
import shutil
from unittest import mock

import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized

from eval import main
from eval.run import keywords
from eval.run import plan as plan_lib
from robust_tfds import build, datasets, errors, own
from robust_tfds.building import videos as building
from tests import in_process, tiny_files
from tests.own import made

_IDS = [
  "run/deep/s2_turned.mov",
  "run/s1_a.mp4",
  "run/s1_b.AVI",
  "walk/s2_d.mkv",
  "walk/s3_e.webm",
]


def clips(side_px=32):
  """A model for `eval.main`: a plain function, as `my_module:build` makes it."""
  from models import adapters
  from models.video import spec

  of_two = spec.VideoSpec(num_classes=2, input_px=side_px, resize_px=side_px)
  return adapters.get("on_host")(made.Seen(2), of_two, name="clips")


class VideosTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.root = made.videos(self.folder / "gaits")

  def _own(self, **options):
    text = f"videos:{self.root}"
    return datasets.builder_class(text, own.Options(**options)).OWN

  def test_listed(self):
    tiny_files.put(self.root, {"run/.x.mp4": "", "run/notes.txt": ""})
    listed = self._own()
    self.assertEqual([file.name for file in listed.files()], _IDS)
    self.assertEqual([file.label for file in listed.files()], [0, 0, 0, 1, 1])
    self.assertIn("gaits: 5 examples of 2 classes (run, walk)", listed.words)
    self.assertEndsWith(
      listed.words,
      "hidden files left out: 1; files that are no videos left out: 1.",
    )

  @pytest.mark.slow
  def test_prepared_is_on_the_fly_wherever_they_lie(self):
    model = made.Seen(2)
    moved = shutil.copytree(self.root, self.folder / "elsewhere" / "gaits")
    fly, prepared = self.folder / "fly", self.folder / "prepared"
    for workdir, root in ((fly, self.root), (prepared, moved)):
      result, _ = made.evaluate(
        model,
        f"videos:{root}",
        conditions="freezing",
        severities=(1, 2, 3, 4, 5),
        workdir=workdir,
        source=workdir.name,
        groups="/.*(s[0-9])_",
      )
    config = json.loads((fly / "config.json").read_text("utf-8"))
    self.assertEqual(config["data"]["groups"], "/.*(s[0-9])_")  # --rerun's
    self.assertEqual(config["data"]["views"], 5)
    self.assertLen(made.cells(fly), 6)
    self.assertEqual(made.cells(fly), made.cells(prepared))
    self.assertEqual(model.shapes, {(8, 32, 32, 3)})
    data = prepared / "data"
    rows = tfds.load("videos_p/freezing_3", data_dir=data, split="test")
    loaded = {r["example_id"].decode(): r for r in tfds.as_numpy(rows)}
    self.assertEqual(sorted(loaded), _IDS)
    groups = [loaded[i]["group_id"].decode() for i in _IDS]
    self.assertEqual(groups, ["s2", "s1", "s1", "s2", "s3"])
    self.assertEqual(loaded[_IDS[0]]["video"].shape[1:], (32, 48, 3))  # turned
    clean, *_ = result.table
    self.assertEqual((clean.metric, clean.config), ("accuracy", "clean"))
    self.assertEqual((clean.lo, clean.hi), (0, 1))  # of three groups
    gamma = {r.metric for r in result.table if r.corruption == "freezing"}
    self.assertContainsSubset({"gamma_a", "gamma_r"}, gamma)
    report = self.folder / "report"
    result.report(report)
    self.assertIn("gaits (content ", (report / "summary.txt").read_text())

  def test_broken_videos_are_named_before_a_run(self):
    """By their headers, as `--plan` does; or left out."""
    tiny_files.put(self.root, {"run/no.mp4": b"no", "walk/not.avi": b"not"})
    words = r"2 of 7 files cannot be used:\n.*run/no.mp4.*\n.*walk/not.avi"
    text = f"videos:{self.root}"
    with self.assertRaisesRegex(errors.UserError, words):
      datasets.builder_class(text).OWN.content  # noqa: B018
    options = own.Options(skip_errors=True)
    whole = datasets.builder_class(text, options).OWN
    self.assertLen(whole.files(), 5)
    self.assertIn("left out: 2 (run/no.mp4, walk/not.avi)", whole.words)

  def test_commands(self):
    ran = in_process.run(
      main,
      f"--config=configs/own_data.py:{__name__}:clips",
      f"--config.data.name=videos:{self.root}",
      "--config.data.perturbations=jpeg",
      "--config.data.views=1",
      "--plan",
    )
    self.assertEqual(ran.returncode, 0, ran.stderr)
    self.assertStartsWith(ran.stdout, "gaits: ")
    flags = "--config=sampling_1", "--groups=/(.*)_"
    ran = in_process.run(
      build, f"videos:{self.root}", *flags, f"--data_dir={self.folder}"
    )
    self.assertIn("videos_p/sampling_1/1.0.0: 5 test examples", ran.stdout)

  def _plan(self, models, **options):
    given = {**keywords.DEFAULTS, "conditions": "jpeg", **options}
    made_of = keywords.spec_of(models, f"videos:{self.root}", given)
    return plan_lib.make(*made_of)

  def test_models_have_crops_and_classes_of_their_own(self):
    plan = self._plan({"a": clips(32), "b": clips(48)})
    self.assertLen(plan.models, 2)
    self.assertEqual(plan.task.setting.data.geometry, "")
    plan = self._plan(made.Seen(3), classes={"run": [0, 2], "walk": 1})
    (outputs,) = plan.outputs.values()
    self.assertEqual(outputs.relabelling.class_of, (0, 1, 0))

  def test_too_large_for_an_example(self):
    with (
      mock.patch.object(building, "_MOST_BYTES", 3_000),
      self.assertRaisesRegex(errors.UserError, "run/.*: the video has"),
    ):
      made.evaluate(made.Seen(2), f"videos:{self.root}", conditions="none")

  @parameterized.parameters(
    ("(", "missing \\)"),
    ("s.", "it has 0 parts"),
    ("(.)(.)", "it has 2 parts"),
    ("(s1)_", "it is not found in 'run/deep/s2_turned.mov'"),
  )
  def test_no_groups(self, groups, words):
    with self.assertRaisesRegex(errors.UserError, words):
      self._own(groups=groups)

  def test_groups_are_of_videos_and_part_of_the_set(self):
    with self.assertRaisesRegex(errors.UserError, "folder: has none"):
      datasets.builder_class(f"folder:{self.root}", own.Options(groups="(.)"))
    with self.assertRaisesRegex(errors.UserError, "digits_video_p has its"):
      made.evaluate(made.Seen(8), "digits_video_p", groups="(.)")
    self.assertNotEqual(self._own().content, self._own(groups="(.)").content)
