"""VOC's XML as objects, and its folders as sources."""

import pathlib

from absl.testing import parameterized

from robust_tfds.building.sources import voc


def _object(name="dog", box=(5, 7, 14, 7), more="") -> str:
  sides = "".join(
    f"<{side}>{value}</{side}>"
    for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=False)
  )
  return f"<object><name>{name}</name><bndbox>{sides}</bndbox>{more}</object>"


def _xml(*objects: str) -> bytes:
  return f"<annotation>{''.join(objects)}</annotation>".encode()


class ObjectsTest(parameterized.TestCase):
  def test_twenty_classes_in_the_devkits_order(self):
    self.assertLen(voc.CLASSES, 20)
    self.assertEqual(list(voc.CLASSES), sorted(voc.CLASSES))

  def test_boxes_count_from_zero_and_include_their_last_pixel(self):
    part = "<part><name>head</name></part>"
    data = _xml(
      _object(more=part),
      _object("person", (1.0, 1, 1, 1), "<difficult>1</difficult>"),
    )
    dog, person = voc.objects_of(data, 12, "x")
    self.assertEqual((dog.box, dog.area), ((4, 6, 10, 1), 10))
    self.assertEqual((dog.id, dog.label), (12_001, 11))
    self.assertEqual(person.box, (0, 0, 1, 1))
    self.assertEqual((dog.is_difficult, person.is_difficult), (False, True))
    self.assertEqual((person.id, person.mask), (12_002, None))

  @parameterized.parameters(
    (b"<annotation>", "x: not XML"),
    (b"", "x: not XML"),
    (b"<html><body>404</body></html>", "x: the first element is <html>"),
    (
      b"<!DOCTYPE a [<!ENTITY b 'c'>]><annotation/>",
      "x: declares a document type",
    ),
    (
      _xml("<objects>" + _object() + "</objects>"),
      "x: an <object> lies inside another element",
    ),
    (_xml(_object(more=_object())), "x: an <object> lies inside"),
    (_xml(*[_object()] * 1000), "x: 1000 objects"),
    (
      _xml(_object(more="<bndbox><xmin>3</xmin></bndbox>")),
      "object 1: bndbox is there 2 times",
    ),
    (_xml(_object(more="<name>cat</name>")), "object 1: name is there 2 times"),
    (_xml(_object(box=(9, 2, 3, 4))), "object 1: xmin, .* are 9, 2, 3, 4"),
    (_xml(_object(box=(2, 9, 3, 4))), "object 1: xmin, .* are 2, 9, 3, 4"),
    (_xml(_object(box=(1, 2, "inf", 4))), "xmax must be a number, got 'inf'"),
    (_xml(_object(box=(1, 2, "nan", 4))), "object 1: xmax must be a number"),
    (_xml(_object(box=(1, 2, "1_0", 4))), "object 1: xmax must be a number"),
    (_xml(_object(box=(1, 2, "1e30", 4))), "object 1: xmax must be a number"),
    (
      _xml(_object(more="<difficult>maybe</difficult>")),
      "object 1: difficult must be a number, got 'maybe'",
    ),
    (_xml(_object(more="<difficult>2</difficult>")), "difficult is 0 or 1"),
    (_xml(_object(more="<difficult>-1</difficult>")), "0 or 1, got -1"),
    (_xml(_object(more="<difficult></difficult>")), "must be a number, got ''"),
    (_xml(_object(box=("", 2, 3, 4))), "xmin must be a number, got ''"),
    (_xml(_object(box=(1, 2, "1e400", 4))), "must be a number, got '1e400'"),
    (_xml("<object><name>car</name></object>"), "xmin must be .*, got None"),
    (b"<annotation>" + _xml(_object()) + b"</annotation>", "lies inside anot"),
    (b"<annotation>" * 65 + b"</annotation>" * 65, "x: .* more than 64 deep"),
    (b'{"object": []}', "x: not XML"),
    *(
      (_xml(_object(name)), f"x, object 1: class '{shown}' is not one of")
      for name, shown in (
        ("cat and dog", "cat and dog"),
        ("", ""),
        ("CAR", "CAR"),
        ("&lt;b&gt;", "<b>"),
      )
    ),
    (_xml(_object("dogs")), "x, object 1: class 'dogs' is not one of VOC's 20"),
    (_xml(_object(box=(1, 2, 3))), "object 1: ymax must be a number, got None"),
    (_xml(_object(), _object(box=(1, 2, "?", 4))), "object 2: xmax .* got '.'"),
  )
  def test_refuses(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      voc.objects_of(data, 12, "x")


class SourcesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    manual = pathlib.Path(self.create_tempdir().full_path)
    self.root = manual / "VOCdevkit" / "VOC2007"
    for folder in ("ImageSets/Main", "JPEGImages", "Annotations"):
      (self.root / folder).mkdir(parents=True)
    self.manual = manual

  def _write(self, listed: str, *numbers: int) -> None:
    (self.root / "ImageSets/Main/test.txt").write_text(listed)
    for n in numbers:
      (self.root / f"JPEGImages/{n:06d}.jpg").write_bytes(b"x")
      (self.root / f"Annotations/{n:06d}.xml").write_bytes(_xml(_object()))

  def test_the_listed_ones_by_id(self):
    self._write("000005\n000002\n", 2, 3, 5)
    one, two = voc.sources(self.manual)
    self.assertEqual((one.example_id, one.image_id), ("000002.jpg", 2))
    self.assertEqual(two.annotation.objects_in((99, 99))[0].id, 5001)

  @parameterized.parameters(
    ("000002\n000002\n", "every image once; twice: 000002"),
    ("", "is empty"),
    ("2\n", "six digits"),
    ("../../1\n", "'../../1' is not an id of six digits"),
    ("\u0660\u0660\u0660\u0660\u0660\u0662\n", "six digits"),
    ("\0000002\n", "NUL"),
  )
  def test_refuses_lists(self, listed, message):
    self._write(listed, 2)
    with self.assertRaisesRegex(ValueError, message):
      voc.sources(self.manual)

  def test_a_picture_that_is_not_there(self):
    self._write("000002\n000003\n", 2)
    with self.assertRaisesRegex(FileNotFoundError, "no JPEGImages/000003.jpg"):
      voc.sources(self.manual)
