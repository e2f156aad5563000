"""Predictions of another program beside a run: boards, pairs, what is refused."""

import pathlib

from absl.testing import parameterized

from eval.cells.files import config_file
from eval.compare import runs, scores
from eval.compare.boards import build
from eval.compare.pairs import compare
from eval.readers import base
from eval.run.results import rescore
from eval.submissions import checker, writer
from robust_tfds import errors
from tests import in_folder, quick
from tests.eval.compare import small_runs, task_runs
from tests.eval.report.reports import without_pictures
from tests.faults import scored

_DATASET = "mine_c"
_SAME = {"codec": "png", "edition": "any"}


class BesideTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.enterContext(without_pictures.written())
    self.run_folder = self._run("run", ["fog"])
    self.out = self.root / "out"

  def _run(self, name, names) -> pathlib.Path:
    return small_runs.write(
      self.root / name,
      {"a": 0.1, "b": 0.2},
      names=names,
      baseline="model:b",
      name=_DATASET,
      facts={"dataset": _DATASET, "edition": "any", "codec": "raw"},
    )

  def _rows(self) -> list[list]:
    """What `a` answers, as a table."""
    run = runs.read_one([str(self.run_folder)])
    rows = []
    for cell in run.cells_of(_DATASET, "a"):
      columns = run.columns(cell)
      answers = columns["top5"][:, 0].tolist()
      for row in zip(columns["example_id"], columns["label"], answers):
        rows.append([cell.name, cell.level, *row])
    return rows

  def _score(self, rows, **options) -> pathlib.Path:
    path = self.root / "mine.csv"
    header = (*scored.HEADER, "model")[: len(rows[0])]
    said = options.pop("said", {})  # columns of facts
    rows = [[*row, *said.values()] for row in rows]
    path.write_text(scored.text(rows, (*header, *said)))
    options = {"facts": self.run_folder, **options}
    rescore.score([path], self.out, base.Options(**options))
    return self.out

  @quick.cases([True], [False])
  def test_one_board_and_pairs(self, first):
    self.run_folder = self._run("whole", None)
    folders = [str(self.run_folder), str(self._score(self._rows(), said=_SAME))]
    listed = reversed(folders) if first else folders
    (board,) = build.boards(scores.score_runs(runs.read(list(listed))))
    ranked = {e.label: e.rank for e in board.entries if not e.printed}
    self.assertEqual(ranked, {"a": 1, "mine": 1, "b": 3})
    self.assertEqual(board.ranked_by, "mce")  # by the run's own model
    self.assertIn(
      "Another program made the predictions of mine", str(board.notes)
    )
    (pair,) = compare.runs(
      *map(runs.read_one, ([f] for f in folders)), "a,mine"
    )
    self.assertIn("is a statement of whoever scored them", str(pair.notes))
    self.assertTrue(all(c.first == c.second for c in pair.cells))

  def test_a_submission_says_that_it_is_a_statement(self):
    self._score(self._rows())
    writer.export([self.out], self.root / "sent", {"mine": "x"}, {})
    said = checker.check(self.root / "sent").split("not verified:")
    self.assertIn("that they are of these pictures is a statement", said[1])
    self.assertIn("0 fingerprints", said[0])
    config = self.out / "config.json"
    forged = runs.read_one([str(self.out)]).config.unlock()
    del forged[config_file.REFERENCE_KEY]
    config_file.write(config, forged)
    writer.export([self.out], self.root / "forged", {"mine": "x"}, {})
    with self.assertRaisesRegex(errors.UserError, "by.adapter: got 'elsewh"):
      checker.check(self.root / "forged")

  @parameterized.parameters(
    (lambda r: r[:-1] + [[*r[-1][:2], "y", *r[-1][3:]]], {}, "no prediction"),
    (lambda r: [[*x[:2], f"y{x[2]}", *x[3:]] for x in r], {}, "80 are in only one"),
    (lambda r: [[*x[:3], (x[3] + 1) % 10, x[4]] for x in r], {}, "40 of 40 .* e.g. x"),
    (lambda r: [["spatter" if x[0] else "", *x[1:]] for x in r if x[0] in ("", "fog")],
     {}, "spatter_1: --facts=.*run has no such cell"),
    (lambda r: [[*x, "a"] for x in r], {}, "has a model 'a', too. Give"),
    (None, {"said": {"edition": "imagenet"}}, "edition is 'imagenet', and 'any' in"),
    (None, {"said": {"geometry": "none"}}, "geometry is 'none', and '' in"),
    (None, {"said": {"codec": "jpeg85"}}, "codec is 'jpeg85', and 'raw' in"),
    (None, {"seed": 1}, "says the seed: leave out --seed"),
    (None, {"subset": "x"}, "leave out --subset"),
    (None, {"dataset": "imagenet_c"}, "Unknown --dataset .* Known: mine_c"),
    (None, {"facts": pathlib.Path("nowhere")}, "nowhere"),
  )  # fmt: skip
  def test_refusals(self, change, options, message):
    rows = self._rows()
    with self.assertRaisesRegex((errors.UserError, OSError), message):
      self._score(change(rows) if change else rows, **options)
    self.assertFalse((self.out / "table.csv").exists())

  def test_runs_that_say_nothing(self):
    rows = self._rows()
    old = small_runs.write(self.root / "old", {"a": 0.1}, noted=False)
    other = task_runs.sequences(self.root / "p", 0.5)
    for folder, words in (
      (old, "no facts of its data"),
      (other, "of sequences"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        self._score(rows, facts=folder)
