"""Facts of a cell's data and model: words, hashes, what is missing."""

from absl.testing import parameterized

from eval.cells import cell_facts
from robust_tfds import errors, reading


def data(**others):
  facts = {
    "dataset": "imagenet_c",
    "version": "1.0.0",
    "config": "clean",
    "split": "validation",
    "subset": "",
    "examples": 5,
    "source": "fly",
    "codec": "jpeg85",
    "edition": "imagenet",
    "geometry": "",
    "px": [224, 224],
    "settings": {"views": 1},
    "metric": 1,
    "pixels": 3,
    "content": "0" * 64,
    "decoders": "read with X 1",
  }
  return cell_facts.DataFacts(**facts | others)


class CellFactsTest(parameterized.TestCase):
  def test_every_fact_is_in_the_hash(self):
    marks = {data().hash}
    others = [
      {"dataset": "x"},
      {"version": "2.0.0"},
      {"config": "x"},
      {"split": "x"},
      {"subset": "x"},
      {"examples": 6},
      {"source": "prepared"},
      {"codec": "raw"},
      {"edition": "x"},
      {"geometry": "x"},
      {"px": []},
      {"settings": {"views": 2}},
      {"metric": 2},
      {"pixels": 4},
      {"content": "1" * 64},
      {"decoders": "read with X 2"},
    ]
    marks |= {data(**other).hash for other in others}
    self.assertLen(marks, len(cell_facts.DataFacts.model_fields) + 1)

  def test_words_name_settings_by_themselves(self):
    words = data().words()
    self.assertEqual(words["views"], 1)
    self.assertNotIn("settings", words)

  def test_what_nobody_knows_is_missing(self):
    self.assertEmpty(data().missing)
    self.assertEqual(data(codec=None, px=None).missing, ["codec", "px"])

  def test_the_name_of_a_model_is_in_no_hash(self):
    one, two = (cell_facts.ModelFacts(name=n) for n in ("", "mine:build"))
    self.assertEqual(one.hash, two.hash)
    other = cell_facts.ModelFacts(trained_on="x")
    self.assertNotEqual(one.hash, other.hash)

  def test_an_update_of_a_decoder_leaves_the_fingerprint(self):
    model = cell_facts.ModelFacts()
    marks = {
      cell_facts.fingerprint(data(decoders=words), model, "clean", 0)
      for words in (None, "", "read with X 1", "read with X 2")
    }
    self.assertLen(marks, 1)

  def test_decoders_that_differ(self):
    same = [("a", "read with X 1"), ("b", "read with X 1")]
    self.assertEmpty(cell_facts.decoders_differ(same))
    (text,) = cell_facts.decoders_differ([*same, ("c", ""), ("d", None)])
    self.assertIn("read with X 1 (a, b); none (c); unknown (d).", text)

  def test_read_back(self):
    again = reading.records(data().model_dump(), cell_facts.DataFacts, "")
    self.assertEqual(again, data())

  def test_differences(self):
    differ = cell_facts.differences(
      data().words(), data(codec="raw", px=None).words()
    )
    self.assertEqual(
      differ, {"codec": ("jpeg85", "raw"), "px": ([224, 224], None)}
    )

  @parameterized.parameters(
    (["none"], []), ([" fog", "fog "], ["fog"]), (["jumbling"], ["jumbling"])
  )
  def test_corruptions_seen(self, names, expected):
    self.assertEqual(cell_facts.conditions_seen(names, "--x"), expected)

  def test_a_corruption_that_is_none(self):
    with self.assertRaisesRegex(
      errors.UserError, "^--x: .*'fogg'. Did you mean 'fog'.*Or 'none' alone"
    ):
      cell_facts.conditions_seen(["fogg"], "--x")
