"""The README's animation: samples arrive, the coefficient's interval shrinks, the free run follows the truth.

python tools/demo_animation.py docs/images/demo.gif
"""

import sys
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import tinyude as tu

BLUE, INK = "#0072B2", "#1b1f24"
EVERY = 5  # samples: 200 Hz of the demonstration's 1 kHz
LENGTHS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.0)  # seconds of data behind each fit
RUN_FRAMES, RUN_SECONDS, START = 18, 6.0, (-0.9, 2.2)


def main(path: Path) -> None:
    system = tu.systems.pendulum("A")
    t, samples = system.stream(noise=0.1, seed=0, seconds=LENGTHS[-1])
    t, samples = t[::EVERY], samples[::EVERY]
    times = np.arange(0.0, RUN_SECONDS, 0.01)
    truth = free_run(lambda x: system.truth(x), times)
    frames, found = [], []
    for seconds in LENGTHS:
        until = t <= seconds
        ude = tu.UDE(system.physics).fit(samples[until], t=t[until])
        found += [(seconds, row["learned"], row["low"], row["high"]) for row in ude.terms_ if row["term"] == "omega"]
        frames.append(frame(t[until], samples[until], t[-1], found, ude, times[:1], truth))
    for shown in np.linspace(0, len(times), RUN_FRAMES, dtype=int)[1:]:
        frames.append(frame(t, samples, t[-1], found, ude, times[:shown], truth))
    durations = [450] * len(LENGTHS) + [120] * (RUN_FRAMES - 2) + [3000]
    palette = frames[-1].quantize(64)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in frames]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    print(f"wrote {path}, {path.stat().st_size / 1e3:.0f} kB")


def free_run(field, times):
    from scipy.integrate import solve_ivp

    return solve_ivp(lambda _, x: field(x), (0.0, times[-1]), START, t_eval=times, rtol=1e-8, atol=1e-10).y.T


def frame(t, samples, last, found, ude, times, truth):
    """One frame: the samples so far, the damping estimated from them with its interval, the free run so far."""
    figure = Figure(figsize=(9.2, 2.9), dpi=80, layout="constrained")
    data, law, run = figure.subplots(1, 3, width_ratios=(1.2, 1.0, 1.2))
    data.plot(t, samples[:, 0], ".", color=BLUE, ms=1.5)
    data.set(title=f"{t[-1]:.1f} s of noisy samples", xlabel="time [s]", ylabel="θ [rad]")
    data.set(xlim=(0, last), ylim=(-3.3, 3.3))
    law.axhline(-0.4, color=INK, lw=4, alpha=0.25)
    for seconds, value, low, high in found:
        law.plot([seconds, seconds], [low, high], color=BLUE, lw=2, alpha=0.5)
        law.plot(seconds, value, "o", color=BLUE, ms=4)
    law.set(xlabel="seconds of data", ylabel="coefficient, 90 % interval", xlim=(0, last + 0.5), ylim=(-0.45, -0.35))
    law.set(title=f"missing: {found[-1][1]:.3f} ω" if found else "missing: ?")
    run.plot(np.linspace(0.0, RUN_SECONDS, len(truth)), truth[:, 0], color=INK, lw=4, alpha=0.25)
    if len(times) > 1:
        states = ude.simulate(START, times)
        run.plot(times, states[:, 0], color=BLUE, lw=1.6)
    run.set(title="a free run, against the truth", xlabel="time [s]", ylabel="θ [rad]", xlim=(0, RUN_SECONDS))
    for axis in (data, law, run):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#e8eaed")
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return Image.open(buffer).convert("RGB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo.gif"))
