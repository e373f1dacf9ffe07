import numpy as np
import pytest

from tinyude.baselines import diffrax_shooting
from tinyude.baselines.adjoint import Shooting, loss_gradient, tape_init
from tinyude.baselines.diffrax_shooting import DiffraxShooting, shooting_loss
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.network.mlp import mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.systems import pendulum

lacking = diffrax_shooting.missing()
needs_diffrax = pytest.mark.skipif(bool(lacking), reason=f"{', '.join(lacking)} not installed (tinyude[bench])")


@needs_diffrax
def test_shooting_loss_agrees_with_the_discrete_adjoint() -> None:
    """Another solver of higher order, by automatic differentiation: short steps bring both to the same gradient."""
    import jax

    random = np.random.default_rng(0)
    physics, sizes = pendulum().physics, (2, 4, 2)
    observed = random.standard_normal((6, 3, 2))
    ones = np.ones(2)
    shooting = Shooting(physics, sizes, (0, 1), 2.0 * ones, 0.5 * ones, 0.01, observed, np.zeros((5, 4, 3, 0)), ones)
    params = mlp_init(sizes, rng_seed(0))
    value, grad = loss_gradient(params, shooting, tape_init(shooting))
    single = params.astype(np.float32), observed.astype(np.float32)
    other_value, other_grad = jax.value_and_grad(shooting_loss(shooting))(*single)
    np.testing.assert_allclose(other_value, value.real, rtol=1e-5)
    np.testing.assert_allclose(other_grad, grad, rtol=1e-4, atol=1e-5 * np.abs(grad).max())


@needs_diffrax
def test_fit_descends_and_counts_compilation_apart() -> None:
    plant = pendulum()
    _, samples = plant.stream(noise=0.01, seed=0, seconds=5.0)
    shooting = DiffraxShooting(plant.physics, iterations=5, windows=8, steps=10).fit(samples, t=1.0 / plant.rate)
    assert shooting.history_["loss"][-1] < shooting.history_["loss"][0]
    assert shooting.diagnostics_["compile_seconds"] > 0.0


def test_fit_names_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffrax_shooting, "missing", lambda: ["diffrax"])
    with pytest.raises(TinyUDEError, match=r"needs diffrax; pip install 'tinyude\[bench\]'"):
        DiffraxShooting(pendulum().physics).fit(np.zeros((100, 2)), t=1e-3)


def test_fit_rejects_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffrax_shooting, "missing", list)
    driven = Physics(["x"], ["-x + u"], inputs=["u"])
    with pytest.raises(TinyUDEError, match=r"takes no inputs \(u\)"):
        DiffraxShooting(driven).fit(np.zeros((100, 1)), t=1e-3, u=np.zeros((100, 1)))
