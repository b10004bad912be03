#!/usr/bin/env bash
# runstat of cronutils 1.9 (Debian 12) writes down how much memory a job took, for collectd, with
# the unit of each figure. Of a job that held 100 MiB it says some 100,000 "B": the kernel counts
# ru_maxrss in KiB (getrusage(2)), so graphs and alarms that believe the unit are a thousandfold too
# low. exit_status and elapsed_time of the same file are right.
set -euo pipefail
version=1.9-3+b1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "cronutils=$version" >/dev/null
dpkg -x cronutils_*.deb root
# tail keeps all of a line that has no end yet.
root/usr/bin/runstat -f figures sh -c 'head -c 104857600 /dev/zero | tail -n 1 >/dev/null; exit 3' || code=$?
echo "cronutils $version, a job of 100 MiB that exits with ${code-0}:"
grep -E 'rss-max|exit_status' figures
IFS=, read -r _ _ memory unit < <(grep rss-max figures)
[ "$unit" = B ] && [ "$memory" -gt 100000 ] && [ "$memory" -lt 1000000 ] && grep -q ',exit_status,3,' figures
