#!/usr/bin/env bash
# dotenv-cli 11.0.0 (npm) exits with 0 when SIGTERM or SIGHUP has ended the program that it started.
# It sends itself the signal of the program, as a wrapper should; but it has a handler for these
# signals, which only passes them on, so the wrapper survives and ends well. SIGKILL and SIGSEGV,
# for which it has no handler, come out as 137 and 139. A scheduler that looks at the exit code
# takes a job that was ended at a shutdown for one that succeeded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts dotenv-cli@11.0.0 >/dev/null
echo NAME=value >.env

# code COMMAND: the exit code of a shell that dotenv-cli starts.
code() {
  local code=0
  node_modules/.bin/dotenv -e .env -- sh -c "$1" >/dev/null 2>&1 || code=$?
  echo "$code"
}

echo "dotenv-cli $(node -p 'require("./node_modules/dotenv-cli/package.json").version'), node $(node --version)"
failed=0
while read -r want what; do
  got=$(code "$what")
  echo "$what: exit code $got"
  [ "$got" = "$want" ] || failed=1
done <<'CASES'
3 exit 3
0 kill -TERM $$
0 kill -HUP $$
137 kill -KILL $$
CASES
exit $failed
