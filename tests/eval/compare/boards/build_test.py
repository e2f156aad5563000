"""Which models stand on one board, who is ranked, and why others are not."""

import dataclasses

import numpy as np
import pytest
from absl.testing import parameterized

from eval.compare import runs, scores
from eval.compare.boards import board as board_lib
from eval.compare.boards import build
from robust_tfds import conditions
from tests import in_folder
from tests.eval.compare import small_runs


class BuildTest(in_folder.TestCase):
  def _write(self, name, models, **others) -> str:
    return str(small_runs.write(self.root / name, models, **others))

  def _scored(self, *paths) -> list[scores.Scored]:
    quiet = lambda _: None
    return [s for r in runs.read(paths) for s in scores.of_run(r, quiet)]

  def _boards(self, *paths) -> list[board_lib.Board]:
    return build.boards(self._scored(*paths))

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

  def test_numbers_are_the_table_of_the_run(self):
    (board,) = self._boards(self._write("one", {"a": 0.1}))
    number = board.entries[0].number("mean_corruption_error")
    # Severity s adds 2 s points: 10 % + 2 % * 3, of 40 examples.
    self.assertAlmostEqual(number.value, 0.17, delta=0.02)
    self.assertLess(number.lo, number.value)
    self.assertGreater(number.hi, number.value)
    self.assertEqual(number.n, small_runs.EXAMPLES)

  @parameterized.parameters(
    ({"codec": "jpeg85"}, "codec"),
    ({"px": [64, 64]}, "px"),
    ({"pixels": 2}, "pixels"),
    ({"metric": 7}, "metric"),
    ({"settings": {"label_space": "x"}}, "label_space"),
  )
  def test_other_data_are_another_board(self, facts, name):
    one = self._write("one", {"a": 0.1}, names=["fog"])
    two = self._write("two", {"b": 0.2}, names=["fog"], facts=facts)
    first, second = self._boards(one, two)
    self.assertEqual(list(first.differs), [name])
    self.assertEqual(list(second.differs), [name])
    self.assertIn(name.replace("_", " "), second.title)
    self.assertNotEqual(first.key, second.key)
    self.assertLen(first.entries, 1)

  def test_other_examples_are_another_board(self):
    one = self._write("one", {"a": 0.1}, names=["fog"])
    two = self._write("two", {"b": 0.2}, names=["fog"], prefix="y")
    first, _ = self._boards(one, two)
    self.assertEqual(list(first.differs), ["ids"])

  @parameterized.parameters(
    {"content": "1" * 64},  # files of other bytes
    {"subset": "mine-12345678"},  # the ids are equal
  )
  def test_facts_that_may_differ(self, **facts):
    one = self._write("one", {"a": 0.1}, names=["fog"])
    two = self._write("two", {"b": 0.2}, names=["fog"], facts=facts)
    (board,) = self._boards(one, two)
    self.assertEmpty(board.differs)

  @pytest.mark.slow
  def test_a_copy_of_a_run_is_named(self):
    one = self._write("one", {"a": 0.1, "b": 0.4})
    copy = self._write("copy", {"a": 0.1})
    (board,) = self._boards(one, copy)
    (note,) = [n for n in board.notes if "several names" in n]
    self.assertIn("a (one), a (copy)", note)

  def test_a_board_has_its_name_first(self):
    (board,) = self._boards(self._write("one", {"<>": 0.1}, names=["fog"]))
    self.assertEqual(board.key, "digits-c")

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
    self.assertStartsWith(note, "Nothing is ranked by Mean error (15): ")

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

  def test_conditions_are_in_paper_order(self):
    (board,) = self._boards(self._write("one", {"a": 0.1}))
    family = conditions.PICTURES
    expected = [conditions.Condition()] + [
      family.condition(n, s)
      for n in family.names("common")
      for s in conditions.SEVERITIES
    ]
    self.assertEqual(list(board.conditions), expected)
