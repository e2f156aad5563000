"""XML without entities, document types or depth."""

from absl.testing import absltest, parameterized

from robust_tfds import errors, reading

_BOMB = b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'
_FILE = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'


class XmlFilesTest(parameterized.TestCase):
  def test_reads(self):
    root = reading.xml_text(b"<a><b>1</b></a>", "a.xml")
    self.assertEqual(root.findtext("b"), "1")

  @parameterized.parameters(
    (b"", "not XML"),
    (b"<a><b></a>", "not XML"),
    (b"<!DOCTYPE html><html></html>", "document type"),
    (_BOMB, "document type"),
    (_FILE, "document type"),
    (b"<a>" * 65 + b"</a>" * 65, "deep"),
    (b"<a>" * 100_000 + b"</a>" * 100_000, "deep"),
    (b'<?xml version="1.0" encoding="klingon"?><a/>', "not XML"),
    (b"<a>\0</a>", "not XML"),
  )
  def test_refuses(self, data, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.xml: .*{words}"):
      reading.xml_text(data, "a.xml")


if __name__ == "__main__":
  absltest.main()
