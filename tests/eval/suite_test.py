"""The suite: several runs, one page and one CSV; what is not here is left out."""

import csv
import pathlib

import jax
from absl.testing import absltest, parameterized
from etils import epath

import models
from eval import suite as command
from eval.run import suite
from models import weights_file
from robust_tfds import errors
from tests import in_process


def _weights(folder: pathlib.Path) -> str:
  file = epath.Path(folder) / "weights.npz"
  weights_file.write(file, models.get("digits_bn").init(jax.random.key(0)))
  return str(file)


class SuiteTest(absltest.TestCase):
  def test_two_models_a_missing_set_and_again(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    weights, out = _weights(folder), epath.Path(folder / "out")
    entries = [suite.Entry("digits_bn", weights, label) for label in "ab"]
    steps = ["imagenet_c", "digits_c", "digits_c+bn", "digits_c+eata"]
    options = {"limit": 4, "conditions": ("contrast",), "severities": (1,)}

    def run():
      return suite.Suite(entries, steps, out, options)

    outcomes = run().run()
    self.assertEqual(
      [(o.entry.label, o.step.name, bool(o.rows)) for o in outcomes],
      [
        ("a", "imagenet_c", False),
        ("a", "digits_c", True),
        ("a", "digits_c+bn", True),
        ("a", "digits_c+eata", False),
        ("b", "imagenet_c", False),
        ("b", "digits_c", True),
        ("b", "digits_c+bn", True),
        ("b", "digits_c+eata", False),
      ],
    )
    self.assertIn("Wrong label space", outcomes[0].reason)
    self.assertIn("eata needs clean pictures", outcomes[3].reason)
    with open(out / "suite.csv") as file:
      rows = list(csv.DictReader(file))
    self.assertEqual(
      {(r["step"], r["model"]) for r in rows},
      {(s, m + s[8:].replace("+", " ")) for s in steps[1:3] for m in "ab"},
    )
    page = (out / "index.html").read_text()
    self.assertIn("Left out", page)
    self.assertIn('href="a/digits_c+bn/reports/report.html"', page)
    self.assertTrue((out / outcomes[1].report).exists())
    # One run of both, and two conditions of it and its twin.
    cells = sorted(pathlib.Path(out).glob("*/digits_c+bn/cells/**/*.npz"))
    self.assertLen(cells, 2 * 4)
    before = [path.stat().st_mtime_ns for path in cells]
    table = (out / "suite.csv").read_bytes()
    again = run()
    again.write_timm(again.run())
    self.assertEqual([path.stat().st_mtime_ns for path in cells], before)
    self.assertEqual((out / "suite.csv").read_bytes(), table)
    head, *lines = (out / "timm" / "digits_c.csv").read_text().splitlines()
    self.assertStartsWith(head, "model,top1,top1_err,top5,top5_err,param_count")
    self.assertEqual([line.split(",")[0] for line in lines], ["a", "b"])
    plan = list(run().describe())
    self.assertLen(plan, 6)
    self.assertIn("left out: ", plan[0])
    self.assertIn("a, digits_c+eata: left out: ", plan[1])
    self.assertIn(
      "a, digits_c, digits_c+bn: 2 conditions; work: 4 examples a cell", plan[2]
    )

  def test_plan_downloads_nothing(self):
    out = epath.Path(self.create_tempdir().full_path)
    entries = [suite.Entry("resnet50", "torchvision:x", "a")]
    (line,) = suite.Suite(entries, ["imagenet_a"], out, {}).describe()
    self.assertEqual(
      line,
      "a, imagenet_a: 7,500 images in the set; not prepared: a run lets TFDS"
      " download it",
    )

  def test_files_that_several_sets_read_are_said(self):
    sets = ["cifar10_c", "cifar10_c+bn", "cifar10_p"]
    out = epath.Path(self.create_tempdir().full_path)
    (line,) = suite.Suite([], sets, out, {}).describe()
    self.assertStartsWith(
      line, "cifar-10-binary.tar.gz is read 2 times a model: cifar10_c, cifar"
    )


class ListTest(absltest.TestCase):
  def test_broken_lines_are_said_and_the_others_stay(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    file = folder / "models.csv"
    file.write_text('resnet50\n# no\na,x\n\na,y\n"b,x\na,y,c\n')
    entries = suite.read_models(file)
    self.assertEqual([e.label for e in entries if not e.problem], ["a", "c"])
    broken = {e.label: e.problem for e in entries if e.problem}
    for number, words in (
      (1, "got 'resnet50', expected NAME,CHECKPOINT"),
      (5, "the label a is there already"),
      (6, "not CSV: unexpected end"),
    ):
      self.assertIn(words, broken[f"line {number} of models.csv"])
    plan = suite.Suite(entries, ["digits_c"], epath.Path(folder), {}).describe()
    self.assertStartsWith(next(plan), "line 1 of models.csv: left out: got")
    file.write_text("# nothing\n")
    with self.assertRaisesRegex(errors.UserError, "it names no model"):
      suite.read_models(file)


class RefusalsTest(parameterized.TestCase):
  def test_steps_twice(self):
    with self.assertRaisesRegex(errors.UserError, "digits_c is named twice"):
      suite.Suite([], ["digits_c", "digits_c+"], epath.Path("/nowhere"), {})

  @parameterized.parameters(
    ((), "Say which models"),
    (("--model=x", "--models=y"), "Say which models"),
    (("--model=digits_cnn", "--sets=imagenet_c"), "Nothing could be run"),
  )
  def test_command(self, arguments, words):
    out = self.create_tempdir().full_path
    done = in_process.run(command, f"--out={out}/suite", *arguments)
    self.assertNotEqual(done.returncode, 0)
    self.assertIn(words, done.stderr)
