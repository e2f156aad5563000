"""Boards: what they are built from, ranks, tables and pages."""

import csv
import dataclasses
import math
import pathlib
import tempfile

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from etils import epath

from eval import papers
from eval.cells.number import Number
from eval.compare import runs, scores, slugs
from eval.compare.boards import board as board_lib
from eval.compare.boards import (
  build,
  effective,
  exclusions,
  printed,
  ranks,
  tables,
)
from eval.metrics import resampling, trend
from eval.metrics.replicates import Replicates
from robust_tfds import errors
from tests import in_folder, shared_data
from tests.eval.compare import small_runs
from tests.eval.report.figures import boards as figures_boards
from tests.eval.report.pages import boards


class BuildTest(in_folder.TestCase):
  """Which models stand on one board, who is ranked, and why others are not."""

  def _write(self, name, models, **others) -> str:
    return str(small_runs.write(self.root / name, models, **others))

  def _scored(self, *paths) -> list[scores.Scored]:
    quiet = lambda _: None
    return [s for r in runs.read(paths) for s in scores.score_run(r, quiet)]

  def _boards(self, *paths) -> list[board_lib.Board]:
    return build.boards(self._scored(*paths))

  def test_models_that_adapt_stand_among_their_like(self):
    facts = {"setting": "reset", "batch": 200, "seed": 0}
    adapts = {
      "tent": {**facts, "method": "tent"},
      "bn": {**facts, "method": "bn"},
      "tent 16": {**facts, "method": "tent", "batch": 16},
    }
    errors_of = {"plain": 0.2, "tent": 0.1, "bn": 0.15, "tent 16": 0.05}
    of_models = {name: {"adaptation": each} for name, each in adapts.items()}
    run = self._write("one", errors_of, of_models=of_models)
    listed = {
      tuple(e.label for e in b.entries): b.title for b in self._boards(run)
    }
    self.assertEqual(listed.keys(), {("plain",), ("tent", "bn"), ("tent 16",)})
    self.assertIn("adapted batch 16", listed["tent 16",])
    for left_out, places in (("", [1, 2, 1]), ("fog", [None] * 3)):
      run = self._write(
        f"without {left_out}",
        errors_of,
        of_models=of_models,
        chosen=lambda _, c, n=left_out: c.clean or c.level == 5 and c.name != n,
      )
      entries = [e for b in self._boards(run) for e in b.entries]
      ranks_of = {e.label: e.rank for e in entries}
      self.assertEqual([ranks_of[label] for label in adapts], places)
      self.assertIsNone(ranks_of["plain"])
      ranges = [e.rank_range for e in entries if e.rank]
      self.assertEqual(ranges, [] if left_out else [(1, 2), (1, 2), (1, 1)])

  @pytest.mark.slow
  def test_two_runs_of_other_seeds(self):
    one = self._write("one", {"a": 0.1, "b": 0.4})
    other = {"a": {"weights": "2" * 64}}
    two = self._write("two", {"a": 0.2, "c": 0.3}, seed=1, of_models=other)
    (board,) = self._boards(one, two)
    self.assertEqual(
      [(e.label, e.run, e.seed, e.rank) for e in board.entries],
      [
        ("a (one)", "one", 0, 1),
        ("a (two)", "two", 1, 2),
        ("c", "two", 1, 3),
        ("b", "one", 0, 4),
      ],
    )
    self.assertEqual(board.ranked_by, "mean_corruption_error")
    self.assertTrue(any("Seeds differ" in n for n in board.notes))
    self.assertEmpty(board.differs)
    self.assertLen(board.conditions, 76)
    ranges = [e.rank_range for e in board.entries]
    self.assertEqual((ranges[0][0], ranges[-1]), (1, (4, 4)))

  @pytest.mark.slow
  def test_other_decoders_are_said(self):
    one, two, same = (
      self._write(name, {label: 0.1}, facts={"decoders": words})
      for name, label, words in (
        ("one", "a", "read with PyAV 15"),
        ("two", "b", "read with PyAV 18"),
        ("same", "c", "read with PyAV 18"),
      )
    )
    (board,) = self._boards(one, two, same)
    (note,) = [n for n in board.notes if "decoded" in n]
    self.assertIn("read with PyAV 15 (a); read with PyAV 18 (b, c)", note)
    self.assertLen([e for e in board.entries if e.rank], 3)
    (board,) = self._boards(two, same)
    self.assertEmpty([n for n in board.notes if "decoded" in n])

  @parameterized.parameters(
    ({"codec": "jpeg85"}, "codec"),
    ({"px": [64, 64]}, "px"),
    ({"pixels": 2}, "pixels"),
    ({"metric": 7}, "metric"),
    ({"settings": {"label_space": "x"}}, "label_space"),
    (None, "ids"),
  )
  def test_other_data_are_another_board(self, facts, name):
    one = self._write("one", {"a": 0.1}, names=["fog"])
    other = {"facts": facts} if facts else {"prefix": "y"}
    two = self._write("two", {"b": 0.2}, names=["fog"], **other)
    first, second = self._boards(one, two)
    self.assertEqual(list(first.differs), [name])
    self.assertEqual(list(second.differs), [name])
    self.assertIn(name.replace("_", " "), second.title)
    self.assertNotEqual(first.key, second.key)
    self.assertLen(first.entries, 1)

  @parameterized.parameters(
    {"content": "1" * 64},  # files of other bytes
    {"subset": "mine-12345678"},  # the ids are equal
  )
  def test_facts_that_may_differ(self, **facts):
    one = self._write("one", {"a": 0.1}, names=["fog"])
    two = self._write("two", {"b": 0.2}, names=["fog"], facts=facts)
    (board,) = self._boards(one, two)
    self.assertEmpty(board.differs)

  def test_partial_runs_are_shown_and_not_ranked(self):
    whole = self._write("whole", {"a": 0.1})
    part = self._write(
      "part", {"b": 0.05}, chosen=lambda _, c: c.name != "fog" or c.level != 3
    )
    (board,) = self._boards(whole, part)
    last = board.entries[-1]
    self.assertEqual(
      (last.label, last.state, last.rank), ("b", board_lib.PARTIAL, None)
    )
    self.assertIn("missing: fog 3 (1 of 75)", last.remark)
    self.assertIsNone(last.number("mean_corruption_error").value)
    self.assertEqual(board.entries[0].rank_range, (1, 1))

  def test_only_partial_runs(self):
    part = self._write("part", {"b": 0.05}, names=["fog"])
    other = self._write("other", {"c": 0.2}, names=["fog", "snow"])
    (board,) = self._boards(part, other)
    self.assertEqual(board.ranked_by, "")
    shown = [m.name for m in board.headlines]
    self.assertIn("part_mean_corruption_error", shown)
    for entry, count in zip(board.entries, (5, 10)):
      self.assertEqual((entry.state, entry.rank), (board_lib.PARTIAL, None))
      number = entry.number("part_mean_corruption_error")
      self.assertStartsWith(number.note, f"mean over {count} of 75 cells: ")
      self.assertBetween(number.value, number.lo, number.hi)

  @parameterized.parameters("unknown", "neither")
  def test_a_number_without_a_better_side_ranks_nothing(self, sense):
    listed = self._scored(self._write("one", {"a": 0.1, "b": 0.4}))
    for one in listed:
      facts = one.side.task.facts
      senseless = [
        dataclasses.replace(metric, sense=sense) for metric in facts.headlines
      ]
      one.side.task.facts = dataclasses.replace(
        facts, headlines=tuple(senseless)
      )
    (board,) = build.boards(listed)
    self.assertEqual(board.ranked_by, "")
    self.assertEqual(
      [(e.label, e.state, e.rank, e.rank_range) for e in board.entries],
      [(name, board_lib.WHOLE, None, None) for name in ("a", "b")],
    )
    (note,) = [n for n in board.notes if "ranked" in n.lower()]
    self.assertStartsWith(note, "Nothing is ranked by Mean error (common): ")

  def test_models_that_saw_test_corruptions_are_marked(self):
    run = self._write(
      "run",
      {"a": 0.1, "b": 0.05},
      of_models={
        "b": {
          "corruptions_seen": ["fog", "jumbling"],
          "severities_seen": [1, 2, 3],
        }
      },
    )
    (board,) = self._boards(run)
    self.assertEqual(board.entries[0].label, "a")
    seen = board.entries[1]
    self.assertEqual(
      (seen.state, seen.rank, seen.remark),
      (board_lib.SEEN, None, "trained on fog at severity 1, 2, 3"),
    )
    held_out = seen.number("held_out_mean_corruption_error")
    cells = [c for c in seen.cells if not c.clean and c.name != "fog"]
    self.assertAlmostEqual(
      held_out.value,
      np.mean([seen.cells[c]["error"].value for c in cells]),
    )
    self.assertLess(held_out.lo, held_out.value)
    self.assertEqual(
      held_out.note,
      "mean over 70 of 75 cells: all but fog 1-5; trained on fog at severity"
      " 1, 2, 3",
    )
    self.assertIn(
      "held_out_mean_corruption_error", [m.name for m in board.headlines]
    )
    self.assertIsNone(board.entries[0].number("held_out_mean_corruption_error"))

  def test_facts_that_nobody_noted(self):
    old = self._write("old", {"a": 0.1}, noted=False)
    new = self._write("new", {"b": 0.1}, seed=1)
    first, second = self._boards(old, new)
    self.assertIn("version", first.differs)
    self.assertIsNone(first.differs["version"])
    self.assertEqual(second.differs["version"], "1.0.0")
    (note,) = [n for n in first.notes if "unknown here" in n]
    self.assertIn("version", note)
    self.assertIn("weights", note)

  @pytest.mark.slow
  def test_baselines(self):
    one = self._write("one", {"a": 0.1, "b": 0.4}, baseline="model:b")
    same = self._write("two", {"c": 0.1, "b": 0.4}, baseline="model:b", seed=1)
    (board,) = self._boards(one, same)
    self.assertEqual(board.ranked_by, "mce")
    other = self._write(
      "three",
      {"d": 0.1, "b": 0.4},
      baseline="model:b",
      of_models={"b": {"weights": "9" * 64}},
    )
    first, second = self._boards(one, other)
    self.assertEqual(list(first.differs), ["baseline"])
    self.assertLen(second.entries, 2)


