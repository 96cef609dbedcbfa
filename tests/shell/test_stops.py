"""Each way in which a worker ends before it decides anything: one line with its reason, and the status it names."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from plangate.shell.embedded import free_port
from plangate.shell.settings import SettingsError, load_settings

WORKER = "from plangate.cli.main import cli; cli()"
DEFECT = "from plangate.shell import process; process.load_engine = lambda settings: 1 / 0; "
INTERRUPT = "from plangate.shell import process; process.load_engine = lambda settings: exec('raise SystemExit(3)'); "
CANARY = "c4n4ry"


def start(folder: Path, *arguments: str, before: str = "", **settings: object) -> subprocess.Popen[str]:
    given = {f"PLANGATE_{name.upper()}": str(value) for name, value in {"web_port": 0, **settings}.items()}
    command = [sys.executable, "-c", before + WORKER, "worker", *arguments]
    return subprocess.Popen(
        command, env={**os.environ, **given}, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def stopped(worker: subprocess.Popen[str]) -> dict[str, Any]:
    """The last line, which is the only one that says that the worker stopped."""
    text, _ = worker.communicate(timeout=60)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line for line in lines if line["event"] == "stopped"] == lines[-1:], text
    assert lines[-1]["status"] == worker.returncode
    assert CANARY not in text
    return lines[-1]


BAD_KEYS = {"keys": [{"key_id": CANARY, "source": CANARY, "public_key": CANARY}]}


@pytest.mark.parametrize(
    ("status", "reason", "detail", "settings", "arguments", "before"),
    [
        (78, "the settings are wrong", "batch_size must be a whole number", {"batch_size": CANARY}, [], ""),
        (78, "the settings are wrong", "broker must be host:port", {"broker": f"{CANARY}:{CANARY}"}, [], ""),
        (78, "the settings are wrong", "the settings file can't be read", {}, ["--config", CANARY], ""),
        (78, "the settings are wrong", "the file of sasl_password", {"sasl_password_file": f"/{CANARY}"}, [], ""),
        (78, "the worker can't start", "", {"keyring_file": f"/{CANARY}/keys.json"}, [], ""),
        (78, "the worker can't start", "keyring: entry 0", {"keyring_file": "keys.json"}, [], ""),
        (78, "the worker can't start", "policy", {"policy_file": "policy.json"}, [], ""),
        (
            78,
            "the worker can't start",
            "",
            {"security_protocol": "SSL", "ssl_ca_file": "keys.json", "log_level": "error"},
            [],
            "",
        ),
        (69, "the broker can't be reached", "", {}, [], ""),
        (69, "the broker can't be reached", "", {"log_level": "error", "sasl_password": CANARY}, [], ""),
        (70, "an error of our own", "", {}, [], DEFECT),
        (70, "an error of our own", "", {"log_level": "error"}, [], INTERRUPT),
    ],
)
def test_each_end_has_its_reason(
    tmp_path: Path, status: int, reason: str, detail: str, settings: dict[str, str], arguments: list[str], before: str
) -> None:
    (tmp_path / "keys.json").write_text(json.dumps(BAD_KEYS))
    (tmp_path / "policy.json").write_text(json.dumps({CANARY: CANARY, "keep_threshold": CANARY})[:-1])
    line = stopped(start(tmp_path, *arguments, before=before, **{"broker": f"127.0.0.1:{free_port()}", **settings}))
    assert (line["status"], line["reason"]) == (status, reason)
    assert detail in line.get("detail", "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["keys.json", "policy.json"], "it left something"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("level", ["info", "error"])
def test_a_signal_while_the_broker_does_not_answer(tmp_path: Path, number: signal.Signals, level: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        worker = start(tmp_path, broker=f"127.0.0.1:{silent.getsockname()[1]}", log_level=level)
        peer, _ = silent.accept()
        time.sleep(0.1)
        worker.send_signal(number)
        line = stopped(worker)
        peer.close()
    assert (line["status"], line["reason"], line["signal"]) == (0, "signal", number.name)


def test_a_signal_before_anything_is_set_up(tmp_path: Path) -> None:
    """The command listens before it loads the Kafka libraries, which takes most of the start."""
    before = (
        "import os, signal; from plangate.shell import settings; plain = settings.load_settings; "
        "settings.load_settings = lambda *given: (os.kill(os.getpid(), signal.SIGINT), plain(*given))[1]; "
        "import plangate.cli.worker; plangate.cli.worker.load_settings = settings.load_settings; "
    )
    line = stopped(start(tmp_path, before=before, broker=f"127.0.0.1:{free_port()}"))
    assert (line["status"], line["signal"]) == (0, "SIGINT")


@pytest.mark.parametrize("broker", ["", "host:port", "host:1:2", "kafka://host:1", "a:1,", "a:1,b:x", "a b:1"])
def test_an_address_that_is_none_is_told(broker: str) -> None:
    with pytest.raises(SettingsError, match="broker must be host:port"):
        load_settings({"PLANGATE_BROKER": broker})


@pytest.mark.parametrize("broker", ["host", "host:1", "a:1, b-2.c_d:2", "[::1]:9092", "127.0.0.1:9092"])
def test_addresses(broker: str) -> None:
    assert load_settings({"PLANGATE_BROKER": broker}).broker == broker
