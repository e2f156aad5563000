"""Pictures and folders of them."""

import io
import os
import pathlib
import struct
import zlib
from unittest import mock

import av
import numpy as np
import PIL
import tensorflow as tf
from absl.testing import absltest, parameterized
from PIL import Image, features

from robust_tfds import errors
from robust_tfds.reading import decoders, limits, picture_folders, pictures


def _rgb(width=40, height=30) -> Image.Image:
  rng = np.random.default_rng(0)
  levels = rng.integers(0, 256, (height // 5, width // 5, 3)).astype(np.uint8)
  return Image.fromarray(levels).resize((width, height))


def _bytes(picture: Image.Image, kind="PNG", **options) -> bytes:
  out = io.BytesIO()
  picture.save(out, kind, **options)
  return out.getvalue()


def _png(width, height, bits, color, data) -> bytes:
  """A PNG by hand: ISO/IEC 15948, sections 5.3 and 11.2."""
  header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
  chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(data)), (b"IEND", b""))
  out = b"\x89PNG\r\n\x1a\n"
  for kind, body in chunks:
    out += struct.pack(">I", len(body)) + kind + body
    out += struct.pack(">I", zlib.crc32(kind + body))
  return out


def _tiff(values: np.ndarray, bits: int, photometric: int) -> bytes:
  """A grey TIFF by hand: TIFF 6.0, section 8."""
  height, width = values.shape
  if bits == 12:
    pairs = values.reshape(-1, 2).astype(np.uint32)
    words = pairs[:, 0] << 12 | pairs[:, 1]
    data = b"".join(int(w).to_bytes(3, "big") for w in words)
  else:
    data = values.astype("<u2").tobytes()
  tags = (
    (256, 4, width),
    (257, 4, height),
    (258, 3, bits),
    (259, 3, 1),
    (262, 3, photometric),
    (273, 4, 8),
    (277, 3, 1),
    (278, 4, height),
    (279, 4, len(data)),
  )
  out = b"II\x2a\x00" + struct.pack("<I", 8 + len(data)) + data
  out += struct.pack("<H", len(tags))
  for tag, kind, value in tags:
    out += struct.pack("<HHII", tag, kind, 1, value)
  return out + bytes(4)


