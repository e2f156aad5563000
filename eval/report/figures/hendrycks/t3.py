"""Table 3: FR of every perturbation."""

from robust_tfds import conditions
from robust_tfds.eval.report.figures.parts import condition_table


class Table3(condition_table.ConditionTable):
  """Flip rates of printed networks and of runs."""

  title = "Table 3: clean error, mFR, and FR of every perturbation"
  source = "eval/papers: Table 3"
  tasks = ("sequences",)
  table = "table3"
  mean = ("mfr", "mFR")
  detail = "fr"
  family = conditions.SEQUENCES
