"""Table 1: CE of every corruption."""

from robust_tfds import conditions
from robust_tfds.eval.report.figures.parts import condition_table


class Table1(condition_table.ConditionTable):
  """Corruption errors of printed networks and of runs."""

  title = "Table 1: clean error, mCE, and CE of every corruption"
  source = "eval/papers: Table 1"
  tasks = ("classification",)
  table = "table1"
  mean = ("mce", "mCE")
  detail = "ce"
  family = conditions.PICTURES
