"""Pieces of the slow tests: every test in one, of about the same time."""

import pathlib
import re

from absl.testing import parameterized

from tests import in_process, long

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# A mark, and below it what makes the cases of the same test.
_LOST = re.compile(
  r"@pytest\.mark\.(?:(?!\bdef |\bclass ).)*?\n *@(?:parameterized|quick)\.",
  re.DOTALL,
)


class PieceTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 3, 7, 40)
  def test_every_test_is_in_one_piece_in_order(self, count):
    tests = [f"t{i}" for i in range(20)]
    known = {f"t{i}": float(i) for i in range(0, 20, 2)}
    pieces = [long.piece(tests, known, i, count) for i in range(1, count + 1)]
    self.assertEqual(sum(pieces, []), tests)

  def test_pieces_take_about_the_same_time(self):
    known = {"long": 60.0, **{f"t{i}": 1.0 for i in range(60)}}
    first = long.piece(list(known), known, 1, 2)
    self.assertEqual(first, ["long"])

  def test_without_times(self):
    self.assertEqual(long.piece(["a", "b", "c", "d"], {}, 2, 2), ["c", "d"])

  @parameterized.parameters("0/3", "4/3", "1", "a/b")
  def test_refusals(self, text):
    done = in_process.program("tests.long", f"--piece={text}")
    self.assertEqual(done.returncode, 2)
    self.assertIn("expected i/n", done.stderr)


class MarksTest(parameterized.TestCase):
  def test_none_stands_above_cases(self):
    """They are made below it and do not have it: `parameterized` loses it."""
    lost = [
      str(path.relative_to(_ROOT))
      for path in sorted((_ROOT / "tests").rglob("*_test.py"))
      if _LOST.search(path.read_text("utf-8"))
    ]
    self.assertEmpty(lost, "put the mark below the cases")

  @parameterized.parameters(
    ("@pytest.mark.slow", "@parameterized.parameters(1)", True),
    ("@pytest.mark.skipif(\n  x)", "@a.b\n  @quick.cases([1], [2])", True),
    ("@parameterized.parameters(1)", "@pytest.mark.slow", False),
    ("@pytest.mark.slow\n  def f(): pass", "@quick.cases([1], [2])", False),
  )
  def test_is_found(self, first, second, lost):
    text = f"  {first}\n  {second}\n  def g(): pass"
    self.assertEqual(bool(_LOST.search(text)), lost)
