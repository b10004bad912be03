#!/usr/bin/env bash
# anacron 2.3-36 (Debian 12): START_HOURS_RANGE and RANDOM_DELAY, which stand in the anacrontab of
# systems with cronie and in most texts about anacron, are only variables for the jobs. With a range
# of 3-4 a job starts at ten o'clock, and with a delay of up to ten hours at once. Nothing says that
# the lines mean nothing here: any NAME=VALUE is a setting.
set -euo pipefail
version=2.3-36 clock=0.9.10-2.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "anacron=$version" "libfaketime=$clock" >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
mkdir spool
cat >table <<END
START_HOURS_RANGE=3-4
RANDOM_DELAY=600
1 0 job echo "started, with START_HOURS_RANGE=\$START_HOURS_RANGE" >$folder/ran
END
TZ=UTC LD_PRELOAD=$PWD/$(find root -name libfaketime.so.1) FAKETIME="2026-01-30 10:00:00" \
  root/usr/sbin/anacron -d -t "$folder/table" -S "$folder/spool" >said 2>&1
echo "anacron $version at 10:00 says:"
grep 'Will run' said
cat ran
grep -q "Will run job .job' in 0 min" said
[ "$(cat ran)" = "started, with START_HOURS_RANGE=3-4" ]
