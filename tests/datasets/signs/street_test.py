"""Streets with signs: functions of their ids, told apart by their signs alone."""

import hashlib

import numpy as np
from absl.testing import absltest

from robust_tfds.datasets.signs import signs_dataset_builder as signs
from robust_tfds.datasets.signs import street


class StreetTest(absltest.TestCase):
  def test_pixels_stay(self):
    scenes = [s.picture.read() for s in signs.sources("test")[:24]]
    # Made on x86-64 with NumPy 2; every machine must give them.
    self.assertEqual(
      hashlib.sha256(np.stack(scenes).tobytes()).hexdigest(),
      "12d6627a23115ad96af07f119068e4aee188e716e4bb5028e0af3de247b4517c",
    )

  def test_a_scene_is_its_id_and_its_sign(self):
    first = street.draw("test_0000", "stop")
    np.testing.assert_array_equal(street.draw("test_0000", "stop"), first)
    other_sign = street.draw("test_0000", "parking")
    other_place = street.draw("test_0001", "stop")
    # The street around a sign is the id's.
    np.testing.assert_array_equal(other_sign[:, :2], first[:, :2])
    self.assertTrue((other_sign != first).any())
    self.assertTrue((other_place[:, :2] != first[:, :2]).any())

  def test_every_two_signs_differ_at_a_glance(self):
    scenes = {n: street.draw("test_0003", n).astype(int) for n in street.SIGNS}
    for name, scene in scenes.items():
      for other in set(scenes) - {name}:
        differ = (abs(scene - scenes[other]).max(axis=-1) > 40).mean()
        self.assertGreater(differ, 0.004, f"{name}, {other}")


class SplitsTest(absltest.TestCase):
  def test_as_many_of_each_class_and_none_in_both(self):
    for split, count in signs.COUNTS.items():
      labels = np.array(list(signs.labels(split).values()))
      self.assertLen(labels, count)
      self.assertEqual(set(np.bincount(labels)), {count // len(signs.CLASSES)})
    self.assertEmpty(set(signs.labels("train")) & set(signs.labels("test")))
