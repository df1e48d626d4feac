"""What tests and effects are called in tables for people; files for programs have the names they are kept under."""

from __future__ import annotations

#: By the names of `contrast.Contrast.tests`.
TEST_NAMES = {
    "student_t": "Student's t",
    "welch_t": "Welch's t",
    "mann_whitney_u": "Mann-Whitney U",
    "brunner_munzel": "Brunner-Munzel",
    "permutation": "permutation of means",
    "brown_forsythe": "Brown-Forsythe",
    "levene": "Levene",
    "f_variance": "F of variances",
    "bartlett": "Bartlett",
    "paired_t": "paired t",
    "wilcoxon": "Wilcoxon signed ranks",
    "paired_permutation": "exchange within pairs",
}

#: By the names of `contrast.Contrast.effects`.
EFFECT_NAMES = {
    "cohen_d": "Cohen's d",
    "hedges_g": "Hedges' g",
    "cliff_delta": "Cliff's delta",
    "p_superiority": "P(A > B)",
    "cohen_dz": "Cohen's d for pairs",
}