class ExclusionsTest(absltest.TestCase):
  """Which runs and models are excluded, in words."""

  def test_refusals_are_taken_and_bugs_are_not(self):
    listed = []
    with exclusions.collect(listed, "r", model="a"):
      raise errors.UserError("broken")
    self.assertEqual(listed, [exclusions.Exclusion("r", "broken", model="a")])
    with self.assertRaises(errors.UserError), exclusions.collect(None, "r"):
      raise errors.UserError("broken")
    with self.assertRaises(KeyError), exclusions.collect(listed, "r"):
      raise KeyError("bug")

  def test_nothing_is_left(self):
    exclusions.check_any_left(["x"], [])
    with self.assertRaisesRegex(errors.UserError, "^r: gone.\nq: too$"):
      exclusions.check_any_left(
        [],
        [exclusions.Exclusion("r", "gone."), exclusions.Exclusion("q", "too")],
      )


_OURS = {
  "dataset": "imagenet_c",
  "examples": 50_000,
  "codec": "jpeg85",
  "edition": "imagenet",
  "split": "validation",
  "px": [224, 224],
  "subset": "",
}


class PrintedTest(absltest.TestCase):
  """Printed rows beside runs: their source, and when they are ranked."""

  def _entries(self, baseline="alexnet", **others):
    return printed.entries({**_OURS, **others}, baseline, slugs.Slugs())

  def test_of_the_protocol(self):
    entries = {e.model: e for e in self._entries()}
    alexnet = entries["AlexNet"]
    self.assertEqual(alexnet.number("mce").value, 1.0)
    self.assertEqual(alexnet.number("ce", "fog").value, 1.0)
    self.assertEqual(alexnet.remark, "")
    self.assertEqual(alexnet.state, board_lib.PRINTED)
    self.assertIn("Hendrycks", alexnet.source)
    self.assertLen({e.key for e in entries.values()}, len(entries))

  def test_of_another_protocol(self):
    for others, words in (
      ({"codec": "raw"}, "codec jpeg85, here raw"),
      ({"examples": 242}, "examples 50000, here 242"),
      ({"subset": "robustbench5k"}, "subset none, here robustbench5k"),
      ({"codec": None}, "codec jpeg85, here unknown"),
      ({"baseline": "mine, of the same run"}, "here mine, of the same run"),
    ):
      for entry in self._entries(**others):
        self.assertStartsWith(entry.remark, "another protocol: ")
        self.assertIn(words, entry.remark)

  def test_a_doubtful_number_is_recomputed_and_says_so(self):
    entries = {e.model: e for e in self._entries(dataset="hmdb51_p")}
    number = entries["X3D, scratch"].number("gamma_r/digital")
    self.assertAlmostEqual(number.value, 0.8733, delta=5e-5)
    self.assertIn("0.873, printed 0.13 (shown recomputed)", number.note)
    self.assertEmpty(entries["X3D, scratch"].number("gamma_a/digital").note)
    (words,) = printed.doubts(entries.values())
    self.assertIn("X3D, scratch", words)
    self.assertEmpty(printed.doubts(self._entries(dataset="digits_c")))


