"""The schema of cells; every column of every task is in submissions/values_test."""

import numpy as np
from absl.testing import parameterized

from eval.cells.files import columns as columns_lib
from robust_tfds import conditions, errors

_FOG = conditions.PICTURES.parse("fog_3")


def _columns(**changes) -> dict[str, np.ndarray]:
  ids = np.array(["a", "b"])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(2, np.int32),
    "label": np.zeros(2, np.int32),
    "top5": np.zeros((2, 5), np.int32),
    **changes,
  }


class ColumnsTest(parameterized.TestCase):
  def test_what_every_model_shares(self):
    of_model = {"top5", "score", "nll", "brier", "zipf", "boxes", "value"}
    self.assertNoCommonElements(columns_lib.OF_EXAMPLES, of_model)
    self.assertContainsSubset(
      _columns().keys() - of_model, columns_lib.OF_EXAMPLES
    )

  @parameterized.parameters(
    ({"zipf": np.zeros(2)}, "'zipf' is none of the task classification"),
    ({"boxes": np.zeros((2, 1, 4))}, "'boxes' is none of the task"),
    ({"top5": np.zeros(2, int)}, "top5: got int64 of shape.*of 2 dimensions"),
    ({"frame": np.array(["a", "b"])}, "frame: got <U1"),
    ({"label": np.zeros(2)}, "label: got float64 .* expected whole numbers"),
    ({"label": None}, "lacks the column 'label'"),
    ({"group_id": None}, "lacks the column 'group_id'"),
    ({"frame": None}, "lacks the column 'frame'"),
  )
  def test_refusals(self, changes, message):
    given = {k: v for k, v in _columns(**changes).items() if v is not None}
    with self.assertRaisesRegex(errors.UserError, f"^f.npz: .*{message}"):
      columns_lib.check("f.npz", given, "classification", _FOG)

  @parameterized.parameters(
    ("nll", -1e-3), ("brier", 2.1), ("flips", 1.1), ("t5d", 15.1),
    ("zipf", -1.5), ("linf", 1.1), ("value", 1.1),
  )  # fmt: skip
  def test_values_between_which_means_lie(self, name, wrong):
    good = np.array([0.0, 1, np.nan])
    columns_lib.check_ranges("f.npz", {name: good, "top5": good - 9})
    with self.assertRaisesRegex(
      errors.UserError, rf"^f\.npz: {name}: got {wrong:g}, expected numbers in"
    ):
      columns_lib.check_ranges("f.npz", {name: np.append(good, wrong)})

  def test_forms_of_detections(self):
    for name, other in (("value", "boxes"), ("category_id", "value")):
      there = {name: np.zeros(1)}
      known = columns_lib.of_cell("detection", _FOG, there)
      self.assertIn(name, known)
      self.assertNotIn(other, known)
    self.assertIn("boxes", columns_lib.of_cell("detection", _FOG, {}))
