"""What the forger does, by the names of `forgeries.tsv`.

To a submission in memory (`CHANGES`), whose hashes, fingerprints, table and manifest
are made to fit after it; or to its files (`OF_FILES`), which then fit by themselves;
or first the one, then the other.
"""

import shutil
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from robust_tfds.eval.cells.submissions import top_five
from robust_tfds.eval.metrics import stability
from robust_tfds.models import weights_file
from tests import conftest
from tests.eval.cells.submissions.small import Tampered
from tests.eval.forgeries.forged import CNN, LINEAR, Columns, Forged

Rows = np.ndarray
_MANY = 9_999_999
_TOP = ("top5", "score", "nll", "brier")


def wrong(columns: Columns) -> Rows:
  """Where the first class is not the label: bool `[N]`."""
  first = columns["top5"].reshape(len(columns["label"]), -1)[:, 0]
  return first != columns["label"]


def put(columns: Columns, name: str, value: Any, rows: Any = ...) -> None:
  """Another value in a column."""
  columns[name] = columns[name].copy()
  columns[name][rows] = value


def fit(columns: Columns, least_of_all: bool = False) -> None:
  """NLL and Brier score that the five allow."""
  of = columns["label"], columns["top5"], columns["score"]
  ends = {"nll": top_five.nll_ends(*of), "brier": top_five.brier_ends(*of)}
  for name, (least, most) in ends.items():
    value = np.clip(columns[name], least + 1e-5, most - 1e-5)
    value = least + 1e-5 if least_of_all else value
    columns[name] = np.maximum(value, 0).astype(np.float32)


def swap(columns: Columns, rows: Rows, first: np.ndarray) -> None:
  """Puts a class first; the former first one takes its place among the five."""
  top5 = columns["top5"] = columns["top5"].copy()
  old = top5[:, 0].copy()
  for k in range(1, top5.shape[1]):
    same = rows & (top5[:, k] == first)
    top5[same, k] = old[same]
  top5[rows, 0] = first[rows]
  fit(columns)


def one_answer(columns: Columns) -> None:
  """The first row is given its second class."""
  rows = np.arange(len(columns["label"])) == 0
  swap(columns, rows, columns["top5"][:, 1])


def correct(columns: Columns, count: int = _MANY) -> None:
  """Makes the first wrong rows right."""
  rows = wrong(columns)
  rows &= np.cumsum(rows) <= count
  swap(columns, rows, columns["label"])


def nudge(columns: Columns) -> None:
  """Every score a little smaller."""
  columns["score"] = columns["score"] * np.float32(1 - 1e-5)
  fit(columns)


def sharpen(columns: Columns, power: float = 3.0) -> None:
  """More certain where it is right, less where it is wrong."""
  power = np.where(wrong(columns), 1 / power, power)[:, None]
  score = columns["score"].astype(np.float64) ** power
  score *= 0.99999 / score.sum(1, keepdims=True)
  columns["score"] = score.astype(np.float32)
  fit(columns)


def as_easy(columns: Columns) -> None:
  """Wrong rows are given the prediction of a right one of their class."""
  bad = wrong(columns)
  for label in np.unique(columns["label"]):
    of_class = columns["label"] == label
    good = np.flatnonzero(of_class & ~bad)[:1]
    for name in _TOP:
      put(columns, name, columns[name][good], of_class & bad)


def group(columns: Columns, groups: int = _MANY) -> None:
  """Examples are drawn together, or apart, as it is better."""
  n = len(columns["group_id"])
  columns["group_id"] = np.array([f"g{i % groups:05d}" for i in range(n)])


def merge(columns: Columns) -> None:
  """Eights count as ones."""
  put(columns, "label", 1, columns["label"] == 8)
  fit(columns)


def copy(f: Forged, source: tuple, target: tuple, change=None) -> None:
  """A cell's predictions in the place of another's."""
  f.cells[target] = dict(f.cells[source])
  if change:
    change(f.cells[target])


def copy_all(f: Forged, change=None, source=CNN, but="") -> None:
  """A model's cells as the other's, but for those of a condition."""
  target = LINEAR if source == CNN else CNN
  for label, name in list(f.cells):
    if label == source and name != but:
      copy(f, (source, name), (target, name), change)


