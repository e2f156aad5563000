"""The command: what it does with its flags, end to end on small runs."""

from absl import flags
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval import leaderboard
from tests import in_folder, in_process, shared_data
from tests.eval.compare import small_runs


def _settings(**given) -> flags.FlagValues:
  values = flags.FlagValues()
  for name in ("out", "site", "check"):
    flags.DEFINE_string(name, None, "", flag_values=values)
  for name in ("export", "trained_on", "corruptions_seen"):
    flags.DEFINE_multi_string(name, [], "", flag_values=values)
  flags.DEFINE_integer("rerun", 0, "", flag_values=values)
  values.mark_as_parsed()
  for name, value in given.items():
    setattr(values, name, value)
  return values


class FlagsTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, [], "one thing at a time"),
    ({"check": "x"}, ["run"], "one thing at a time"),
    ({"check": "x", "export": ["y"]}, [], "one thing at a time"),
    ({"rerun": 2}, ["run"], "--rerun is of --check"),
    ({"export": ["x"]}, [], "needs --out"),
    ({"trained_on": ["a=b"]}, ["run"], "--trained_on is of --export"),
    ({"check": "x", "site": "y"}, [], "--site is of RUNs"),
  )
  def test_what_does_not_go_together(self, given, runs, words):
    with self.assertRaisesRegex(errors.UserError, words):
      leaderboard._check(_settings(**given), runs)

  @parameterized.parameters(
    ({}, ["run"]),
    ({"out": "x"}, ["run", "run"]),
    ({"out": "x", "site": "y"}, ["run"]),
    ({"check": "x", "rerun": 3}, []),
    ({"export": ["x"], "out": "y"}, []),
  )
  def test_what_does(self, given, runs):
    leaderboard._check(_settings(**given), runs)

  def test_what_is_said_of_labels(self):
    said = leaderboard._by_label(["a=ImageNet-1k", "b=x = y"], "trained_on")
    self.assertEqual(said, {"a": "ImageNet-1k", "b": "x = y"})
    for stated, words in (
      (["a"], "expected LABEL=WORDS"),
      (["=x"], "expected LABEL=WORDS"),
      (["a= "], "expected LABEL=WORDS"),
      (["a=x", "a=y"], "named twice"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        leaderboard._by_label(stated, "trained_on")


class CommandTest(in_folder.TestCase):
  def test_two_runs(self):
    one = small_runs.write(self.root / "one", {"a": 0.1, "b": 0.3})
    two = small_runs.write(self.root / "two", {"a": 0.2, "b": 0.3}, seed=1)
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

  def test_a_folder_that_is_no_run(self):
    done = in_process.run(
      leaderboard, str(self.root), f"--out={self.root / 'out'}"
    )
    in_process.check_refused(self, done, "is no workdir")
    self.assertFalse((self.root / "out").exists())
