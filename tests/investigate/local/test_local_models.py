"""Investigations on a server of one's own: natively, prompted, within a small context."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from model_server import Body, Raw, Server, answer, model_server, reply, step

from roundsman.errors import ModelServerError, UsageError
from roundsman.investigate import investigate, model_traffic
from roundsman.investigate.endpoint import Endpoint, chosen
from roundsman.investigate.models import model_named
from roundsman.investigate.resume import resume
from roundsman.ledger import LiveRun, Store
from roundsman.policy import load_policy

OUTAGE = Path(__file__).parents[3] / "examples" / "incidents" / "pool-exhaustion"


def run(
    server: Server,
    folder: Path,
    *,
    model: str = "m",
    question: str | None = None,
    policy: str = "default",
    url: str = "",
    **more: Any,
) -> tuple[dict[str, Any], Store]:
    store = Store(folder / "s.sqlite")
    endpoint = Endpoint.of(url or server.url, **{"tools": "prompted", **more})
    report, _ = investigate(
        OUTAGE,
        load_policy(policy),
        question=question,
        model=f"openai/{model}",
        store=store,
        endpoint=endpoint,
    )
    store.verify(report["run_id"])
    return report, store


def looks_then_answers(n: int, body: Body) -> Body:
    """A call, then what its result says; done in the second round."""
    if n == 1:
        return step("list_deploys", window_minutes=90, end_minutes_ago=None)
    if n == 2:
        return answer("storefront-api was deployed as v1.5.0")
    return answer(done=True)


def test_a_step_is_held_to_one_call_or_the_answer_and_runs_as_an_ordinary_call(
    tmp_path: Path,
) -> None:
    with model_server(looks_then_answers) as server:
        report, store = run(server, tmp_path)
    asked = server.asked[0]
    assert not asked.get("tools")
    steps = asked["response_format"]["json_schema"]["schema"]["properties"]["step"]["anyOf"]
    names = [one["properties"]["tool"]["enum"][0] for one in steps if "tool" in one["properties"]]
    assert {"query_metrics", "query_logs", "list_deploys"} <= set(names)
    args = steps[names.index("query_logs")]["properties"]["args"]["properties"]
    assert args["service"]["anyOf"][0] == {"type": "string", "maxLength": 120}
    assert args["window_minutes"]["anyOf"][0]["type"] == "integer"
    assert [(e["tool"], e["id"]) for e in report["evidence"]] == [("list_deploys", "a1")]
    # the guard saw an ordinary call: its clamp held
    assert [(a["tool"], a["from"], a["to"]) for a in report["amended"]] == [
        ("list_deploys", 90, 60)
    ]
    assert [f["statement"] for f in report["findings"]] == ["storefront-api was deployed as v1.5.0"]
    said = server.asked[1]["messages"]
    assert json.loads(said[-2]["content"])["step"]["tool"] == "list_deploys"
    assert said[-1]["content"].startswith("Result of list_deploys: ")
    assert len(server.asked) == report["usage"]["steps"]
    kinds = [r.kind for r in store.records(report["run_id"])]
    assert kinds.count("step_begins") == kinds.count("step_ends") == len(server.asked)


def test_a_tool_that_is_not_allowed_is_refused_under_prompted_too(tmp_path: Path) -> None:
    def say(n: int, body: Body) -> Body:
        return step("restart_pod", pod="a") if n == 1 else answer(done=True)

    with model_server(say) as server:
        report, _ = run(server, tmp_path)
    assert [r["tool"] for r in report["refused"]] == ["restart_pod"]
    assert not report["evidence"] or report["evidence"][0]["status"] == "blocked"


PRINTED = '```json\n{"name": "list_deploys", "arguments": {"window_minutes": "30"}}\n```'


def test_a_call_in_a_fence_runs_only_under_prompted(tmp_path: Path) -> None:
    def say(n: int, body: Body) -> Body:
        if body.get("tool_choice") == "required":
            return reply(calls=[("note", {"number": 7})])
        return reply(f"I will look.\n{PRINTED}") if n <= 2 else answer(done=True)

    for tools, evidence in (("prompted", ["list_deploys"]), ("native", [])):
        folder = tmp_path / tools
        folder.mkdir()
        with model_server(say) as server:
            report, _ = run(server, folder, tools=tools)
        tried = [e["tool"] for e in report["evidence"]]
        assert tried[:1] == evidence, tools
        told = [n["reason"] for n in report["notes"] if n["rule"] == "tools"]
        said = "a call of list_deploys came as text and was not made: --tools prompted"
        assert told == ([] if evidence else [said]), "natively it is recognised, and not run"
        assert not report["findings"]


@pytest.mark.parametrize("native", [True, False])
def test_a_first_short_call_shows_whether_native_calls_come(tmp_path: Path, native: bool) -> None:
    def say(n: int, body: Body) -> Body:
        if body.get("tool_choice") == "required":
            return reply(calls=[("note", {"number": 7})]) if native else reply("note(7)")
        if body.get("tools"):
            return reply(calls=[("list_deploys", {})]) if n == 2 else answer(done=True)
        return step("list_deploys") if n == 2 else answer(done=True)

    with model_server(say) as server:
        report, _ = run(server, tmp_path, tools="auto")
    probes = [a for a in server.asked if a.get("tool_choice") == "required"]
    assert len(probes) == 1
    assert probes[0]["max_tokens"] <= 64
    assert bool(server.asked[1].get("tools")) is native
    assert [e["tool"] for e in report["evidence"]] == ["list_deploys"]
    # its tokens are charged with the step that asked
    assert len(server.asked) == report["usage"]["steps"] + 1
    assert report["usage"]["tokens"] == 120 * len(server.asked)


def test_a_server_that_ignores_tool_choice_is_told_of(tmp_path: Path) -> None:
    with model_server(lambda n, body: reply("I would call note.")) as server:
        report, _ = run(server, tmp_path, tools="native")
    assert report["stop"]["reason"] == "failed"
    assert "ignores tool_choice" in report["stop"]["detail"]
    assert "--tools prompted" in report["stop"]["detail"]


def test_a_server_that_takes_no_tools_is_prompted(tmp_path: Path) -> None:
    def say(n: int, body: Body) -> Body | Raw:
        if body.get("tools"):
            return Raw(b'{"error": {"message": "tools param requires --jinja flag"}}', 500)
        return looks_then_answers(n - 1, body)

    with model_server(say) as server:
        report, _ = run(server, tmp_path, tools="auto")
    assert report["findings"]


@pytest.mark.parametrize(
    ("models", "props"),
    [
        ([{"id": "m", "max_model_len": 8192}], None),
        ([{"id": "m", "meta": {"n_ctx": 8192, "n_ctx_train": 131072}}], None),
        ([{"id": "m"}], {"default_generation_settings": {"n_ctx": 8192}}),
    ],
)
def test_the_context_is_what_the_server_says(models: list[Body], props: Body | None) -> None:
    with model_server(looks_then_answers, models, props=props) as server:
        assert model_named("openai/m", Endpoint.of(server.url)).context == 8192
        assert model_named("openai/m", Endpoint.of(server.url, context=4096)).context == 4096


@pytest.mark.parametrize("context", [4096, 8192])
def test_every_prompt_fits_the_context(tmp_path: Path, context: int) -> None:
    tools = ("query_metrics", "query_logs", "list_deploys")
    sent: list[int] = []

    def say(n: int, body: Body) -> Body:
        talk = sum(len(m["content"]) for m in body["messages"])
        tokens = int(talk / 2.2)  # as the server counts: numbers take more tokens than words
        sent.append(tokens + body["max_tokens"])
        if n > len(tools):
            return answer("storefront-api was deployed as v1.5.0", evidence="a3", done=n > 4)
        made = step(tools[n - 1])
        made["usage"] = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens}
        return made

    with model_server(say, [{"id": "m", "max_model_len": context}]) as server:
        report, store = run(server, tmp_path)
    assert max(sent) <= context
    results = [r.body["result"] for r in store.records(report["run_id"]) if r.kind == "action_ends"]
    whole = 3300 + sum(len(json.dumps(one)) for one in results)
    assert whole / 2.2 > 4096 - 1024, "uncut, they would not fit into the smaller one"
    assert report["findings"], "what it cites is in the whole result, which the journal keeps"
    assert report["stop"]["reason"] == "done"


def test_a_long_tool_answer_is_cut_in_the_models_view_and_whole_in_the_journal(
    tmp_path: Path,
) -> None:
    def say(n: int, body: Body) -> Body:
        return step("query_metrics") if n == 1 else answer(done=True)

    with model_server(say) as server:
        report, store = run(server, tmp_path, context=2600)
    seen = json.loads(server.asked[1]["messages"][-1]["content"].partition(": ")[2])
    whole = next(
        r.body["result"] for r in store.records(report["run_id"]) if r.kind == "action_ends"
    )
    assert len(seen["series"]) < len(whole["series"])
    assert seen["series"] == whole["series"][: len(seen["series"])]
    assert seen["left_out"]["series"] == len(whole["series"]) - len(seen["series"])
    assert seen["evidence_id"] == "a1"


def test_a_context_too_small_for_the_question_is_told_with_its_numbers(tmp_path: Path) -> None:
    with model_server(looks_then_answers) as server:
        report, _ = run(server, tmp_path, context=2048, question="why is it slow? " * 100)
    assert "a context of 2048 tokens is too small" in report["stop"]["detail"]
    assert not server.asked


def test_what_the_server_lacks_is_told_before_a_run_begins(tmp_path: Path) -> None:
    page = Raw(b"<html>Please log in</html>", kind="text/html")
    cases: list[tuple[Any, str]] = [
        (["llama 3 8b", "qwen"], "no model 'm'; it has: llama 3 8b, qwen"),
        (page, "a web page came"),
        (Raw(b"{}", 401), "a login is needed"),
        (Raw(b'{"hello": 1}'), "no list of models"),
        (Raw(b'{"data": [', length=500), "broke off"),
    ]
    for models, said in cases:
        with (
            model_server(looks_then_answers, models) as server,
            pytest.raises(ModelServerError, match=said) as caught,
        ):
            model_named("openai/m", Endpoint.of(server.url))
        assert "\n" not in str(caught.value)
    with pytest.raises(ModelServerError, match="connection refused"):
        model_named("openai/m", Endpoint.of(server.url))


def test_models_are_listed_in_one_line_whatever_they_are_called(tmp_path: Path) -> None:
    odd = ["two\nlines", "\x1b[31mred", "x" * 5000, "modèle:7b"]
    with (
        model_server(looks_then_answers, odd) as server,
        pytest.raises(ModelServerError) as caught,
    ):
        model_named("openai/m", Endpoint.of(server.url))
    assert str(caught.value).isprintable()
    assert "two?lines" in str(caught.value)
    assert "modèle:7b" in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("listed", [b'[{"id": "m"}]', b'{"object": "list", "data": null}'])
def test_a_bare_list_and_an_empty_one_are_lists(listed: bytes) -> None:
    with model_server(looks_then_answers, Raw(listed)) as server:
        assert model_named("openai/m", Endpoint.of(server.url)).model == "m"


def test_a_context_too_small_to_be_of_use_is_told_also_when_the_server_says_it(
    tmp_path: Path,
) -> None:
    with model_server(looks_then_answers, [{"id": "m", "max_model_len": 512}]) as server:
        report, _ = run(server, tmp_path)
    assert "a context of 512 tokens is too small" in report["stop"]["detail"]
    assert not server.asked


def test_no_proxy_of_the_environment_stands_before_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with model_server(looks_then_answers) as server:
        # a name that is not taken for loopback, and leads there
        url = server.url.replace("127.0.0.1", "127.0.0.1.nip.test")
        monkeypatch.setattr(socket, "getaddrinfo", to_loopback(socket.getaddrinfo))
        report, _ = run(server, tmp_path, url=url)
    assert report["findings"], report["stop"]


def to_loopback(ask: Any) -> Any:
    """Names that end in `.test` lead to this machine."""

    def answered(host: Any, *args: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return ask("127.0.0.1" if str(name).endswith(".test") else host, *args, **more)

    return answered


def test_a_server_without_a_list_is_taken_as_it_is(tmp_path: Path) -> None:
    with model_server(looks_then_answers, None) as server:
        report, _ = run(server, tmp_path)
    assert report["findings"]


def test_a_name_with_blanks_and_the_tag_of_a_list_are_found(tmp_path: Path) -> None:
    with model_server(looks_then_answers, ["my model 7b", "small:latest"]) as server:
        report, _ = run(server, tmp_path, model="my model 7b")
        assert model_named("openai/small", Endpoint.of(server.url)).model == "small"
    assert server.asked[0]["model"] == "my model 7b"
    assert report["findings"]


def test_a_proxys_header_comes_from_the_environment_and_is_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = "kept-nowhere-4711"
    monkeypatch.setenv("PROXY_KEY", secret)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-provider")

    def say(n: int, body: Body) -> Body | Raw:
        if n == 3:  # a proxy that repeats what it was sent
            return Raw(json.dumps({"error": {"message": f"bad key {secret}"}}).encode(), 403)
        return looks_then_answers(n, body)

    with model_server(say, secret=secret) as server:
        host = server.url.removeprefix("http://")
        with pytest.raises(ModelServerError, match="a login is needed"):
            model_named("openai/m", Endpoint.of(server.url))
        report, store = run(server, tmp_path, headers=(f"{host}=X-Proxy: ${{PROXY_KEY}}",))
    assert len(server.asked) == 3
    assert not any("authorization" in one for one in server.headers)
    assert "HTTP 403" in report["stop"]["detail"]
    store.close()
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in written
    assert secret not in json.dumps(report)
    assert secret not in caplog.text


def test_a_secret_that_the_server_repeats_in_a_reply_or_a_name_is_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = 'of/"no" use-4711'
    monkeypatch.setenv("PROXY_KEY", secret)

    def say(n: int, body: Body) -> Body:
        if n == 1:
            return step("query_logs", text=f"Bearer {secret}")
        return answer(f"the key is {secret} and Bearer is written before it", done=True)

    with model_server(say, ["m", f"k {secret}"], secret=f"Bearer {secret}") as server:
        host = server.url.removeprefix("http://")
        header = (f"{host}=X-Proxy: Bearer ${{PROXY_KEY}}",)
        report, store = run(server, tmp_path, headers=header)
        with pytest.raises(ModelServerError, match="has no model") as caught:
            model_named("openai/other", Endpoint.of(server.url, headers=header))
    store.close()
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    told = json.dumps(report) + str(caught.value)
    for form in (secret, json.dumps(secret)[1:-1], "4711"):
        assert form.encode() not in written
        assert form not in told
    assert b"the key is *** and Bearer is written before it" in written, "only what is secret goes"


def test_a_resumed_run_asks_the_same_server_and_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dies(BaseException):
        """The process ends here, as far as the run can tell."""

    held: list[LiveRun] = []

    def watch(event: Any, live: LiveRun) -> None:
        held[:] = [live]
        if event.kind == "action_ends":
            live.store.commit(live.run_id)
            live.broken = "the process died"
            raise Dies

    store = Store(tmp_path / "s.sqlite")
    monkeypatch.delenv("ROUNDSMAN_BASE_URL", raising=False)
    with model_server(looks_then_answers) as server:
        policy, endpoint = load_policy("default"), Endpoint.of(server.url, "prompted", 8192)
        with suppress(BaseException):
            investigate(
                OUTAGE, policy, model="openai/m", store=store, endpoint=endpoint, watch=watch
            )
        held[0]._lease.release()
        run_id = held[0].run_id
        begun = store.records(run_id)[0].body["setup"]
        assert begun["endpoint"] == {
            "url": f"{server.url}/v1",
            "tools": "prompted",
            "context": 8192,
        }
        assert len(server.asked) == 1
        report, _ = resume(run_id, store)
    assert report["findings"]
    assert len(server.asked) == report["usage"]["steps"] == 3


def test_what_was_given_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROUNDSMAN_BASE_URL", raising=False)
    wrong = [
        (("ftp://x",), "http"),
        (("http://u:geheim@x",), "not taken"),
        (("http://x", "often"), "auto, native, prompted"),
        (("http://x", "auto", 100), "2048 or more"),
    ]
    for given, said in wrong:
        with pytest.raises(UsageError, match=said) as caught:
            Endpoint.of(*given)  # type: ignore[arg-type]
        assert "geheim" not in str(caught.value)
    with pytest.raises(UsageError, match="--base-url"):
        chosen(None, "native", None)
    for other in ("gemini-2.5-flash", "analyst", "openai/"):
        with pytest.raises(UsageError, match="openai/NAME"):
            model_named(other, Endpoint.of("http://127.0.0.1:9"))
    monkeypatch.setenv("ROUNDSMAN_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ROUNDSMAN_CONTEXT", "many")
    with pytest.raises(UsageError, match="ROUNDSMAN_CONTEXT"):
        chosen(None, None, None)
    monkeypatch.setenv("ROUNDSMAN_CONTEXT", "8192")
    assert chosen(None, None, None) == Endpoint("http://127.0.0.1:9/v1", "auto", 8192)


def test_connections_are_made_once_a_run_and_given_back_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    closed: list[Any] = []

    class Counted(httpx.AsyncHTTPTransport):
        def __init__(self, *args: Any, **more: Any) -> None:
            made.append(self)
            super().__init__(*args, **more)

        async def aclose(self) -> None:
            closed.append(self)
            await super().aclose()

    monkeypatch.setattr(model_traffic.httpx, "AsyncHTTPTransport", Counted)
    monkeypatch.setenv("PROXY_KEY", "k")
    with model_server(looks_then_answers) as server:
        host = server.url.removeprefix("http://")
        run(server, tmp_path, headers=(f"{host}=X-Proxy: ${{PROXY_KEY}}",))
    assert len(server.asked) == 3
    assert all(one["x-proxy"] == "k" for one in server.headers)
    assert len(made) == 1
    assert closed == made
