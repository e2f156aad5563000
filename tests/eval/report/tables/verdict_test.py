"""The verdict: a sentence a model, of every task, whole or in part."""

from absl.testing import parameterized

from eval import tasks
from eval.cells import table
from eval.tables import verdict
from robust_tfds import conditions
from tests.eval.report.reports import contexts


def _row(metric, value, name="", level=None, config=""):
  return table.Row("m", "d", config, name, level, metric, value)


def _cell(metric, value, condition):
  return _row(metric, value, condition.name, condition.level, condition.config)


def _sentence(task, *rows) -> str:
  of = tasks.get(task)
  (sentence,) = verdict.sentences(of.facts, of.family, rows)
  return sentence


def _errors(*conditions_and_values):
  return [
    _cell("error", value, conditions.Condition(*condition))
    for condition, value in conditions_and_values
  ]


class VerdictTest(parameterized.TestCase):
  def test_the_whole_benchmark(self):
    cells = [
      _cell("error", 0.738 if c.config == "contrast_5" else 0.1, c)
      for c in conditions.PICTURES.conditions()
    ]
    means = _row("clean_error", 0.025), _row("mean_corruption_error", 0.0637)
    self.assertEqual(
      _sentence("classification", *cells, *means),
      "m: 2.5 % wrong clean, 6.4 % under 15 corruptions; worst: contrast 5"
      " (73.8 %)",
    )

  def test_a_part_says_of_what(self):
    cells = _errors(((), 0.1), (("fog", 3), 0.2), (("shot_noise", 1), 0.4))
    rows = _row("clean_error", 0.1), _row("part_mean_corruption_error", 0.3)
    self.assertEqual(
      _sentence("classification", *cells, *rows),
      "m: 10.0 % wrong clean, 30.0 % under shot noise 1, fog 3; worst: shot"
      " noise 1 (40.0 %)",
    )

  def test_many_conditions_are_counted(self):
    names = conditions.PICTURES.names("common")[::2]
    cells = _errors(*(((name, 1), 0.5) for name in names))
    rows = [_row("part_mean_corruption_error", 0.5)]
    said = _sentence("classification", *cells, *rows)
    self.assertIn("50.0 % under 8 of 75 conditions;", said)

  def test_levels_of_each(self):
    names = conditions.PICTURES.names("common")
    cells = _errors(
      *(((name, level), 0.5) for name in names for level in (1, 3))
    )
    rows = [_row("part_mean_corruption_error", 0.5)]
    said = _sentence("classification", *cells, *rows)
    self.assertIn("50.0 % under 15 corruptions at levels 1, 3;", said)

  def test_clean_alone_is_not_called_clean(self):
    rows = *_errors(((), 0.25)), _row("clean_error", 0.25)
    self.assertEqual(_sentence("classification", *rows), "m: 25.0 % wrong")

  def test_a_missing_mean_and_a_single_condition(self):
    cells = _errors((("fog", 3), 0.2))
    nothing = _row("mean_corruption_error", float("nan"))
    said = _sentence("classification", *cells, nothing)
    self.assertEqual(said, "m: none of its numbers could be had")

  def test_sequences_are_of_the_first_difficulty(self):
    rows = [_row("mfr", value, level=i) for i, value in ((1, 0.7), (2, 0.9))]
    self.assertEqual(_sentence("sequences", *rows), "m: mFR 70.0 %")

  def test_where_more_is_better_the_least_is_the_worst(self):
    cells = [
      _cell("accuracy", v, conditions.VIDEOS.condition("jumbling", i))
      for i, v in ((1, 0.6), (2, 0.3))
    ]
    rows = *cells, _row("gamma_r", 0.8), _row("clean_accuracy", 0.9)
    said = _sentence("video", *rows)
    self.assertStartsWith(said, "m: 90.0 % right clean, gamma_r 80.0 % under ")
    self.assertEndsWith(said, "; worst: jumbling 2 (30.0 %)")

  @parameterized.parameters(*contexts.FACTS)
  def test_a_sentence_a_model(self, task):
    context = contexts.of_task(task)
    self.assertLen(context.verdict, len(context.models))
    for model, sentence in zip(context.models, context.verdict):
      self.assertRegex(sentence, rf"^{model}: .*\d %")
