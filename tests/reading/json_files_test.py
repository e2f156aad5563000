"""JSON and its schemas: the place or the field at fault is named."""

import math
import pathlib

import pydantic
from absl.testing import absltest, parameterized

from robust_tfds import errors, reading


class Box(pydantic.BaseModel):
  id: int
  bbox: list[float] = pydantic.Field(min_length=4, max_length=4)


class File(pydantic.BaseModel):
  boxes: list[Box]


class JsonFilesTest(parameterized.TestCase):
  def test_reads(self):
    path = pathlib.Path(self.create_tempdir().full_path, "a.json")
    path.write_text('{"a": [1, NaN, "é"]}', "utf-8")
    content = reading.json_file(path)["a"]
    self.assertTrue(content[0] == 1 and math.isnan(content[1]))
    self.assertEqual(content[2], "é")

  @parameterized.parameters(
    ("", "empty"),
    ("{", "line 1, column 2: not JSON"),
    ("[" * 100_000 + "]" * 100_000, "nested too deep"),
    ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deep"),
    ('{"id": 1, "id": 2}', "'id' stands twice"),
    ("<html></html>", "not JSON"),
    ("9" * 5000, "not JSON"),
  )
  def test_refuses(self, text, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.json: .*{words}"):
      reading.json_text(text, "a.json")

  def test_a_record_that_fits(self):
    value = {"boxes": [{"id": 3, "bbox": [0, 0.5, 1, 2]}]}
    self.assertEqual(reading.records(value, File, "a.json").boxes[0].id, 3)

  @parameterized.parameters(
    (
      {"boxes": [{"id": 1.5, "bbox": [0] * 4}]},
      "boxes.0.id: got 1.5, expected",
    ),
    ({"boxes": [{"id": True, "bbox": [0] * 4}]}, "boxes.0.id: got True"),
    ({"boxes": [{"id": "1", "bbox": [0] * 4}]}, "boxes.0.id: got '1'"),
    ({"boxes": [{"id": 1, "bbox": [0] * 3}]}, "boxes.0.bbox: got"),
    ({"boxes": [{"id": 1}]}, "boxes.0.bbox: missing"),
    ({"boxes": None}, "boxes: got None"),
    ([], "got \\[\\]"),
  )
  def test_a_record_that_does_not(self, value, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.json: {words}"):
      reading.records(value, File, "a.json")


if __name__ == "__main__":
  absltest.main()
