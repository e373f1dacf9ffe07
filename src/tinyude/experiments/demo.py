"""The demonstration: a pendulum whose model lacks damping, which is learned from one noisy minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tinyude.estimator.ude import UDE
from tinyude.model.quantities import percent
from tinyude.model.validation import free_run
from tinyude.report.collect import collect
from tinyude.report.sentences import kilobytes
from tinyude.systems import pendulum

UNITS = {"theta": "rad", "omega": "rad/s"}
FRESH_START = (-0.9, 2.2)  # start of the free run, a motion that is not in the record
RUN_SECONDS = 8.0
RUN_STRIDE = 10  # samples


@dataclass(frozen=True)
class Demo:
    """A fitted model, its comparison with the truth, and the data of its report page."""

    ude: UDE
    results: dict[str, Any]
    report: dict[str, Any]

    def table(self) -> list[tuple[str, str]]:
        """The results as labelled values, ready to print."""
        found, window = self.results, self.results["window"]
        rows = [
            ("field error", percent(found["field_error"])),
            ("recovered damping", f"{found['damping']:.4f} (true {found['true_damping']:.4f})"),
            (
                "noise found",
                f"{percent(found['noise_relative'][0])} of theta, {percent(found['noise_relative'][1])} of omega",
            ),
            ("window chosen", f"{window['samples']} samples, ± {1e3 * window['half_width_seconds']:.4g} ms"),
            ("windows rejected", f"{sum(found['rejected'].values()):,} of {found['windows']:,}"),
            (
                "memory on a chip",
                f"{kilobytes(found['chip_bytes'])} ({kilobytes(found['static_bytes'])} here, holding every window)"
                if found["chip_bytes"]
                else "needs the compiled core",
            ),
            ("time", f"{found['seconds']:.3g} s"),
        ]
        return rows


def run_demo(
    *, noise: float = 0.01, seed: int = 0, preset: str = "default", progress: Callable[[int, int], None] | None = None
) -> Demo:
    """Fit the pendulum of case A, whose physics lacks the damping, and compare the result with the truth."""
    system = pendulum("A")
    t, Y = system.stream(noise=noise, seed=seed)
    ude = UDE(system.physics, preset=preset, random_state=seed).fit(Y, t=t, progress=progress)
    times, states = replace(system, start=FRESH_START, impulses=None).clean(seconds=RUN_SECONDS)
    times, states = times[::RUN_STRIDE], states[::RUN_STRIDE]
    run = free_run(ude, times, states, name="truth", x0=states[0])
    names = (
        "windows",
        "accepted",
        "rejected",
        "static_bytes",
        "chip_bytes",
        "seconds",
        "noise",
        "noise_relative",
        "window",
        "updates",
    )
    results = {
        "noise_level": noise,
        "seed": seed,
        "preset": preset,
        "field_error": system.field_error(ude.predict),
        "damping": float(system.damping(ude.residual)[0]),
        "true_damping": float(system.true_damping[0]),
        "rollout_error": run["total_error"],
        "equations": ude.equations(),
        **{key: ude.diagnostics_[key] for key in names},
    }
    headline = [
        f"From one minute of samples with {percent(noise)} noise TinyUDE learned the damping that the model lacks: "
        f"{results['damping']:.4f} per second, where {results['true_damping']:.4f} is true. "
        f"Its field is within {percent(results['field_error'])} of the real one."
    ]
    title = "A pendulum with forgotten damping"
    report = collect(ude, title=title, headline=headline, truth=system.truth, run=run, units=UNITS)
    return Demo(ude, results, report)
