"""The mean over splits, from runs made here."""

import contextlib
import io
import types
from unittest import mock

import numpy as np
from absl import flags
from absl.testing import parameterized

from eval.compare import __main__ as command
from robust_tfds import errors
from tests import in_folder, shared_data
from tests.eval.compare import task_runs

_VIDEOS, _CLIPS = 40, 3  # of a split
_RNG = np.random.default_rng(11)
_CHANCE = _RNG.random((3 * _VIDEOS, 1))  # of every video to be right
_RIGHT = _RNG.random((3 * _VIDEOS, _CLIPS)) < _CHANCE


def _columns(videos):
  """Clips of videos, which have one name in every split that they are in."""
  right = np.repeat(_RIGHT[videos], 1, axis=0).ravel()
  names = np.repeat([f"film_{v:03d}" for v in videos], _CLIPS)
  label = np.arange(len(right)) % 7

  def of(condition):
    ids = [f"{name}_{i % _CLIPS}" for i, name in enumerate(names)]
    return {
      "example_id": np.array(ids),
      "group_id": names,
      "frame": np.zeros(len(ids), np.int32),
      "label": label,
      **task_runs._top5(label, right & ~(condition.level > 3)),
    }

  return of


class SplitsTest(in_folder.TestCase):
  def _run(self, split, videos, label="net", facts=None):
    folder = self.root / f"run_{split}_{label}"
    data = {"name": "hmdb51_p", "codec": "", "views": 1, "sampling": "dense"}
    data |= {"perturbations": "jpeg", "severities": (1, 5), "split": split}
    facts = {"split": split, **(facts or {})}
    return task_runs.write(
      folder, "video", _columns(videos), label=label, facts=facts, **data
    )

  def _means(self, *folders):
    settings = types.SimpleNamespace(
      out=str(self.root / "out"), models="", reference="", splits=True
    )
    with (
      mock.patch.object(flags, "FLAGS", settings),
      contextlib.redirect_stdout(io.StringIO()) as said,
    ):
      command.main(["compare", *map(str, folders)])
    rows = shared_data.lines(self.root / "out" / "splits.csv")
    return {(r["metric"], r["corruption"]): r for r in rows}, said.getvalue()

  def _width(self, row):
    return float(row["hi"]) - float(row["lo"])

  def test_mean_of_three_splits_of_other_videos(self):
    parts = np.arange(3 * _VIDEOS).reshape(3, -1)
    names = ("test", "test_2", "test_3")
    rows, said = self._means(*map(self._run, names, parts))
    row = rows["clean_accuracy", ""]
    of_splits = [_RIGHT[videos].mean() for videos in parts]
    self.assertAlmostEqual(float(row["mean"]), np.mean(of_splits))
    self.assertBetween(float(row["mean"]), float(row["lo"]), float(row["hi"]))
    # Independent: the variance of a mean of three.
    errors_ = [_RIGHT[v].mean(axis=1).std(ddof=1) ** 2 / _VIDEOS for v in parts]
    width = 2 * 1.98 * np.sqrt(sum(errors_)) / 3
    self.assertAlmostEqual(self._width(row) / width, 1, delta=0.12)
    self.assertIn("| number | test | test\\_2 | test\\_3 | mean (95 %) |", said)
    self.assertIn("of other videos, not of other trainings", said)

  def test_videos_of_two_splits_are_drawn_together(self):
    """Three times the same videos say no more than once."""
    videos = np.arange(_VIDEOS)
    rows, _ = self._means(
      self._run("test", videos), self._run("test_2", videos)
    )
    twice = self._width(rows["clean_accuracy", ""])
    apart, _ = self._means(
      self._run("test_3", videos, "net"),
      self._run("test_4", videos + _VIDEOS, "net"),
    )
    one = _RIGHT[videos].mean(axis=1).std(ddof=1) / np.sqrt(_VIDEOS)
    self.assertAlmostEqual(twice / (2 * 2.02 * one), 1, delta=0.12)
    self.assertLess(self._width(apart["clean_accuracy", ""]), 0.85 * twice)

  def test_a_network_a_split(self):
    videos = np.arange(_VIDEOS)
    runs = [self._run(f"test{end}", videos, f"net{end}") for end in ("", "_2")]
    _, said = self._means(*runs)
    self.assertIn("# net, net\\_2, hmdb51\\_p: mean over splits", said)
    self.assertIn("A network a split", said)

  @parameterized.parameters(
    (
      {"split": "test"},
      "each once; got run_test_net: test, run_test_other: test",
    ),
    ({"split": None}, r"got run_test_net: test, run_test_other: \?"),
    ({"split": "test_2", "codec": "h264"}, "codec raw and h264"),
  )
  def test_refusals(self, facts, words):
    videos = np.arange(_VIDEOS)
    runs = [
      self._run("test", videos),
      self._run("test", videos, "other", facts),
    ]
    with self.assertRaisesRegex(errors.UserError, words):
      self._means(*runs)

  def test_one_run_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "two runs or more, got 1"):
      self._means(self._run("test", np.arange(_VIDEOS)))

  def test_boxes_have_no_mean_over_splits(self):
    facts = [
      {"facts": {"split": split}, "corruptions": "fog"} for split in "ab"
    ]
    runs = [
      task_runs.detection(self.root / name, 0.5, severities=(1,), **of)
      for name, of in zip("ab", facts)
    ]
    with self.assertRaisesRegex(errors.UserError, "is of classifications"):
      self._means(*runs)
