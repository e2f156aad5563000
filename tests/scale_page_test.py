"""docs/SCALE.md holds what `benchmarks/scale.py` calculates."""

import dataclasses

from absl.testing import absltest

from benchmarks import scale
from robust_tfds import conditions


class ScalePageTest(absltest.TestCase):
  def test_the_page_is_up_to_date(self):
    text = scale.PAGE.read_text(encoding="utf-8")
    self.assertEqual(
      scale.page(text), text, "run `python -m benchmarks.scale --write`"
    )

  def test_a_page_without_a_table_is_refused(self):
    with self.assertRaisesRegex(ValueError, "0 lines"):
      scale.page("")

  def test_conditions_are_those_of_the_benchmarks(self):
    pictures = conditions.PICTURES.select("all", conditions.SEVERITIES)
    videos = conditions.VIDEOS.select("all", conditions.SEVERITIES)
    self.assertEqual(
      [work.conditions for work in scale.WORKS],
      [len(pictures), 11, len(pictures), len(videos)],
    )

  def test_a_slower_stage_takes_longer(self):
    work, machine = scale.WORKS[0], scale.MACHINES[1]
    took = scale.times(work, machine)
    self.assertEqual(took.total, max(took.stages.values()))
    slow = dataclasses.replace(machine, flop_s=machine.flop_s / 10)
    self.assertGreater(scale.times(work, slow).total, 5 * took.total)
    on_cores = scale.times(work, scale.MACHINES[0])
    self.assertEqual(on_cores.total, sum(on_cores.stages.values()))


if __name__ == "__main__":
  absltest.main()
