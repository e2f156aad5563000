"""Lines of Tables 4 to 7 of Schiappa et al., and of runs."""

from absl.testing import absltest, parameterized

from robust_tfds.eval.report.figures.parts import gammas, own
from tests.eval.report.figures import boards


class GammasTest(parameterized.TestCase):
  @parameterized.parameters(
    ("kinetics400_p", 6), ("ssv2_p", 4), ("ucf101_p", 11), ("hmdb51_p", 11)
  )
  def test_every_printed_number(self, dataset, count):
    models = gammas.printed_models(dataset)
    self.assertLen(models, count)
    values = [line[4] for line in gammas.lines(models)]
    rows = gammas.printed_rows(dataset)
    self.assertCountEqual(values, [row.value for row in rows])

  def test_labels_are_the_papers(self):
    labels = [m.label for m in gammas.printed_models("ucf101_p")]
    self.assertEqual(labels[:3], ["R3D-S", "R3D-P", "I3D-S"])

  def test_a_printed_number(self):
    model = gammas.printed_models("kinetics400_p")[0]
    self.assertEqual(model.value("gamma_r", "jpeg"), 0.91)
    self.assertEqual(model.value("gamma_a", "noise"), 0.71)
    self.assertNotEqual(model.value("gamma_a", "fog"), 0)
    # Table 2's Mean.
    self.assertAlmostEqual(
      gammas.group_mean(model, "gamma_a"), 0.85, delta=0.01
    )

  def test_own_models(self):
    added = own.of([boards.board("video"), boards.board("frames")])
    models = gammas.own_models(added)
    self.assertLen(models, 2)
    number = added[0].number("gamma_r", "jumbling")
    self.assertEqual(models[0].numbers["gamma_r", "jumbling"], number)
    self.assertIn(("gamma_a", "noise"), models[0].numbers)

  def test_all_perturbations_in_order(self):
    names = gammas.names()
    self.assertLen(names, 18)
    self.assertEqual(names[0], ("noise", "gaussian_noise"))


if __name__ == "__main__":
  absltest.main()
