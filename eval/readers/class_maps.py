"""Class maps of any program: one folder per model, in it a folder per condition.

A model's folder holds `clean/` and `<corruption>_<severity>/`; its name is the
model's label. In each lies a PNG (or PGM) of class ids 0, 1, ... for every picture,
of the picture's size, named as the picture but for the extension, as
mmsegmentation's `--out` and others write them.

The ground truth (`--truth`) is a folder of masks of the same names, of ids 0, 1, ... and
255 where no pixel counts, with `--classes=FILE` of their names; or, with
`--dataset=cityscapes_seg_c`, `ade20k_c` or `voc_seg_c`, the folder of the official files.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from eval.cells.cell import Cell
from eval.metrics import segmentation
from eval.readers import base
from eval.tasks.parts import example_checks, protocols
from robust_tfds import conditions, datasets, errors, reading
from robust_tfds.building import masks, source
from robust_tfds.building.sources import mask_labels
from robust_tfds.reading import mask_files, picture_folders
from robust_tfds.storage import paths as paths_lib

_EXTENSIONS = (".png", ".pgm")
_CLEAN = "clean"
# Id of a picture -> its mask.
Truth = Mapping[str, masks.Labels]


class ClassMapReader(base.Reader):
  """Reader of folders of class maps."""

  kind = "a folder of class maps"
  options = (
    *("dataset", "truth", "classes", "seed", "baseline", "protocol"),
    "subset",
  )
  example = base.Example(
    {
      "masks/a.pgm": "P2 3 1 255\n0 1 255\n",
      "names.txt": "road\nsky\n",
      "mine/clean/a.pgm": "P2 3 1 255\n0 1 0\n",
      "mine/fog_3/a.pgm": "P2 3 1 255\n0 0 0\n",
    },
    "mine",
    {"truth": "masks", "classes": "names.txt"},
  )

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Return whether it is a folder of folders of class maps.

    One without `clean` is too: `read` says what it lacks.
    """
    known = {c.config for c in conditions.PICTURES.known_conditions}
    return path.is_dir() and any(
      name in known and _maps(path / name) for name in paths_lib.names(path)
    )

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """Return the cells of all folders; a map is read when its cell is needed.

    Raises:
      UserError: no ground truth, two folders of the same name, a folder of no
        condition, or other pictures than the ground truth has.
    """
    options.check(self.options, self.kind)
    truth, classes = _truth(options, paths[0])
    if options.subset:  # that its ids are exactly these, `score` checks
      clean = _maps(paths[0] / _CLEAN)
      truth = {
        i: m for i, m in truth.items() if os.path.splitext(i)[0] in clean
      }
    labels = {p: paths_lib.resolved(p).name for p in paths}
    base.check_labels({path: [label] for path, label in labels.items()})
    maps = {
      _cell(labels[path], condition, files, options): files
      for path in paths
      for condition, folder in _conditions(path).items()
      for files in [_checked(folder, truth)]
    }
    cells, protocol = list(maps), protocols.get(options.protocol or "").name
    return base.Run(
      config=base.config(
        "segmentation",
        cells,
        baseline=options.baseline or "",
        **({"protocol": protocol} if protocol else {}),
      ),
      cells=cells,
      columns=lambda cell: _columns(maps[cell], truth, len(classes)),
      class_names=classes,
      notes=[f"scored from class maps in {', '.join(labels.values())}"],
    )


def _truth(
  options: base.Options, path: epath.Path
) -> tuple[Truth, Sequence[str]]:
  """Return the masks by picture, and the names of the classes."""
  if options.truth is None or not options.truth.is_dir():
    raise errors.UserError(
      f"--truth={options.truth or ''}: the class maps of {path} are scored with their"
      " masks: name the folder of the masks, or of the official files of --dataset."
    )
  if options.dataset in datasets.names():
    example_checks.check_kind(options.dataset, masks.Builder.KIND)
    builder = datasets.builder(options.dataset)
    listed = builder.clean_sources(options.truth).values()
    truth = {s.example_id: s.mask for each in listed for s in each}
    return truth, [name for name, *_ in builder.class_names()]
  if options.classes is None:
    raise errors.UserError(
      f"--classes: missing: the masks of {options.truth} hold ids. Name a file of"
      " the classes' names, one a line, in the order of the ids."
    )
  names = reading.line_list(options.classes)
  files = _maps(options.truth)
  if not files:
    raise errors.UserError(f"--truth={options.truth}: no PNG of masks in it.")
  return {
    f"{name}.png": mask_labels.Mask(source.File(name, file), len(names))
    for name, file in files.items()
  }, names


def _conditions(
  folder: epath.Path,
) -> dict[conditions.Condition, epath.Path]:
  """Return the folders of a model's conditions in paper order, clean first."""
  out = {}
  for name in paths_lib.names(folder):
    if picture_folders.is_hidden(name) or not (folder / name).is_dir():
      continue
    try:
      out[conditions.PICTURES.parse(name)] = folder / name
    except errors.UserError as e:
      raise errors.UserError(
        f"{folder / name} is not named after a condition: expected clean or"
        f" <corruption>_<severity>, e.g. fog_3. {e}"
      ) from e
  if conditions.Condition() not in out:
    raise errors.UserError(
      f"{folder / _CLEAN}: missing. Retention is relative to the clean mIoU."
    )
  return base.sort_by_paper(out)


def _maps(folder: epath.Path) -> dict[str, str]:
  """Return the path of each map by its path below the folder, unextended."""
  below = [
    (os.path.splitext(name)[0], path)
    for name, path in paths_lib.files_below(folder)
    if name.lower().endswith(_EXTENSIONS)
  ]
  return dict(sorted(below))


def _checked(folder: epath.Path, truth: Truth) -> dict[str, str]:
  """Return the map of each picture; refuse other pictures than the truth's."""
  files, out = _maps(folder), {}
  for example_id in truth:
    stem = os.path.splitext(example_id)[0]
    if stem not in files:
      raise errors.UserError(
        f"{folder}: no class map of {example_id!r}. Expected {len(truth):,}, one for"
        f" each mask, got {len(files):,}: {stem}.png and so on."
      )
    out[example_id] = files[stem]
  strange = min(set(files.values()) - set(out.values()), default="")
  if strange:
    raise errors.UserError(
      f"{strange}: there is no mask of this name among {len(truth):,}. Leave it out."
    )
  return out


def _cell(
  label: str,
  condition: conditions.Condition,
  files: Mapping[str, str],
  options: base.Options,
) -> Cell:
  digest = hashlib.sha256()
  for name, file in files.items():
    digest.update(f"{name}\t{paths_lib.sha256(file)}\n".encode())
  return Cell(
    model=label,
    dataset=options.dataset or base.UNNAMED,
    condition=condition,
    seed=options.seed or 0,
    fingerprint=digest.hexdigest()[:12],
  )


def _columns(
  files: Mapping[str, str], truth: Truth, classes: int
) -> dict[str, np.ndarray]:
  """Return each picture's areas.

  Raises:
    UserError: a map of another size, no ids, or ids that are no classes; begins
      with the file.
  """
  areas = []
  for example_id, file in files.items():
    ids, mask = mask_files.ids(file), truth[example_id].labels()
    with errors.prefixed(file):
      matrix = segmentation.confusion(mask, ids, classes)
      areas.append(segmentation.areas(matrix))
  names = np.array(list(files), np.str_)
  return {
    "example_id": names,
    "group_id": names,
    "frame": np.zeros(len(names), np.int32),
    "areas": np.stack(areas),
  }
