"""`torchvision:` names: the table's address, its digits, its preprocessing."""

import dataclasses
import hashlib
from unittest import mock

from absl.testing import parameterized

from models.convert import match
from models.convert.sources import torchvision
from robust_tfds import errors
from robust_tfds.storage import paths
from tests.models.convert import checkpoints
from tests.models.convert.sources import local_server

_V2 = "torchvision:ResNet50_Weights.IMAGENET1K_V2"


class TorchvisionTest(local_server.Case):
  def test_fetched_from_the_tables_address(self):
    row = torchvision.parse(_V2)
    self.assertEqual(
      row.where, "https://download.pytorch.org/models/resnet50-11ad3fa6.pth"
    )
    data = local_server.npz_bytes(
      checkpoints.as_torch(checkpoints.drawn("resnet18"))
    )
    digits = hashlib.sha256(data).hexdigest()[:8]
    self.served.files = {f"/net-{digits}.npz": data}
    here = dataclasses.replace(
      row,
      name="torchvision:ResNet18_Weights.MINE",
      models=("resnet18",),
      where=f"{self.served.address}/net-{digits}.npz",
      sha256=digits,
    )
    rows = {here.name: here}
    hashed = mock.Mock(wraps=paths.sha256)
    with (
      mock.patch.object(torchvision.known, "named", rows.get),
      mock.patch.object(paths, "sha256", hashed),
    ):
      match.load("resnet18", here.name)  # fetched
      hashed.reset_mock()
      loaded = match.load("resnet18", here.name)
    hashed.assert_called_once()  # at every read, and no second time
    self.assertEqual(loaded.declared.doubt, "")
    self.assertEqual(
      loaded.declared.fields["resize_px"], 232
    )  # V2's, V1 has 256
    self.assertEqual(loaded.declared.origin, here.name)
    wrong = dataclasses.replace(here, sha256="00000000")
    place = self.folder / f"cache/checkpoints/torchvision/net-{digits}.npz"
    self.assertTrue(place.exists())
    with mock.patch.object(torchvision.known, "named", {wrong.name: wrong}.get):
      with self.assertRaisesRegex(errors.UserError, "expected 00000000"):
        match.load("resnet18", wrong.name)


class NameTest(parameterized.TestCase):
  def test_unknown_weights_name_near_ones(self):
    with self.assertRaisesRegex(errors.UserError, f"Did you mean '{_V2}'"):
      torchvision.parse("torchvision:Resnet50_Weights.IMAGENET1K_V2")
