"""Kubernetes and Argo CD as their APIs are documented; the stubs know nothing of our client."""

from __future__ import annotations

import pytest

from roundsman.errors import SourceError
from roundsman.sources import Window
from roundsman.sources.argocd import ArgoSource
from roundsman.sources.kubernetes import KubernetesSource
from roundsman.sources.times import iso, parse_time

START = 1_800_000_000
WINDOW = Window(START, START + 3600)


def replica_set(name, revision, at, image, env=(), owner="pay", **container):
    return {
        "metadata": {
            "name": f"{owner}-{name}",
            "namespace": "shop",
            "creationTimestamp": iso(START + at),
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [{"kind": "Deployment", "name": owner, "controller": True}],
        },
        "spec": {
            "template": {
                "spec": {
                    "containers": [{"name": "main", "image": image, "env": list(env), **container}]
                }
            }
        },
    }


def deployment(name="pay", updated=0, **labels):
    return {
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "status": {
            "conditions": [
                {"type": "Available", "lastUpdateTime": iso(START - 9)},
                {"type": "Progressing", "lastUpdateTime": iso(START + updated)},
            ]
        },
    }


class Cluster:
    def __init__(self, deployments, sets, events=(), page=500):
        self.lists = {"deployments": deployments, "replicasets": sets, "events": list(events)}
        self.page = page

    def __call__(self, asked):
        kind = asked.path.rpartition("/")[2]
        if kind not in self.lists or not asked.path.startswith(("/apis/apps/v1/", "/api/v1/")):
            return (
                404,
                b'{"kind":"Status","message":"the server could not find the resource","code":404}',
            )
        begin = int(asked.fields.get("continue") or 0)
        size = min(self.page, int(asked.fields["limit"]))
        items = self.lists[kind][begin : begin + size]
        more = str(begin + size) if begin + size < len(self.lists[kind]) else ""
        return {"kind": "List", "metadata": {"continue": more}, "items": items}


