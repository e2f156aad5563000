"""Pictures by wnid: folders, tars, which place counts, what is left aside."""

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.building.sources import wnids
from tests import in_folder, tiny_files


class WnidsTest(in_folder.TestCase):
  def test_folders_and_tars(self):
    data = tiny_files.encoded(tiny_files.noise(5, 6), "JPEG")
    for place in ("a/n1/n1_2.JPEG", "a/n1/n1_10.JPEG", "a/n1/notes.txt"):
      self._put(place, data)
    self._put("a/n9/n9_1.JPEG", data)  # nobody asked for it
    self._put("b/n1/n1_3.JPEG", b"the first place counts")
    (self.root / "a/n3").mkdir()  # empty: the next place counts
    self._put("b/n3/n3_1.JPEG", data)
    self._put("b/n2.tar", tiny_files.tar({"n2_1.JPEG": data, "x.txt": b""}))
    found = wnids.find(self.root, ("a", "b", "c"), ("n1", "n2", "n3", "n4"))
    names = {k: [file.name for file in files] for k, files in found.items()}
    self.assertEqual(
      names,
      {
        "n1": ["n1_10.JPEG", "n1_2.JPEG"],
        "n2": ["n2_1.JPEG"],
        "n3": ["n3_1.JPEG"],
      },
    )
    for files in found.values():
      self.assertEqual(files[0].data(), data)

  def test_a_tar_that_is_cut_off_is_refused(self):
    data = tiny_files.tar({"n2_1.JPEG": bytes(2000)})
    self._put("a/n2.tar", data[:1200])
    with self.assertRaisesRegex(errors.UserError, "n2.tar"):
      wnids.find(self.root, ("a",), ("n2",))

  def _put(self, place: str, data: bytes) -> None:
    path = self.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
  absltest.main()
