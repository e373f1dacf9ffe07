"""How often the verdict is wrong: simulated rigs, half of them broken, with seeds not used for setting thresholds."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit
from tinyude.experiments.studies.rig_plants import PLANTS, UNSEEN
from tinyude.experiments.studies.rig_trials import BLIND
from tinyude.experiments.studies.rigs import ALL, FAULTS, can_occur, make_rig

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "verdicts"
TITLE = "Sound and broken rigs, and what the verdict says of them"
REPORTED = 1000  # rules: seeds 0 to 2 of PLANTS, 5000 of UNSEEN, 7 and 8 of TUNING; one was changed after BLIND


def units(quick: bool) -> list[Unit]:
    """All plants except TUNING without a fault; each fault on one plant that rules were set on and on one of BLIND."""
    groups = (PLANTS,) if quick else (PLANTS | UNSEEN, BLIND)
    sound = [(name, "", REPORTED) for plants in groups for name in plants]
    rng = np.random.default_rng(REPORTED)
    broken = []
    for fault in FAULTS:
        for plants in groups:
            names = [name for name in plants if can_occur(plants[name], fault)] or [
                n for n in ALL if can_occur(ALL[n], fault)
            ]
            broken.append((str(rng.choice(names)), fault, REPORTED))
    return [Unit(run_rig, {"plant": n, "fault": f, "seed": s}, 2.0) for n, f, s in (*sound, *broken)]


def run_rig(config: Config) -> Result:
    """Fit one rig and return the verdict; an error in fitting counts as bad."""
    rig = make_rig(config["plant"], config["fault"], config["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ude = UDE(rig.physics, measured=rig.measured, hold=rig.hold).fit(rig.Y, t=rig.period, u=rig.u)
        except TinyUDEError as error:
            return {"status": "bad", "kinds": ["error"], "summary": str(error)}
    verdict = ude.verdict_
    kinds = [reason.kind for reason in verdict.reasons if reason.severity != "note"]
    return {"status": verdict.status, "kinds": kinds, "summary": verdict.summary}


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows = []
    for fault in ("", *FAULTS):
        found = [(c, r) for c, r in outcomes if c["fault"] == fault]
        wrong = [c["plant"] for c, r in found if (r["status"] == "good") != (fault == "")]
        kinds = sorted({kind for _, r in found for kind in r["kinds"]})
        counts = {status: sum(r["status"] == status for _, r in found) for status in ("good", "caution", "bad")}
        rows.append({"fault": fault or "none", "rigs": len(found), **counts, "wrong": wrong, "kinds": kinds})
    broken = rows[1:]
    alarms, sound = len(rows[0]["wrong"]), rows[0]["rigs"]
    misses, faulty = sum(len(row["wrong"]) for row in broken), sum(row["rigs"] for row in broken)
    blind = [(c, r) for c, r in outcomes if c["plant"] in BLIND]
    wrong = [
        f"{c['plant']}: {c['fault'] or 'sound'}" for c, r in blind if (r["status"] == "good") != (c["fault"] == "")
    ]
    return {
        "rows": rows,
        "false_alarms": alarms,
        "sound": sound,
        "misses": misses,
        "broken": faulty,
        "quick": quick,
        "notes": [
            f"Of {sound} sound rigs {alarms} were not rated good; of {faulty} broken ones {misses} were rated good.",
            f"On the {len(blind)} rigs of plants apart from tuning (one rule was changed after seeing their results): "
            f"{len(wrong)} wrong" + (f" ({', '.join(wrong)})." if wrong else "."),
        ],
    }


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    header = ["fault", "rigs", "good", "caution", "bad", "found by"]
    rows = [
        [r["fault"], *(str(r[key]) for key in ("rigs", "good", "caution", "bad")), ", ".join(r["kinds"]) or "-"]
        for r in summary["rows"]
    ]
    return [Table("Verdicts on simulated rigs", header, rows)]