def test_a_rollout_is_a_change_with_what_it_changed(serve):
    env = (
        {"name": "POOL", "value": "4"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    )
    more = ({"name": "POOL", "value": "40"}, env[1])
    sets = [
        replica_set("aaaaaaaaa1", 1, -9000, "reg.example/pay:1.4", env),
        replica_set(
            "bbbbbbbbb2",
            2,
            600,
            "reg.example/pay:1.5",
            more,
            resources={"limits": {"memory": "64Mi"}},
        ),
    ]
    stub = serve(Cluster([deployment(**{"app.kubernetes.io/name": "payments"})], sets))
    source = KubernetesSource(stub.url, WINDOW)
    (change,) = source.changes(WINDOW)
    assert (change.at, change.kind, change.service) == (START + 600, "deploy", "payments")
    assert change.name == "pay:1.5"
    assert change.diff == {
        "image": ("reg.example/pay:1.4", "reg.example/pay:1.5"),
        "POOL": ("4", "40"),
        "resources.limits.memory": (None, "64Mi"),
    }
    assert source.services() == ["payments"]


def test_going_back_to_an_older_revision_counts_when_it_was_done(serve):
    sets = [
        replica_set("aaaaaaaaa1", 3, -9000, "pay:1.4"),
        replica_set("bbbbbbbbb2", 2, 600, "pay:1.5"),
    ]
    source = KubernetesSource(serve(Cluster([deployment(updated=1200)], sets)).url, WINDOW)
    first, back = source.changes(WINDOW)
    assert (first.at, first.name) == (START + 600, "pay:1.5")
    assert (back.at, back.name) == (START + 1200, "pay:1.4")
    assert back.diff == {"image": ("pay:1.5", "pay:1.4")}


def test_lists_are_read_page_by_page(serve):
    owners = [f"svc-{n}" for n in range(25)]
    sets = [replica_set("aaaaaaaaa1", 1, 60, "x:1", owner=one) for one in owners]
    stub = serve(Cluster([deployment(one) for one in owners], sets, page=10))
    source = KubernetesSource(stub.url, WINDOW)
    assert len(source.changes(WINDOW)) == 25
    assert source.services() == sorted(owners)


def test_a_list_that_changes_while_it_is_read_is_said(serve):
    sets = [replica_set("aaaaaaaaa1", 1, 60, "x:1", owner=f"s{n}") for n in range(25)]
    inner = Cluster([], sets, page=10)

    def answer(asked):
        if asked.fields.get("continue") == "10":
            return (410, b'{"kind":"Status","message":"continue parameter is too old","code":410}')
        return inner(asked)

    source = KubernetesSource(serve(answer).url, WINDOW)
    assert len(source.changes(WINDOW)) == 10
    (note,) = source.unseen
    assert "changed while it was read" in note.why


def event(reason, message, at, kind="Pod", name="pay-bbbbbbbbb2-x7k2p", type_="Warning", **more):
    return {
        "involvedObject": {"kind": kind, "name": name},
        "reason": reason, "message": message, "type": type_, "lastTimestamp": iso(START + at),
        "metadata": {"creationTimestamp": iso(START - 99)}, **more,
    }  # fmt: skip


def test_events_are_lines_of_the_service_they_are_about(serve):
    events = [
        event("OOMKilling", "Memory cgroup out of memory", 700),
        event("ScalingReplicaSet", "Scaled up", 500, "Deployment", "pay", "Normal"),
        event("SuccessfulCreate", "Created pod", 501, "ReplicaSet", "pay-bbbbbbbbb2", "Normal"),
        event("Unhealthy", "probe failed", 800, name="db-0"),
        event("Late", "x", 99_999),
        event("New", "x", 0, lastTimestamp=None, eventTime=f"{iso(START + 900)[:-1]}.123456Z"),
    ]
    source = KubernetesSource(serve(Cluster([deployment()], [], events)).url, WINDOW)
    found = list(source.lines(WINDOW))
    assert [(one.at - START, one.service, one.level) for one in found] == [
        (500, "pay", "INFO"), (501, "pay", "INFO"), (700, "pay", "ERROR"), (800, "db", "ERROR"),
        (pytest.approx(900.123, abs=0.01), "pay", "ERROR"),
    ]  # fmt: skip
    assert found[2].text == "OOMKilling Pod pay-bbbbbbbbb2-x7k2p: Memory cgroup out of memory"
    assert [one.service for one in source.lines(WINDOW, "DB", "PROBE")] == ["db"]


def test_without_the_right_to_see_events_rollouts_are_still_read(serve):
    inner = Cluster([deployment()], [replica_set("aaaaaaaaa1", 1, 60, "x:1")])
    stub = serve(lambda a: (403, b'{"message": "forbidden"}') if "events" in a.path else inner(a))
    source = KubernetesSource(stub.url, WINDOW)
    assert len(source.changes(WINDOW)) == 1
    assert source.kinds == ["changes"]
    assert "forbidden" in source.unseen[0].why


def test_one_namespace_may_be_named(serve):
    stub = serve(Cluster([deployment()], []))
    KubernetesSource(f"{stub.url}/namespaces/shop", WINDOW)
    assert {one.path for one in stub.asked} == {
        "/apis/apps/v1/namespaces/shop/deployments",
        "/apis/apps/v1/namespaces/shop/replicasets",
        "/api/v1/namespaces/shop/events",
    }


@pytest.mark.parametrize("source", [KubernetesSource, ArgoSource])
@pytest.mark.parametrize("body", [{"hello": 1}, [1], "x"])
def test_another_kind_of_server_is_told(serve, source, body):
    with pytest.raises(SourceError, match="not the answer of a"):
        source(serve(lambda asked: body).url, WINDOW)


@pytest.mark.parametrize("source", [KubernetesSource, ArgoSource])
def test_documents_that_lack_everything_do_no_harm(serve, source):
    items = [{}, {"metadata": None}, {"metadata": {"ownerReferences": [{"kind": "Deployment"}]}},
             {"status": {"history": [{}, 5, {"deployedAt": "never"}]}}, 7]  # fmt: skip
    assert source(serve(lambda asked: {"items": items}).url, WINDOW).changes(WINDOW) == []


def application(name, *history):
    return {"metadata": {"name": name}, "status": {"history": list(history)}}


def deployed(number, at, revision, **more):
    source = {
        "repoURL": "https://git.example/shop",
        "path": "pay",
        "targetRevision": "main",
        **more,
    }
    return {"id": number, "deployedAt": iso(START + at), "revision": revision, "source": source}


def test_the_history_of_applications_is_what_was_deployed(serve):
    old = deployed(1, -9000, "a" * 40, helm={"parameters": [{"name": "pool", "value": "4"}]})
    new = deployed(2, 600, "b" * 40, helm={"parameters": [{"name": "pool", "value": "40"}]})
    stub = serve(lambda a: {"items": [application("pay", new, old), application("cart")]})
    source = ArgoSource(stub.url, WINDOW)
    (change,) = source.changes(WINDOW)
    assert (change.at, change.service, change.name) == (START + 600, "pay", "b" * 40)
    assert change.diff == {"revision": ("a" * 40, "b" * 40), "pool": ("4", "40")}
    assert source.services() == ["cart", "pay"]
    assert [one.path for one in stub.asked] == ["/api/v1/applications"]


def test_an_application_of_several_sources_numbers_them(serve):
    entry = {"id": 1, "deployedAt": iso(START + 5), "revisions": ["r1", "r2"],
             "sources": [{"repoURL": "a"}, {"chart": "c"}]}  # fmt: skip
    other = {**entry, "id": 2, "deployedAt": iso(START + 9), "revisions": ["r1", "r3"]}
    source = ArgoSource(serve(lambda a: {"items": [application("x", entry, other)]}).url, WINDOW)
    assert source.changes(WINDOW)[1].diff == {"1.revision": ("r2", "r3")}


def test_no_applications_is_no_error(serve):
    assert ArgoSource(serve(lambda a: {"items": None}).url, WINDOW).changes(WINDOW) == []


def test_a_time_that_cannot_be_read_is_counted(serve):
    entry = {"id": 1, "deployedAt": "soon", "revision": "r"}
    source = ArgoSource(serve(lambda a: {"items": [application("x", entry)]}).url, WINDOW)
    assert source.unseen[0].count == 1
    assert parse_time("soon") is None