class PicturesTest(parameterized.TestCase):
  """Pictures from outside: every mode, format and fault at the one door."""

  @parameterized.product(
    mode=("1", "L", "P", "LA", "RGBA", "RGB", "CMYK", "YCbCr", "LAB"),
    kind=("PNG", "TIFF", "JPEG", "GIF", "BMP", "WEBP"),
  )
  def test_modes_of_8_bits_are_what_torchvision_loads(self, mode, kind):
    picture = _rgb()
    if mode == "LAB":
      picture = Image.merge("LAB", picture.split())
    else:
      picture = picture.convert(mode)
    try:
      data = _bytes(picture, kind)
    except (OSError, KeyError, ValueError):
      self.skipTest(f"{kind} holds no {mode}")
    with Image.open(io.BytesIO(data)) as image:
      expected = np.asarray(image.convert("RGB"))
    got = pictures.picture(data, "a")
    self.assertEqual(got.dtype, np.uint8)
    np.testing.assert_array_equal(got, expected)

  @parameterized.parameters("PNG", "TIFF", "PPM", "JPEG2000")
  def test_16_bit_grey_is_scaled(self, kind):
    values = np.linspace(0, 65535, 40 * 30).reshape(30, 40).astype(np.uint16)
    got = pictures.picture(_bytes(Image.fromarray(values), kind))
    expected = np.round(values / 257).astype(np.uint8)
    np.testing.assert_array_equal(got, np.stack([expected] * 3, axis=-1))

  @parameterized.parameters((16, 1), (16, 0), (12, 1))
  def test_the_range_of_a_tiff_is_its_own(self, bits, photometric):
    top = 2**bits - 1
    values = np.linspace(0, top, 40 * 30).reshape(30, 40).astype(np.uint16)
    got = pictures.picture(_tiff(values, bits, photometric))[..., 0]
    expected = np.round(values / top * 255)
    if not photometric:  # white is zero
      expected = 255 - expected
    np.testing.assert_array_equal(got, expected.astype(np.uint8))

  def test_16_bit_rgb_has_its_high_bytes(self):
    values = np.linspace(0, 65535, 40 * 30 * 3).reshape(30, 120).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in values)
    got = pictures.picture(_png(40, 30, 16, 2, rows))
    np.testing.assert_array_equal(got.reshape(30, 120), values >> 8)

  @parameterized.parameters(np.int32, np.float32)
  def test_values_without_a_range_are_refused(self, dtype):
    values = np.arange(1200).reshape(30, 40).astype(dtype)
    with self.assertRaisesRegex(
      errors.UserError, r"a\.tif: the values are of 32-bit.*0.* to 1199"
    ):
      pictures.picture(_bytes(Image.fromarray(values), "TIFF"), "a.tif")

  def test_exif_turns_nothing_by_itself(self):
    exif = Image.Exif()
    exif[274] = 6
    data = _bytes(_rgb(), "JPEG", exif=exif)
    self.assertEqual(pictures.picture(data).shape, (30, 40, 3))
    with pictures.opened(data) as image:
      number = pictures.orientation(image)
      turned = pictures.upright(pictures.rgb(image, "a"), number)
    self.assertEqual((number, turned.size), (6, (30, 40)))

  @parameterized.parameters(range(1, 9))
  def test_upright_is_what_viewers_show(self, number):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[274] = number
    data = _bytes(_rgb(), "JPEG", exif=exif)
    with pictures.opened(data) as image:
      got = pictures.upright(image, pictures.orientation(image))
    with Image.open(io.BytesIO(data)) as image:
      expected = ImageOps.exif_transpose(image)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))

  def test_broken_exif_turns_nothing(self):
    data = _bytes(_rgb(), "JPEG", exif=b"Exif\0\0MM\0\x2a\xff\xff\xff\xff")
    with pictures.opened(data) as image:
      self.assertEqual(pictures.orientation(image), 1)

  @parameterized.parameters("GIF", "PNG", "WEBP", "TIFF")
  def test_the_first_frame_counts(self, kind):
    first, second = _rgb(), _rgb().rotate(180)
    options = {"save_all": True, "append_images": [second]}
    if kind == "WEBP":
      options["lossless"] = True
    data = _bytes(first, kind, **options)
    with pictures.opened(data) as image:
      got = np.asarray(pictures.rgb(image, "a"))
      self.assertTrue(pictures.has_more_frames(image))
    error = np.abs(got.astype(int) - np.asarray(first)).mean()
    self.assertLess(error, 10)
    with pictures.opened(_bytes(first, kind)) as image:
      self.assertFalse(pictures.has_more_frames(image))

  @parameterized.product(
    kind=("PNG", "JPEG", "progressive", "GIF", "BMP", "WEBP", "TIFF"),
    percent=(1, 10, 50, 90, 99),
  )
  def test_cut_files_are_refused(self, kind, percent):
    options = {"progressive": True} if kind == "progressive" else {}
    kind = "JPEG" if options else kind
    data = _bytes(_rgb(), kind, **options)
    cut = data[: len(data) * percent // 100]
    try:
      got = pictures.picture(cut, "a.x")
    except errors.UserError as e:
      self.assertStartsWith(str(e), "a.x cannot be read as an image")
    else:  # only bytes after the last pixel are missing
      self.assertEqual(percent, 99)
      np.testing.assert_array_equal(got, pictures.picture(data))

  @parameterized.parameters("PNG", "JPEG", "GIF", "BMP", "TIFF")
  def test_bytes_after_the_end_do_not_matter(self, kind):
    data = _bytes(_rgb(), kind)
    np.testing.assert_array_equal(
      pictures.picture(data + b"garbage" * 99), pictures.picture(data)
    )

  def test_the_content_says_the_format(self):
    path = self.create_tempfile("n02105855_2933.JPEG").full_path
    _rgb().save(path, "PNG")
    np.testing.assert_array_equal(pictures.picture(path), np.asarray(_rgb()))

  @parameterized.parameters(
    (b"", "it is empty"),
    (b"hello", "5 bytes that begin with b'hello'"),
    (b"<!DOCTYPE html><html>", "begin with b'<!DOCTYPE ht'"),
    (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "it is HEIC"),
    (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "begin with b'%!PS"),
    (_png(0, 5, 8, 0, b""), "begin with"),
    (_png(5, 0, 8, 0, b""), "begin with"),
  )
  def test_what_is_no_picture(self, data, reason):
    with self.assertRaisesRegex(
      errors.UserError, f"^a.png cannot be read as an image .*{reason}"
    ):
      pictures.picture(data, "a.png")

  def test_bombs_are_refused_before_memory_is_taken(self):
    bomb = _png(60_000, 60_000, 1, 0, bytes(10))
    with self.assertRaisesRegex(errors.UserError, r"^a: .*3600000000 pixels"):
      pictures.picture(bomb, "a")
    wide = _png(20_000, 10_000, 1, 0, bytes(10))
    with self.assertRaisesRegex(errors.UserError, "limit.*ROBUST_TFDS_LIMITS"):
      pictures.picture(wide, "a")
    with mock.patch.object(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS):
      with mock.patch.dict(os.environ, {limits.VARIABLE: "2"}):
        with self.assertRaisesRegex(errors.UserError, "cannot be read"):
          pictures.picture(wide, "a")  # its data are missing
    with mock.patch.object(limits, "PICTURE_PIXELS", 1199):
      with self.assertRaisesRegex(errors.UserError, r"1,200 pixels \(40 x 30"):
        pictures.picture(_bytes(_rgb()), "a")

  @parameterized.parameters((1, 1), (1, 30_000), (30_000, 1))
  def test_odd_sizes(self, width, height):
    picture = Image.new("RGB", (width, height), (1, 2, 3))
    got = pictures.picture(_bytes(picture))
    np.testing.assert_array_equal(got, np.asarray(picture))

  def test_paths(self):
    folder = self.create_tempdir()
    with self.assertRaisesRegex(
      errors.UserError, "b.png: cannot be opened: No"
    ):
      pictures.picture(os.path.join(folder.full_path, "b.png"))
    with self.assertRaisesRegex(errors.UserError, "cannot be opened: Is a dir"):
      pictures.picture(folder.full_path)

  def test_damage_is_refused_or_read_but_never_a_traceback(self):
    rng = np.random.default_rng(0)
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "JPEG2000"):
      whole = np.frombuffer(_bytes(_rgb(), kind), np.uint8)
      for _ in range(100):
        data = whole.copy()
        places = rng.integers(len(data), size=rng.integers(1, 12))
        data[places] ^= rng.integers(1, 256, len(places)).astype(np.uint8)
        try:
          got = pictures.picture(data.tobytes(), "a")
        except errors.UserError as e:
          self.assertStartsWith(str(e), "a")
        else:
          self.assertEqual((got.dtype, got.ndim), (np.uint8, 3))

  @parameterized.parameters("1", "P", "LA", "RGBA", "CMYK", "I;16", "GIF")
  def test_stored_files_are_decoded_alike_by_tfds(self, mode):
    import tensorflow_datasets as tfds

    if mode == "I;16":
      values = np.linspace(0, 65535, 1200).reshape(30, 40).astype(np.uint16)
      data = _bytes(Image.fromarray(values))
    elif mode == "GIF":
      data = _bytes(_rgb(), "GIF")
    else:
      data = _bytes(_rgb().convert(mode), "JPEG" if mode == "CMYK" else "PNG")
    feature = tfds.features.Image(shape=(None, None, 3))
    stored = feature.encode_example(io.BytesIO(pictures.stored(data, "a")))
    expected = pictures.picture(data)
    np.testing.assert_array_equal(feature.decode_example_np(stored), expected)
    decoded = feature.decode_example(stored)
    np.testing.assert_array_equal(np.asarray(decoded), expected)

  @parameterized.parameters("PNG", "JPEG")
  def test_plain_files_are_stored_as_they_are(self, kind):
    data = _bytes(_rgb(), kind)
    self.assertIs(pictures.stored(data, "a"), data)