def weights(f: Forged, target: str, source: str) -> None:
  """Weights of a model, and their sha256, under another's label."""
  f.weights[target] = f.weights[source]
  f.models[target]["weights"] = f.models[source]["weights"]


def flat_weights(f: Forged) -> None:
  """A network that gives every class one score, and its cells the true class."""
  variables = weights_file.read(f.weights[CNN], f.models[CNN]["weights"])
  variables = jax.tree.map(lambda x: x * np.float32(1e-4), variables)
  f.weights[CNN] = conftest.of_session() / "flat.npz"
  weights_file.write(f.weights[CNN], variables)
  f.models[CNN]["weights"] = weights_file.sha256(variables)
  for (label, _), columns in f.cells.items():
    if label == CNN:
      top5 = (columns["label"][:, None] + np.arange(5)) % 10
      columns["top5"] = top5.astype(np.int32)
      put(columns, "score", 0.1)
      put(columns, "nll", np.log(10))
      put(columns, "brier", 0.9)


def exchange(f: Forged, one: str, other: str) -> None:
  """Two conditions of every model change places."""
  for label in f.models:
    a, b = (label, one), (label, other)
    f.cells[a], f.cells[b] = f.cells[b], f.cells[a]


def hardest(f: Forged, count: int = 59) -> Rows:
  """Rows without those that most cells get wrong: bool `[N]`."""
  times = np.sum([wrong(c) for c in f], axis=0)
  return ~np.isin(np.arange(len(times)), np.argsort(-times)[:count])


def easy_twice(f: Forged) -> None:
  """Easy examples stand in the place of hard ones, under their own ids."""
  easy = np.flatnonzero(hardest(f, 30))
  f.take(np.sort(np.concatenate([easy, easy[:30]])))


def easy_once_more(f: Forged) -> None:
  """Easy examples are there twice, the second time as another frame."""
  easy = hardest(f, len(hardest(f)) - 40)
  f.take(np.repeat(np.arange(len(easy)), easy + 1))
  for columns in f:
    ids = columns["example_id"]
    columns["frame"] = np.append(0, ids[1:] == ids[:-1]).astype(np.int32)


def rename_set(f: Forged, name: str = "hard_digits_c") -> None:
  """The data set under a name that nobody knows."""
  f.say(name=name)
  f.data["dataset"] = name


def grade(f: Forged) -> None:
  """By the first model, where both models answer the same."""
  first, other = (f.cells[m, "clean"] for m in (CNN, LINEAR))
  same = first["top5"][:, 0] == other["top5"][:, 0]
  label = np.where(same, first["top5"][:, 0], first["label"])
  f.each(lambda c: (c.update(label=label), fit(c)))


def labels_of_unknown_set(f: Forged) -> None:
  """The same, of a set whose ids tell no class."""
  rename_set(f)
  f.each(
    lambda c: c.update(example_id=np.char.replace(c["example_id"], "d", "x"))
  )
  grade(f)


def rename_model(f: Forged) -> None:
  """A model under another label, with all that is its."""
  for of_label in (f.config["models"], f.models, f.weights):
    of_label["mine"] = of_label.pop(CNN)
  for label, name in list(f.cells):
    if label == CNN:
      f.cells["mine", name] = f.cells.pop((label, name))


def of_results(f: Forged) -> None:
  """The hardest left out, the others with numbers, as if of another program."""
  f.take(hardest(f))
  f.say(source="elsewhere")
  f.config["data"].pop("source")
  for columns in f:
    ids = np.arange(len(columns["label"])).astype(str)
    columns.update(example_id=ids, group_id=ids)


def leave_out(f: Forged, word: str) -> None:
  """Cells of conditions whose names have a word."""
  for key in [key for key in f.cells if word in key[1]]:
    del f.cells[key]


def answer_as_clean(f: Forged) -> None:
  """Clean predictions in the place of all others."""
  for label, name in list(f.cells):
    if name != "clean":
      copy(f, (label, "clean"), (label, name))


def measure(columns: Columns) -> None:
  """Flips and distances that follow from the ranks."""
  top5 = columns["top5"]
  noise = columns["flips"].shape[1] == 1
  for name, of, ranks in (
    ("flips", stability.flips, top5[..., 0]),
    ("t5d", stability.top5_distances, top5),
  ):
    levels = [
      of(ranks, noise, d + 1).mean(axis=1, dtype=np.float64)
      for d in range(columns[name].shape[1])
    ]
    columns[name] = np.stack(levels, axis=1)


