"""Lines of Tables 4 to 7 of Schiappa et al., and of runs."""

from absl.testing import parameterized

from eval.report.figures.parts import gammas, own
from tests.eval.report.figures import boards


class GammasTest(parameterized.TestCase):
  @parameterized.parameters(
    ("kinetics400_p", "R3D I3D SF X3D TF MViT"),
    ("ssv2_p", "I3D SF X3D TF"),
    (
      "ucf101_p",
      "R3D-S R3D-P I3D-S I3D-P SF-S SF-P X3D-S X3D-P MViT-S MViT-P TF-P",
    ),
  )
  def test_labels_are_the_papers(self, dataset, labels):
    listed = gammas.printed_networks(dataset)
    self.assertEqual([n.label for n in listed], labels.split())

  def test_a_printed_number(self):
    network = gammas.printed_networks("kinetics400_p")[0]
    self.assertEqual(network.value(*gammas.metric_key("gamma_r", "jpeg")), 0.91)
    self.assertEqual(
      network.value(*gammas.metric_key("gamma_a", "noise")), 0.71
    )
    # Table 2's Mean.
    self.assertAlmostEqual(
      gammas.group_mean(network, "gamma_a"), 0.85, delta=0.01
    )

  def test_of_runs(self):
    added = own.from_boards([boards.board("video"), boards.board("frames")])
    listed = gammas.run_networks(added)
    self.assertLen(listed, 2)
    number = added[0].number("gamma_r", "jumbling")
    self.assertEqual(listed[0].numbers["gamma_r", "jumbling"], number)
    self.assertIn(gammas.metric_key("gamma_a", "noise"), listed[0].numbers)

  def test_all_perturbations_in_order(self):
    names = gammas.names()
    self.assertLen(names, 18)
    self.assertEqual(names[0], ("noise", "gaussian_noise"))
