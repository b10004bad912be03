"""Prints when systemd would elapse each line of the file expressions, in the form of README.md."""
import os
import re
import subprocess
import sys
from datetime import datetime

folder, program = sys.argv[1:]
instants = [line.split() for line in open(f"{folder}/instants")]
expressions = open(f"{folder}/expressions").read().splitlines()
elapse = re.compile(r"Next elapse: (never)|Next elapse: ... (\S+ \S+) UTC|\(in UTC\): ... (\S+ \S+) UTC")


def ask(seconds, zone, *asked):
    return subprocess.run(
        [program, "calendar", f"--base-time=@{seconds}", "--", *asked],
        env={**os.environ, "TZ": zone, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True)


refused = {}
for expression in expressions:
    result = ask(instants[0][0], "UTC", expression)
    if result.returncode:
        refused[expression] = result.stderr.split("\n")[0]
asked = [expression for expression in expressions if expression not in refused]
answers = {expression: [] for expression in asked}
for seconds, zone in instants:
    result = ask(seconds, zone, *asked)
    failed = re.findall("Failed to determine next elapse for '(.*)':", result.stderr)
    for expression in failed:
        answers[expression].append(-2)
    blocks = result.stdout.split("Normalized form: ")[1:]
    answered = [expression for expression in asked if expression not in failed]
    for expression, block in zip(answered, blocks, strict=True):
        never, time, in_utc = elapse.search(block).groups()
        if never:
            answers[expression].append(-1)
        else:
            at = datetime.strptime(f"{time or in_utc}+0000", "%Y-%m-%d %H:%M:%S%z")
            answers[expression].append(int(at.timestamp()) - int(seconds))
for expression in expressions:
    if expression in refused:
        print(expression, "refused", refused[expression], sep="\t")
    else:
        print(expression, "next", " ".join(map(str, answers[expression])), sep="\t")
