#!/usr/bin/env bash
# systemd 252 (Debian 12): a timer of every seventh minute, OnCalendar=*:0/7, never elapses at
# midnight. Within a day each hour begins anew with minute 0 (10:56, 11:00). But where the step
# leads over the end of the day, the rest of the step is kept: after 23:56 comes 00:07. A step that
# fits the hour, as 0/5, hides it, and so does a look at any other hour. Hours that do not fit the
# day are right: after 21:00 of 0/7:00 comes 00:00. Reports upstream are of steps of days, over the
# ends of months and years. Seconds (*:*:0/7) lose the first second of each hour.
set -euo pipefail
version=252.39-1~deb12u2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "systemd=$version" "libsystemd-shared=$version" >/dev/null
for package in *.deb; do dpkg -x "$package" root; done

# next EXPRESSION AFTER: when a timer elapses next, in UTC.
next() {
  LD_LIBRARY_PATH=$(dirname "$(find root -name 'libsystemd-shared-*.so' | head -n 1)") TZ=UTC \
    root/usr/bin/systemd-analyze calendar --base-time="$2" "$1" | sed -n 's/.*Next elapse: ... \(.*\) UTC/\1/p'
}

echo "systemd $version"
failed=0
while IFS='|' read -r expression after want; do
  got=$(next "$expression" "$after")
  echo "$expression after $after: $got"
  [ "$got" = "$want" ] || failed=1
done <<'CASES'
*:0/7|2026-01-01 10:56:30|2026-01-01 11:00:00
*:0/7|2026-01-01 23:56:30|2026-01-02 00:07:00
*:0/5|2026-01-01 23:56:30|2026-01-02 00:00:00
0/7:00|2026-01-01 21:30:00|2026-01-02 00:00:00
CASES
exit $failed
