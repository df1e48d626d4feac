"""What LightGBM, XGBoost and CatBoost report of the trees that they grow."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysed_projects import analyse, names


def fitted(found: dict[str, str]) -> set[str]:
    return {name for name in found if name.startswith("fit:")}


@pytest.mark.parametrize(
    ("train", "reported"),
    [
        (
            """
            import lightgbm as lgb
            options = {"objective": "binary", "metric": "auc"}
            lgb.train(options, rows, 100, others)
            """,
            {"valid_0's auc"},
        ),
        (
            """
            import lightgbm as lgb
            def ratio(guesses, data):
                return "ratio", guesses.mean(), True
            options = {"objective": "regression", "metric": ["mae", "rmse"]}
            lgb.train(options, rows, valid_sets=[rows, others], feval=ratio)
            """,
            {f"{part}'s {name}" for part in ("training", "valid_1") for name in ("l1", "rmse", "ratio")},
        ),
        (
            """
            import lightgbm as lgb
            small, large = {"application": "binary"}, {"application": "binary"}
            lgb.train(train_set=rows, params=small if few else large, valid_sets=[rows, others],
                      valid_names=["known", "held out"])
            """,
            {"known's binary_logloss", "held out's binary_logloss"},
        ),
        (
            """
            import xgboost as xgb
            class Trees:
                def __init__(self):
                    self.options = {}
                    self.options["eval_metric"] = "merror"
                def grow(self, rows, others):
                    watched = [(others, "held"), (rows, "seen")]
                    self.model = xgb.train(self.options, rows, evals=watched)
            Trees().grow(load(), load())
            """,
            {"held-merror", "seen-merror"},
        ),
        (
            """
            from sklearn.base import clone
            from lightgbm import LGBMRegressor
            def make():
                return Scaler(), LGBMRegressor(metric="rmse")
            def grow(model, x, y):
                part = clone(model)
                part.fit(x, y, eval_set=[(x[:9], y[:9])])
            scaler, model = make()
            grow(model, x, y)
            """,
            {"valid_0's rmse"},
        ),
        (
            """
            import lightgbm as lgb
            how = {"eval_metric": "auc"}
            model = lgb.LGBMClassifier()
            model.fit(x, y, eval_set=[(x, y), (x[:9], y[:9])], eval_metric=how["eval_metric"])
            """,
            {f"{part}'s {name}" for part in ("training", "valid_1") for name in ("auc", "binary_logloss")},
        ),
        (
            """
            from xgboost import XGBClassifier
            model = XGBClassifier(n_estimators=9)
            model.fit(x, y, eval_set=[(x, y)], eval_metric=["error", "logloss"])
            """,
            {"validation_0-error", "validation_0-logloss"},
        ),
        (
            """
            import catboost as cb
            model = cb.CatBoostRegressor(iterations=9)
            model.fit(x, y, eval_set=(a, b))
            """,
            {"learn_RMSE", "test_RMSE"},
        ),
    ],
)
def test_each_metric_is_reported_on_each_set(tmp_path: Path, train: str, reported: set[str]) -> None:
    assert fitted(names(analyse(tmp_path, train=train))) == {f"fit:{name}" for name in reported}


@pytest.mark.parametrize(
    "train",
    [
        "import lightgbm as lgb\nlgb.train({'metric': 'auc'}, rows, valid_sets=[others], verbose_eval=False)\n",
        "import lightgbm as lgb\nlgb.train({'metric': 'auc'}, rows, 100)\n",
        "import lightgbm as lgb\nlgb.train({'metric': choose()}, rows, valid_sets=[others])\n",
        "import xgboost\nxgboost.XGBRegressor().fit(x, y, eval_set=[(x, y)], verbose=0)\n",
        "import catboost\ncatboost.CatBoostClassifier(verbose=False).fit(x, y, eval_set=(a, b))\n",
    ],
)
def test_nothing_is_reported_that_is_silenced_or_not_evaluated(tmp_path: Path, train: str) -> None:
    assert not fitted(names(analyse(tmp_path, train=train)))


def test_a_record_that_is_asked_for_counts_as_shown(tmp_path: Path) -> None:
    train = """
    import xgboost as xgb
    kept = {}
    xgb.train({"objective": "reg:squarederror"}, rows, evals=[(rows, "seen")], verbose_eval=False, evals_result=kept)
    """
    assert fitted(names(analyse(tmp_path, train=train))) == {"fit:seen-rmse"}
