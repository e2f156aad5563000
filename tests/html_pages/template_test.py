"""Templates of a room and the shared ones: which comes first, what is escaped."""

import pathlib

import jinja2
from absl.testing import absltest

from robust_tfds.html_pages import template


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
