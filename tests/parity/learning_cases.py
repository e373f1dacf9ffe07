"""Cases of learning from accepted windows: network, loss, optimiser, library."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import SEED, Outcome, case, exact
from compiled_core import Array, Core

from tinyude.reference.network import adam, last_layer, loss, mlp, reservoir
from tinyude.reference.numeric import rng
from tinyude.reference.paper import second_order
from tinyude.reference.regression import change_detection, library

RANDOM = np.random.default_rng(5)
SIZES = (3, 7, 5, 3)
ROWS, BATCH = 6, 20
BLOCK = 64  # samples in a block, at most
PARAMS = exact(RANDOM.standard_normal(mlp.mlp_count(SIZES)))
X, TAN, Y_BAR, TAN_BAR = exact(RANDOM.standard_normal((4, ROWS, 3)))
ENTRIES = exact(RANDOM.standard_normal((ROWS, 9)))
X_SCALE, S1, S2 = exact(0.5 + RANDOM.random((3, 3)))
JACOBIAN = exact(RANDOM.standard_normal((3, 3)))
NODE_WEIGHTS = exact(RANDOM.random((2, 3)))
WEIGHT = 0.25


class Network:
    """A block of the core's network, in the layout that vector units have: rows of a layer one after the other."""

    def __init__(self, core: Core) -> None:
        self.core, self.net = core, core.new("tu_mlp")
        self.net.layers, self.net.sizes = len(SIZES) - 1, SIZES
        self.net.transposed = core.pointer(np.zeros(len(PARAMS)))
        self.params = core.pointer(PARAMS)
        self.weights = core.lib.tu_mlp_weights(self.net, self.params)
        self.grad = core.array(np.zeros(len(PARAMS)))

    def block(self, layer: int = 0, values: Array | None = None) -> Array:
        block = self.core.array(np.zeros(self.core.lib.tu_mlp_block(self.net)))
        if values is not None:
            self.put(block, layer, values)
        return block

    def put(self, block: Array, layer: int, values: Array) -> None:
        start = self.core.lib.tu_mlp_offset(self.net, layer)
        block[start : start + values.size] = values.ravel()
        layer_start = self.core.pointer(block[start:])
        self.core.lib.tu_mlp_pad(ROWS, SIZES[layer], layer_start)

    def get(self, block: Array, layer: int) -> Array:
        start = self.core.lib.tu_mlp_offset(self.net, layer)
        return block[start : start + ROWS * SIZES[layer]].reshape(ROWS, SIZES[layer]).copy()

    def forward(self) -> Array:
        acts = self.block(0, X)
        self.core.lib.tu_mlp_forward(self.net, self.weights, ROWS, self.core.pointer(acts))
        return acts

    def jvp(self, acts: Array) -> Array:
        tans = self.block(0, TAN)
        self.core.lib.tu_mlp_jvp(self.net, self.weights, ROWS, self.core.pointer(acts), self.core.pointer(tans))
        return tans

    def backward(self, acts: Array, bend: Any) -> None:
        self.put(acts, 3, Y_BAR)
        pointers = [self.core.pointer(acts), bend, self.core.pointer(self.grad)]
        self.core.lib.tu_mlp_backward(self.net, self.params, ROWS, *pointers)


def core_mlp(core: Core) -> Outcome:
    network = Network(core)
    acts = network.forward()
    tans = network.jvp(acts)
    found = {f"acts {layer}": network.get(acts, layer) for layer in range(4)}
    found |= {f"tans {layer}": network.get(tans, layer) for layer in range(4)}
    network.backward(acts, core.ffi.NULL)
    return found | {"grad": network.grad}


@case("mlp forward, jvp, backward", core_mlp)
def reference_mlp() -> Outcome:
    acts = mlp.mlp_forward(PARAMS, SIZES, X)
    tans = mlp.mlp_jvp(PARAMS, SIZES, acts, TAN)
    found = {f"acts {layer}": values for layer, values in enumerate(acts)}
    found |= {f"tans {layer}": values for layer, values in enumerate(tans)}
    return found | {"grad": mlp.mlp_backward(PARAMS, SIZES, acts, Y_BAR)[0]}


def core_jvp_backward(core: Core) -> Outcome:
    network = Network(core)
    acts = network.forward()
    tans, bend = network.jvp(acts), core.pointer(network.block())
    network.put(tans, 3, TAN_BAR)
    pointers = [core.pointer(acts), core.pointer(tans), bend, core.pointer(network.grad)]
    core.lib.tu_mlp_jvp_backward(network.net, network.params, ROWS, *pointers)
    network.backward(acts, bend)
    return {"x_bar": network.get(tans, 0), "grad": network.grad}


