"""MAPIE's part of python -m benchmarks guarantees; runs in an environment that has MAPIE.

python -m benchmarks guarantees_peer scores.npz cuts.npz
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mapie.risk_control import MultiLabelClassificationController


def main() -> None:
    given = np.load(sys.argv[1])
    scores, Y, level = given["scores"], given["Y"], float(given["level"])
    cuts, seconds = [], []
    for chosen in given["calibration"][:40]:  # about a second each
        start = time.perf_counter()
        controller = MultiLabelClassificationController(
            lambda S: S, risk="recall", method="crc", target_level=level
        )
        controller.calibrate(scores[chosen], Y[chosen])
        seconds.append(time.perf_counter() - start)
        cuts.append(float(np.ravel(controller.best_predict_param)[0]))
    np.savez(sys.argv[2], cuts=cuts, seconds=seconds)


if __name__ == "__main__":
    main()
