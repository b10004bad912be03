#!/usr/bin/env bash
# cronic 3 (Debian 12) exits with 0 whatever became of its command: a wrapper that is there to make
# failures heard hides them from everything behind it. Cron hears of them, because cronic prints;
# "cronic job && next" goes on, "|| alert" never fires, and a ping, a scheduler or a unit that looks
# at the exit code sees a success. chronic of moreutils, which is taken for the same, passes it on.
set -euo pipefail
cronic=3-2.1 moreutils=0.67-1 run=20220807.0-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download -q "cronic=$cronic" "moreutils=$moreutils" "libipc-run-perl=$run" >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
export PERL5LIB=$folder/root/usr/share/perl5

# code WRAPPER COMMAND: the exit code of a shell that the wrapper starts, and whether it prints.
code() {
  local code=0 printed
  printed=$("root/usr/bin/$1" sh -c "$2" 2>&1) || code=$?
  echo "$code $([ -n "$printed" ] && echo prints || echo silent)"
}

echo "cronic $cronic, moreutils $moreutils"
failed=0
while IFS='|' read -r wrapper command want; do
  got=$(code "$wrapper" "$command")
  echo "$wrapper sh -c '$command': $got"
  [ "$got" = "$want" ] || failed=1
done <<'CASES'
cronic|echo done; exit 0|0 silent
cronic|echo broken; exit 7|0 prints
chronic|echo done; exit 0|0 silent
chronic|echo broken; exit 7|7 prints
CASES
exit $failed
