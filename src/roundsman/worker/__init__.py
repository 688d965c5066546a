"""Many investigations on one machine or several: a queue (DBOS), workers, limits they share.

DBOS hands a job to one worker at a time and gives the jobs of a dead one to another. What a job does
is in the journal, and the lease of its run keeps two workers from doing it at once: so a job may be
handed out again at any point, and nothing is done twice.
"""

from __future__ import annotations

from roundsman.worker.daylimit import tokens_today
from roundsman.worker.jobs import Job
from roundsman.worker.queue import Queue, QueuedJob
from roundsman.worker.service import Worker

__all__ = ["Job", "Queue", "QueuedJob", "Worker", "tokens_today"]
