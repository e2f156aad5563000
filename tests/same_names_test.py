"""Networks and conditions of two names are one."""

import dataclasses

from absl.testing import parameterized

from eval.papers import printed_rows
from tools import same_names


def row(paper: str, table: str, **fields: str) -> printed_rows.PrintedRow:
  """A row of a table with other fields."""
  rows = printed_rows.paper_rows(paper)
  first = next(r for r in rows if r.table == table)
  return dataclasses.replace(first, **fields)


class SameNamesTest(parameterized.TestCase):
  def test_a_board_calls_a_network_otherwise(self):
    fields = {"network": "ResNet-50 Baseline", "training": ""}
    of_board = row("hendrycks2019", "readme_imagenet_c", **fields)
    name = same_names.network(of_board, "imagenet_c")
    self.assertEqual(name, "ResNet-50")

  def test_a_network_by_data_set(self):
    one = row("shankar2021", "table2", network="ResNet-152", training="+ FT on")
    self.assertEqual(same_names.network(one, "ytbb_robust"), one.label)
    tuned = dataclasses.replace(one, training="+ FT on Youtube-BB")
    self.assertEqual(
      same_names.network(tuned, "ytbb_robust"), "resnet152_finetuned"
    )

  @parameterized.parameters(
    ("table7", "all", ""), ("table4", "all", "all"), ("table4", "reviewed", "")
  )
  def test_conditions_of_the_whole_set(self, table, name, condition):
    one = row("shankar2021", table, name=name)
    self.assertEqual(same_names.condition(one), condition)
