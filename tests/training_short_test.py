"""What docs/TRAINING.md says in short is what its tables show, and no more."""

import re

from absl.testing import absltest

from tools import (
  training_measures,
  training_runs,
  training_short,
  training_table,
)
from tools.training_differences import Comparison, Difference

_BETTER, _WORSE = Difference(-3.0, 0.5), Difference(3.0, 0.5)
_SILENT = Difference(-1.0, 2.0)


def _text(*comparisons: Comparison) -> str:
  """Of pictures, each network's comparisons at equal steps."""
  lines = [
    x
    for x in training_runs.stored("pictures")
    if x.row in ("standard", "augmix")
  ]
  compared = {x.network: ([x], []) for x in comparisons}
  return " ".join(
    "".join(
      training_short.text({"pictures": lines}, {"pictures": compared})
    ).split()
  )


def _comparison(network: str, **cells: Difference) -> Comparison:
  names = training_measures.told("pictures")
  every = {name: cells.get(name, _SILENT) for name in names}
  return Comparison(network, "augmix", "standard", every)


class ShortTest(absltest.TestCase):
  def test_where_it_is_shown(self):
    text = _text(
      _comparison("digits_cnn", noise=_BETTER, blur=_WORSE),
      _comparison("digits_resnet", noise=_BETTER, weather=_BETTER),
    )
    self.assertIn(
      "at equal steps better in noise (both), in weather (digits_resnet),"
      " worse in blur (digits_cnn).",
      text,
    )

  def test_what_all_networks_show(self):
    text = _text(
      _comparison("digits_cnn", noise=_BETTER, blur=_WORSE),
      _comparison("digits_resnet", noise=_BETTER, blur=_BETTER),
    )
    self.assertIn(
      "All networks show, at equal gradients: better in noise `augmix`.", text
    )

  def test_opposite_signs_are_not_both(self):
    text = _text(
      _comparison("digits_cnn", noise=_BETTER),
      _comparison("digits_resnet", noise=_WORSE),
    )
    self.assertIn(
      "better in noise (digits_cnn), worse in noise (digits_resnet)", text
    )

  def test_what_the_digits_may_explain_is_not_said(self):
    """Clean +.93 ± .80 over three seeds is ± 1.27 with the chance of 359 digits."""
    network = "digits_resnet"
    chance = _comparison(network, clean=Difference(0.93, 0.80), mCE=_WORSE)
    self.assertIn("Nothing is shown of `augmix`.", _text(chance))
    told = training_table.text(
      {k: training_runs.stored(k) for k in training_runs.KINDS}
    )
    short, _, tables = told.partition("### How it was measured")
    row = "| `one noise: gaussian_noise` | **+0.93 ± 0.80** |"
    self.assertIn(row, tables)
    (sentence,) = re.findall(r"- `one noise.*?\.\n", short, re.DOTALL)
    self.assertNotIn("worse in clean", " ".join(sentence.split()))
    self.assertNotIn("as more", told)

  def test_nothing(self):
    text = _text(_comparison("digits_cnn"), _comparison("digits_resnet"))
    self.assertIn("Nothing is shown of `augmix`.", text)

  def test_fine_tuning_stands_beside_as_many_steps(self):
    rows = {}
    for line in training_runs.stored("pictures"):
      if line.network == "digits_cnn":
        rows.setdefault(line.row, []).append(line)
    lines = [
      x for r in ("standard", "standard x 2", "finetune") for x in rows[r]
    ]
    cells = _comparison("digits_cnn", mean=_BETTER).cells
    found = Comparison("digits_cnn", "finetune", "standard x 2", cells)
    compared = {"digits_cnn": ([], [found])}
    text = training_short.text({"pictures": lines}, {"pictures": compared})
    self.assertIn("`finetune` (6.6 for 6.6)", "".join(text))

  def test_held_out_is_said_where_it_is_another_number(self):
    same = _comparison("digits_cnn", mean=_BETTER, **{"held out": _BETTER})
    self.assertNotIn("held out", _text(same))
    other = _comparison("digits_cnn", **{"held out": _BETTER})
    self.assertIn("better in held out", _text(other))


if __name__ == "__main__":
  absltest.main()
