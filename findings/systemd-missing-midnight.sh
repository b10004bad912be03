#!/usr/bin/env bash
# systemd 252 (Debian 12): a timer of every second or sixth hour, OnCalendar=0/6:00, ends for good in
# the night in which the clock goes from 23:59 to 01:00: in Cairo, Beirut and Santiago each spring.
# The calculation goes in circles and is cut off with an error. In the manager's code a calendar with
# an error has no further times: the timer is "elapsed", without a message of its own, until somebody
# starts it again. The same hours as a list, 0,6,12,18:00, go on, as do hours of UTC, and daily, which
# leaves out that day.
set -euo pipefail
version=252.39-1~deb12u2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "systemd=$version" "libsystemd-shared=$version" >/dev/null
for package in *.deb; do dpkg -x "$package" root; done

# next ZONE AFTER EXPRESSION: when a timer elapses next, or why that is unknown.
next() {
  { LD_LIBRARY_PATH=$(dirname "$(find root -name 'libsystemd-shared-*.so' | head -n 1)") TZ=$1 \
    root/usr/bin/systemd-analyze calendar --base-time="$2" "$3" 2>&1 || true; } |
    sed -n 's/.*Next elapse: ... \(.*\) .*/\1/p; s/^Failed to determine next elapse .*: //p'
}

echo "systemd $version"
failed=0
while IFS='|' read -r zone after expression want; do
  got=$(next "$zone" "$after" "$expression")
  echo "$expression in $zone after $after: $got"
  [ "$got" = "$want" ] || failed=1
done <<'CASES'
Africa/Cairo|2026-04-22 18:00:00|0/6:00|2026-04-23 00:00:00
Africa/Cairo|2026-04-23 18:00:00|0/6:00|Resource deadlock avoided
Africa/Cairo|2026-04-23 22:00:00|0/2:00|Resource deadlock avoided
Asia/Beirut|2026-03-28 18:00:00|0/6:00|Resource deadlock avoided
America/Santiago|2026-09-05 18:00:00|0/6:00|Resource deadlock avoided
America/Santiago|2026-09-05 22:00:00|0/2:00|Resource deadlock avoided
Africa/Cairo|2026-04-23 18:00:00|0,6,12,18:00|2026-04-24 06:00:00
Africa/Cairo|2026-04-23 18:00:00|daily|2026-04-25 00:00:00
Africa/Cairo|2026-04-23 18:00:00|0/6:00 UTC|2026-04-23 20:00:00
CASES
exit $failed