@case("mlp jvp_backward", core_jvp_backward)
def reference_jvp_backward() -> Outcome:
    acts = mlp.mlp_forward(PARAMS, SIZES, X)
    tans = mlp.mlp_jvp(PARAMS, SIZES, acts, TAN)
    return {
        "x_bar": mlp.mlp_backward(PARAMS, SIZES, acts, TAN_BAR)[1],
        "grad": mlp.mlp_jvp_backward(PARAMS, SIZES, acts, tans, Y_BAR, TAN_BAR),
    }


def core_batch(core: Core) -> Any:
    store, random, batch = core.new("tu_reservoir"), core.new("tu_rng"), core.new("tu_batch")
    core.lib.tu_reservoir_init(store, core.pointer(np.zeros(ENTRIES.size)), core.ffi.NULL, core.ffi.NULL, ROWS, 9, 0)
    core.lib.tu_rng_seed(random, SEED, 0)
    for entry in ENTRIES:
        core.lib.tu_reservoir_offer(store, core.pointer(entry), random)
    indices = core.ffi.new("uint32_t[64]")
    batch.reservoir, batch.rng, batch.indices, batch.size, batch.columns = store, random, indices, BATCH, 3
    return batch, (store, random, indices)


def reference_batch() -> Array:
    store = reservoir.reservoir_init(ROWS, 9)
    random = rng.rng_seed(SEED)
    for entry in ENTRIES:
        reservoir.reservoir_offer(store, entry, random)
    return store.entries[reservoir.reservoir_draw(store, BATCH, random)]


def core_loss(core: Core) -> Outcome:
    found: Outcome = {}
    for nodes, weights in ((1, core.ffi.NULL), (2, core.pointer(NODE_WEIGHTS))):
        network, (batch, _alive) = Network(core), core_batch(core)
        scratch = core.pointer(np.zeros(core.lib.tu_loss_scratch(network.net, BLOCK)))
        grad = core.pointer(network.grad)
        value = core.lib.tu_loss_first(network.net, network.params, batch, nodes, weights, scratch, grad)
        found |= {f"{nodes} nodes: loss": value, f"{nodes} nodes: gradient": network.grad}
    return found


@case("loss_first", core_loss)
def reference_loss() -> Outcome:
    found: Outcome = {}
    for nodes, weights in ((1, np.ones((1, 3))), (2, NODE_WEIGHTS)):
        entries = reference_batch()
        x, target = entries[:, : 3 * nodes].reshape(BATCH, nodes, 3), entries[:, 3 * nodes : 3 * nodes + 3]
        value, grad = loss.loss_first(PARAMS, SIZES, x, weights, target)
        found |= {f"{nodes} nodes: loss": value, f"{nodes} nodes: gradient": grad}
    return found


def core_last_layer(core: Core) -> Outcome:
    found: Outcome = {}
    for nodes, weights in ((1, np.ones((1, 3))), (2, NODE_WEIGHTS)):
        network, (batch, _alive), params = Network(core), core_batch(core), core.array(PARAMS)
        scratch = core.pointer(np.zeros(core.lib.tu_loss_scratch(network.net, BLOCK)))
        work = core.pointer(np.ones(core.lib.tu_last_layer_work(network.net)))
        node_weights = core.pointer(weights)
        core.lib.tu_last_layer_solve(network.net, core.pointer(params), batch, nodes, node_weights, 3.0, scratch, work)
        found[f"{nodes} nodes"] = params
    return found


@case("last_layer_solve", core_last_layer)
def reference_last_layer() -> Outcome:
    found: Outcome = {}
    for nodes, weights in ((1, np.ones((1, 3))), (2, NODE_WEIGHTS)):
        params = PARAMS.copy()
        x, target = ENTRIES[:, : 3 * nodes].reshape(ROWS, nodes, 3), ENTRIES[:, 3 * nodes : 3 * nodes + 3]
        last_layer.last_layer_solve(params, SIZES, x, weights, target, 3.0)
        found[f"{nodes} nodes"] = params
    return found


def core_loss_second(core: Core) -> Outcome:
    @core.ffi.callback("void(void *, tu_real *, tu_real *, tu_real *)")
    def known(_context: Any, x: Any, field: Any, jacobian: Any) -> None:
        here = JACOBIAN @ core.read(x, 3).astype(np.float64)
        for i in range(3):
            field[i] = here[i]
        for i, value in enumerate(JACOBIAN.ravel()):
            jacobian[i] = value

    network, (batch, _alive), second = Network(core), core_batch(core), core.new("tu_second_order")
    second.known, second.weight = known, WEIGHT
    second.x_scale, second.s1, second.s2 = (core.pointer(scale) for scale in (X_SCALE, S1, S2))
    scratch, grad = (
        core.pointer(np.zeros(core.lib.tu_second_order_scratch(network.net, BLOCK))),
        core.pointer(network.grad),
    )
    value = core.lib.tu_second_order_loss(network.net, network.params, batch, second, scratch, grad)
    return {"loss": value, "gradient": network.grad}


