#!/usr/bin/env bash
# anacron 2.3-36 (Debian 12): a line with @monthly runs thirteen times in 2026, twice of them in
# March, although anacrontab(5) says that such a job runs once a month whatever the lengths of the
# months are. Debian's own line for /etc/cron.monthly is of this kind. Anacron does not compare
# months, it counts days: the job runs again when as many days have passed as the month before has,
# or exactly as many as this month has. On a machine that is on every day it comes back after 28
# days in a March, and from then on a day or two earlier each month.
set -euo pipefail
version=2.3-36 clock=0.9.10-2.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "anacron=$version" "libfaketime=$clock" >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
mkdir spool
fake=$PWD/$(find root -name libfaketime.so.1)
for ((day = 0; day < 365; day++)); do
  today=$(date -u -d "2026-01-01 + $day days" +%F)
  printf '@monthly 0 job echo %s >>%s\n' "$today" "$folder/ran" >table
  TZ=UTC LD_PRELOAD=$fake FAKETIME="$today 10:00:00" \
    root/usr/sbin/anacron -d -n -t "$folder/table" -S "$folder/spool" 2>/dev/null >/dev/null
done
echo "anacron $version, started on each day of 2026, ran @monthly on"
tr '\n' ' ' <ran
echo
want="2026-01-01 2026-02-01 2026-03-01 2026-03-29 2026-04-28 2026-05-28 2026-06-27 2026-07-27 2026-08-27"
want+=" 2026-09-26 2026-10-26 2026-11-25 2026-12-25"
[ "$(tr '\n' ' ' <ran)" = "$want " ]
