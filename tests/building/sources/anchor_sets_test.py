"""Anchors and the frames near them: which count, and which are missing."""

from robust_tfds.building import frames
from robust_tfds.building.sources import anchor_sets
from tests import in_folder


def _path_at(offset: int) -> str:
  """The anchor is the video's frame 5; there is none before the first."""
  return f"v/{5 + offset:02d}.jpg" if offset >= -5 else ""


class AnchorSetsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    (self.root / "v").mkdir()

  def _put(self, *offsets: int) -> None:
    for offset in offsets:
      (self.root / _path_at(offset)).write_bytes(_path_at(offset).encode())

  def test_the_reviewed_frames_in_the_order_of_their_offsets(self):
    anchor = anchor_sets.Anchor(_path_at(0), _path_at, {3, -2})
    members = anchor.members(lambda path: (len(path),))
    self.assertEqual([f.frame for f in members], [-2, 0, 3])
    self.assertEqual(
      [f.example_id for f in members], ["v/03.jpg", "v/05.jpg", "v/08.jpg"]
    )
    self.assertEqual({f.group_id for f in members}, {"v/05.jpg"})
    self.assertEqual({f.labels for f in members}, {(8,)})
    self.assertEqual([f.reviewed for f in members], [True, False, True])

  def test_frames_that_the_review_refused_may_be_added(self):
    self._put(-1, 0, 1, 2)
    anchor = anchor_sets.Anchor(_path_at(0), _path_at, {0, 1})
    members = anchor.members(lambda path: (0,), self.root)
    self.assertEqual([f.frame for f in members], [-1, 0, 1, 2])
    self.assertEqual([f.reviewed for f in members], [False, True, True, False])

  def test_pixels_are_the_files(self):
    self._put(0, 1)
    anchor = anchor_sets.Anchor(_path_at(0), _path_at, {1})
    frame = anchor.members(lambda path: (0,))[1]
    with self.assertRaisesRegex(ValueError, "no pixels"):
      frame.data()
    frame = anchor_sets.with_pixels(frame, self.root, fps=25.0)
    self.assertEqual(frame.data(), b"v/06.jpg")
    self.assertEqual(frame.anchor.data(), b"v/05.jpg")
    self.assertEqual(frame.fps, 25)

  def test_candidates_have_no_holes(self):
    self._put(-5, -4, -3, -2, -1, 1, 2)
    there = anchor_sets.candidates(_path_at, self.root)
    self.assertEqual(there, [-5, -4, -3, -2, -1, 1, 2])
    self.assertEqual(frames.K, 10)
    self._put(11)
    self.assertEqual(anchor_sets.candidates(_path_at, self.root), there)
    self._put(4)
    with self.assertRaisesRegex(FileNotFoundError, "v/08.jpg is missing betw"):
      anchor_sets.candidates(_path_at, self.root)

  def test_missing_files_are_counted(self):
    self._put(0)
    paths = [self.root / _path_at(offset) for offset in range(6)]
    anchor_sets.check_files(paths[:1], "Help.")
    with self.assertRaisesRegex(
      FileNotFoundError, "5 of 6 .*06.jpg.*08.jpg and 2 more.\nHelp."
    ):
      anchor_sets.check_files(paths, "Help.")
