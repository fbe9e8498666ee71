"""Converter of kernel regressions."""

from __future__ import annotations

import numpy as np

from plurilabel._core.blocks import dense
from plurilabel.learners.adaptation import KernelRegressions
from plurilabel.models.onnx._to_onnx import Answer, Graph, Value

FARTHEST = 8.0  # standard deviations, as in KernelRegressions


def kernel_regressions(graph: Graph, learner: KernelRegressions, x: Value) -> Answer:
    """Probabilities, row by row: a scan takes less memory than all rows, components, features."""
    m, d = learner.components_.shape
    graph.check_room(8.0 * m * d * (1 + len(learner.kernels_)))
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    body = Graph(prefix="kernels_")
    row = Value(body, "kernels_x")
    components = dense(learner.components_)
    known = graph.constant(components)
    scaled = (row - learner.mean_) / learner.scale_
    standardized = body("Clip", scaled, -FARTHEST, FARTHEST)
    below = body("Less", known, row).cast(np.float64)
    below = below + body("LessOrEqual", known, row).cast(np.float64)
    ranks = body("ReduceSum", below, np.array([0]), keepdims=0) / (2.0 * m)
    total = None
    for name, gamma, coef in zip(learner.kernels_, learner.gamma_, learner.dual_coef_):
        of_components, _ = learner._view(components, name)
        z = standardized
        if name.startswith("ranked_"):
            root = np.sqrt if name == "ranked_rbf" else np.asarray
            z = ranks * root(learner.feature_weights_)
        if name == "linear":
            K = body("MatMul", of_components, z) * float(gamma)
        else:
            apart = z - of_components
            apart = apart * apart if name.endswith("rbf") else abs(apart)
            D = body("ReduceSum", apart, np.array([1]), keepdims=0)
            K = body("Exp", D * -float(gamma))
        part = K @ coef
        total = part if total is None else total + part
    assert total is not None
    inside = helper.make_graph(
        body.nodes,
        "kernels",
        [helper.make_tensor_value_info("kernels_x", types.DOUBLE, [d])],
        [helper.make_tensor_value_info(total.name, types.DOUBLE, [learner.n_labels_])],
        body.constants,
    )
    log_odds = graph("Scan", x, body=inside, num_scan_inputs=1) + learner.intercept_[np.newaxis]
    scores = graph("Sigmoid", log_odds)
    return Answer(scores, scores > 0.5, "predict_proba")
