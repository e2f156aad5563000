"""Numbers as pages and reports show them."""

import math

from absl.testing import parameterized

from eval.cells.number import Number
from eval.metrics.definitions import Metric
from eval.tables import numbers

_RATE = Metric("error", "Error")
_PLAIN = Metric("nll", "NLL", percent=False)


class NumbersTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.2391, "23.9"),
    (1.0, "100.0"),
    (0.00351, "0.35"),
    (0.0, "0.0"),
    (-0.031, "−3.1"),
    (-0.0000001, "0.00"),
    (None, "–"),
    (math.nan, "–"),
    (math.inf, "–"),
  )
  def test_rates_are_in_percent(self, value, text):
    self.assertEqual(numbers.text(_RATE, Number(value)), text)

  @parameterized.parameters(
    (4.774, "4.77"), (0.01234, "0.0123"), (123.4, "123"), (12345.0, "12345")
  )
  def test_others_have_three_digits(self, value, text):
    self.assertEqual(numbers.text(_PLAIN, Number(value)), text)

  def test_ends_have_the_digits_of_the_value(self):
    number = Number(0.106, 0.0951, 0.117)
    self.assertEqual(numbers.interval(_RATE, number), "9.5–11.7")
    self.assertEqual(numbers.interval(_RATE, Number(0.1)), "")
    self.assertEqual(numbers.interval(_RATE, Number(0.1, 0.0)), "")
    self.assertEqual(numbers.with_unit(_RATE, number), "10.6 % (9.5–11.7)")

  def test_an_end_that_is_no_number_is_no_interval(self):
    number = Number(0.1, math.nan, 0.2)
    self.assertIsNone(numbers.ends(number))
    self.assertEqual(numbers.exact(number), "0.1")

  def test_exact(self):
    self.assertEqual(numbers.exact(Number(0.1, 0.05, 0.15)), "0.1 0.05 0.15")
    self.assertEqual(numbers.exact(None), "")

  def test_with_ends(self):
    for form, text in (
      (numbers.DASH, "50.0 (40.0–60.0)"),
      (numbers.BRACKETS, "50.0 [40.0, 60.0]"),
      (numbers.WORDS, "50.0 (40.0 to 60.0)"),
    ):
      shown = numbers.with_ends(numbers.percent, 0.5, 0.4, 0.6, form)
      self.assertEqual(shown, text)
    for ends in ((None, None), (0.4, None), (math.nan, 0.6)):
      self.assertEqual(numbers.with_ends(numbers.percent, 0.5, *ends), "50.0")
    self.assertEqual(numbers.with_ends(numbers.percent, math.nan, 0, 1), "-")

  @parameterized.parameters(
    (0.0333, "3.3"), (0.0996, "10"), (0.239, "24"), (1.131, "113"), (None, "–")
  )
  def test_short(self, value, text):
    self.assertEqual(numbers.short(_RATE, Number(value)), text)

  def test_headings_have_the_unit(self):
    self.assertEqual(numbers.heading(Metric("e", "error")), "Error, %")
    self.assertEqual(numbers.heading(Metric("a", "pm-0")), "pm-0, %")
    self.assertEqual(numbers.heading(_PLAIN), "NLL")
