from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.errors import PolicyError
from roundsman.policy import load_policy
from roundsman.policy.resources import MOST_KEYS, keys_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("template", "args", "keys"),
    [
        ("cluster", {}, {"cluster"}),
        ("{service}", {"service": "web"}, {"web"}),
        ("{service}", {"service": "  WEB "}, {"web"}),
        ("{service}", {"service": "ｗｅｂ"}, {"web"}),
        ("{n}", {"n": 7}, {"7"}),
        ("{n}", {"n": 7.0}, {"7"}),
        ("db/{r}/{n}", {"r": "eu", "n": "a"}, {"db/eu/a"}),
        ("{s}", {"s": ["a", "b", "A"]}, {"a", "b"}),
        ("{r}-{s}", {"r": ["x", "y"], "s": ["a", "b"]}, {"x-a", "x-b", "y-a", "y-b"}),
        ("{service}", {}, None),
        ("{service}", {"service": ""}, None),
        ("{service}", {"service": None}, None),
        ("{service}", {"service": True}, None),
        ("{n}", {"n": 10**5000}, None),
        ("{service}", {"service": {"name": "web"}}, None),
        ("{service}", {"service": ["web", None]}, None),
        ("{service}", {"service": []}, None),
        ("{service}", {"service": [["web"]]}, None),
        ("{s}", {"s": [str(n) for n in range(MOST_KEYS + 1)]}, None),
        (None, {"service": "web"}, None),
    ],
)
def test_keys(template: str | None, args: dict[str, Any], keys: set[str] | None) -> None:
    assert keys_of(template, args) == keys


@given(st.dictionaries(st.sampled_from("abc"), JSON))
def test_no_arguments_can_break_it(args: dict[str, Any]) -> None:
    keys = keys_of("x/{a}/{b}", args)
    assert keys is None or 0 < len(keys) <= MOST_KEYS


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{service", "has a lone brace in '{service'; write {argument}"),
        ("a}b", "lone brace"),
        ("{}", "has {} in '{}'; write an argument's name"),
        ("{a.b}", "has {a.b}"),
        ("{0}", "has {0}"),
        ("{{a}}", "lone brace"),
    ],
)
def test_a_template_that_says_nothing_is_refused_with_its_line(
    template: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"tools:\n  allow:\n    t:\n      resource: '{template}'\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"p\.yaml:4: tools\.allow\.t\.resource") as error:
        load_policy(file)
    assert why in str(error.value)
