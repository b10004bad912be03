"""Prints when timers of systemd-cron elapse for each line of the file expressions (README.md)."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from datetime import datetime

folder, generator, program = sys.argv[1:]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("generator", generator)
cron = importlib.util.module_from_spec(importlib.util.spec_from_loader("generator", loader))
loader.exec_module(cron)
cron.log = lambda level, message: None
instants = [line.split() for line in open(f"{folder}/instants")]
expressions = open(f"{folder}/expressions").read().splitlines()
elapse = re.compile(r"Next elapse: (never)|Next elapse: ... (\S+ \S+) UTC|\(in UTC\): ... (\S+ \S+) UTC")


def calendar_of(expression):
    """Returns what the generator writes into OnCalendar=, or None, and the command."""
    with tempfile.TemporaryDirectory() as target:
        cron.TARGET_DIR = cron.TIMERS_DIR = target
        crontab = pathlib.Path(target, "root")
        crontab.write_text(f"{expression} true\n")
        for job in cron.parse_crontab(str(crontab), withuser=False):
            if "c" in job:
                cron.generate_timer_unit(job, seq=iter([0]))
                for timer in pathlib.Path(target).glob("*.timer"):
                    found = re.search("^OnCalendar= *(.*)$", timer.read_text(), re.M)
                    if found and not timer.is_symlink():
                        return found[1], job["c"].removesuffix("true").strip()
    return None, ""


def ask(seconds, zone, *asked):
    return subprocess.run(
        [program, "calendar", f"--base-time=@{seconds}", "--", *asked],
        env={**os.environ, "TZ": zone, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True)


refused, calendars = {}, {}
for expression in expressions:
    try:
        calendar = calendar_of(expression)
    except Exception as error:
        refused[expression] = " ".join(f"{type(error).__name__}: {error}".split())
        continue
    if calendar[0] is None:
        refused[expression] = "no timer"
    elif "Failed to parse" in ask(instants[0][0], "UTC", calendar[0]).stderr:
        refused[expression] = "systemd refuses OnCalendar=" + calendar[0]
    else:
        calendars[expression] = calendar
answers = {expression: [] for expression in calendars}
for seconds, zone in instants:
    result = ask(seconds, zone, *(calendar for calendar, _ in calendars.values()))
    failed = re.findall("Failed to determine next elapse for '(.*)':", result.stderr)
    answered = [expression for expression, (calendar, _) in calendars.items() if calendar not in failed]
    blocks = dict(zip(answered, result.stdout.split("Normalized form: ")[1:], strict=True))
    for expression in calendars:
        if expression not in blocks:
            answers[expression].append(-2)
            continue
        never, time, in_utc = elapse.search(blocks[expression]).groups()
        if never:
            answers[expression].append(-1)
        else:
            at = datetime.strptime(f"{time or in_utc}+0000", "%Y-%m-%d %H:%M:%S%z")
            answers[expression].append(int(at.timestamp()) - int(seconds))
for expression in expressions:
    if expression in refused:
        print(expression, "refused", refused[expression], sep="\t")
    else:
        print(expression, "next", " ".join(map(str, answers[expression])), calendars[expression][1], sep="\t")
