#!/usr/bin/env bash
# node-cron 4.6.0 (npm) has noOverlap, which keeps a task from running beside itself, and
# distributed, with which one of several servers runs each due time. Both together do not keep the
# task from running beside itself: noOverlap looks at its own process, and the key that the servers
# share has the due time in it. While one server is busy, another one wins the next due time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts node-cron@4.6.0 >/dev/null
mkdir slots

# Each server has a task of every second that takes two and a half. The server that creates the file
# of a due time first runs it. A run writes down how many others go on.
cat >server.mjs <<'JAVASCRIPT'
import { closeSync, openSync, readdirSync, rmSync, appendFileSync, writeFileSync } from 'node:fs';
import cron from 'node-cron';

const server = process.argv[2];
const quiet = () => {};
cron.setLogger({ info: quiet, warn: quiet, error: quiet, debug: quiet });
cron.setRunCoordinator({
  shouldRun(key) {
    try {
      closeSync(openSync('slots/' + encodeURIComponent(key), 'wx'));
      return true;
    } catch {
      return false;
    }
  },
});
cron.schedule('* * * * * *', async () => {
  const others = readdirSync('.').filter((name) => name.startsWith('running-') && name !== `running-${server}`);
  appendFileSync('journal', `${server} ${readdirSync('.').includes(`running-${server}`)} ${others.length}\n`);
  writeFileSync(`running-${server}`, '');
  await new Promise((resolve) => setTimeout(resolve, 2500));
  rmSync(`running-${server}`);
}, { name: 'task', noOverlap: true, distributed: true });
setTimeout(() => process.exit(0), 15_000);
JAVASCRIPT

echo "node-cron $(node -p 'require("./node_modules/node-cron/package.json").version'), node $(node --version)"
node server.mjs one &
node server.mjs two &
wait
own=$(grep -c ' true ' journal || true) other=$(grep -c ' false 1$' journal || true)
echo "$(wc -l <journal) runs: $own began beside a run of the same server, $other beside a run of the other one"
[ "$own" = 0 ] && [ "$other" -gt 2 ]
