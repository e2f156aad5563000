"""The door of `eval.figures`."""

from absl.testing import parameterized

from robust_tfds.eval import figures
from tests import in_folder, in_process


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

  def test_a_refusal_of_the_program(self):
    done = in_process.program("eval.figures", "shankr_t5", "--out=x")
    in_process.check_refused(self, done, "Did you mean 'shankar_t5'")
