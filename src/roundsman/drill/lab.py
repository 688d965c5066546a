"""The whole system of a drill, up and under load: what a drill breaks and what is recorded."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from roundsman.drill.backends.alertmanager import Alertmanager
from roundsman.drill.backends.exporters import node_exporter, postgres_exporter
from roundsman.drill.backends.postgres import Postgres
from roundsman.drill.backends.prometheus import Prometheus
from roundsman.drill.backends.victoria import Victoria
from roundsman.drill.caretaker import Caretaker
from roundsman.drill.certificates import Authority
from roundsman.drill.control import serve
from roundsman.drill.names import Names
from roundsman.drill.ports import Ports
from roundsman.drill.programs import find_all
from roundsman.drill.releases import Release, Releases, Service, replaced
from roundsman.drill.repository import Repository
from roundsman.drill.rules import alert_rules
from roundsman.drill.supervisor import Process, Spec, Supervisor
from roundsman.errors import DrillFailed

_TICK = 0.2
CHECKOUT_CONFIG = {
    "POOL_SIZE": 4,
    "POOL_TIMEOUT_SECONDS": 1.0,
    "RESERVE_SECONDS": 0.1,
    "BASKET_LINES": 4,
    "AUDIT_EVERY": 3,
    "LOG_LEVEL": "info",
    "LOG_EVERY": 10,
}
GATEWAY_CONFIG = {
    "CHECKOUT_TIMEOUT_SECONDS": 1.5,
    "MAX_IN_FLIGHT": 64,
    "HELP_TEXT": "Please try again.",
    "LOG_EVERY": 10,
}


class Lab:
    """A context manager: entered, everything is up; left, every process it started has ended.

    rate: orders a second. rows: order lines there are before the first order, of so many
    buyers and products. certificate: seconds the checkout's certificate holds from its first deploy.
    memory: resident bytes at which an instance of the checkout is killed. log_dir: makes the folder
    the checkout writes to.
    """

    def __init__(
        self,
        names: Names,
        *,
        rate: float = 12.0,
        rows: int = 2_000,
        buyers: int = 100,
        products: int = 200,
        certificate: float = 86_400.0,
        memory: int | None = None,
        log_dir: Callable[[Lab, Path], Path] | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.names, self.say = names, say
        self._rate, self._rows, self._buyers, self._products = rate, rows, buyers, products
        self._certificate, self._memory, self._log_dir = certificate, memory, log_dir
        self.flags: list[dict[str, Any]] = []
        self.began = time.time()
        self.ready_after = 0.0
        self.certificate_ends = 0.0

    # --- up and down -------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.programs = find_all()
        self.folder = Path(tempfile.mkdtemp(prefix="roundsman-drill-"))
        self.folder.chmod(0o755)  # PostgreSQL's account must pass through it
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.control = self.folder / "control"
        self.control.mkdir()
        self.supervisor = Supervisor(self._tell)
        self.ports = Ports()
        self.supervisor.on_exit(Caretaker(self.folder).done)
        self.supervisor.on_exit(lambda: shutil.rmtree(self.folder, ignore_errors=True))
        self.supervisor.on_exit(self.ports.release)
        try:
            self._come_up()
        except BaseException:
            self.supervisor.stop_all()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.say("ending all processes of this drill")
        self.supervisor.stop_all()

    def _come_up(self) -> None:
        names, programs, take = self.names, self.programs, self.ports.take
        self.say("starting PostgreSQL, Prometheus, VictoriaMetrics, Alertmanager, exporters")
        self.victoria = Victoria(programs["victoria-metrics"], self.folder, take())
        self.alertmanager = Alertmanager(
            programs["prometheus-alertmanager"], self.folder, take(), take()
        )
        self.prometheus = Prometheus(programs["prometheus"], self.folder, take())
        self.database = Postgres(
            programs, self.folder / "postgres", take(), self.log_of(names.database)
        )
        database_port, node_port = take(), take()
        self.prometheus.configure(
            {"postgres": (names.database, database_port), "node": (names.host, node_port)},
            alert_rules(names),
            self.alertmanager.url,
            self.victoria.write_url,
        )
        start = self.supervisor.start
        first = [start(one) for one in (self.victoria.spec(), *self.alertmanager.specs())]
        first.append(start(node_exporter(
            programs["prometheus-node-exporter"], self.folder, node_port
        )))  # fmt: skip
        first.append(start(self.prometheus.spec()))
        self.database.create()
        self.supervisor.wait_ready(start(self.database.spec()))
        self._fill()
        first.append(start(postgres_exporter(
            programs["prometheus-postgres-exporter"], self.folder, database_port, self.database
        )))  # fmt: skip
        self.supervisor.wait_ready(*first)
        self._first_deploy()
        self.load(self._rate)
        self.ready_after = time.time() - self.began
        self.say(f"ready after {self.ready_after:.1f} s")

    def _fill(self) -> None:
        self.repository = Repository(self.programs["git"], self.folder / "repository")
        self.releases = Releases(
            self.supervisor, self.repository, self.prometheus, self.folder, self.say
        )
        schema = (files("roundsman.drill.shop") / "schema.sql").read_text()
        self.releases.record(
            self.names.database, "schema-1", "create the shop's tables",
            {f"{self.names.database}/migrations/0001_create.sql": schema},
        )  # fmt: skip
        self.database.run(f"CREATE ROLE shop LOGIN; {schema}")
        self.database.run(
            "INSERT INTO products SELECT n, 'product ' || n, n "
            f"FROM generate_series(1, {self._products}) AS n;"
            "INSERT INTO order_lines (customer_id, product_id, quantity) "
            f"SELECT n % {self._buyers} + 1, n / {self._buyers} % {self._products} + 1, 1 "
            f"FROM generate_series(1, {int(self._rows)}) AS n;"
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO shop;"
            "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO shop;"
        )
        # rows are counted when the session that wrote them ends; before that, the vacuum's own count
        # would be added to later, and a recording show rows that are not there
        self.wait(3.0, lambda: self.database.inserted() >= self._rows + self._products)
        self.database.run("VACUUM ANALYZE")

    def _first_deploy(self) -> None:
        names = self.names
        self._authority = authority = Authority(self.folder / "tls")
        log_dir = self.folder / "receipts"
        log_dir = self._log_dir(self, log_dir) if self._log_dir else log_dir
        log_dir.mkdir(exist_ok=True)
        certificate, key, self.certificate_ends = authority.issue(names.checkout, self._certificate)
        self.checkout = Service(
            names.checkout, "checkout_api.py", replicas=2, swap=False, memory=self._memory,
            log=self.log_of(names.checkout),
            env={
                "DSN": self.database.dsn("shop"),
                "LOG_DIR": str(log_dir),
                "TLS_CERTIFICATE": str(certificate),
                "TLS_KEY": str(key),
            },
        )  # fmt: skip
        self.gateway = Service(
            names.gateway, "gateway.py", replicas=1, swap=True, log=self.log_of(names.gateway),
            env={
                "UPSTREAM": f"https://127.0.0.1:{self.checkout.port}",
                "UPSTREAM_NAME": names.checkout,
                "TLS_AUTHORITY": str(authority.file),
                "FLAGS": str(self.folder / "flags.json"),
            },
        )  # fmt: skip
        self.flip(names.gateway, "order_hint", False)
        for service, config in ((self.checkout, CHECKOUT_CONFIG), (self.gateway, GATEWAY_CONFIG)):
            self.supervisor.on_exit(service.socket.close)
            code = (files("roundsman.drill.shop") / service.source).read_text()
            self.releases.deploy(service, "v1.4.0", f"{service.name} v1.4.0", config, code)

    # --- what a drill does -------------------------------------------------------------------

    def load(self, rate: float) -> Process:
        """Customers who send so many orders a second, until stopped."""
        url = f"http://127.0.0.1:{self.gateway.port}/order"
        spec = Spec(
            name="load",
            args=[sys.executable, "-m", "roundsman.drill.load", url, str(rate)],
            output=self.folder / "load.log",
        )
        return self.supervisor.start(spec)

    def deploy(
        self,
        service: Service,
        version: str,
        message: str,
        config: Mapping[str, Any] | None = None,
        patches: Sequence[tuple[str, str]] = (),
    ) -> Release:
        """Roll out changed settings, or code with some passages changed (old, new)."""
        code = self.releases.source(service) if patches else None
        for old, new in patches:
            code = replaced(code or "", old, new)
        return self.releases.deploy(service, version, message, config, code)

    def roll_back(self, service: Service) -> Release:
        """Deploy what ran before the last release of a service."""
        mine = [one for one in self.releases.done if one.service == service.name]
        if len(mine) < 2:
            raise DrillFailed(f"{service.name}: there is no earlier release to go back to")
        target = mine[-2]
        name = f"{service.name}/service.py"
        code = self.repository.read(name, target.commit.sha)
        message = f"roll back to {target.version}"
        return self.releases.deploy(service, target.version, message, target.config, code)

    def renew_certificate(self, seconds: float) -> None:
        """A new certificate for the checkout, and a release that reads it."""
        *_, self.certificate_ends = self._authority.issue(self.names.checkout, seconds)
        self.deploy(self.checkout, "v1.4.1", "read the renewed certificate")

    def migrate(self, version: str, message: str, sql: str) -> Release:
        """Change the schema and write the migration down as a deploy of the database."""
        number = len([one for one in self.releases.done if one.service == self.names.database]) + 1
        name = f"{self.names.database}/migrations/{number:04d}.sql"
        release = self.releases.record(self.names.database, version, message, {name: sql})
        self.database.run(sql)
        return release

    def flip(self, service: str, flag: str, value: bool) -> None:
        """Switch a feature of a service on or off, without a deploy."""
        file = self.folder / "flags.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps({**known, flag: value}))
        fresh.rename(file)
        row = {"at": time.time(), "service": service, "flag": flag, "before": known.get(flag)}
        self.flags.append({**row, "after": value})
        self.say(f"flag {flag} of {service} is {'on' if value else 'off'}")

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let the system run so long, or until something holds (then True); what dies is seen to."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.supervisor.look()
            self.releases.tick()
            serve(self.control, {"restart": self._restart, "deploy": self._redeploy})
            if until():
                return True
            time.sleep(min(_TICK, left))
        return False

    def _restart(self, service: str) -> None:
        self.say(f"restart of {service}, as asked")
        self.releases.restart(self._named(service))

    def _redeploy(self, service: str) -> None:
        self.say(f"deploy of {service}, as asked")
        self.releases.redeploy(self._named(service))

    def _named(self, name: str) -> Service:
        return {one.name: one for one in (self.checkout, self.gateway)}[name]

    def log_of(self, service: str) -> Path:
        """Where a service's log lines go."""
        ending = "log" if service == self.names.database else "ndjson"
        return self.logs / f"{service}.{ending}"

    def _tell(self, name: str, pid: int, what: str, why: str) -> None:
        """The supervisor's own log: what it did, when and why."""
        now = datetime.now(UTC)
        row = {
            "ts": now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z",
            "level": "ERROR" if what == "killed" else "WARNING",
            "service": self.names.supervisor,
            "msg": f"{name} process {pid} {what}: {why}",
        }
        with self.log_of(self.names.supervisor).open("a") as out:
            out.write(json.dumps(row) + "\n")
        self.say(str(row["msg"]))
