"""Numbers as pages show them."""

import math

from absl.testing import absltest, parameterized

from robust_tfds.eval.compare.boards.board import Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import number_text

_RATE = Metric("error", "Error")
_PLAIN = Metric("nll", "NLL", percent=False)


class NumberTextTest(parameterized.TestCase):
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
    self.assertEqual(number_text.text(_RATE, Number(value)), text)

  @parameterized.parameters(
    (4.774, "4.77"), (0.01234, "0.0123"), (123.4, "123"), (12345.0, "12345")
  )
  def test_others_have_three_digits(self, value, text):
    self.assertEqual(number_text.text(_PLAIN, Number(value)), text)

  def test_ends_have_the_digits_of_the_value(self):
    number = Number(0.106, 0.0951, 0.117)
    self.assertEqual(number_text.interval(_RATE, number), "9.5–11.7")
    self.assertEqual(number_text.interval(_RATE, Number(0.1)), "")
    self.assertEqual(number_text.interval(_RATE, Number(0.1, 0.0)), "")
    self.assertEqual(number_text.with_unit(_RATE, number), "10.6 % (9.5–11.7)")

  def test_an_end_that_is_no_number_is_no_interval(self):
    number = Number(0.1, math.nan, 0.2)
    self.assertIsNone(number_text.ends(number))
    self.assertEqual(
      number_text.sort_cell(_RATE, number), '<td data-v="0.1">10.0'
    )

  def test_cells(self):
    number = Number(0.1, 0.05, 0.15)
    self.assertEqual(number_text.cell(_RATE, number), "<td>10.0<i>5.0–15.0</i>")
    self.assertEqual(
      number_text.sort_cell(_RATE, number),
      '<td data-v="0.1 0.05 0.15">10.0<i>5.0–15.0</i>',
    )
    self.assertEqual(number_text.sort_cell(_RATE, None), "<td>–")

  @parameterized.parameters(
    (0.0333, "3.3"), (0.0996, "10"), (0.239, "24"), (1.131, "113"), (None, "–")
  )
  def test_short(self, value, text):
    self.assertEqual(number_text.short(_RATE, Number(value)), text)

  def test_headings_have_the_unit(self):
    self.assertEqual(number_text.heading(Metric("e", "error")), "Error, %")
    self.assertEqual(number_text.heading(Metric("a", "pm-0")), "pm-0, %")
    self.assertEqual(number_text.heading(_PLAIN), "NLL")


if __name__ == "__main__":
  absltest.main()
