"""One setting changed and nothing else; what cannot be changed surely is not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roundsman.remedy import settings_file
from roundsman.remedy.settings_file import CannotEdit

YAML = """\
# pools, see the handbook
pool:
  size: 20   # was 4
  "timeout": 1.5s
names:
  - name: x
    value: "20"
flag: yes
"""
ENV = "# pools\nexport POOL_SIZE=20\nNAME='a b' # who\nEMPTY=\nPOOL_SIZE_MAX=9\n"


def put(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("name", "text", "key", "value", "line"),
    [
        ("a.yaml", YAML, "size", 4, "  size: 4   # was 4"),
        ("a.yaml", YAML, "timeout", "3s", '  "timeout": "3s"'),
        ("a.yml", YAML, "flag", False, "flag: false"),
        ("a.env", ENV, "POOL_SIZE", "4", "export POOL_SIZE=4"),
        ("a.env", ENV, "NAME", "c", "NAME='c' # who"),
        ("a.env", ENV, "EMPTY", "x y", 'EMPTY="x y"'),
        ("a.conf", ENV, "POOL_SIZE_MAX", "8", "POOL_SIZE_MAX=8"),
        ("a.json", '{"a": {"POOL": 20, "x": "20"},\n "b": [1]}', "POOL", 4, '{"a": {"POOL": 4, "x": "20"},'),
        ("a.json", '{"u": "http://a/\\u00e4"}', "u", "http://b/ä", '{"u": "http://b/ä"}'),
    ],
)  # fmt: skip
def test_only_the_value_changes(
    tmp_path: Path, name: str, text: str, key: str, value: Any, line: str
) -> None:
    file = put(tmp_path, name, text)
    changed = settings_file.with_values(file, {key: value})
    old, new = text.split("\n"), changed.split("\n")
    assert line in new
    assert len([1 for a, b in zip(old, new, strict=True) if a != b]) == 1
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("name", "text", "key", "value", "why"),
    [
        ("a.json", '{"a": {"n": 1}, "b": {"n": 1}}', "n", 2, "stands in it 2 times"),
        ("a.json", '{"a": 1}', "b", 2, "is not in it"),
        ("a.json", '{"n": 1, "n": 2', "n", 2, "2 times"),
        ("a.json", '{"n": 1', "n", 2, "no whole JSON"),
        ("a.yaml", "n: [1, 2]\n", "n", 2, "is not in it"),
        ("a.yaml", "n: |\n  text\n", "n", "x", "is not in it"),
        ("a.env", "N=1\nN=2\n", "N", "3", "2 times"),
        ("a.env", "N=1\n", "N", "3\nEVIL=1", "cannot be written"),
        ("a.env", "N='1'\n", "N", "it's", "cannot be written"),
        ("a.env", 'N="1"\n', "N", "$(touch /tmp/x)", "cannot be written"),
        ("a.env", "N=1\n", "N", "`id`", "cannot be written"),
    ],
)
def test_what_is_not_sure_is_left(
    tmp_path: Path, name: str, text: str, key: str, value: Any, why: str
) -> None:
    file = put(tmp_path, name, text)
    with pytest.raises(CannotEdit, match=why):
        settings_file.with_values(file, {key: value})
    assert file.read_text(encoding="utf-8") == text


def test_a_file_keeps_its_mode_and_what_is_behind_a_link_is_changed(tmp_path: Path) -> None:
    file = put(tmp_path, "real.env", "N=1\n")
    file.chmod(0o640)
    link = tmp_path / "link.env"
    link.symlink_to(file)
    settings_file.replace(link, settings_file.with_values(link, {"N": "2"}))
    assert (file.read_text(), link.is_symlink()) == ("N=2\n", True)
    assert os.stat(file).st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.env", "real.env"]
    with pytest.raises(CannotEdit, match=r"gone\.env"):
        settings_file.value_of(tmp_path / "gone.env", "N")


SCALARS = st.one_of(
    st.integers(-(10**9), 10**9), st.booleans(), st.text(max_size=20),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)  # fmt: skip
KEYS = st.text("ABCdef_9", min_size=1, max_size=8)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.dictionaries(KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), min_size=1),
    value=SCALARS,
    pick=st.randoms(use_true_random=False),
    kind=st.sampled_from(["json", "yaml"]),
)
def test_another_value_comes_out_and_the_rest_is_as_it_was(
    tmp_path: Path, data: dict[str, Any], value: Any, pick: Any, kind: str
) -> None:
    text = json.dumps(data, indent=2) if kind == "json" else yaml.safe_dump(data)
    file = put(tmp_path, f"a.{kind}", text)
    key = pick.choice(sorted(data))
    try:
        changed = settings_file.with_values(file, {key: value})
    except CannotEdit:
        return
    read = json.loads(changed) if kind == "json" else yaml.safe_load(changed)
    assert read == {**data, key: value}
