"""Fields of protobuf messages are found without parsing what they hold."""

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.reading import protobuf


class ProtobufTest(parameterized.TestCase):
  def test_fields_of_every_kind(self):
    parts = (
      b"\x08\x96\x01",  # 1: the number 150
      b"\x11" + bytes(8),  # 2: eight bytes
      b"\x1a\x03abc",  # 3: text
      b"\x25" + bytes(4),  # 4: four bytes
      b"\xa2\x06\x00",  # 100: empty
    )
    fields = list(protobuf.fields(memoryview(b"".join(parts))))
    self.assertEqual([f.number for f in fields], [1, 2, 3, 4, 100])
    self.assertEqual([bytes(f.whole) for f in fields], list(parts))
    self.assertEqual(
      [f.value for f in fields], [b"", bytes(8), b"abc", bytes(4), b""]
    )
    self.assertEqual([f.integer for f in fields], [150] + [None] * 4)

  def test_whole_numbers_in_a_row(self):
    packed = memoryview(b"\x03\x96\x01\x00")
    self.assertEqual(list(protobuf.integers(packed)), [3, 150, 0])

  @parameterized.parameters(
    (b"\x1a\x05abc", "ends within a field"),
    (b"\x11abc", "ends within a field"),
    (b"\x0b", "byte 0 begins no field"),
    (b"\x08\xff", "no whole number"),
    (b"\xff" * 11, "no whole number"),
    (b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "ends within a field"),
  )
  def test_damaged(self, data, reason):
    with self.assertRaisesRegex(errors.UserError, reason):
      list(protobuf.fields(memoryview(data)))
