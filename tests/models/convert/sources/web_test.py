"""`https://...#sha256=...`: the hash is part of the name."""

import hashlib
import warnings

from absl.testing import parameterized

from models.convert.sources import web
from robust_tfds import errors, models
from tests.models.convert import checkpoints
from tests.models.convert.sources import local_server

_DIGITS = "ab" * 32


class WebTest(local_server.Case):
  def test_load(self):
    flat = checkpoints.drawn("digits_linear")
    data = local_server.npz_bytes({"/".join(p): a for p, a in flat.items()})
    self.served.files = {"/w/net.npz": data}
    digest = hashlib.sha256(data).hexdigest()
    address = f"{self.served.address}/w/net.npz"
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      for _ in range(2):
        got = models.convert.load("digits_linear", f"{address}#sha256={digest}")
        checkpoints.Case.same(self, got, flat)
    self.assertLen(self.served.requests, 1)
    with self.assertRaisesRegex(
      errors.UserError, f"got a file of sha256 {digest}, expected abab"
    ):
      models.convert.load("digits_linear", f"{address}#sha256={_DIGITS}")
    self.nothing_left()

  def test_offline(self):
    address = f"{self.served.address}/gone.npz#sha256={_DIGITS}"
    with self.assertRaisesRegex(
      errors.UserError,
      f"gone.npz: the server answers 404.*sha256 {_DIGITS}.*put it at"
      f" .*web/{_DIGITS}/gone.npz",
    ):
      models.convert.load("digits_linear", address)


class ParseTest(parameterized.TestCase):
  def test_parts(self):
    got = web.parse(f"https://u:p@h.org/a/b%20c.npz?x=1#sha256={_DIGITS}")
    self.assertEqual(got.file, "b_c.npz")
    self.assertEqual(got.address, "https://u:p@h.org/a/b%20c.npz?x=1")

  @parameterized.parameters(
    ("https://me:secret@h.org/a.npz", "a.npz: expected #sha256=.*sha256sum"),
    ("https://me:secret@h.org/a.npz#sha256=abcd", "and 64 digits"),
    ("https://me:secret@h.org/a.npz#md5=" + _DIGITS, "expected #sha256="),
    ("https://me:secret@h.org/a.zip#sha256=" + _DIGITS, "is of no checkpoint"),
    ("https://me:secret@h.org/#sha256=" + _DIGITS, "is of no checkpoint"),
    ("http://me:secret@h.org/a.npz#sha256=" + _DIGITS, "begins with https://"),
    (
      "https://[bad/a.npz#sha256=" + _DIGITS,
      "address of a checkpoint cannot be read",
    ),
    (
      "https://me:secret/1@h.org/a.npz",
      "address of a checkpoint cannot be read",
    ),
    ("https:/h.org/a.npz#sha256=" + _DIGITS, "begins with https://"),
  )
  def test_refusals(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words) as caught:
      models.convert.load("digits_linear", text)
    self.assertNotIn("secret", str(caught.exception))
