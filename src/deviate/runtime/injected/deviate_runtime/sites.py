"""The function that an overlay calls around draws in the program's own files."""

from threading import get_ident


def make_draw(process):
    """Return `__dv_draw__`, which makes a function draw for the factor of its site.

    A site without a factor is only noted: it draws for the boundary that the program is in. Each site is noted once
    for each factor that it draws for.
    """
    from .streams.threads import draw_in_thread

    streams = process.streams
    factors = [site["factor"] for site in process.config["draws"]]
    reached = set()
    #: The factor for which each site last drew in the program's first thread with nothing left to do.
    settled = [None] * len(factors)

    def mark_draw(site, function):
        try:
            if settled[site] == streams.current and get_ident() == streams.thread:
                return function
            factor = factors[site]
            beside = get_ident() != streams.thread
            drawn = site, factor or ("other" if beside else streams.current)
            if drawn not in reached:
                reached.add(drawn)
                process.events.write({"event": "draw", "site": site, "factor": drawn[1]})
            if beside and streams.controls:
                own = draw_in_thread(streams, factor, function)
                if own is not None:
                    return own
            if not factor or factor == streams.current:
                if not beside:
                    settled[site] = streams.current
                return function
            return Inside(streams, factor, function)
        except Exception as error:
            process.events.note("draw-not-told-apart", repr(error), "draw")
        return function

    if process.config.get("explain"):
        from .streams.explain import explain_draws

        return explain_draws(process, mark_draw)
    return mark_draw


class Inside:
    """A function that draws for a factor. It is called at once and never kept."""

    __slots__ = ("streams", "factor", "function")

    def __init__(self, streams, factor, function):
        self.streams = streams
        self.factor = factor
        self.function = function

    def __call__(self, *args, **kwargs):
        before = self.streams.enter(self.factor)
        try:
            return self.function(*args, **kwargs)
        finally:
            self.streams.leave(before)
