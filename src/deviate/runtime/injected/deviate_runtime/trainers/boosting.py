"""LightGBM, XGBoost and CatBoost: what they evaluate, under the words in which they show it. Each tree is an epoch."""

import functools

from . import Observer, tick_of


def observe_lightgbm(module, process):
    """Observe what a booster evaluates: on the data that it is trained on, and on others."""
    booster = getattr(module, "Booster", None)
    observer = Observer(process)
    observer.before(booster, "update", tick_of(observer))
    for name in ("eval_train", "eval_valid"):
        observe_results(observer, booster, name)


def observe_results(observer, owner, name):
    """Record the results of a method that returns the set, the metric and the value of each."""
    plain = getattr(owner, name, None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def method(*args, **kwargs):
        results = plain(*args, **kwargs)
        try:
            observer.report({"%s's %s" % (result[0], result[1]): result[2] for result in results})
        except Exception as error:
            observer.process.recorder.failed(None, error)
        return results

    method._deviate = True
    setattr(owner, name, method)


def observe_xgboost(module, process):
    """Observe the history that is kept for callbacks."""
    callbacks = getattr(module, "CallbackContainer", None)
    observer = Observer(process)

    def report(self, *args, **kwargs):
        if not getattr(self, "is_cv", False):
            observer.report(
                {
                    "%s-%s" % (name, metric): values[-1]
                    for name, metrics in self.history.items()
                    for metric, values in metrics.items()
                    if values
                }
            )

    observer.before(callbacks, "before_iteration", tick_of(observer))
    observer.after(callbacks, "after_iteration", report)


def observe_catboost(module, process):
    """Observe what a model has kept of its training, which runs outside Python."""
    observer = Observer(process)

    def report(self, *args, **kwargs):
        results = {
            "%s_%s" % ("test" if name == "validation" else name, metric): values
            for name, metrics in self.get_evals_result().items()
            for metric, values in metrics.items()
        }
        for step in range(max(map(len, results.values()), default=0)):
            observer.tick(self, step)
            observer.report({name: values[step] for name, values in results.items() if step < len(values)})

    observer.after(getattr(module, "CatBoost", None), "_fit", report)
