"""Names of the factors that draws belong to."""

INIT = "init"
SHUFFLE = "shuffle"
AUGMENT = "augment"
LAYERS = "layers"
DATA = "data"

#: The factor outside all boundaries.
OTHER = "other"

#: Draws that become seeds: the same in every run, since seeds are derived anyhow.
SEED = "seed"

#: The factors within which a boundary is entered: it counts only outside all others, or parameters are initialised
#: whatever else draws.
OUTSIDE = (OTHER,)
ALL_BUT_DATA = (OTHER, LAYERS, AUGMENT, SHUFFLE)

#: The boundary is entered whichever factor draws.
ALWAYS = None
