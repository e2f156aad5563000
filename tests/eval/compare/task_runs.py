"""Small finished runs of every task on disk, made of numbers and no model."""

import ml_collections
import numpy as np

from eval import tasks
from eval.cells.workdir import Workdir
from robust_tfds import conditions
from tests.eval.compare import small_runs

N = 60


def write(folder, task, columns, *, label="net", seed=0, truth=None, **data):
  """A run of one model; gives its folder.

  Args:
    folder: its workdir.
    task: name.
    columns: f(condition) -> what the cell holds besides ids; `example_id` and
      `group_id` too where they are not v000, v001 and so on.
    label: of the model.
    seed: of the run.
    truth: of detection.
    **data: of the config; `facts`: of the cells.
  """
  facts = data.pop("facts", {})
  config = ml_collections.ConfigDict(
    {
      "task": task,
      "seed": seed,
      "baseline": data.pop("baseline", ""),
      "models": {label: {"name": label}},
      "data": {"split": "test", "source": "fly", "codec": "raw", **data},
    }
  )
  bound = tasks.bind(config)
  small_runs.write_cells(
    folder,
    config,
    {label: small_runs.model_facts(label)},
    small_runs.data_facts(
      dataset=data["name"], settings=bound.data_facts(), **facts
    ),
    {(label, c): _with_ids(task, columns(c)) for c in bound.conditions()},
  )
  if truth is not None:
    Workdir(folder).write_truth(truth)
  return folder


def _with_ids(task, columns) -> dict[str, np.ndarray]:
  out = {**_ids(), **columns}
  if task == "segmentation":
    del out["label"]
  return out


def _ids() -> dict[str, np.ndarray]:
  ids = np.array([f"v{i:03d}" for i in range(N)])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(N, np.int32),
    "label": np.arange(N, dtype=np.int32) % 7,
  }


def _top5(label, right) -> dict[str, np.ndarray]:
  first = np.where(right, 0, 1)[..., None]
  top5 = (label[..., None] + first + np.arange(5)) % 7
  scores = np.float32([0.6, 0.1, 0.1, 0.1, 0.05])
  score = np.broadcast_to(scores, top5.shape).copy()
  return {"top5": top5.astype(np.int32), "score": score}


def hardness() -> np.ndarray:
  """Of every example, the same for all models: float64 `[N]` in [0, 1)."""
  return np.random.default_rng(7).permutation(N) / N


def video(folder, strength, *, groups=N, named="g", **options):
  """Videos that are right where their hardness is below the strength.

  Args:
    folder: the run's.
    strength: of the model.
    groups: how many.
    named: how their names begin; `z` turns their order round.
    **options: of `write`.
  """
  order = -1 if named == "z" else 1

  def columns(condition):
    label = np.arange(N) % 7
    right = hardness() < strength - condition.level / 10
    of = np.arange(N) % groups
    names = np.array([f"{named}{500 + order * i:03d}" for i in of])
    return {"group_id": names, **_top5(label, right)}

  data = {"name": "ucf101_p", "codec": "", "views": 1, "sampling": "dense"}
  data |= {"perturbations": "jpeg,freezing", "severities": (1, 3)}
  return write(folder, "video", columns, **data | options)


def natural(folder, strength, **options):
  """UCF101-DS: videos with shifts, nothing clean."""

  def columns(condition):
    kind = np.arange(N) % 4
    return {
      **_top5(np.arange(N) % 7, hardness() < strength + kind / 20),
      "shift": np.array(["a", "b", "c", "d"])[kind],
      "category": np.array(["A", "A", "C", "D"])[kind],
    }

  data = {"name": "ucf101_ds", "codec": "", "views": 1, "sampling": "dense"}
  data |= {"perturbations": "none", "severities": (1, 2, 3, 4, 5)}
  return write(folder, "video", columns, **data | options)


def sequences(folder, steadiness, **options):
  """Sequences whose frames flip more often where the steadiness is lower."""

  def columns(condition):
    label = np.arange(N) % 7
    if condition.clean:
      return _top5(label[:, None], hardness()[:, None] < steadiness)
    noise = conditions.SEQUENCES.is_noise(condition.name)
    levels = 1 if noise else 3
    rng = np.random.default_rng(condition.level)
    often = np.clip(hardness() * (1 - steadiness), 0, 1)[:, None]
    flips = rng.binomial(30, np.repeat(often, levels, 1)) / 30
    return {
      **_top5(np.repeat(label[:, None], 4, 1), np.ones((N, 4), bool)),
      "flips": flips,
      "t5d": 3 * flips,
      "zipf": flips.astype(np.float32),
    }

  data = {"name": "digits_p", "perturbations": "common", "difficulties": (1,)}
  return write(folder, "sequences", columns, **data | options)


