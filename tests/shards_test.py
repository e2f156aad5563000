"""Every n-th item; refusals in words."""

from absl.testing import parameterized

from robust_tfds import errors, shards


class ShardTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 3, 7, 12)
  def test_all_shards_together_make_each_item_once(self, count):
    items = list(range(10))
    each = [shards.Shard(i, count).of(items) for i in range(1, count + 1)]
    self.assertCountEqual([x for share in each for x in share], items)
    sizes = [len(share) for share in each]
    self.assertLessEqual(max(sizes) - min(sizes), 1)

  @parameterized.parameters(
    "0/4", "5/4", "4", "", "a/b", "-1/4", "1/4/2", "1/0"
  )
  def test_refused(self, text):
    with self.assertRaisesRegex(errors.UserError, "expected i/n"):
      shards.Shard.parse(text)

  def test_text(self):
    self.assertEqual(str(shards.Shard.parse("2/4")), "2/4")
