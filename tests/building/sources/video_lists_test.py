"""Listed videos: the first place counts, absent ones are named."""

from absl.testing import parameterized

from robust_tfds.building.sources import video_lists
from tests import in_folder, tiny_files


class VideoListsTest(in_folder.TestCase):
  def _entry(self, name: str, label: int = 0) -> video_lists.Entry:
    places = [self.root / folder / name for folder in ("mine", "theirs")]
    return video_lists.Entry("list, line 1", name, label, places, {"a": label})

  def _put(self, folder: str, name: str, data: bytes) -> None:
    tiny_files.put(self.root / folder, {name: data})

  def test_sources_in_the_lists_order(self):
    self._put("theirs", "b.avi", b"1")
    self._put("theirs", "a.avi", b"2")
    self._put("mine", "a.avi", b"3")
    sources = video_lists.sources(
      [self._entry("b.avi", 4), self._entry("a.avi", 2)], "Help."
    )
    self.assertEqual([s.example_id for s in sources], ["b.avi", "a.avi"])
    self.assertEqual([s.label for s in sources], [4, 2])
    self.assertEqual([s.file.data() for s in sources], [b"1", b"3"])
    self.assertEqual(sources[0].extra, {"a": 4})

  def test_absent_videos(self):
    entries = [self._entry("a.avi"), self._entry("b.avi")]
    for partial in (False, True):
      with self.assertRaisesRegex(
        FileNotFoundError, "2 of 2 listed .* mine/a.avi|2 of 2.*\nHelp."
      ):
        video_lists.sources(entries, "Help.", partial=partial)
    self._put("mine", "b.avi", b"1")
    with self.assertRaisesRegex(FileNotFoundError, "1 of 2 .*mine/a.avi"):
      video_lists.sources(entries, "Help.")
    (one,) = video_lists.sources(entries, "Help.", partial=True)
    self.assertEqual(one.example_id, "b.avi")

  def test_listed_twice(self):
    with self.assertRaisesRegex(ValueError, "list, line 1: 'a.avi' is listed"):
      video_lists.sources([self._entry("a.avi")] * 2, "Help.")

  @parameterized.parameters(
    ("a.avi", True), ("", False), ("../a", False), ("x/a", False), ("..", False)
  )
  def test_plain_names(self, name, plain):
    self.assertEqual(video_lists.plain(name), plain)

  def test_first_list(self):
    (self.root / "two.txt").write_text("x")
    names = ("one.txt", "two.txt")
    path = video_lists.first_file(self.root, names, "Help.")
    self.assertEqual(path, self.root / "two.txt")
    with self.assertRaisesRegex(FileNotFoundError, "None of one.txt is in"):
      video_lists.first_file(self.root, names[:1], "Help.")
