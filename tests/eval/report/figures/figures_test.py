"""Every figure of every paper: drawn from printed numbers, and with runs."""

import contextlib
import csv
import dataclasses
import pathlib
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath
from PIL import Image

from eval.metrics import pm_k
from eval.report import figures
from eval.report.figures import base
from eval.report.figures.parts import printed, sheet
from robust_tfds import conditions, errors
from tests import quick, shared_data
from tests.eval.report.figures import boards, lines
from tests.eval.report.reports import contexts, without_pictures

_NAMES = tuple(f.name for f in figures.figures())
# (file of the kind, figure); the first one of each kind is drawn whole.
_KINDS = tuple(
  (type(f).__module__.rpartition(".")[2], f.name) for f in figures.figures()
)
_WHOLE = frozenset({kind: name for kind, name in reversed(_KINDS)}.values())
_PRINTED = [f.name for f in figures.figures() if f.printed_sets and f.tasks]
_WITH_RUNS = tuple(f.name for f in figures.figures() if f.tasks)
# Tables whose CSV has every printed number, and those that are of a paper's file.
_TABLES = {f.name: f.of for f in figures.figures() if hasattr(f, "of")} | {
  **{f"hendrycks_t{i}": ("hendrycks2019", f"table{i}") for i in range(1, 5)},
  **{f"schiappa_t{i}": ("schiappa2023", f"table{i}") for i in range(4, 8)},
  "hendrycks_app_d": ("hendrycks2019", "appendix_d"),
  "hendrycks_f5": ("hendrycks2019", "figure5"),
  "schiappa_f12": ("schiappa2023", "figure12"),
  "schiappa_f13": ("schiappa2023", "table8"),
  "shankar_f4": ("shankar2021", "table3"),
}


def _bare(task: str) -> base.Request:
  """A run without numbers."""
  board = boards.board(task)
  entries = [
    dataclasses.replace(e, numbers={}, cells={}) for e in board.entries
  ]
  return base.Request(boards=[dataclasses.replace(board, entries=entries)])


_PAPER = base.Request()
_REQUESTS = {
  "": _PAPER,
  "frames": boards.request("frames"),
  "video": boards.request("video"),
  "jumbling_3": dataclasses.replace(
    boards.request("video"), condition="jumbling_3"
  ),
  "groups": boards.request("video", names=("jumbling", "freezing", "jpeg")),
  "mixes": boards.request("video", names=conditions.VIDEOS.members("temporal")),
  "bare": _bare("classification"),
  "pictures": base.Request(boards=[boards.normalised("classification")]),
  "sequences": base.Request(boards=[boards.normalised("sequences")]),
}
# Drawn from printed numbers, and those of them that show doubtful ones.
_ALONE = tuple(
  f.name
  for f in figures.figures()
  if not (f.needs_runs or f.needs_folders or "own" in f.drawn_from)
)
_DOUBTFUL = (
  *("hendrycks_t1", "hendrycks_t2", "hendrycks_t3", "hendrycks_t4"),
  *("hendrycks_readme_c", "hendrycks_readme_p", "hendrycks_s5_2"),
  *("hendrycks_f3", "hendrycks_f4", "hendrycks_f6", "hendrycks_f9"),
  *("michaelis_t1", "michaelis_t2", "michaelis_t5"),
  *(f"schiappa_t{i}" for i in range(2, 8)),
  *(f"schiappa_f{i}" for i in (1, 3, 6, 7, 19, 23, 24, 28)),
  *("shankar_t2", "shankar_t4", "shankar_t5", "shankar_t6", "shankar_t9"),
  "effective_robustness",
)
# Figure -> how many lines it has.
_COUNTS = {
  "hendrycks_f3": 2 * 7,
  "hendrycks_f4": 2 * 7,
  "hendrycks_f6": 4 * 5,
  "schiappa_f1": 11,
  "schiappa_f6": 2 * 11 * 3 * 2,
  "shankar_f3": 335 + 45,
  "shankar_t5": 45,
  "shankar_t6": 60,
}


def _rows(name: str) -> list[tuple[str, ...]]:
  """Lines of a file beside this one, without why they are so."""
  listed = shared_data.lines(pathlib.Path(__file__).with_name(name))
  return [tuple(line.values())[:-1] for line in listed]


