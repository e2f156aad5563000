"""Projections of logits onto other label spaces."""

import json

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from eval.tasks.parts import label_space
from tests import shared_data


def _file(**change) -> str:
  one = {"name": "a", "members": [2], **change}
  return json.dumps({"source_classes": 3, "classes": [one]})


class PublishedTest(parameterized.TestCase):
  @parameterized.parameters(
    ("imagenet_vid_robust", 30, 288, "imagenet_vid_30_class_map.json"),
    ("ytbb_robust", 24, 231, "ytbb_24_class_map.json"),
  )
  def test_groups(self, name, classes, columns, file):
    space = label_space.get(name)
    self.assertLen(space.classes, classes)
    self.assertLen(space.columns, columns)
    path = shared_data.golden("vid_robust", file)
    for found in json.loads(path.read_text())["classes"]:
      self.assertEqual(space.classes[found["index"]], found["name"])
      self.assertEqual(
        space.members[found["index"]], tuple(found["ilsvrc_indices"])
      )

  def test_classes_without_members_are_never_predicted(self):
    space = label_space.get("ytbb_robust")
    out = np.asarray(space.project(-jnp.ones((3, 1000))))
    empty = [i for i, group in enumerate(space.members) if not group]
    self.assertEqual(empty, [6, 8, 14, 18, 22])
    self.assertTrue(np.isneginf(out[:, empty]).all())
    self.assertEqual(out.max(), -1)

  def test_names(self):
    self.assertContainsSubset(
      {"imagenet_vid_robust", "ytbb_robust"}, label_space.names()
    )


class ProjectTest(parameterized.TestCase):
  @parameterized.product(merge=label_space.MERGES, members_only=(False, True))
  def test_merges(self, merge, members_only):
    space = label_space.get("imagenet_vid_robust")
    logits = np.random.default_rng(0).normal(size=(4, 1000)).astype(np.float32)
    operation = getattr(np, merge)
    want = [operation(logits[:, list(g)], axis=-1) for g in space.members]
    given = logits[:, list(space.columns)] if members_only else logits
    got = jax.jit(lambda x: space.project(x, merge))(given)
    np.testing.assert_allclose(got, np.stack(want, -1), rtol=1e-5, atol=1e-5)

  def test_its_own_classes_pass(self):
    space = label_space.get("imagenet_vid_robust")
    logits = jnp.arange(30.0)
    np.testing.assert_array_equal(space.project(logits), logits)

  def test_subset(self):
    space = label_space.subset("imagenet_a", [6, 11, 300])
    got = space.project(jnp.arange(1000.0)[None])
    np.testing.assert_array_equal(got, [[6, 11, 300]])

  @parameterized.named_parameters(
    ("outside", {"a": [0, 4]}, "4 is no member .* 0..3"),
    ("twice", {"a": [0, 1], "b": [1]}, "1 is twice a member"),
    ("nothing", {"a": []}, "no class has a member"),
    ("no_classes", {}, "0 classes"),
    ("fraction", {"a": [0.5]}, "indices of source classes, got 0.5"),
    ("flag", {"a": [True]}, "indices of source classes, got True"),
    ("text", {"a": "12"}, "the members of 'a' are a list of indices, got '12'"),
  )
  def test_refuses_groups(self, groups, message):
    with self.assertRaisesRegex(ValueError, message):
      label_space.make("mine", groups, 4)

  def test_refuses(self):
    space = label_space.get("imagenet_vid_robust")
    with self.assertRaisesRegex(ValueError, "Wrong label space: 10 logits"):
      space.project(jnp.zeros((2, 10)))
    with self.assertRaisesRegex(ValueError, "Did you mean 'max'"):
      space.project(jnp.zeros((2, 1000)), "maxx")
    with self.assertRaisesRegex(ValueError, "Did you mean 'ytbb_robust'"):
      label_space.get("ytbb_robus")

  def test_files(self):
    folder = self.create_tempdir()
    with self.assertRaisesRegex(FileNotFoundError, "No label map at"):
      label_space.get(f"{folder.full_path}/none.json")
    broken = folder.create_file("broken.json", '{"classes": [{"name": "a"}]}')
    with self.assertRaisesRegex(
      ValueError, "broken.json: source_classes: missing"
    ):
      label_space.get(broken.full_path)
    for i, (text, message) in enumerate(
      (
        ("", "the file is empty"),
        ("[" * 100_000, "nested too deep"),
        ("[]", "got .., expected"),
        (_file(members="12"), "classes.0.members: got '12'"),
        (_file(members=[1.5]), "classes.0.members.0: got 1.5"),
        (_file(members=[True]), "classes.0.members.0: got True"),
        (_file(members=[7]), "bad.*json: bad.*: 7 is no member"),
        (_file(name=None), "classes.0.name: got None"),
      )
    ):
      bad = folder.create_file(f"bad{i}.json", text).full_path
      with self.assertRaisesRegex(
        ValueError, f"bad{i}.json: .*{message}|{message}"
      ):
        label_space.get(bad)
    own = folder.create_file(
      "own.json",
      '{"source_classes": 3, "classes": [{"name": "a", "members": [2]}]}',
    )
    space = label_space.get(own.full_path)
    self.assertEqual((space.name, space.classes), ("own", ("a",)))
    self.assertEqual(float(space.project(jnp.arange(3.0))[0]), 2)
