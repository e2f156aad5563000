"""Do image classifiers generalize across time? ImageNet-Vid-Robust, YTBB-Robust."""

CITATION = (
  "Shankar et al. 2021 (ICCV), Do Image Classifiers Generalize Across Time?,"
  " arXiv 1906.02168"
)
