#!/usr/bin/env bash
# anacron 2.3-36 (Debian 12): a line whose period it does not know, such as @weekly or @daily, is
# said to be skipped, and runs at each start of anacron, several times a day. Of names of periods
# anacrontab(5) lists @monthly alone; @yearly is known, too.
set -euo pipefail
version=2.3-36
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "anacron=$version" >/dev/null
dpkg -x ./*.deb root
mkdir spool
for period in 7 @weekly @daily @monthly; do
  printf '%s 0 job%s echo %s >>%s\n' "$period" "${period#@}" "$period" "$folder/ran"
done >table
for start in 1 2 3; do
  root/usr/sbin/anacron -d -n -t "$folder/table" -S "$folder/spool" >"said$start" 2>&1
done
echo "anacron $version says:"
grep skipping said1 | sed 's,^.*table: ,  ,'
echo "and in three starts on one day it ran:"
sort ran | uniq -c
[ "$(grep -c 'Unknown named period on line [23], skipping' said1)" = 2 ]
[ "$(sort ran | uniq -c | tr -s ' ' | tr '\n' ,)" = " 1 7, 3 @daily, 1 @monthly, 3 @weekly," ]