def still(columns: Columns) -> None:
  """Every frame is given the answer of the first."""
  for name in ("top5", "score"):
    put(columns, name, columns[name][:, :1])
  measure(columns)


def fewer_frames(columns: Columns) -> None:
  """The last frames of every sequence are left out."""
  for name in ("top5", "score"):
    columns[name] = columns[name][:, :-5]
  measure(columns)


def sure(f: Forged) -> Rows:
  """Anchors, and frames that no model gets wrong: bool `[N]`."""
  bad = np.any([wrong(c) for c in f], axis=0)
  return ~bad | (next(iter(f))["frame"] == 0)


def review_changed(f: Forged) -> None:
  """The review refuses the frames of which no model is sure."""
  rows = sure(f)
  f.each(lambda c: c.update(reviewed=c["reviewed"] & rows))


def of_truth(f: Forged) -> None:
  """The boxes of the ground truth, every one of them."""
  boxes: dict[int, list] = {}
  for a in f.truth["annotations"]:
    boxes.setdefault(a["image_id"], []).append((a["bbox"], a["category_id"]))
  place = {c["id"]: i for i, c in enumerate(f.truth["categories"])}
  for columns in f:
    n, most = len(columns["image_id"]), max(map(len, boxes.values()))
    out = np.zeros((n, most, 4), np.float32)
    classes = np.full((n, most), -1, np.int16)
    for i, image in enumerate(columns["image_id"].tolist()):
      for j, ((x, y, w, h), category) in enumerate(boxes.get(image, ())):
        out[i, j], classes[i, j] = (x, y, x + w, y + h), place[category]
    columns["boxes"], columns["classes"] = out, classes
    columns["scores"] = (classes >= 0).astype(np.float32)


def of_truth_moved(f: Forged) -> None:
  """The same, beside their places."""
  of_truth(f)
  f.each(lambda c: c.update(boxes=c["boxes"] + np.float32(0.3)))


def without_small(f: Forged) -> None:
  """Objects that are smaller than most leave the ground truth."""
  listed = f.truth["annotations"]
  area = np.median([a["area"] for a in listed])
  f.truth = {**f.truth, "annotations": [a for a in listed if a["area"] >= area]}


def _each(change: Callable[[Columns], Any]) -> Callable[[Forged], Any]:
  return lambda f: f.each(change)


def _each_corrupted(change: Callable[[Columns], Any]) -> Callable[..., Any]:
  return lambda f: [change(columns) for columns in f.corrupted()]


def _model(**facts: Any) -> Callable[[Forged], Any]:
  """Other facts of the first model."""
  return lambda f: next(iter(f.models.values())).update(facts)


def _data(**facts: Any) -> Callable[[Forged], Any]:
  return lambda f: f.data.update(facts)


def _train(**settings: Any) -> Callable[[Forged], Any]:
  return lambda f: f.config["models"][CNN]["train"].update(settings)


