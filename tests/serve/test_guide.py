"""The guide: its curl example is run as it stands, its client is as short as it says."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from plurilabel import MLkNN

GUIDE = Path(__file__).parents[2] / "docs/guides/serving.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not in the source distribution")
def test_curl_says_what_the_guide_says():
    pytest.importorskip("fastapi")
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    from plurilabel.serve import Service, running

    blocks = re.findall(r"```text\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.S)
    command, answer = blocks[:2]
    X = pd.DataFrame({"height": [0.5, 2.0, 2.2, 0.4, 2.1], "sun": [2, 9.0, 8, 3, 7.0]})
    Y = [["shade"], ["flowers", "tall"], ["flowers", "tall"], ["shade"], ["flowers", "tall"]]
    with running(Service(MLkNN(2).fit(X, Y))) as address:
        words = shlex.split(command.replace("\\\n", " ").replace("localhost:8000", address))
        done = subprocess.run([*words, "--silent", "--fail"], capture_output=True, check=True)
    said, shown = json.loads(done.stdout), json.loads(answer)
    assert said.keys() == shown.keys()
    assert set(said["rows"][0]["labels"]) == set(shown["rows"][0]["labels"])
    assert said["rows"][0]["scores"].keys() == shown["rows"][0]["scores"].keys()


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not in the source distribution")
def test_the_client_has_twenty_lines():
    (client,) = re.findall(r"class Client:\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.S)
    assert 15 <= len(client.splitlines()) + 1 <= 20