class WalkTest(absltest.TestCase):
  """A walk over a folder: links, names, other types, collisions."""

  def setUp(self):
    super().setUp()
    base = pathlib.Path(self.create_tempdir().full_path)
    self.root, self.beside = base / "in", base / "beside"
    self.root.mkdir()
    self.beside.mkdir()

  def _touch(self, *names):
    for name in names:
      (self.root / name).parent.mkdir(parents=True, exist_ok=True)
      (self.root / name).touch()

  def _walk(self):
    walk = picture_folders.Walk(self.root)
    names = [str(p.relative_to(self.root)) for p in walk.files()]
    return sorted(names), walk

  def test_pictures_at_every_depth_and_what_is_beside_them(self):
    self._touch("b.JPG", "a/c.png", "a/d/e.tiff", "x.txt", "y.txt", "README")
    self._touch(".hidden.png", ".git/z.png", "._b.JPG", "-dash.png", "日本.gif")
    names, walk = self._walk()
    self.assertEqual(
      names, ["-dash.png", "a/c.png", "a/d/e.tiff", "b.JPG", "日本.gif"]
    )
    self.assertEqual(walk.hidden, 3)
    self.assertEqual(walk.other_types, {".txt": 2, "": 1})
    self.assertEqual(walk.faults, [])

  def test_a_second_walk_counts_afresh(self):
    self._touch("a.png", "b.txt", ".c")
    walk = picture_folders.Walk(self.root)
    for _ in range(2):
      self.assertLen(list(walk.files()), 1)
      self.assertEqual((walk.hidden, walk.other_types[".txt"]), (1, 1))

  def test_links(self):
    (self.beside / "p.png").touch()
    (self.beside / "q").mkdir()
    (self.beside / "q" / "r.png").touch()
    os.symlink(self.beside / "p.png", self.root / "p.png")
    os.symlink(self.beside / "q", self.root / "q")
    os.symlink(self.root, self.root / "loop")
    os.symlink(self.beside / "nowhere.png", self.root / "broken.png")
    os.symlink(self.root / "self.png", self.root / "self.png")
    os.symlink(self.beside / "q", self.beside / "q" / "again")
    names, walk = self._walk()
    self.assertEqual(names, ["p.png", "q/r.png"])
    self.assertLen(walk.faults, 2)
    self.assertRegex(walk.faults[0], "broken.png: cannot be read: No such file")
    self.assertRegex(walk.faults[1], "self.png: cannot be read: Too many lev")
    loops = [os.path.relpath(p, self.root) for p in walk.loops]
    self.assertEqual(loops, ["loop", "q/again"])

  def test_names_that_are_hard_to_print(self):
    self._touch("line\nbreak.png")
    with open(os.fsencode(self.root) + b"/caf\xe9.png", "wb"):
      pass
    names, walk = self._walk()
    self.assertEqual(names, ["line\nbreak.png"])
    self.assertRegex(walk.faults[0], r"caf\\udce9.png: the name is not UTF-8")
    self.assertEqual(picture_folders.printable("a\nb"), "a\\nb")

  def test_pipes_are_no_pictures(self):
    os.mkfifo(self.root / "a.png")
    names, walk = self._walk()
    self.assertEqual(names, [])
    self.assertRegex(walk.faults[0], "a.png: not a file")

  def test_one_name_with_two_extensions(self):
    self._touch("a.png", "b/a.png", "a.b.png")
    names, walk = self._walk()
    self.assertEqual((len(names), walk.same_stem), (3, ""))
    self._touch("b/a.jpg")
    self.assertRegex(self._walk()[1].same_stem, "a.jpg and a.png in .*/b$")


class DecodersTest(absltest.TestCase):
  """Programs that decode: their names and versions."""

  def test_versions(self):
    pictures = decoders.picture_decoder()
    self.assertStartsWith(pictures, f"Pillow {PIL.__version__}, libjpeg")
    self.assertStartsWith(
      decoders.video_decoder(), f"PyAV {av.__version__}, FFmpeg"
    )
    self.assertEqual(
      decoders.tensorflow_decoder(), f"TensorFlow {tf.__version__}"
    )

  def test_another_libjpeg(self):
    versions = {"pil": "11.0.0", "libjpeg_turbo": None, "jpg": "9.6"}
    with mock.patch.object(features, "version", versions.get):
      self.assertEqual(decoders.picture_decoder(), "Pillow 11.0.0, libjpeg 9.6")
