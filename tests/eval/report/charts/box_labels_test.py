"""Labels lie inside the picture and on no other label."""

import itertools

from absl.testing import parameterized

from eval.charts import box_labels

_VIEW = (10.0, 20.0, 110.0, 90.0)


def _share(one, two):
  width = min(one[2], two[2]) - max(one[0], two[0])
  height = min(one[3], two[3]) - max(one[1], two[1])
  return width > 1e-9 and height > 1e-9


class LabelsTest(parameterized.TestCase):
  @parameterized.parameters(
    ([(10, 20, 110, 90)] * 6,),
    ([(10, 20, 20, 30), (105, 85, 110, 90), (-50, 0, 300, 300)],),
    ([(40, 40, 60, 60), (41, 41, 59, 61), (42, 39, 61, 60)],),
  )
  def test_inside_and_apart(self, boxes):
    label = box_labels.Label(40, 8)
    places = box_labels.place(boxes, [label] * len(boxes), _VIEW)
    for x1, y1, x2, y2 in places:
      self.assertGreaterEqual(x1, _VIEW[0])
      self.assertGreaterEqual(y1, _VIEW[1])
      self.assertLessEqual(x2, _VIEW[2])
      self.assertLessEqual(y2, _VIEW[3])
    for one, two in itertools.combinations(places, 2):
      self.assertFalse(_share(one, two), (one, two))

  def test_above_its_box_where_there_is_room(self):
    ((x1, _, _, y2),) = box_labels.place(
      [(30, 50, 60, 80)], [box_labels.Label(20, 8)], _VIEW
    )
    self.assertEqual((x1, y2), (30, 50))

  def test_a_label_longer_than_the_picture_begins_at_its_left(self):
    ((x1, *_),) = box_labels.place(
      [(30, 50, 60, 80)], [box_labels.Label(500, 8)], _VIEW
    )
    self.assertEqual(x1, _VIEW[0])

  def test_more_labels_than_room(self):
    boxes, label = [_VIEW] * 40, box_labels.Label(60, 20)
    self.assertLen(box_labels.place(boxes, [label] * 40, _VIEW), 40)
