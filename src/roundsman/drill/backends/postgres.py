"""PostgreSQL with few connections, in the foreground, its log as it writes it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg

from roundsman.drill.supervisor import Spec
from roundsman.errors import DrillFailed, MissingDependency

#: 17 of them are for services: three are kept for the superuser
MAX_CONNECTIONS, RESERVED = 20, 3
_SETTINGS = f"""
listen_addresses = '127.0.0.1'
max_connections = {MAX_CONNECTIONS}
superuser_reserved_connections = {RESERVED}
unix_socket_directories = ''
shared_buffers = 32MB
fsync = off
full_page_writes = off
max_parallel_workers_per_gather = 0
log_line_prefix = '%m [%p] '
log_timezone = 'UTC'
timezone = 'UTC'
log_min_duration_statement = 400
log_lock_waits = on
lc_messages = 'C'
"""


def _account() -> str | None:
    """PostgreSQL refuses to run as root: the account it drops to, None when we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise MissingDependency(
        "PostgreSQL refuses to run as root, and there is no account postgres or nobody; "
        "run the drill as an ordinary user"
    )


class Postgres:
    """One cluster in `folder`; services connect as `shop`, exporters as the superuser."""

    def __init__(
        self,
        programs: dict[str, Path],
        folder: Path,
        port: int,
        log: Path,
        connections: int = MAX_CONNECTIONS,
    ) -> None:
        self.port = port
        self._connections = connections
        self._programs = programs
        self._data = folder / "data"
        self._log = log
        self._user = _account()
        self.superuser = "postgres"
        folder.mkdir()
        if self._user is not None:
            shutil.chown(folder, self._user)

    def dsn(self, user: str) -> str:
        """Where a client connects to."""
        return f"host=127.0.0.1 port={self.port} user={user} dbname=postgres sslmode=disable"

    def create(self) -> None:
        """Make the cluster. Raises DrillFailed with what initdb said."""
        drop = []
        if self._user is not None:
            drop = ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--init-groups"]
        command = [str(self._programs["initdb"]), "-D", str(self._data), "-A", "trust"]
        command += ["-U", self.superuser, "-E", "UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run(
            [*drop, *command], capture_output=True, text=True, check=False, cwd="/"
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()[-400:]
            if "Permission denied" in said:
                said += f"; set TMPDIR to a folder that the account {self._user} may enter"
            raise DrillFailed(said)
        with (self._data / "postgresql.conf").open("a") as config:
            config.write(f"{_SETTINGS}port = {self.port}\nmax_connections = {self._connections}\n")

    def spec(self) -> Spec:
        """How it is started; `SIGINT` asks for a fast shutdown, without waiting for clients."""
        return Spec(
            name="postgres",
            args=[str(self._programs["postgres"]), "-D", str(self._data)],
            output=self._log,
            ready=self._ready,
            cwd=Path("/"),
            user=self._user,
            stop_with=signal.SIGINT,
            # killed outright it would leave its shared memory behind
            orphaned=signal.SIGQUIT,
        )

    def _ready(self) -> bool:
        try:
            psycopg.connect(self.dsn(self.superuser), connect_timeout=2).close()
        except psycopg.Error:
            return False
        return True

    def run(self, sql: str) -> None:
        """Run statements as the superuser, each committed by itself."""
        with psycopg.connect(self.dsn(self.superuser), autocommit=True) as connection:
            connection.execute(sql.encode())

    def let_in(self, *lines: str) -> None:
        """Put lines of `pg_hba.conf` before those that are there."""
        rules = self._data / "pg_hba.conf"
        rules.write_text("\n".join([*lines, rules.read_text()]))
        self.run("select pg_reload_conf()")

    def inserted(self) -> int:
        """Rows inserted so far, as the server's statistics know them."""
        with psycopg.connect(self.dsn(self.superuser)) as connection:
            found = connection.execute("SELECT sum(n_tup_ins) FROM pg_stat_user_tables").fetchone()
        return int(found[0] or 0) if found else 0
