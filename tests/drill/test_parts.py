"""The parts of a drill that need no servers."""

from __future__ import annotations

import inspect
import io
import signal
import ssl
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from roundsman.drill import caretaker, programs
from roundsman.drill.caretaker import Caretaker
from roundsman.drill.catalogue import DRILLS, find_drill
from roundsman.drill.certificates import Authority
from roundsman.drill.names import Names, renamed
from roundsman.drill.queries import queries
from roundsman.drill.record import claimed
from roundsman.drill.releases import replaced
from roundsman.drill.repository import Repository
from roundsman.errors import DrillFailed, MissingDependency, UsageError

GIT = programs.find("git")


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda name: None if "metrics" in name else Path("/x"))
    with pytest.raises(MissingDependency, match=r"apt-get install victoria-metrics$"):
        programs.find_all()


def test_programs_of_one_package_ask_for_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda name: None)
    with pytest.raises(MissingDependency, match="apt-get install postgresql prometheus ") as found:
        programs.find_all()
    assert str(found.value).count("apt-get install") == 1


def test_a_missing_python_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"uvicorn.*pip install 'roundsman\[drill\]'"):
        programs.need_packages()


def test_the_server_programs_are_where_pg_config_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "any" / "place"
    folder.mkdir(parents=True)
    (folder / "initdb").touch()
    config = tmp_path / "pg_config"
    config.write_text(f"#!/bin/sh\necho {folder}\n")
    config.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert programs.find("initdb") == folder / "initdb"


def test_a_pg_config_that_cannot_run_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "pg_config"
    config.write_text("no program")
    config.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.find("initdb") is None


@pytest.mark.parametrize("name", ["pool-to-large", "slow-querry"])
def test_a_misspelt_drill_gets_a_hint(name: str) -> None:
    with pytest.raises(UsageError, match="did you mean"):
        find_drill(name)


def test_there_are_nine_faults_and_two_harmless() -> None:
    assert [one.harmless for one in DRILLS.values()].count(True) == 2
    assert [one.harmless for one in DRILLS.values()].count(False) == 9


def test_a_harmless_drill_blames_nothing_and_a_fault_a_service() -> None:
    for one in DRILLS.values():
        truth = one(Names()).truth()
        assert (truth.service is None) == one.harmless
        assert truth.because


@pytest.mark.parametrize("kind", DRILLS.values(), ids=DRILLS)
def test_patches_fit_the_service_they_change(kind: type) -> None:
    module = inspect.getmodule(kind)
    text = (files("roundsman.drill.shop") / "checkout_api.py").read_text()
    for name in ("_PATCH", "_STORE"):
        pair = getattr(module, name, None)
        if pair is not None:
            text = replaced(text, *pair)
    compile(text, kind.__name__, "exec")


def test_a_patch_that_fits_nowhere_or_twice_is_refused() -> None:
    with pytest.raises(DrillFailed, match="fits 0 places"):
        replaced("a b", "c", "d")
    with pytest.raises(DrillFailed, match="fits 2 places"):
        replaced("a a", "a", "d")


