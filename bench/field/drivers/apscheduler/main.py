#!/usr/bin/python3
"""Runs the jobs of the bench with APScheduler 3.

Debian: apt packages python3-apscheduler 3.9.1, and python3-sqlalchemy 1.4.46 for -store sqlite:PATH.
They are for /usr/bin/python3, not for another Python that may stand first in PATH.
"""

import argparse
import logging
import signal
import subprocess
import sys
import threading

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger


def run(command):
    """Is stored by its name, as the User guide demands of jobs in a persistent store."""
    subprocess.run(["sh", "-c", command], check=True)


def settings(best, store):
    """Returns what the scheduler is made with; see the User guide, "Configuring the scheduler"."""
    result = {}
    if store:
        from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore

        url = "sqlite:///" + store.removeprefix("sqlite:")
        result["jobstores"] = {"default": SQLAlchemyJobStore(url=url)}
    if best:
        # "Missed job executions and coalescing": None is no limit, and each missed run is made up.
        # The default is to drop a run that is more than a second late.
        result["job_defaults"] = {"misfire_grace_time": None, "coalesce": False}
        result["executors"] = {"default": ThreadPoolExecutor(100)}  # the default has 10 threads
    return result


def add(scheduler, best, name, cron, single, command):
    """Adds a job, unless row best finds it in the store.

    replace_existing, which the User guide shows for jobs of a persistent store, computes the next
    run anew. So it forgets the runs that were missed while the scheduler was down.
    """
    seconds, minutes = ([], cron.split()) if cron.count(" ") == 4 else (cron.split()[:1], cron.split()[1:])
    trigger = CronTrigger.from_crontab(" ".join(minutes))
    if seconds:
        trigger.fields[-1] = CronTrigger(second=seconds[0]).fields[-1]
    if not best:
        scheduler.add_job(run, trigger, args=[command], id=name, name=name, replace_existing=True)
    elif scheduler.get_job(name) is None:
        # "Limiting the number of concurrently executing instances": the default is 1 for all jobs.
        many = 1 if single else 20
        scheduler.add_job(run, trigger, args=[command], id=name, name=name, max_instances=many)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-row", choices=["best", "default"], default="best")
    parser.add_argument("-jobs", required=True)
    parser.add_argument("-store", default="")
    flags = parser.parse_args()
    best = flags.row == "best"
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

    scheduler = BackgroundScheduler(**settings(best, flags.store))
    scheduler.start(paused=True)
    with open(flags.jobs, encoding="utf-8") as lines:
        for line in lines:
            name, cron, single, command = line.rstrip("\n").split("\t", 3)
            add(scheduler, best, name, cron, single == "true", command)
    scheduler.resume()

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    scheduler.shutdown()  # it waits for the jobs that run, which is the default


main()