def frames(folder, strength, *, sets=20, **options):
  """Sets of an anchor and the frames two before and two after it."""
  offsets = np.array([-2, -1, 0, 1, 2])

  def columns(condition):
    group = np.repeat(np.arange(sets), len(offsets))
    frame = np.tile(offsets, sets).astype(np.int32)
    label = (group % 7).astype(np.int32)
    hard = np.repeat(np.random.default_rng(3).permutation(sets) / sets, 5)
    right = hard + np.abs(frame) / 20 < strength
    rows = len(group)
    labels = np.full((rows, 8), -1, np.int32)
    labels[:, 0] = label
    names = [f"s{g:02d}/{f + 2}" for g, f in zip(group, frame)]
    return {
      "example_id": np.array(names),
      "group_id": np.array([f"s{g:02d}" for g in group]),
      "frame": frame,
      "label": label,
      "labels": labels,
      "reviewed": ~((group == 0) & (frame == 2)),
      "frame_type": np.full(rows, ""),
      "fps": np.zeros(rows, np.float32),
      "linf": np.full(rows, np.nan, np.float32),
      **_top5(label, right),
    }

  data = {"name": "digits_vid_robust", "config": "reviewed"}
  return write(folder, "frames", columns, **data | options)


def boxes() -> dict:
  """Ground truth of N pictures with one object each, as COCO's."""
  return {
    "images": [
      {"id": i, "width": 100, "height": 100, "file_name": f"v{i:03d}"}
      for i in range(N)
    ],
    "categories": [{"id": 1, "name": "one"}],
    "annotations": [
      {
        "id": i + 1,
        "image_id": i,
        "category_id": 1,
        "bbox": [10.0, 10.0, 40.0, 40.0],
        "area": 1600.0,
        "iscrowd": 0,
      }
      for i in range(N)
    ],
  }


def detection(folder, strength, **options):
  """One box a picture, beside its object where the picture is too hard."""

  def columns(condition):
    right = hardness() < strength - condition.level / 20
    left = np.where(right, 10, 60).astype(np.float32)
    corners = np.stack([left, left * 0 + 10, left + 40, left * 0 + 50], -1)
    out = {
      "image_id": np.arange(N, dtype=np.int64),
      "boxes": corners[:, None].astype(np.float32),
      "scores": (1 - hardness() / 2)[:, None].astype(np.float32),
      "classes": np.zeros((N, 1), np.int16),
    }
    return out

  data = {"name": "coco_c", "corruptions": "common"}
  data |= {"severities": (1, 2, 3, 4, 5)}
  return write(folder, "detection", columns, truth=boxes(), **data | options)


def numbers(folder, ap, **options):
  """A detector of which average precision alone is known."""
  from eval.tasks.headlines import stored_numbers

  def columns(condition):
    value = ap * (1 - condition.level / 10)
    return {
      **stored_numbers.columns({"bbox/AP": value, "bbox/AP50": value}),
      "label": np.zeros(2, np.int32),
    }

  data = {"name": "coco_c", "corruptions": "common"}
  data |= {"severities": (1, 2, 3, 4, 5)}
  return write(folder, "detection", columns, **data | options)


def segmentation(folder, strength, **options):
  """Pictures whose pixels are right with a chance that their hardness lowers."""

  def columns(condition):
    rng = np.random.default_rng(condition.level)
    chance = np.clip(strength - hardness() / 4 - condition.level / 20, 0, 1)
    right = rng.binomial(400, np.repeat(chance[:, None], 3, 1))
    labelled = np.full((N, 3), 400)
    union = labelled + np.roll(labelled - right, 1, axis=1)
    areas = np.stack([right, union, labelled], axis=-1).astype(np.int64)
    return {"areas": areas}

  data = {"name": "cityscapes_seg_c", "corruptions": "common"}
  data |= {"severities": (1, 2, 3, 4, 5)}
  return write(folder, "segmentation", columns, **data | options)
