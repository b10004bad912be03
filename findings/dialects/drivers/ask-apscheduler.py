"""Prints when APScheduler would run each line of the file expressions, in the form of README.md."""
import sys
from datetime import datetime, timedelta, timezone

import pytz
from apscheduler.triggers.cron import CronTrigger

folder = sys.argv[1]
instants = [line.split() for line in open(f"{folder}/instants")]
for expression in open(f"{folder}/expressions"):
    expression = expression.rstrip("\n")
    answers = []
    try:
        for seconds, zone in instants:
            zone = pytz.timezone(zone)
            trigger = CronTrigger.from_crontab(expression, timezone=zone)
            now = datetime.fromtimestamp(int(seconds), timezone.utc).astimezone(zone)
            # APScheduler rounds up to full seconds, and gives a time that is now.
            following = trigger.get_next_fire_time(None, now + timedelta(microseconds=1))
            answers.append(-1 if following is None else int(following.timestamp()) - int(seconds))
    except Exception as error:
        print(expression, "refused", " ".join(str(error).split()), sep="\t")
        continue
    print(expression, "next", " ".join(map(str, answers)), sep="\t")