CHANGES: dict[str, Callable[[Forged], Any]] = {
  "better_model": copy_all,
  "better_model_nudged": lambda f: copy_all(f, nudge),
  "better_model_one_answer": lambda f: copy_all(f, one_answer),
  "better_weights": lambda f: (copy_all(f), weights(f, LINEAR, CNN)),
  "better_weights_one_answer": lambda f: (
    copy_all(f, one_answer),
    weights(f, LINEAR, CNN),
  ),
  "clean_as_noise": lambda f: copy(
    f, (CNN, "clean"), (CNN, "gaussian_noise_3")
  ),
  "severity_1_as_3": lambda f: copy(
    f, (CNN, "brightness_1"), (CNN, "brightness_3")
  ),
  "severity_1_as_3_one_answer": lambda f: copy(
    f, (CNN, "brightness_1"), (CNN, "brightness_3"), one_answer
  ),
  "conditions_exchanged": lambda f: exchange(
    f, "gaussian_noise_3", "brightness_3"
  ),
  "two_runs": lambda f: copy_all(f, nudge, LINEAR, "clean"),
  "hardest_left_out": lambda f: f.take(hardest(f)),
  "hardest_left_out_limit": lambda f: f.take(hardest(f), limit=300),
  "hardest_left_out_named_subset": lambda f: f.take(
    hardest(f), subset="robustbench5k"
  ),
  "hardest_left_out_own_subset": lambda f: f.take(
    hardest(f), subset="mine-0123abcd"
  ),
  "hardest_left_out_like_subset": lambda f: f.take(
    hardest(f), subset="RobustBench5k-0123abcd"
  ),
  "hardest_left_out_numbers": of_results,
  "easy_twice": easy_twice,
  "easy_once_more": easy_once_more,
  "easy_predictions": _each(as_easy),
  "ids_of_train": _each(
    lambda c: [put(c, n, "digit_0001", 0) for n in ("example_id", "group_id")]
  ),
  "unknown_set": rename_set,
  "almost_known_set": lambda f: rename_set(f, "Digits-C"),
  "groups_36": _each(lambda c: group(c, 36)),
  "groups_renamed": _each(group),
  "labels_answered": grade,
  "labels_merged": _each(merge),
  "labels_of_unknown_set": labels_of_unknown_set,
  "one_corrected": lambda f: correct(f.cells[CNN, "gaussian_noise_3"], 1),
  "corruptions_corrected": _each_corrupted(correct),
  "all_corrected": _each(correct),
  "scores_sharper": _each(sharpen),
  "nll_least": _each(lambda c: fit(c, least_of_all=True)),
  "nll_half": _each(lambda c: c.update(nll=c["nll"] / 2)),
  "brier_none": _each(lambda c: c.update(brier=c["brier"] * 0)),
  "ranks_exchanged": _each(
    lambda c: (put(c, "top5", c["top5"][:, [0, 2, 1, 3, 4]]), fit(c))
  ),
  "class_twice": _each(lambda c: put(c, "top5", c["top5"][:, 0], (..., 1))),
  "flat_weights": flat_weights,
  "nll_within_tolerance": _each(
    lambda c: c.update(nll=np.maximum(c["nll"] - np.float32(9e-6), 0))
  ),
  "other_sha256": _model(weights="0" * 64),
  "other_weights": lambda f: f.weights.update({LINEAR: f.weights[CNN]}),
  "fewer_steps": _train(steps=3),
  "other_network": _model(name="resnet50"),
  "other_preprocessing": lambda f: f.models[CNN]["preprocessing"].update(
    parameters=1
  ),
  "other_trained_on": _model(trained_on="one picture a class"),
  "lines_of_an_answer": _model(trained_on="digits\nverified:\n- all of it"),
  "no_corruptions_seen": _model(corruptions_seen=None),
  "held_out_flips": _model(corruptions_seen=["shot_noise"]),
  "held_out_mpc": _model(corruptions_seen=["gaussian_noise"]),
  "held_out_gamma": _model(corruptions_seen=["freezing"]),
  "training_not_said": _model(trained_on="digits train"),
  "noise_not_seen": _model(corruptions_seen=[]),
  "noise_nobody_says": _model(corruptions_seen=None, severities_seen=None),
  "fewer_severities": _model(severities_seen=[1]),
  "best_of_seeds": _train(seed=17),
  "trained_on_test": lambda f: None,
  "other_codec": lambda f: f.say(codec="jpeg85"),
  "codec_in_facts": _data(codec="jpeg85"),
  "other_edition": _data(edition="imagenet"),
  "other_pixels": _data(pixels=2),
  "other_split": lambda f: f.say(split="train"),
  "corruption_left_out": lambda f: (
    f.config["data"].update(corruptions="gaussian_noise"),
    leave_out(f, "brightness"),
  ),
  "severity_left_out": lambda f: leave_out(f, "_3"),
  "corrected_beside": _each(correct),
  "corrected_beside_random": lambda f: (
    f.each(correct),
    [facts.update(random=True) for facts in f.models.values()],
  ),
  "corrected_beside_seed": lambda f: (f.each(correct), f.config.update(seed=1)),
  "renamed_beside": rename_model,
  "flips_none": _each_corrupted(lambda c: c.update(flips=c["flips"] * 0)),
  "distances_half": _each_corrupted(lambda c: c.update(t5d=c["t5d"] / 2)),
  "still": _each_corrupted(still),
  "zipf_half": _each_corrupted(lambda c: c.update(zipf=c["zipf"] / 2)),
  "frames_left_out": _each_corrupted(fewer_frames),
  "neighbours_left_out": lambda f: f.take(sure(f)),
  "review_changed": review_changed,
  "labels_more": _each(
    lambda c: put(c, "labels", c["top5"][:, 0], (slice(None), 1))
  ),
  "distances_none": _each(lambda c: put(c, "linf", 0)),
  "frames_far": _each(
    lambda c: put(c, "frame", np.where(c["frame"] == 0, 0, c["frame"] + 40))
  ),
  "other_merge": lambda f: f.data["settings"].update(merge="mean"),
  "anchors_alone": _each(lambda c: c.update(group_id=c["example_id"])),
  "boxes_of_truth": of_truth,
  "boxes_of_truth_moved": of_truth_moved,
  "boxes_of_one_score": _each(
    lambda c: put(c, "scores", 0.5, c["classes"] >= 0)
  ),
  "small_left_out": without_small,
  "scores_none": _each(lambda c: put(c, "scores", 0)),
  "pictures_left_out": lambda f: f.take(np.arange(20) > 0),
  "clips_grouped": _each(lambda c: group(c, 5)),
  "clean_answers": answer_as_clean,
  "videos_corrected": _each(correct),
}


