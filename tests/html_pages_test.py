"""Pages that runs and trainings share: templates, pictures."""

import base64
import io
import pathlib

import jinja2
import numpy as np
from absl.testing import absltest
from PIL import Image

from robust_tfds.html_pages import pictures, template

_NOISE = np.random.default_rng(0).integers(0, 256, (80, 100, 3), np.uint8)


def _read(uri: str) -> tuple[str, np.ndarray]:
  head, _, data = uri.partition(",")
  image = Image.open(io.BytesIO(base64.b64decode(data)))
  return head, np.asarray(image)


class PicturesTest(absltest.TestCase):
  def test_small_pictures_are_kept_to_the_pixel(self):
    head, pixels = _read(pictures.uri(_NOISE[:64, :64]))
    self.assertEqual(head, "data:image/png;base64")
    np.testing.assert_array_equal(pixels, _NOISE[:64, :64])

  def test_large_ones_are_jpeg(self):
    head, pixels = _read(pictures.uri(_NOISE))
    self.assertEqual(
      (head, pixels.shape), ("data:image/jpeg;base64", (80, 100, 3))
    )


class TemplateTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    (self.folder / "own.html").write_text(
      '{% extends "page.html" %}{% block body %}{{ text }}{% endblock %}'
    )

  def _page(self, **values):
    return template.Templates(self.folder).page(
      "own.html", "", title="A & b", **values
    )

  def test_a_value_is_escaped_and_stays_a_text(self):
    text = self._page(text="<b>\x00</b>")
    self.assertIn("&lt;b&gt;\N{REPLACEMENT CHARACTER}&lt;/b&gt;", text)
    self.assertIn("<h1>A &amp; b</h1>", text)

  def test_names_break_behind_their_underscores(self):
    (self.folder / "own.html").write_text("{{ text|soft }}")
    self.assertEqual(
      self._page(text="a_<b>\x00_c"),
      "a_<wbr>&lt;b&gt;\N{REPLACEMENT CHARACTER}_<wbr>c",
    )

  def test_what_is_not_given_is_refused(self):
    with self.assertRaisesRegex(jinja2.UndefinedError, "text"):
      self._page()

  def test_a_rooms_own_files_come_first(self):
    templates = template.Templates(self.folder)
    self.assertEqual(templates.file("style.css").parent, template.FOLDER)
    (self.folder / "style.css").write_text("a { b: c; } /* d */")
    self.assertEqual(
      template.Templates(self.folder).style("style.css"), "a{b: c;}"
    )
