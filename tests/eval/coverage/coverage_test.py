"""The harness of coverage: it sees wrong intervals, and the page is its own."""

import pathlib
from collections.abc import Mapping
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized

from eval.metrics import intervals, rates
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent, page

_THRESHOLD = np.array([-0.4])
_CLUSTERED = latent.Design(50, 1.5)
_TOPICS = case_lib.topics()
_EVERY = [
  (f"{topic}_{number}", case)
  for topic, listed in _TOPICS.items()
  for number, case in enumerate(listed)
]


def _rate(interval) -> case_lib.Case:
  """The error of one cell of clustered examples."""

  def drawn(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = _CLUSTERED.draw(rng, _THRESHOLD)
    hits = wrong[:, 0]
    return {
      "error": case_lib.Interval(float(hits.mean()), *interval(hits, groups))
    }

  (truth,) = _CLUSTERED.errors(_THRESHOLD)
  return case_lib.Case("one cell", lambda: {"error": truth}, drawn)


def _alone(hits: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
  return intervals.clopper_pearson(int(hits.sum()), len(hits))


class HarnessTest(parameterized.TestCase):
  def test_the_truth_is_what_many_examples_say(self):
    thresholds = np.linspace(-1.2, 0.4, 5)
    for design in (
      latent.Design(9000),
      latent.Design(4000, 0.7, 2),
      latent.Design(4000, 0.7, harder=0.4),
    ):
      wrong, groups = design.draw(np.random.default_rng(0), thresholds)
      self.assertLen(np.unique(groups), design.groups)
      errors = design.errors(thresholds)
      np.testing.assert_allclose(wrong.mean(axis=0), errors, atol=0.02)

  def test_intervals_that_ignore_groups_are_seen(self):
    wrong = case_lib.run(_rate(_alone), 150)["error"]
    self.assertLess(wrong.coverage, 0.8)
    self.assertGreater(min(wrong.below, wrong.above), 5)
    right = case_lib.run(_rate(rates.interval), 150)["error"]
    self.assertBetween(right.coverage, 0.9, 0.99)

  def test_a_tally_counts_sides_and_what_has_no_interval(self):
    tally = case_lib.Tally(0.5)
    for lo, hi in ((0.4, 0.6), (0.1, 0.4), (0.6, 0.7), (None, None)):
      tally.add(case_lib.Interval(0.5, lo, hi))
    counts = tally.sets, tally.absent, tally.below, tally.above
    self.assertEqual(counts, (4, 1, 1, 1))
    self.assertAlmostEqual(tally.coverage, 1 / 3)

  @parameterized.named_parameters(
    (topic, listed[0]) for topic, listed in _TOPICS.items()
  )
  def test_the_first_case_of_a_topic_has_its_numbers(self, case):
    self.assertContainsSubset(
      case.truth(), case.intervals(np.random.default_rng(0))
    )

  @parameterized.named_parameters(*_EVERY)
  @pytest.mark.slow
  def test_intervals_cover_what_the_case_promises(self, case):
    sets = 100  # the page's are more
    for name, tally in case_lib.run(case, sets, seed=1).items():
      if tally.absent < tally.sets:
        lowest = case_lib.lowest(case.least, sets)
        self.assertGreaterEqual(tally.coverage, lowest, name)


class PageTest(parameterized.TestCase):
  def test_the_page_is_written_from_the_results(self):
    text = page.PAGE.read_text("utf-8")
    self.assertEqual(page.written(text, page.read()), text)

  def test_results_are_of_every_case_and_of_as_many_sets_as_it_says(self):
    sets = {
      (topic, case.data): case.sets
      for topic, listed in _TOPICS.items()
      for case in listed
    }
    results = page.read()
    self.assertEqual({key[:2] for key in results}, set(sets))
    for key, tally in results.items():
      self.assertGreaterEqual(tally.sets, sets[key[:2]], key)

  def test_what_is_on_the_page_keeps_what_its_case_promises(self):
    least = {
      (topic, case.data): case.least
      for topic, listed in _TOPICS.items()
      for case in listed
    }
    for key, tally in page.read().items():
      if tally.absent < tally.sets:
        lowest = case_lib.lowest(least[key[:2]], tally.sets)
        self.assertGreaterEqual(tally.coverage, lowest, key)

  def test_results_are_kept_and_read(self):
    place = self.create_tempdir()
    file = pathlib.Path(place.create_file("r.tsv", "head\n").full_path)
    doc = pathlib.Path(place.create_file("p.md").full_path)
    key = ("classification", "some data", "mCE")
    tally = case_lib.Tally(0.5, 40, 4, 1, 2, 0.25)
    with (
      mock.patch.object(page, "FILE", file),
      mock.patch.object(page, "PAGE", doc),
    ):
      page.keep({key: tally}, [key[:2]])
      self.assertEqual(page.read(), {key: tally})
      self.assertIn("| some data | 40 | 91.7 (2.8, 5.6)", doc.read_text())
