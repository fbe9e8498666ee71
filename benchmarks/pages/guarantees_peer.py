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
    found = {}
    for method, more in (("crc", {}), ("rcps", {"confidence_level": 1 - float(given["delta"])})):
        cuts, seconds = [], []
        for chosen in given["calibration"][:40]:  # about a second each
            start = time.process_time()
            controller = MultiLabelClassificationController(
                lambda S: S, risk="recall", method=method, target_level=level, **more
            )
            controller.calibrate(scores[chosen], Y[chosen])
            seconds.append(time.process_time() - start)
            cuts.append(float(np.ravel(controller.best_predict_param)[0]))
        found |= {f"{method}_cuts": cuts, f"{method}_s": seconds}
    np.savez(sys.argv[2], **found)


if __name__ == "__main__":
    main()
