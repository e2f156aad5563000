"""CCC: streams of pictures that change continually, at equal difficulty.

Press et al. 2023 ("RDumb"), docs/evidence/specs/ccc.md.
"""

NAMES = ("imagenet_ccc", "signs_ccc")  # of the streams
