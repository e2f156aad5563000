"""Table 4: T5D of every perturbation."""

from robust_tfds import conditions
from robust_tfds.eval.report.figures.parts import condition_table


class Table4(condition_table.ConditionTable):
  """Top-5 distances of printed networks and of runs."""

  title = "Table 4: clean error, mT5D, and T5D of every perturbation"
  source = "eval/papers: Table 4"
  tasks = ("sequences",)
  table = "table4"
  mean = ("mt5d", "mT5D")
  detail = "t5d"
  family = conditions.SEQUENCES