def _numbers(columns):
  ids = np.array([f"i{i:05d}" for i in range(len(columns[0]))])
  draws = resampling.Draws.from_groups(ids, resamples=50)
  return [draws.means(np.asarray(c, float), ids) for c in columns]


class RanksTest(absltest.TestCase):
  """Ranks and rank ranges of numbers with draws."""

  def test_a_clear_order_and_a_tie(self):
    rng = np.random.default_rng(0)
    hard = rng.random(2000)
    # 10 % and 30 % wrong; the third differs from the second by two examples.
    one, two = hard < 0.1, hard < 0.3
    three = two.copy()
    three[np.flatnonzero(two)[:2]] = False
    three[np.flatnonzero(~two)[:2]] = True
    ranges = ranks.ranges(_numbers([one, two, three]), -1)
    self.assertEqual(ranges, [(1, 1), (2, 3), (2, 3)])
    self.assertEqual(
      ranks.ranges(_numbers([one, two, three]), 1), [(3, 3), (1, 2), (1, 2)]
    )

  def test_paired_beats_apart(self):
    # One model is right wherever the other is, and on 3 % more: the pairs decide
    # what two intervals of +-4 points would not.
    hard = np.random.default_rng(1).random(500)
    ranges = ranks.ranges(_numbers([hard < 0.40, hard < 0.43]), -1)
    self.assertEqual(ranges, [(1, 1), (2, 2)])

  def test_a_pair_that_some_block_leaves_undefined_stays_open(self):
    hard = np.random.default_rng(0).random(2000)
    one, two, three = _numbers([hard < 0.1, hard < 0.5, hard < 0.9])
    two.jackknife[3] = np.nan
    ranges = ranks.ranges([one, two, three], -1)
    self.assertEqual(ranges, [(1, 2), (1, 3), (2, 3)])

  def test_one_and_equal(self):
    same = np.arange(100) % 3 == 0
    self.assertEqual(ranks.ranges(_numbers([same]), -1), [(1, 1)])
    self.assertEqual(ranks.ranges(_numbers([same, same]), -1), [(1, 2), (1, 2)])
    self.assertEqual(ranks.ranks([0.2, 0.2, 0.1], -1), [2, 2, 1])


