"""Which texts are names of sources and which are paths; checks before a run."""

from unittest import mock

from absl.testing import parameterized

from models.convert import sources
from robust_tfds import errors
from tests.models.convert import checkpoints


class SourcesTest(checkpoints.Case):
  def test_paths_stay_paths(self):
    for name in ("weights.npz", "odd:name.npz", "hfx:a.npz"):
      path = self.npz({"a": checkpoints.np.ones(3)}, name)
      located = sources.locate(str(path))
      self.assertEqual((str(located.path), located.name), (str(path),) * 2)
      self.assertEqual(sources.locate(located), located)

  @parameterized.parameters(
    ("timm:resnet50", errors.UserError, "expected timm:NAME.TAG"),
    ("hf:resnet50", errors.UserError, "expected hf:OWNER"),
    ("https://h.org/a.npz", errors.UserError, "expected #sha256"),
    ("torchvision:ResNet50", errors.UserError, "Unknown torchvision weights"),
    ("package:not_there_xyz", errors.UserError, "pip install not_there_xyz"),
    ("/nowhere/a.npz", FileNotFoundError, "No checkpoint at /nowhere"),
  )
  def test_malformed_names_ask_no_network(self, text, error, words):
    with mock.patch.object(
      sources.download, "_opened", side_effect=AssertionError
    ):
      with self.assertRaisesRegex(error, words):
        sources.locate(text)

  def test_a_buckets_address_is_a_path(self):
    with mock.patch.object(sources.formats, "existing") as existing:
      sources.locate("hf://me/net/a.npz")
    existing.assert_called_once_with("hf://me/net/a.npz")
