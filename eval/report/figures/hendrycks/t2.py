"""Table 2: relative CE of every corruption."""

from robust_tfds import conditions
from robust_tfds.eval.report.figures.parts import condition_table


class Table2(condition_table.ConditionTable):
  """Relative corruption errors of printed networks and of runs."""

  title = (
    "Table 2: clean error, relative mCE, and relative CE of every corruption"
  )
  source = "eval/papers: Table 2"
  tasks = ("classification",)
  table = "table2"
  mean = ("relative_mce", "relative mCE")
  detail = "relative_ce"
  family = conditions.PICTURES
