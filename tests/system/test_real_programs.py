"""Programs nobody here wrote behave the same under Leakline as without it."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leakline.patching.kinds import PlanKind
from leakline.patching.plans import Wanted, modules_of, prepare

from .conftest import LEAKLINE, Outcome

# Shell commands with deterministic output; run in a scratch folder with `input.txt`.
COMMANDS = [
    "true",
    "false",
    "sh -c 'exit 7'",
    "ls -la /usr/share/common-licenses",
    "ls /nonexistent",
    "cat input.txt | sort | uniq -c | sort -rn | head -5",
    "yes | head -3",
    "grep -c the input.txt",
    "sed -e 's/a/b/g' input.txt | tail -2",
    "awk '{ n += NF } END { print n }' input.txt",
    "find /usr/share/common-licenses -type f | sort",
    "diff input.txt /etc/hostname",
    "gzip -9c input.txt | gzip -dc | cksum",
    "bzip2 -c input.txt | bzip2 -dc | cksum",
    "xz -T2 -c input.txt | xz -dc | cksum",
    "tar cf - input.txt | tar tvf - --full-time | wc -l",
    "tar czf - --mtime=2020-01-01 input.txt | tar tzf -",
    "bash -c 'for i in {1..50}; do echo $((i * i)); done | tail -1'",
    "bash -c 'f() { echo $BASHPID >/dev/null; }; f & wait; kill -TERM $$'",
    "bash -c 'trap \"echo caught\" USR1; kill -USR1 $$; echo after'",
    "bash -c '(exit 3) | cat; echo ${PIPESTATUS[0]}'",
    "perl -e 'my %h; $h{$_ % 97} .= $_ for 1 .. 20000; print length(join q(), values %h)'",
    "perl -ne 'print length, qq(\\n) if /the/' input.txt",
    "perl -e 'print fork() ? (wait && q(parent)) : q(child )'",
    "perl -e 'kill 11, $$'",
    "/usr/bin/python3 -c 'import json; print(json.dumps(list(range(100))))'",
    "/usr/bin/python3 -c 'import sys; sys.exit(5)'",
    "/usr/bin/python3 -c 'import os; os.abort()'",
    '/usr/bin/python3 -c \'import subprocess as s; print(s.check_output(["id", "-u"]))\'',
    (
        "/usr/bin/python3 -c 'import threading as t; print(sum(1 for i in range(200) if "
        "not (x := t.Thread(target=print)).start() and not x.join()))'"
    ),
    "/usr/bin/python3 -c 'import resource; print(resource.getrlimit(7)[0] > 0)'",
    "/usr/bin/python3 -c 'import os; print(os.open(\"/dev/null\", 0))'",
    (
        "git init -q r && cd r && git config user.email a@b && git config user.name a "
        "&& cp ../input.txt . && git add . && git commit -qm x && git log --format=%s "
        "&& git fsck && git grep -c the"
    ),
    "gcc -x c -O2 -S -o - - <<< 'int f(int a) { return a * 3; }' | cksum",
    "g++ -x c++ -c -o /dev/null - <<< '#include <map>\nstd::map<int, int> m;'",
    "gcc -x c - <<< 'int main(void) { return x; }'",
    "make -f - <<< 'all: ; @echo made'",
    "dd if=/dev/zero bs=1M count=8 status=none | md5sum",
    "openssl dgst -sha256 input.txt",
    (
        "sqlite3 :memory: 'create table t(a); insert into t values (1), (2); "
        "select sum(a) from t;'"
    ),
    "env -i /bin/echo nothing inherited",
    "timeout 1 sleep 5",
    "stdbuf -o0 echo unbuffered",
    "sh -c 'ulimit -v 400000; perl -e \"print 1 + 1\"'",
    "sh -c 'exec >&- 2>&-; ls / ; exit 4'",
]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return a folder with a text file of a few thousand lines."""
    folder = tmp_path / "work"
    folder.mkdir()
    licence = Path("/usr/share/common-licenses/GPL-3").read_text()
    (folder / "input.txt").write_text(licence * 5)
    return folder


