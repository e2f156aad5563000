"""The door of `eval.figures`."""

from absl.testing import parameterized

from eval import figures
from tests import in_folder, in_process
from tests.eval.compare import small_runs


class FiguresTest(in_folder.TestCase):
  @parameterized.parameters([[]], [["--list"]])
  def test_what_there_is(self, arguments):
    done = in_process.run(figures, *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("shankar_t5", done.stdout)
    self.assertIn("data: ", done.stdout)

  def test_one_is_drawn(self):
    done = in_process.program(
      "eval.figures", "shankar_t5", f"--out={self.root}"
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertTrue((self.root / "shankar_t5.csv").exists())
    self.assertIn("shankar_t5.md", done.stdout)

  def test_a_run_of_other_data_stands_apart(self):
    run = small_runs.write(
      self.root / "run", {"a": 0.1, "b": 0.3}, baseline="model:b"
    )
    out = self.root / "out"
    for name in ("hendrycks_t1", "hendrycks_f3"):
      done = in_process.run(figures, name, f"--out={out}", str(run))
      self.assertEqual(done.returncode, 0, done.stderr)
      printed = (out / f"{name}.csv").read_text()
      apart = (out / f"{name}_digits-c.csv").read_text()
      self.assertIn("ResNet-50", printed)
      self.assertNotIn("own run", printed)
      self.assertNotIn("ResNet-50", apart)
      self.assertIn("own run run, digits_c", apart)
      self.assertIn("of other data than the printed numbers", done.stdout)
    text = (out / "hendrycks_t1_digits-c.md").read_text()
    heading, *_ = text.splitlines()
    self.assertStartsWith(
      heading,
      "# Not comparable with the printed numbers: own runs over digits\\_c",
    )

  def test_a_run_that_cannot_be_read_is_set_aside(self):
    run = small_runs.write(self.root / "run", {"a": 0.1}, names=["fog"])
    broken = small_runs.write(self.root / "broken", {"a": 0.1}, names=["fog"])
    (broken / "config.json").write_text("{")
    arguments = ("shankar_t5", f"--out={self.root / 'out'}")
    done = in_process.run(figures, *arguments, str(run), str(broken))
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("set aside: broken: ", done.stdout)
    done = in_process.run(figures, *arguments, str(broken))
    in_process.check_refused(self, done, "config.json")

  @parameterized.parameters(
    (["shankr_t5", "--out=x"], "Did you mean 'shankar_t5'"),
    (["shankar_t5"], "--out is missing"),
    (["shankar_t5", "--out=x", "/no/such/run"], "/no/such/run"),
    (["shankar_t5", "--out=x", "--reference=moon"], "reference"),
    (["michaelis_f4", "--out=x"], "missing: --clean and --stylized."),
    (["michaelis_f4", "--out=x", "--clean=/no", "--stylized=/no"], "no such"),
  )
  def test_refusals_in_words(self, arguments, words):
    in_process.check_refused(self, in_process.run(figures, *arguments), words)
