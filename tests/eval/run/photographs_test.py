"""Photographs under corruption, of a network that is installed or not."""

import types
from unittest import mock

import jax
import numpy as np
from absl.testing import absltest

from eval.run import photographs
from robust_tfds import errors, models


def _daisies(variables, pictures):
  del variables
  return 4.0 * jax.nn.one_hot(np.full(len(pictures), 985), 1000)


class PhotographsTest(absltest.TestCase):
  def test_label_and_score_at_every_severity(self):
    model = types.SimpleNamespace(
      spec=models.get("efficientnet_lite0").spec,
      preprocess=lambda pictures: pictures,
      apply=_daisies,
    )
    loaded = types.SimpleNamespace(model=model, variables={})
    with (
      mock.patch.object(photographs.match, "load", return_value=loaded),
      mock.patch.object(photographs, "_CORRUPTIONS", ("brightness",)),
    ):
      shown = photographs.classified()
    titles = ["china.jpg, brightness 0-5", "flower.jpg, brightness 0-5"]
    self.assertEqual(list(shown), titles)
    for pictures in shown.values():
      # e^4 of e^4 and 999 ones
      self.assertEqual([words for _, words in pictures], ["daisy 5%"] * 6)
      means = [picture.mean() for picture, _ in pictures]
      self.assertEqual(means, sorted(means))
      self.assertEqual(pictures[0][0].shape, (224, 224, 3))

  def test_nothing_where_it_is_not_installed(self):
    lacks = errors.MissingPackageError("no weights")
    with mock.patch.object(photographs.match, "load", side_effect=lacks):
      self.assertEqual(photographs.classified(), {})
