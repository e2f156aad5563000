"""Types of a stranger's settings; the campaign is in checker_test."""

from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.eval.cells.submissions import schema

_CONFIG = {"task": "video", "seed": 0, "data": {"name": "d"}}


class SchemaTest(parameterized.TestCase):
  @parameterized.parameters(
    {},
    {"models": ["a"]},
    {"models": {"a": {"name": "x", "train": {}}}, "of_later": 1},
    {"data": {"name": "d", "severities": 3, "limit": None, "of_later": 1}},
    {"data": {"name": "d", "corruptions": ["fog"], "severities": [1, 2]}},
  )
  def test_what_is_right(self, **settings):
    schema.check({**_CONFIG, **settings}, "c")

  @parameterized.parameters(
    ({"seed": "0"}, "seed"),
    ({"seed": True}, "seed"),
    ({"models": {"a": {"name": 3}}}, "models"),
    ({"model": {"label": "x"}}, "model.name: missing"),
    ({"data": {"name": "d", "views": 0}}, "data.views"),
    ({"data": {"name": "d", "severities": ["1"]}}, "data.severities"),
    ({"data": {"name": "d", "limit": -1}}, "data.limit"),
    ({"baseline": None}, "baseline"),
  )
  def test_what_is_not(self, settings, message):
    with self.assertRaisesRegex(errors.UserError, f"^c: {message}"):
      schema.check({**_CONFIG, **settings}, "c")


if __name__ == "__main__":
  absltest.main()