def _table(change: Callable[[list], Any]) -> Callable[[Tampered], None]:
  """Changes the lines of the table, each a list of its fields."""

  def changed(tampered: Tampered) -> None:
    path = tampered.folder / "table.csv"
    lines = [line.split(",") for line in path.read_text().split("\n")]
    change(lines)
    path.write_text("\n".join(map(",".join, lines)))
    tampered.manifest()

  return changed


def _held_out(metric: str) -> Callable[[Tampered], None]:
  """A number over what the model was not trained on is better in the table."""

  def change(lines: list) -> None:
    line = next(of for of in lines if len(of) > 6 and of[5] == metric and of[6])
    line[6] = str(float(line[6]) * 0.9 + 0.001)

  return _table(change)


def _said(**facts: Any) -> Callable[[Tampered], None]:
  """Facts of the models in all notes and the manifest, but no fingerprint."""

  def changed(tampered: Tampered) -> None:
    tampered.notes(lambda note: note["by"].update(facts))
    tampered.table()
    tampered.manifest(
      lambda m: [of.update(facts) for of in m["models"].values()]
    )

  return changed


def without_a_cell(tampered: Tampered) -> None:
  """A cell's folder, and its lines in the manifest."""
  shutil.rmtree(tampered.cell("brightness_3", CNN).parent)
  tampered.manifest()


def one_more(tampered: Tampered) -> None:
  """A file more, which the manifest has."""
  (tampered.folder / "more.txt").write_text("x")
  tampered.manifest()


def of_two_runs(tampered: Tampered) -> None:
  """A model's clean cell says other weights than its corrupted ones."""

  def change(note: dict) -> None:
    if note["config"] == "clean":
      note["by"]["weights"] = "0" * 64

  tampered.notes(change)
  tampered.manifest()


OF_FILES: dict[str, Callable[[Tampered], Any]] = {
  "cells_of_two_runs": of_two_runs,
  "table_value": _table(lambda lines: lines[1].__setitem__(6, "0.001")),
  "table_interval": _table(lambda lines: lines[1].__setitem__(8, lines[1][6])),
  "table_row": _table(lambda lines: lines.pop(1)),
  "held_out_errors": _held_out("held_out_mean_corruption_error"),
  "held_out_flips": _held_out("held_out_mean_flip_probability"),
  "held_out_mpc": _held_out("held_out_mpc"),
  "held_out_gamma": _held_out("held_out_gamma_r"),
  "seen_in_notes": _said(corruptions_seen=["brightness"]),
  "severities_in_notes": _said(severities_seen=[1, 2]),
  "trained_on_in_notes": _said(trained_on="digits train"),
  "cell_removed": without_a_cell,
  "file_more": one_more,
  "code_text": lambda t: t.manifest(lambda m: m.update(code="0.1.0 (351)")),
}
