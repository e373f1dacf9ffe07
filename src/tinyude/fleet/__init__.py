"""Many machines: one fit for each machine and period on Dask, what they have in common, and which differ or change.

`paths` finds the logs, `periods` reads their dates, `choice` and `selection` find the terms, `work` fits a log,
`cluster` spreads the work, `store` keeps results, `population` and `watch` compare machines, `page` shows them. `fit`
puts these in order; `fit_pooled` takes all logs as one.
"""

from tinyude.fleet.pooled import fit_pooled
from tinyude.fleet.result import FleetResult
from tinyude.fleet.run import fit, open_fleet
from tinyude.fleet.sums import Sums, pooled_sums

__all__ = ["FleetResult", "Sums", "fit", "fit_pooled", "open_fleet", "pooled_sums"]