def test_services_can_be_renamed() -> None:
    names = renamed(["checkout=basket-api", "database=stock-db"])
    assert (names.checkout, names.database, names.gateway) == (
        "basket-api", "stock-db", Names().gateway,
    )  # fmt: skip
    assert any("basket-api" in query.promql for query in queries(names))


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("shop=x-api", "ROLE one of gateway"),
        ("checkout", "expected ROLE=NAME"),
        ("checkout=", "a name is lower case"),
        ("checkout=../../etc", "a name is lower case"),
        ('checkout=a"b', "a name is lower case"),
        ("checkout=orders-db", "same name"),
    ],
)
def test_a_bad_name_is_refused(pair: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        renamed([pair])


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_a_change_is_a_commit_with_its_diff(tmp_path: Path) -> None:
    assert GIT is not None
    repository = Repository(GIT, tmp_path / "repository")
    first = repository.commit("first", {"api/config.json": '{"SIZE": 4}\n'})
    second = repository.commit("more", {"api/config.json": '{"SIZE": 20}\n'})
    assert second.files == ("api/config.json",)
    assert '-{"SIZE": 4}' in second.diff
    assert '+{"SIZE": 20}' in second.diff
    assert repository.read("api/config.json", first.sha) == '{"SIZE": 4}\n'
    where = repository.export(first.sha, Path("api"), tmp_path / "out")
    assert (where / "config.json").read_text() == '{"SIZE": 4}\n'
    repository.copy_to(tmp_path / "copy.git")
    done = subprocess.run(
        [str(GIT), "-C", str(tmp_path / "copy.git"), "log", "--format=%s"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["more", "first"]
    everything = b"".join(f.read_bytes() for f in (tmp_path / "copy.git").rglob("*") if f.is_file())
    assert str(tmp_path).encode() not in everything


def test_a_certificate_ends_when_it_should_and_its_authority_is_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "tls")
    before = time.time()
    certificate, key, ends = authority.issue("some-api", 600)
    assert before + 598 <= ends <= time.time() + 600
    assert key.stat().st_mode & 0o077 == 0
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cafile=str(authority.file))
    assert _handshake(server, client) == ""
    old, old_key, _ = authority.issue("old-api", -5)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(old, old_key)
    assert "certificate has expired" in _handshake(server, client)


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> str:
    """What the client says of the server; empty when it is content."""
    pipes = [ssl.MemoryBIO() for _ in range(2)]
    near = client.wrap_bio(pipes[0], pipes[1], server_hostname="127.0.0.1")
    far = server.wrap_bio(pipes[1], pipes[0], server_side=True)
    for _ in range(6):
        for side in (near, far):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                if side is near:
                    return str(error)
    return ""


def test_listing_works_and_says_what_cannot_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "roundsman", "drill", "list"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(DRILLS)


@pytest.mark.parametrize(("told", "stays"), [(b"", False), (b"done", True)])
def test_the_caretaker_removes_a_folder_only_when_the_drill_could_not(
    told: bytes, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "lab"
    (folder / "deep").mkdir(parents=True)
    monkeypatch.setattr(caretaker, "_PATIENCE", 0.0)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(told)))
    caretaker.main(folder)
    assert folder.exists() == stays


def test_a_drill_is_over_although_its_caretaker_has_not_heard_of_it_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab").mkdir()
    watches = Caretaker(tmp_path / "lab")
    watches._process.send_signal(signal.SIGSTOP)  # as slow as a machine can be
    monkeypatch.setattr(caretaker, "_WAITS_S", 0.0)
    watches.done()
    watches._process.send_signal(signal.SIGCONT)
    assert watches._process.wait(300) == 0
    assert (tmp_path / "lab").exists()


def test_a_folder_is_only_replaced_when_a_drill_made_it(tmp_path: Path) -> None:
    (tmp_path / "incident").mkdir()
    with pytest.raises(UsageError, match="is no drill's"), claimed(tmp_path):
        pass
    (tmp_path / "incident").rmdir()
    with claimed(tmp_path):
        (tmp_path / "incident").mkdir()
    with claimed(tmp_path):
        assert not (tmp_path / "incident").exists()


def test_a_recording_is_only_replaced_when_that_was_asked_for(tmp_path: Path) -> None:
    with claimed(tmp_path):
        (tmp_path / "incident").mkdir()
    (tmp_path / "drill.json").write_text('{"finished": true}')
    with pytest.raises(UsageError, match=r"holds a recording.*--force"), claimed(tmp_path):
        pass
    assert (tmp_path / "incident").exists()
    with claimed(tmp_path, force=True):
        assert not (tmp_path / "incident").exists()


def test_two_drills_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with (
        claimed(tmp_path),
        pytest.raises(UsageError, match="another drill writes to it"),
        claimed(tmp_path),
    ):
        pass


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="choose another folder"), claimed(tmp_path / "file"):
        pass
