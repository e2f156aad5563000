"""What looks copied, and what does not; more in tests/eval/forgeries."""

import numpy as np
from absl.testing import absltest

from robust_tfds.conditions import PICTURES
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.submissions import copies
from tests.eval.compare import small_runs


def _cell(label, name):
  facts = small_runs.model_facts(label)
  return Cell(label, "mine", PICTURES.parse(name), model_facts=facts)


def _columns(shift=0):
  top5 = np.arange(20)[:, None] + np.arange(5) + shift
  return {"top5": top5.astype(np.int32)}


class CopiesTest(absltest.TestCase):
  def _lines(self, *cells, truth=None):
    seen = copies.Copies(truth)
    for cell, columns in cells:
      seen.add(cell, columns)
    return seen.lines

  def test_equal_answers(self):
    a, b, fog = _cell("a", "clean"), _cell("b", "clean"), _cell("a", "fog_1")
    (line,) = self._lines((a, _columns()), (b, _columns()), (fog, _columns()))
    self.assertEndsWith(line, ": a clean and b clean, a clean and a fog_1")
    self.assertEmpty(self._lines((a, _columns()), (b, _columns(1))))

  def test_a_few_answers_changed(self):
    a, b, few, more = _cell("a", "clean"), _cell("b", "clean"), {}, {}
    for changed, count in ((few, 1), (more, 2)):
      changed["top5"] = _columns()["top5"]
      changed["top5"][:count] += 7
    (line,) = self._lines((a, _columns()), (b, few))
    self.assertIn("equal in nearly every row: a clean and b clean", line)
    self.assertEmpty(self._lines((a, _columns()), (b, more)))

  def test_pictures_without_a_box_are_no_copies(self):
    def boxes(seed):
      values = np.zeros((400, 3, 4), np.float32)
      values[:15] = np.random.default_rng(seed).random((15, 3, 4))
      return {"boxes": values, "classes": np.zeros((400, 3), int)}

    cells = _cell("a", "fog_4"), _cell("a", "fog_5")
    self.assertEmpty(self._lines(*zip(cells, (boxes(0), boxes(1)))))

  def test_what_is_no_copy(self):
    a, fog = _cell("a", "clean"), _cell("a", "fog_1")
    constant = {"top5": np.tile(np.arange(5), (20, 1))}
    self.assertEmpty(self._lines((a, constant), (fog, constant)))
    again = Cell("again", "mine", a.condition, model_facts=a.model_facts)
    self.assertEmpty(self._lines((a, _columns()), (again, _columns())))

  def test_weights_of_one_network_under_the_name_of_another(self):
    a = _cell("a", "clean")
    facts = a.model_facts.model_copy(update={"name": "digits_linear"})
    other = Cell("other", "mine", a.condition, model_facts=facts)
    (line,) = self._lines((a, _columns()), (other, _columns()))
    self.assertEndsWith(line, ": a clean and other clean")

  def test_boxes_of_the_truth(self):
    corners = np.arange(80, dtype=np.float32).reshape(20, 1, 4) ** 2
    columns = {
      "image_id": np.arange(20),
      "boxes": corners,
      "classes": np.zeros((20, 1), int),
    }
    boxes = corners[:, 0].tolist()
    truth = {
      "annotations": [
        {"image_id": i, "bbox": [x, y, r - x, b - y]}
        for i, (x, y, r, b) in enumerate(boxes)
      ]
    }
    (line,) = self._lines((_cell("a", "clean"), columns), truth=truth)
    self.assertEndsWith(line, "to the last bit in a clean (100%)")
    moved = {**columns, "boxes": corners + np.float32(0.5)}
    self.assertEmpty(self._lines((_cell("a", "clean"), moved), truth=truth))