class TablesTest(absltest.TestCase):
  """Boards as CSVs: headers, every number, safe in spreadsheets."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = pathlib.Path(tempfile.mkdtemp())
    small_runs.write(
      cls.root / "run",
      {"=HYPERLINK(1)": 0.1, "b, c": 0.3},
      of_models={"b, c": {"trained_on": '@SUM("x")\nnext'}},
    )
    (run,) = runs.read([str(cls.root / "run")])
    cls.boards = build.boards(scores.score_run(run, lambda _: None))
    cls.files = tables.write(cls.boards, epath.Path(cls.root / "out"))

  def _read(self, name):
    return shared_data.lines(self.root / "out" / name)

  def test_files(self):
    names = [p.name for p in self.files]
    self.assertEqual(
      names, ["boards.csv", "aside.csv", "digits-c.csv", "digits-c_numbers.csv"]
    )
    (board,) = self._read("boards.csv")
    header = (self.root / "out" / "boards.csv").read_text().split("\n")[0]
    self.assertLen(set(header.split(",")), len(header.split(",")))
    self.assertEqual(
      (board["task"], board["entries"], board["ranked"], board["codec"]),
      ("classification", "2", "2", "raw"),
    )

  def test_no_text_is_a_formula(self):
    for path in self.files:
      with open(path, newline="") as f:
        for row in csv.reader(f):
          for cell in row:
            try:
              float(cell)
            except ValueError:
              self.assertNotIn(cell[:1], ("=", "+", "-", "@", "\t", "\r"))

  def test_every_number(self):
    rows = self._read("digits-c_numbers.csv")
    (board,) = self.boards
    for entry in board.entries:
      mine = [r for r in rows if r["model"].lstrip("'") == entry.label]
      cells = sum(map(len, entry.cells.values()))
      self.assertLen(mine, cells + len(entry.numbers))
    (fog,) = [
      r
      for r in rows
      if (r["model"], r["corruption"], r["severity"], r["metric"])
      == ("b, c", "fog", "3", "error")
    ]
    self.assertEqual(float(fog["value"]), 15 / 40)  # 36 % of 40, rounded up
    self.assertEqual(fog["n"], "40")
    mean = next(r for r in rows if r["metric"] == "mean_corruption_error")
    self.assertLess(float(mean["jackknife_lo"]), float(mean["value"]))
    self.assertGreater(float(mean["jackknife_hi"]), float(mean["value"]))

  def test_a_summary_has_what_was_held_out(self):
    names = ("clean_error", "mean_corruption_error", "mce", "relative_mce")
    every = [p + n for n in (*names, "extra") for p in ("", "held_out_")]
    numbers = {(name, "", None): boards.number(0.5) for name in every}
    text = tables.summary(boards.one(numbers=numbers))
    for heading in ("mCE (not trained on)", "Relative mCE (not trained on)"):
      self.assertIn(heading, text)


def _logistic(v):
  return 1 / (1 + math.exp(-v))


def _board(task, points, dataset="digits"):
  """A board whose models have these (x, y)."""
  axes, board = effective.AXES[task], figures_boards.board(task)
  entries = []
  for i, (x, y) in enumerate(points):
    if task in ("classification", "sequences"):
      x, y = 1 - x, 1 - y
    elif task == "video":
      y = y / x
    numbers = dict(zip([(m, "", None) for m in axes.metrics], (x, y)))
    entries.append(
      board_lib.Entry(
        key=f"k{i}",
        label=f"m{i}",
        model=f"m{i}",
        run="one",
        data=figures_boards.data_of(dataset),
        numbers={k: Number(v) for k, v in numbers.items()},
      )
    )
  return dataclasses.replace(board, entries=entries, dataset=dataset)


class EffectiveTest(parameterized.TestCase):
  @parameterized.parameters(*effective.AXES)
  def test_models_on_a_line_of_logits_have_none(self, task):
    points = [(_logistic(v), _logistic(0.8 * v - 0.5)) for v in (-1, 0, 1, 2)]
    board = _board(task, points)
    line = effective.reference(board, effective.RUNS)
    self.assertAlmostEqual(line.line.slope, 0.8, places=9)
    for number in effective.numbers(board, line).values():
      self.assertAlmostEqual(number.value, 0, places=12)
      self.assertIn("slope of logits 0.80", number.note)

  def test_who_was_trained_on_the_test_is_of_no_line(self):
    board = _board("frames", [(0.4, 0.3), (0.5, 0.4), (0.6, 0.5), (0.7, 0.9)])
    *others, last = board.entries
    entries = [*others, dataclasses.replace(last, state=board_lib.SEEN)]
    board = dataclasses.replace(board, entries=entries)
    line = effective.reference(board, effective.RUNS)
    self.assertEqual(list(line.points), ["m0", "m1", "m2"])
    self.assertIn("k3", effective.numbers(board, line))

  def test_a_model_above_the_testbed(self):
    dataset = "imagenet_vid_robust"
    line = effective.reference(_board("frames", [(0.7, 0.6)], dataset))
    self.assertEqual((line.name, len(line.points)), ("standard", 78))
    board = _board(
      "frames", [(0.7, float(line.line.predict(0.7)) + 0.03)], dataset
    )
    (number,) = effective.numbers(board, line).values()
    self.assertAlmostEqual(number.value, 0.03, places=12)

  @parameterized.parameters(
    ("classification", "imagenet_c", 7),
    ("sequences", "imagenet_p", 7),
    ("detection", "coco_c", 14),
    ("video", "ucf101_p", 11),
    ("video", "kinetics400_p", 6),
    ("frames", "ytbb_robust", 60),
  )
  def test_printed_networks(self, task, dataset, count):
    points = effective.printed_points(task, dataset)
    self.assertLen(points, count)
    for x, y in points.values():
      self.assertTrue(0 < x < 1 and 0 < y < 1)
    self.assertEqual(effective.fitted(task, dataset, "printed").points, points)

  def test_doubtful_numbers_are_recomputed_and_said(self):
    """Digital of X3D from scratch is printed .13, its three lines .873."""
    x, y = effective.printed_points("video", "hmdb51_p")["X3D, scratch"]
    self.assertAlmostEqual(y / x, 0.6867, delta=5e-5)
    line = effective.fitted("video", "hmdb51_p")
    self.assertGreater(line.line.above([x], [y])[0], -0.005)
    self.assertRegex(line.words, r"doubtful: numbers of \d")
    self.assertIn("X3D, scratch", effective.doubtful("video", "hmdb51_p"))
    self.assertEmpty(effective.doubtful("detection", "pascal_c"))

  def test_plain_means_follow_from_normalised_ones(self):
    """AlexNet's CE are 1: its mean error is that of the baseline."""
    points = effective.printed_points("classification", "imagenet_c")
    self.assertAlmostEqual(points["AlexNet"][0], 0.565)
    self.assertAlmostEqual(points["AlexNet"][1], 1 - 0.788993, places=5)
    ce = papers.networks("imagenet_c", "mce")
    self.assertLess(points["AlexNet"][1], points["ResNet-50"][1])
    self.assertLess(ce["ResNet-50"], ce["AlexNet"])

  def test_intervals_are_of_the_models_own_draws(self):
    dataset = "imagenet_vid_robust"
    board = _board("frames", [(0.7, 0.5)], dataset)
    line = effective.reference(board)
    rng, groups = np.random.default_rng(0), 200
    right = rng.random((groups, 2)) < (0.7, 0.5)
    draws = {}
    for metric, of in zip(("acc_orig", "acc_pmk"), right.T):
      picks = np.random.default_rng(1).integers(groups, size=(500, groups))
      left = (of.sum() - of) / (groups - 1)
      draws[metric, "", None] = Replicates(
        np.array(of.mean()), of[picks].mean(1), left, groups
      )
    (number,) = effective.numbers(board, line, {"k0": draws}).values()
    self.assertLess(number.lo, number.value)
    self.assertGreater(number.hi, number.value)
    # A binomial error of y alone, half as wide again for x at the most.
    self.assertBetween(number.hi - number.lo, 0.08, 0.25)

  def _of_three_runs(self):
    """A board of three models on the same examples, and their draws."""
    rng, groups = np.random.default_rng(0), 500
    hard = rng.random((groups, 1))
    right = hard < np.array([0.55, 0.7, 0.8, 0.4, 0.6, 0.65])
    right ^= rng.random(right.shape) < 0.05
    picks = rng.integers(groups, size=(400, groups))
    drawn, left = right[picks].mean(1), (right.sum(0) - right) / (groups - 1)
    whole = right.mean(0)
    of = [
      Replicates(whole[i], drawn[:, i], left[:, i], groups) for i in range(6)
    ]
    draws = {
      f"k{i}": {("acc_orig", "", None): of[i], ("acc_pmk", "", None): of[i + 3]}
      for i in range(3)
    }
    return _board("frames", list(zip(whole[:3], whole[3:]))), draws

  def test_the_line_of_runs_is_fitted_in_every_draw(self):
    board, draws = self._of_three_runs()
    line = effective.reference(board, effective.RUNS)
    pairs = [list(draws[f"k{i}"].values()) for i in range(3)]
    joined = np.array([[r.joined for r in pair] for pair in pairs])

    def above(k):
      x, y = joined[:, 0, k], joined[:, 1, k]
      return trend.fit(x, y, logits=True).above(x, y)

    brute = np.array([above(k) for k in range(joined.shape[-1])])
    numbers = effective.numbers(board, line, draws)
    for i in range(3):
      want = pairs[i][0].like(brute[:, i]).interval(percentiles=True)
      number = numbers[f"k{i}"]
      np.testing.assert_allclose((number.lo, number.hi), want, atol=1e-12)
      self.assertIn("fitted to these models in every draw", number.note)

  def test_a_fixed_line_says_so_and_is_much_wider_of_three_runs(self):
    board, draws = self._of_three_runs()
    line = effective.reference(board, effective.RUNS)
    drawn = effective.numbers(board, line, draws)["k0"]
    fixed = dataclasses.replace(line, keys=())
    wide = effective.numbers(board, fixed, draws)["k0"]
    self.assertIn("held fixed, of 3 models alone", wide.note)
    self.assertGreater((wide.hi - wide.lo) / (drawn.hi - drawn.lo), 1.8)

  def test_a_videos_clean_accuracy_follows_from_its_gammas(self):
    """The interval is that of draws of the two accuracies themselves."""
    rng, groups = np.random.default_rng(0), 300
    hits = rng.random((groups, 2)) < (0.8, 0.55)
    picks = rng.integers(groups, size=(400, groups))
    whole = hits.mean(0)
    left = (hits.sum(0) - hits) / (groups - 1)

    def of(f):
      drawn = hits[picks].mean(1)
      parts = [f(*part.T) for part in (whole[None], drawn, left)]
      return Replicates(parts[0][0], parts[1], parts[2], groups)

    draws = {
      ("gamma_a", "", None): of(lambda clean, mean: 1 - clean + mean),
      ("gamma_r", "", None): of(lambda clean, mean: mean / clean),
    }
    board = _board("video", [tuple(whole)], "ucf101_p")
    line = effective.reference(board)
    (number,) = effective.numbers(board, line, {"k0": draws}).values()
    lo, hi = of(lambda clean, mean: mean - line.line.predict(clean)).interval()
    self.assertAlmostEqual(number.lo, lo, places=9)
    self.assertAlmostEqual(number.hi, hi, places=9)

  def test_numbers_that_were_drawn_apart_have_no_interval(self):
    board = _board("frames", [(0.7, 0.5)], "imagenet_vid_robust")
    draws = {
      (metric, "", None): Replicates(
        np.array(0.5), np.full(draws, 0.5), np.full(9, 0.5), 9
      )
      for metric, draws in (("acc_orig", 20), ("acc_pmk", 30))
    }
    line = effective.reference(board)
    (number,) = effective.numbers(board, line, {"k0": draws}).values()
    self.assertIsNone(number.lo)
    self.assertIn("not drawn together", number.note)

  @parameterized.parameters(
    ([(0.5, 0.4)] * 2, "runs: 2 of at least 3 models"),
    ([(0.5, 0.4)] * 3, "same x"),
    ([(1.0, 0.4), (0.5, 0.3), (0.6, 0.3)], "1 of 3 models have another x"),
  )
  def test_no_line(self, points, words):
    board = _board("frames", points)
    with self.assertRaisesRegex(errors.UserError, words):
      effective.reference(board, effective.RUNS)
    self.assertIs(effective.add(board), board)

  def test_unknown_reference(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'testbed'"):
      effective.reference(_board("frames", []), "testbet")

  def test_a_perfect_model_has_none_and_it_says_why(self):
    board = _board("frames", [(1.0, 0.9), (0.5, 0.4)], "imagenet_vid_robust")
    added = effective.add(board)
    first, second = (e.number(effective.METRIC.name) for e in added.entries)
    self.assertIsNone(first.value)
    self.assertIn("logit infinite", first.note)
    self.assertIsNotNone(second.value)
    self.assertIn(effective.METRIC, added.headlines)
