"""Records, and the checksums of those that are signed."""

import hashlib

from absl.testing import absltest
from etils import epath

from robust_tfds import errors, records


class RecordsTest(absltest.TestCase):
  def test_of_all_but_itself(self):
    want = hashlib.sha256(b'{"a":[1,2],"b":"x"}').hexdigest()
    fields = {"b": "x", "a": [1, 2]}
    self.assertEqual(records.checksum(fields), want)
    fields["checksum"] = want
    self.assertEqual(records.checksum(fields), want)
    records.check(epath.Path("f.json"), fields)
    fields["b"] = "y"
    with self.assertRaisesRegex(errors.UserError, r"^f\.json: checksum: .*"):
      records.check(epath.Path("f.json"), fields)
