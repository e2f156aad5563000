"""Features on disk: what is written is read; other files are refused."""

import numpy as np
from etils import epath

from eval.cells.files import features
from robust_tfds import errors
from tests import in_folder


def made(
  condition: str = "clean", seed: int = 0, **changes
) -> features.Features:
  """Sixty examples of three classes that the deep layer tells apart."""
  rng, label = np.random.default_rng(seed), np.arange(60) % 3
  deep = rng.normal(size=(60, 4)) + 9 * np.eye(3, 4)[label]
  layers = {"shallow": rng.normal(size=(60, 5)), "deep": deep}
  fields = {
    "example_id": np.array([f"v{i}" for i in range(60)]),
    "label": label,
    "layers": {n: x.astype(np.float32) for n, x in layers.items()},
    "classes": ["bow", "box", "cry"],
  }
  fields |= {"run": "run", "model": "net", "condition": condition}
  return features.Features(**{**fields, **changes})


class FeaturesTest(in_folder.TestCase):
  def test_round_trip_clean_first(self):
    folder = epath.Path(self.root)
    for name in ("blur_1", "clean"):
      made(name).write(folder)
    clean, blur = features.read(folder)
    self.assertEqual([clean.condition, blur.condition], ["clean", "blur_1"])
    self.assertEqual(list(clean.layers), ["shallow", "deep"])
    np.testing.assert_array_equal(clean.layers["deep"], made().layers["deep"])
    self.assertEqual(clean.classes, ["bow", "box", "cry"])

  def test_rows_of_examples(self):
    one = made().select(np.array(["v40", "v2"]))
    self.assertEqual(one.label.tolist(), [1, 2])
    wanted = made().layers["deep"][[40, 2]]
    np.testing.assert_array_equal(one.layers["deep"], wanted)

  def test_refusals(self):
    folder = epath.Path(self.root)
    with self.assertRaisesRegex(errors.UserError, "no features. Record some"):
      features.read(folder)
    file = made().write(folder)
    np.savez(file, label=np.zeros(3))
    with self.assertRaisesRegex(
      errors.UserError, "as robust-tfds features writes"
    ):
      features.read(folder)
    file.write_bytes(b"cut")
    with self.assertRaisesRegex(errors.UserError, "clean.npz"):
      features.read(folder)
