"""Figure 27: the orders are those of the perturbations."""

import pathlib

from absl.testing import absltest

from tests.eval.report.figures import lines


class Figure27Test(absltest.TestCase):
  def test_orders(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    orders: dict[tuple[str, str], list[int]] = {}
    for line in lines.of("schiappa_f27", folder):
      key = line["perturbation"], line["severity"]
      orders.setdefault(key, []).append(int(line["frame"]))
    self.assertLen(orders, 25)
    self.assertEqual(orders["sampling", "4"], [0, 16, 32, 48])
    self.assertEqual(orders["reverse_sampling", "4"], [48, 32, 16, 0])
    shuffled = orders["jumbling", "5"]
    self.assertCountEqual(shuffled, range(64))
    self.assertNotEqual(shuffled, list(range(64)))


if __name__ == "__main__":
  absltest.main()