def _words(drawn: base.Drawn) -> list[str]:
  """What is written below a figure or table, and at its axes."""
  table = drawn.table.caption if drawn.table else ""
  axes = drawn.figure.axes if drawn.figure else []
  at_axes = [w for ax in axes for w in (ax.get_xlabel(), ax.get_title())]
  return [*drawn.foot, table, *at_axes]


def figure(name: str) -> base.PaperFigure:
  (one,) = figures.select(name)
  return one


def _is_whole(one: base.PaperFigure, asked: base.Request) -> bool:
  """Whether pictures are drawn: of one of a kind, with runs where it takes them."""
  return one.name in _WHOLE and bool(asked.boards or not one.tasks)


class FiguresTest(parameterized.TestCase):
  def folder(self) -> pathlib.Path:
    return pathlib.Path(self.create_tempdir().full_path)

  def test_they_say_what_they_are(self):
    listing = figures.listing()
    silent = [
      one.name
      for one in figures.figures()
      if not (one.title and one.source and one.name in listing)
      or (one.needs_runs and not one.tasks)
    ]
    self.assertEmpty(silent)

  @parameterized.parameters(*_KINDS)
  def test_is_drawn_from_printed_numbers_or_says_what_it_needs(self, _, name):
    self.check_drawn(figure(name))

  @pytest.mark.slow
  def test_pixels_of_all(self):
    for name in _NAMES:
      with self.subTest(name), mock.patch(f"{__name__}._is_whole"):
        self.check_drawn(figure(name))

  def draw(self, one, asked, folder) -> list[pathlib.Path]:
    """Draws a figure and what stands apart; of most the pictures are none."""
    with contextlib.ExitStack() as stack:
      if not _is_whole(one, asked):
        stack.enter_context(without_pictures.drawn())
      return [f for p, of in one.parts(asked) for f in p.draw(of, folder)]

  def check_drawn(self, one: base.PaperFigure) -> None:
    folder = self.folder()
    words = "none was given" if one.needs_runs else "missing: --"
    if one.needs_runs or one.needs_folders:
      with self.assertRaisesRegex(errors.UserError, words):
        one.draw(_PAPER, folder)
      self.assertEmpty(list(folder.iterdir()))
      return
    files = self.draw(one, _PAPER, folder)
    self.assertCountEqual(
      [p.name for p in files], [p.name for p in folder.iterdir()]
    )
    self.check_files(one, folder)

  @quick.cases(
    [n for n in _WITH_RUNS if n in _WHOLE],
    [n for n in _WITH_RUNS if n not in _WHOLE],
  )
  def test_runs_are_added(self, name):
    """Under names that are no formula, no markup and no mathematics."""
    one, folder, run = figure(name), self.folder(), self.folder()
    (run / "reports").mkdir()
    for file in ("natural_gallery.png", "action_strips.png"):
      pixels = np.zeros((4, 6, 3), np.uint8)
      Image.fromarray(pixels).save(run / "reports" / file)
    evil = (contexts.EVIL, "=1+1", "c")
    changes = {"models": evil}
    if name == "schiappa_f6":  # over whole kinds of perturbations
      changes["names"] = conditions.VIDEOS.names("common")
    asked = boards.request(one.tasks[0], run, **changes)
    if name == "michaelis_f6":  # over the RMSE of a set
      (board,) = asked.boards
      board = dataclasses.replace(board, dataset="pascal_c")
      asked = dataclasses.replace(asked, boards=[board])
    self.draw(one, asked, folder)
    self.check_files(one, folder)
    texts = [path.read_text("utf-8") for path in folder.glob("*.csv")]
    self.assertIn("own run made_up", "".join(texts))
    self.assertNotIn("\n=1+1", "".join(texts))
    for path in folder.glob("*.md"):
      self.assertNotIn("<script", path.read_text("utf-8"))

  def check_files(self, one: base.PaperFigure, folder: pathlib.Path) -> None:
    """A CSV that names sources, a picture or a table; all with its name."""
    suffixes = {p.suffix for p in folder.iterdir()}
    for path in folder.iterdir():
      self.assertStartsWith(path.name, one.name)
      self.assertGreater(path.stat().st_size, 0)
    self.assertIn(".csv", suffixes)
    self.assertTrue({".png", ".md"} & suffixes)
    with open(folder / f"{one.name}.csv", encoding="utf-8") as file:
      head, *cells = csv.reader(file)
    self.assertIn("source", head)
    self.assertNotEmpty(cells)
    for line in cells:
      self.assertLen(line, len(head))
      self.assertNotEmpty(line[head.index("source")])

  @parameterized.parameters(*_TABLES.items())
  def test_every_printed_number_is_there_and_no_other(self, name, of):
    rows = printed.table(*of)
    cells = [c for line in lines.of(name) for c in line.values()]
    got = [c for c in cells if isinstance(c, (int, float))]
    ends = [e for r in rows for e in (r.lo, r.hi) if e is not None]
    self.assertCountEqual(got, [*(r.value for r in rows), *ends])

  @parameterized.parameters(*_ALONE)
  def test_doubtful_numbers_are_marked_and_said(self, name):
    drawn = figure(name).drawn(_PAPER)
    cells = (cell for line in drawn.numbers.lines for cell in line)
    is_marked = any(isinstance(cell, sheet.Marked) for cell in cells)
    self.assertEqual(is_marked, name in _DOUBTFUL)
    caption = drawn.table.caption if drawn.table else ""
    words = " ".join([*drawn.foot, caption])
    self.assertEqual("oubtful" in words, is_marked or name == "shankar_f3")

  def test_a_mark_stands_in_both_files(self):
    folder = self.folder()
    figure("schiappa_t3").draw(_PAPER, epath.Path(folder))
    text = (folder / "schiappa_t3.md").read_text()
    self.assertIn("| 0.90 | 0.67\u2020 | 0.77 |", text)
    (x3d,) = [
      line
      for line in csv.DictReader((folder / "schiappa_t3.csv").open())
      if line["model"] == "X3D"
    ]
    self.assertIn("gamma_r blur", x3d["doubtful"])

  @parameterized.parameters(*_rows("numbers.tsv"))
  def test_numbers(self, name, asked, where, heading, expected):
    cells = [
      cell.partition("=")[::2] for cell in filter(None, where.split("; "))
    ]
    got = [
      line[heading]
      for line in lines.of(name, _REQUESTS[asked])
      if all(line[k] == v or str(line[k]) == v for k, v in cells)
    ]
    shown = [x if isinstance(x, str) else f"{x:.6g}" for x in got]
    self.assertEqual(shown, expected.split())

  @parameterized.parameters(*_rows("texts.tsv"))
  def test_texts(self, name, asked, words):
    folder = self.folder()
    self.draw(figure(name), _REQUESTS[asked], folder)
    texts = [path.read_text("utf-8") for path in folder.glob("*.md")]
    self.assertIn(words, "".join(texts))

  @parameterized.parameters((0, 1.0), (4, 1.0), (10, 0.0))
  def test_the_scheme_of_pm_k_agrees_with_the_metric(self, k, expected):
    shown = [x for x in lines.of("shankar_f9") if x["frame"] != "left out"]
    frame = np.array([x["offset"] for x in shown])
    right = np.array([x["frame"] == "right" for x in shown])
    group = np.array(["anchor"] * len(shown))
    value = pm_k.accuracy(right, group, frame, k=k)["acc_pmk"][0]
    self.assertEqual(value, expected)

  def test_frames_of_before_the_review_are_asked_for(self):
    request = boards.request("frames")
    for one in request.scored:
      one.side.columns = lambda _: {"frame": np.zeros(6)}
    with self.assertRaisesRegex(errors.UserError, "config.data.config=all"):
      lines.of("shankar_f2", request)

  def test_frames_left_out_are_drawn_in_whole_videos(self):
    widths = []
    for anchors in (1, 2):
      columns = {
        "frame": np.tile([0, 1], 60 * anchors),
        "reviewed": np.tile(np.arange(120) % 6 != 1, anchors),
        "group_id": np.tile(
          np.repeat([f"v{i}" for i in range(60)], 2), anchors
        ),
      }
      request = boards.request("frames")
      for one in request.scored:
        one.side.columns = lambda _, c=columns: c
      line = lines.of("shankar_f2", request)[0]
      self.assertAlmostEqual(float(line["share left out"]), 1 / 3)
      widths.append(float(line["hi"]) - float(line["lo"]))
    self.assertGreater(widths[1] / widths[0], 0.9)  # sqrt(1 / 2) of 120 trials

  @parameterized.parameters(
    ("shankar_f6", "frames", "two models or more"),
    ("schiappa_f10", "video", "cannot.* needs .* UCF101-DS"),
  )
  def test_runs_without_the_numbers_are_refused(self, name, task, words):
    with self.assertRaisesRegex(errors.UserError, words):
      lines.of(name, _bare(task))

  @parameterized.parameters("hendrycks_t1", "hendrycks_f3", "schiappa_f3")
  def test_a_run_without_a_number_is_refused(self, name):
    (_, apart) = figure(name).parts(_bare(figure(name).tasks[0]))
    with self.assertRaisesRegex(errors.UserError, "have none of its numbers"):
      apart[0].draw(apart[1], self.folder())

  @quick.cases(
    [n for n in _PRINTED if n in _WHOLE],
    [n for n in _PRINTED if n not in _WHOLE],
  )
  def test_printed_numbers_and_runs_of_other_data_are_apart(self, name):
    one = figure(name)
    board = boards.board(one.tasks[0])
    first, *apart = one.parts(base.Request(boards=[board]))
    self.assertEqual([part.name for part, _ in apart], [f"{name}_{board.key}"])
    for part, asked in (first, *apart):
      try:
        drawn = part.drawn(asked)
      except errors.UserError:
        continue
      place = drawn.numbers.headings.index("source")
      ours = {str(c[place]).startswith("own run") for c in drawn.numbers.lines}
      self.assertEqual(ours, {not asked.printed})
      if not asked.printed:
        words = " ".join(_words(drawn))
        words = words.replace("comparable with the printed numbers", "")
        self.assertNotRegex(words, "[Pp]rinted|Doubtful|implied")

  @parameterized.parameters(
    ({}, 1),
    ({"codec": "raw"}, 2),
    ({"examples": 5000}, 2),
    ({"split": "train"}, 2),
    ({"edition": None}, 2),
  )
  def test_runs_of_the_protocol_stand_beside_the_printed(self, facts, parts):
    board = boards.beside(boards.normalised("classification"), "imagenet_c")
    entries = [
      dataclasses.replace(e, data={**e.data, **facts}) for e in board.entries
    ]
    board = dataclasses.replace(board, entries=entries)
    for name in ("hendrycks_t1", "hendrycks_f3", "hendrycks_f5"):
      listed = figure(name).parts(base.Request(boards=[board]))
      self.assertLen(listed, parts)
      numbers = listed[0][0].drawn(listed[0][1]).numbers
      place = numbers.headings.index("source")
      sources = " ".join(str(line[place]) for line in numbers.lines)
      self.assertEqual("own run made_up" in sources, parts == 1)

  @parameterized.parameters(3782, 3783)
  def test_pixels_that_the_authors_drew_once_may_differ(self, examples):
    """Of all of split 1 too, of which the authors left one video out."""
    board = boards.beside(boards.board("video"), "ucf101_p")
    entries = [
      dataclasses.replace(e, data={**e.data, "examples": examples})
      for e in board.entries
    ]
    board = dataclasses.replace(board, entries=entries)
    listed = figure("schiappa_f1").parts(base.Request(boards=[board]))
    self.assertLen(listed, 1)
    drawn = listed[0][0].drawn(listed[0][1])
    foot = " ".join(drawn.foot)
    self.assertIn("is of another protocol: pixels", foot)
    self.assertIn("of 3,782 of split 1's 3,783 videos", foot)

  @parameterized.parameters(*_COUNTS.items())
  def test_lines(self, name, count):
    self.assertLen(lines.of(name), count)


class RegistryTest(parameterized.TestCase):
  def test_select(self):
    self.assertEqual(figures.select("all"), list(figures.figures()))
    names = [f.name.partition("_")[0] for f in figures.select("shankar")]
    self.assertEqual(set(names), {"shankar"})
    self.assertEqual(figure("shankar_t5").stem, "t5")

  @parameterized.parameters("shankr_t5", "", "figure 5")
  def test_an_unknown_name_lists_the_known(self, name):
    with self.assertRaisesRegex(errors.UserError, "Known: all, .* --list"):
      figures.select(name)
