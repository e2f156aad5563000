"""The command: what it does with its flags, end to end on small runs."""

import html
import shutil

from absl import flags
from absl.testing import parameterized

from eval import leaderboard
from robust_tfds import errors
from tests import in_folder, in_process, shared_data
from tests.eval.compare import small_runs, task_runs


def _settings(**given) -> flags.FlagValues:
  values = flags.FlagValues()
  for name in ("out", "site", "check", "own_data"):
    flags.DEFINE_string(name, None, "", flag_values=values)
  for name in ("export", "trained_on", "corruptions_seen"):
    flags.DEFINE_multi_string(name, [], "", flag_values=values)
  flags.DEFINE_integer("rerun", 0, "", flag_values=values)
  flags.DEFINE_integer("rerun_seed", None, "", flag_values=values)
  values.mark_as_parsed()
  for name, value in given.items():
    setattr(values, name, value)
  return values


def _cell(run, label, config="fog_3"):
  """The predictions of a cell of a run."""
  folder = run / "cells" / label / "digits_c" / config
  (path,) = folder.glob("seed*/predictions.npz")
  return path


class FlagsTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, [], "one thing at a time"),
    ({"check": "x"}, ["run"], "one thing at a time"),
    ({"check": "x", "export": ["y"]}, [], "one thing at a time"),
    ({"rerun": 2}, ["run"], "--rerun needs --check"),
    ({"check": "x", "rerun_seed": 0}, [], "--rerun_seed needs --rerun=K"),
    ({"check": "x", "own_data": "y"}, [], "--own_data needs --rerun=K"),
    ({"export": ["x"]}, [], "needs --out"),
    ({"trained_on": ["a=b"]}, ["run"], "--trained_on needs --export"),
    ({"check": "x", "site": "y"}, [], "--site needs RUNs"),
  )
  def test_what_does_not_go_together(self, given, runs, words):
    with self.assertRaisesRegex(errors.UserError, words):
      leaderboard._check(_settings(**given), runs)

  def test_what_is_said_of_labels(self):
    said = leaderboard._parse_by_label(
      ["a=ImageNet-1k", "b=x = y"], "trained_on"
    )
    self.assertEqual(said, {"a": "ImageNet-1k", "b": "x = y"})
    for stated, words in (
      (["a"], "expected LABEL=WORDS"),
      (["=x"], "expected LABEL=WORDS"),
      (["a= "], "expected LABEL=WORDS"),
      (["a=x", "a=y"], "named twice"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        leaderboard._parse_by_label(stated, "trained_on")


class CommandTest(in_folder.TestCase):
  def test_two_runs(self):
    one = small_runs.write(self.root / "one", {"a": 0.1, "b": 0.3})
    two = small_runs.write(
      self.root / "two",
      {"a": 0.2, "b": 0.3},
      seed=1,
      of_models={"a": {"weights": "2" * 64}},
    )
    out, site = self.root / "out", self.root / "site"
    done = in_process.program(
      "eval.leaderboard", one, two, f"--out={out}", f"--site={site}"
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("a (one)", done.stdout)
    rows = shared_data.lines(out / "digits-c.csv")
    self.assertEqual(
      [(r["model"], r["seed"], r["rank"]) for r in rows],
      [
        ("a (one)", "0", "1"),
        ("a (two)", "1", "2"),
        ("b (one)", "0", "3"),
        ("b (two)", "1", "3"),
      ],
    )
    pages = list(site.rglob("*.html"))
    self.assertGreaterEqual(len(pages), 3)
    self.assertTrue((site / "index.html").exists())

  def test_a_board_does_not_die_of_one_entry(self):
    runs = [
      small_runs.write(
        self.root / name,
        {"a": 0.1 + i / 20, "b": 0.3},
        seed=i,
        names=None if i < 2 else ["fog"],
      )
      for i, name in enumerate(("whole", "model", "note", "config", "cell"))
    ]
    _cell(runs[1], "a").write_bytes(b"no archive")
    (_cell(runs[2], "a").parent / "provenance.json").write_text("{")
    (runs[3] / "config.json").write_text("[1, 2")
    shutil.rmtree(runs[4] / "cells")
    out, site = self.root / "out", self.root / "site"
    done = in_process.run(
      leaderboard, *map(str, runs), "/no/such", f"--out={out}", f"--site={site}"
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    rows = shared_data.lines(out / "digits-c.csv")
    self.assertEqual(
      [(r["model"], r["rank"]) for r in rows],
      [("a", "1"), ("b (whole)", "2"), ("b (model)", "2")],
    )
    page = html.unescape((site / "index.html").read_text())
    aside = shared_data.lines(out / "aside.csv")
    self.assertEqual(
      {(r["run"], r["model"]) for r in aside},
      {
        ("model", "a"),
        ("note", ""),
        ("config", ""),
        ("cell", ""),
        ("/no/such", ""),
      },
    )
    for row in aside:
      self.assertIn(f"{row['run']}: {row['reason']}", done.stdout)
      self.assertIn(row["reason"], page)

  def test_nothing_is_left(self):
    run = small_runs.write(self.root / "run", {"a": 0.1}, names=["fog"])
    _cell(run, "a").write_bytes(b"no archive")
    done = in_process.run(leaderboard, str(run))
    in_process.check_refused(self, done, "a on digits_c, run run: ")

  def test_groups_of_other_names_and_other_groups(self):
    for name, groups, named in (
      *(("one", 12, "g"), ("renamed", 12, "z"), ("other", 6, "g")),
    ):
      task_runs.video(
        self.root / name, 0.9, label=name, groups=groups, named=named
      )
    out = self.root / "out"
    folders = [str(self.root / name) for name in ("one", "renamed", "other")]
    done = in_process.run(leaderboard, *folders, f"--out={out}")
    self.assertEqual(done.returncode, 0, done.stderr)
    boards = shared_data.lines(out / "boards.csv")
    self.assertEqual(
      [r["title"][:24] for r in boards],
      [f"ucf101_p: groups {r['groups'][:7]}" for r in boards],
    )
    both = shared_data.lines(out / "ucf101-p.csv")
    names = [n for n in both[0] if n.endswith(("_lo", "_hi"))]
    one, renamed = both[:2]
    self.assertEqual({one["model"], renamed["model"]}, {"one", "renamed"})
    self.assertEqual([one[n] for n in names], [renamed[n] for n in names])

  def test_a_folder_that_is_no_run(self):
    done = in_process.run(
      leaderboard, str(self.root), f"--out={self.root / 'out'}"
    )
    in_process.check_refused(self, done, "is no workdir")
    self.assertFalse((self.root / "out").exists())
