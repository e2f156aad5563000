"""The command: the card of a model, or why there is none."""

from absl.testing import absltest

from models import card
from robust_tfds import models
from tests import in_process


class CommandTest(absltest.TestCase):
  def test_prints_a_card(self):
    done = in_process.run(card, "digits_cnn")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertStartsWith(done.stdout, "digits_cnn: classification\n")

  def test_lists_the_names_of_a_pattern(self):
    done = in_process.run(card, "digits_*")
    self.assertEqual(done.stdout.split(), list(models.names("digits_*")))

  def test_refusals(self):
    for words, message in (
      (["resnet5"], "Error: Unknown model 'resnet5'. Did you mean"),
      (["nothing_*"], "Error: Unknown model 'nothing_*'."),
      ([], "Error: Name one model, e.g. resnet50. See --help."),
    ):
      in_process.check_refused(self, in_process.run(card, *words), message)
