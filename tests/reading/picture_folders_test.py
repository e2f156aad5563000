"""A walk over a folder: links, names, other types, collisions."""

import os
import pathlib

from absl.testing import absltest

from robust_tfds.reading import picture_folders


class WalkTest(absltest.TestCase):
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
    self.assertEqual(picture_folders.shown("a\nb"), "a\\nb")

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
