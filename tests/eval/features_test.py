"""The door of `robust-tfds features`, and the figures that are drawn from it."""

import csv

import pytest
from absl.testing import parameterized
from etils import epath

from eval import features, figures
from tests import in_folder, in_process
from tests.eval import tiny_runs
from tests.eval.cells import features_test


class FeaturesTest(in_folder.TestCase):
  def test_a_run_then_figures(self):
    run, kept = tiny_runs.folder("classification"), self.root / "kept"
    done = in_process.run(
      features,
      "--layers=conv1,conv3",
      "--conditions=clean,brightness_3",
      f"--out={kept}",
      str(run),
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("64 examples, channels: conv1", done.stdout)
    done = in_process.run(
      figures, "schiappa_f9_cka", f"--features={kept}", f"--out={self.root}"
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    lines = self.lines("schiappa_f9_cka")
    self.assertLen(lines, 4)  # two layers of two conditions
    self.assertBetween(float(lines[0]["cka"]), 0.5, 1.0)

  def test_cka_of_models_and_conditions(self):
    first = features_test.made()
    names = list(reversed(first.example_id.tolist()))
    for one in (
      first,
      features_test.made("blur_1", seed=1),
      features_test.made(run="other").select(names),
    ):
      one.write(epath.Path(self.root / "kept"))
    self.draw("schiappa_f9_cka")
    lines = self.lines("schiappa_f9_cka")
    self.assertLen(lines, 2 * 4)
    same = [x for x in lines if "other" in x["first"] + x["second"]]
    alike = {(x["layer"], x["other layer"]): float(x["cka"]) for x in same}
    # The same features in another order are matched by their examples.
    self.assertAlmostEqual(alike["deep", "deep"], 1)
    self.assertLess(abs(alike["deep", "shallow"]), 0.3)

  @pytest.mark.slow
  def test_neighbours(self):
    for name in ("clean", "blur_1"):
      features_test.made(name).write(epath.Path(self.root / "kept"))
    self.draw("schiappa_f18", "--classes=bow,cry")
    lines = self.lines("schiappa_f18")
    self.assertLen(lines, 2 * 40)
    self.assertEqual({x["class"] for x in lines}, {"bow", "cry"})
    self.assertEqual({x["layer"] for x in lines}, {"deep"})
    self.assertEqual({float(x["purity"]) for x in lines}, {1.0})
    self.draw("schiappa_f20", "--classes=bow,cry")  # seeded: the same picture
    again = self.lines("schiappa_f20")
    self.assertEqual([x["x"] for x in again], [x["x"] for x in lines])

  @parameterized.parameters(
    (["schiappa_f18", "--classes=bov"], "Known: bow, box, cry"),
    (["schiappa_f9_cka"], "two models or two conditions"),
  )
  def test_figures_refuse(self, arguments, words):
    features_test.made().write(epath.Path(self.root / "kept"))
    done = in_process.run(
      figures,
      *arguments,
      f"--features={self.root / 'kept'}",
      f"--out={self.root}",
    )
    in_process.check_refused(self, done, words)

  @parameterized.parameters(
    ([], "Expected --out=FOLDER and a RUN"),
    (["--out=o", "a/run", "b/run"], "Two runs have one name"),
    (["--out=o", "nowhere"], "nowhere"),
  )
  def test_refusals(self, arguments, words):
    done = in_process.run(features, *arguments)
    in_process.check_refused(self, done, words)

  def draw(self, name: str, *more: str) -> None:
    kept = self.root / "kept"
    done = in_process.run(
      figures, name, f"--features={kept}", f"--out={self.root}", *more
    )
    self.assertEqual(done.returncode, 0, done.stderr)

  def lines(self, name: str) -> list[dict[str, str]]:
    with open(self.root / f"{name}.csv", encoding="utf-8") as file:
      return list(csv.DictReader(file))