@case("second_order_loss", core_loss_second)
def reference_loss_second() -> Outcome:
    entries = reference_batch()
    x = entries[:, :3]
    jacobian = np.broadcast_to(JACOBIAN, (BATCH, 3, 3))
    second = second_order.SecondOrder((x * X_SCALE) @ JACOBIAN.T, jacobian, entries[:, 6:], X_SCALE, S1, S2)
    value, grad = second_order.second_order_loss(PARAMS, SIZES, x, entries[:, 3:6], second, WEIGHT)
    return {"loss": value, "gradient": grad}


GRADIENTS = exact(RANDOM.standard_normal((5, 40)))


def core_adam(core: Core) -> Outcome:
    params, average, moments = core.array(GRADIENTS[0]), core.array(GRADIENTS[0]), core.array(np.zeros((2, 40)))
    state = core.new("tu_adam")
    core.lib.tu_adam_init(state, core.pointer(moments[0]), core.pointer(moments[1]), 40)
    for step, grad in enumerate(GRADIENTS):
        grad = core.array(grad)
        core.lib.tu_clip(core.pointer(grad), 40, 5.0)
        rate = core.lib.tu_cosine_rate(step, 7, 0.02, 0.125)
        core.lib.tu_adam_step(state, core.pointer(params), core.pointer(grad), rate)
        core.lib.tu_ema_update(core.pointer(average), core.pointer(params), 40, step, 0.75)
    return {"params": params, "average": average, "moments": moments}


@case("clip, cosine_rate, adam_step, ema_update", core_adam)
def reference_adam() -> Outcome:
    params, average, state = GRADIENTS[0].copy(), GRADIENTS[0].copy(), adam.adam_init(40)
    for step, grad in enumerate(GRADIENTS):
        rate = adam.cosine_rate(step, 7, 0.02, 0.125)
        adam.adam_step(state, params, adam.clip(grad), rate)
        adam.ema_update(average, params, step, 0.75)
    return {"params": params, "average": average, "moments": [state.first, state.second]}


GROUPS, BLOCKS, WINDOWS, FORGET = 8, 20, 10, 640
DESIGNS = exact(RANDOM.standard_normal((BLOCKS * WINDOWS, 2, 4)))  # one parameter, three terms for each of two states
TARGETS = exact(DESIGNS @ [0.7, 1.5, 0.0, -0.25] + 0.1 * RANDOM.standard_normal((BLOCKS * WINDOWS, 2)))


def core_library(core: Core) -> Outcome:
    config, state, work = core.new("tu_config"), core.new("tu_library"), core.new("tu_library_work")
    change = core.new("tu_change")
    config.on_count, config.parameters, config.library_terms, config.groups = 2, 1, 3, GROUPS
    core.lib.tu_library_carve(state, core.arena(), config)
    core.lib.tu_library_work_carve(work, core.arena(), state, 1)
    core.lib.tu_change_carve(change, core.arena(), 7)
    changed = []
    for number, (design, target) in enumerate(zip(DESIGNS, TARGETS, strict=True), 1):
        core.lib.tu_change_add(change, state, core.pointer(design), core.pointer(target))
        core.lib.tu_library_add(state, core.pointer(design), core.pointer(target), core.pointer(target))
        if number % WINDOWS == 0:
            core.lib.tu_library_end_block(state, FORGET)
            changed.append(core.lib.tu_change_end_block(change, state.solved))
        if number == len(DESIGNS) // 2:
            core.lib.tu_library_solve(state, work, 1, 4.5)
    core.lib.tu_library_solve(state, work, 1, 4.5)
    found = {name: core.read(getattr(state, name), 7) for name in ("coefficients", "errors")}
    return found | {"usual": core.read(change.usual, 7), "changed": changed}


@case("library_add, library_solve, change_end_block", core_library)
def reference_library() -> Outcome:
    state, change, changed = library.library_init(GROUPS, 7), change_detection.change_init(7), []
    for number, (design, target) in enumerate(zip(DESIGNS, TARGETS, strict=True), 1):
        whole = np.zeros((2, 7))
        whole[:, 0] = design[:, 0]
        whole[0, 1:4], whole[1, 4:7] = design[0, 1:], design[1, 1:]
        change_detection.change_add(change, state, whole, target)
        library.library_add(state, whole, target)
        if number % WINDOWS == 0:
            library.library_end_block(state, FORGET)
            changed.append(change_detection.change_end_block(change, state.solved))
        if number == len(DESIGNS) // 2:
            library.library_solve(state, 1, 4.5)
    library.library_solve(state, 1, 4.5)
    return {"coefficients": state.coefficients, "errors": state.errors, "usual": change.usual, "changed": changed}