def run(prefix: list[str], command: str, folder: Path) -> tuple[int, bytes, bytes]:
    shutil.rmtree(folder / "r", ignore_errors=True)
    done = subprocess.run(
        [*prefix, "bash", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_output_and_status_are_the_same(command: str, scratch: Path) -> None:
    report = scratch.parent / "report.txt"
    watched = run(
        [
            str(LEAKLINE),
            "run",
            "--error-exitcode",
            "0",
            "--report-file",
            str(report),
            "--",
        ],
        command,
        scratch,
    )
    assert watched == run([], command, scratch)
    assert "lens reach" in report.read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask(port: int, request: bytes) -> bytes:
    """Send one request to a loopback server, waiting until it listens."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
                link.sendall(request)
                return link.recv(65536)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.fixture(params=["reach", "loss"])
def lens(request: pytest.FixtureRequest) -> str:
    """Return a lens; the plans that a server needs have been made by an earlier run."""
    lens: str = request.param
    if lens == "loss":
        for program in ("redis-server", "nginx"):
            path = Path(str(shutil.which(program)))
            prepare([Wanted(PlanKind.LOSS, module) for module in modules_of(path)])
    return lens


@pytest.fixture
def redis(
    scratch: Path, lens: str
) -> Iterator[tuple[subprocess.Popen[bytes], int, Path]]:
    """Start redis-server under Leakline on a free port."""
    port = free_port()
    report = scratch / "redis.json"
    arguments = ["redis-server", "--port", str(port), "--bind", "127.0.0.1"]
    with subprocess.Popen(
        [
            LEAKLINE,
            "run",
            "--lens",
            lens,
            "--format",
            "json",
            "--report-file",
            report,
            "--error-exitcode",
            "0",
            "--",
            *arguments,
            "--save",
            "",
        ],
        cwd=scratch,
        stdout=subprocess.DEVNULL,
    ) as server:
        yield server, port, report
        if server.poll() is None:
            server.kill()


def test_redis_serves_under_load_and_reports(
    redis: tuple[subprocess.Popen[bytes], int, Path], lens: str
) -> None:
    server, port, report = redis
    assert ask(port, b"PING\r\n") == b"+PONG\r\n"
    subprocess.run(
        ["redis-benchmark", "-p", str(port), "-q", "-n", "5000", "-c", "20"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], check=True)
    assert server.wait(120) == 0
    assert f'"{lens}": "active"' in report.read_text()


NGINX = """
daemon off; worker_processes 2; pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}
"""


def test_nginx_serves_and_every_worker_reports(scratch: Path, lens: str) -> None:
    port = free_port()
    scratch.chmod(0o755)
    (scratch / "www").mkdir()
    (scratch / "www/page").write_text("hello")
    (scratch / "nginx.conf").write_text(NGINX.format(folder=scratch, port=port))
    report = scratch / "nginx.json"
    command = ["nginx", "-p", str(scratch), "-c", str(scratch / "nginx.conf")]
    with subprocess.Popen(
        [
            LEAKLINE,
            "run",
            "--lens",
            lens,
            "--format",
            "json",
            "--report-file",
            report,
            "--error-exitcode",
            "0",
            "--",
            *command,
        ],
    ) as server:
        for _ in range(100):
            answer = ask(port, b"GET /page HTTP/1.0\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200") or b"403" in answer
        os.kill(int((scratch / "nginx.pid").read_text()), signal.SIGQUIT)
        assert server.wait(120) == 0
    assert f'"{lens}": "active"' in report.read_text()


def test_every_descendant_is_watched(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("reach_references.c", "-O0")
    outcome = watch(
        [
            "sh",
            "-c",
            (
                f"{program}; {program} | cat; make -s -f - <<'E'\n"
                f"all: ; @{program} || true\nE\n"
            ),
        ]
    )
    (blocks,) = {
        finding["blocks"]
        for finding in outcome.report["findings"]
        if any(
            frame["function"] == "result_ignored_bad"
            for frame in finding["allocation"]["frames"]
        )
    }
    assert blocks == 3
