// A schedule with a history of real runs on two servers with a Redis, their ticks, and `sched serve`: what the check of the pages looks
// at.
//
// The binary is that of the tests (-tags schedtest): all of its processes share a clock that can be fast. An hour and a half of ticks
// is over in half a minute, and a trigger is answered in seconds.

import { spawn, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import path from "node:path";

const begin = "2026-03-02T06:45:00Z"; // a Monday
const fast = 240; // a minute is over in a quarter of a second

const rates = '{name: exchange-rates, description: Fetches the rates of the day, every: 10 minutes, one_server: true, prefer: web-2, command: "echo 5 rates; sleep 0.3"}';

const schedule = `
name: shop
timezone: Europe/Berlin
store: STORE
include: [schedule.d/*.yaml]
defaults: {background: true}
tasks:
  - name: import-orders
    description: Fetches new orders from the marketplace
    tags: [orders]
    every: 5 minutes
    command: ["sleep", "0.3"]
  - name: price-feed
    description: Sends changed prices to the partners; skips while the last one still runs
    tags: [orders, partners]
    every: 4 minutes
    without_overlapping: true
    command: 'echo "3,412 prices changed"; sleep 0.8; case $(date -u -d "$SCHED_SLOT" +%M) in 00 | 20) sleep 0.5;; esac'
  - name: invoices
    description: Writes the invoices of the last quarter of an hour
    tags: [orders]
    every: 15 minutes
    command: |
      printf '\\033[1minvoices\\033[0m of %s\\n' "$SCHED_SLOT"
      for n in 1 2 3 4 5; do printf '  \\033[32m✓\\033[0m order 10%s%s  <pdf>\\n' "$n" "$n"; sleep 0.06; done
      test "$(date -u -d "$SCHED_SLOT" +%M)" != 15 || { printf '\\033[31merror:\\033[0m the printer is on fire\\n' >&2; exit 7; }
    on_failure: [{run: "echo told the office about exit code $SCHED_EXIT_CODE"}]
  - name: search-index
    description: Brings the search index up to date; the first attempt often finds it locked
    every: 20 minutes
    retry: {attempts: 3, delay: 1s}
    command: 'echo "attempt $SCHED_ATTEMPT"; sleep 0.2; test $SCHED_ATTEMPT -gt 1'
  - {name: thumbnails, description: Makes small pictures of large ones, every: 10 minutes, command: "sleep 0.5"}
  - {name: mirror/assets, description: Copies new assets to the mirror in Oslo, every: 30 minutes, timeout: 1s, kill_after: 1s, command: "echo copying; sleep 5"}
  - ${rates}
  - {name: sitemap, every: 30 minutes, command: "true", when: "false"}
  - {name: newsletter, description: The letter to all customers, tags: [letters], every: weekday at 9:00, command: "sleep 1"}
  - {name: nightly-backup, description: Everything to the other building, every: day at 2:30, timeout: 2h, command: "sleep 1"}
  - {name: weekend-report, tags: [letters], every: weekend at 10:00, command: "true"}
  - {name: old-sync, description: Until the last shop has moved, every: hour, enabled: false, command: "true"}
  - {name: night-prices, description: Changes prices while nobody buys, tags: [partners], every: 10 minutes, between: ["22:00", "6:00"], command: "true"}
  - name: partner-report
    description: Tells the partners what was sold; tries again hours later
    tags: [partners]
    every: 30 minutes
    retry: {attempts: 2, delay: 3h}
    command: 'echo "the partner does not answer"; exit 4'
  - name: stock-take
    description: Counts what is in the store house, one count after another
    tags: [orders]
    every: year
    without_overlapping: wait
    wait_at_most: 1d
    command: 'echo "counting"; while ! test -e counted; do sleep 0.05; done'
  - name: rebuild
    description: "Rebuilds <everything>, on demand"
    every: year
    command: 'printf "begun\\n"; while ! test -e go; do sleep 0.05; done; printf "\\033[32mall done\\033[0m\\n"'
`;

// The other server has one task of it.
const other = `
name: shop
timezone: Europe/Berlin
store: STORE
defaults: {background: true}
tasks:
  - ${rates}
`;

// A World has the folder of the schedule, its processes and the address of the pages.
export class World {
  constructor(sched, dir) {
    this.sched = sched;
    this.dir = dir;
    this.processes = [];
    mkdirSync(path.join(dir, "schedule.d"), { recursive: true });
    mkdirSync(path.join(dir, "other"));
    this.socket = path.join(dir, "redis.sock");
    this.write("schedule.yaml", schedule.replace("STORE", "unix://" + this.socket));
    this.write("other/schedule.yaml", other.replace("STORE", "unix://" + this.socket));
    this.setClock(begin, fast);
    this.env = { ...process.env, SCHED_TEST_CLOCK_FILE: path.join(dir, "clock"), SCHED_CONFIG: path.join(dir, "schedule.yaml"), USER: "ada", LOGNAME: "ada", SCHED_TEST_SERVER: "web-1" };
  }

  // setClock has the clock show a time, from now on that fast.
  setClock(shown, speed) {
    this.clock = { real: Date.now(), shown: Date.parse(shown), speed };
    const text = [new Date(this.clock.real), new Date(this.clock.shown)].map(at => at.toISOString()).join(" ") + " " + speed;
    writeFileSync(path.join(this.dir, "clock.new"), text);
    renameSync(path.join(this.dir, "clock.new"), path.join(this.dir, "clock"));
  }

  now() { return new Date(this.clock.shown + (Date.now() - this.clock.real) * this.clock.speed); }

  setSpeed(speed) { this.setClock(this.now().toISOString(), speed); }

  // run runs a command, and returns what it printed.
  run(...args) {
    return execFileSync(this.sched, args, { cwd: this.dir, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  start(...args) { return this.spawn(this.sched, args, this.env); }

  spawn(program, args, env) {
    const child = spawn(program, args, { cwd: this.dir, env, stdio: ["ignore", "pipe", "inherit"] });
    this.processes.push(child);
    return child;
  }

  // store starts the Redis that both servers share, and returns when it listens.
  async store() {
    this.spawn("redis-server", ["--port", "0", "--unixsocket", this.socket, "--save", "", "--dir", this.dir], this.env).stdout.resume();
    for (let tries = 0; !existsSync(this.socket); tries++) {
      if (tries === 100) throw new Error("redis-server does not listen");
      await sleep(50);
    }
  }

  // history lets ticks come until so many minutes have passed.
  async history(minutes) {
    await this.store();
    const elsewhere = { ...this.env, SCHED_TEST_SERVER: "web-2", SCHED_CONFIG: path.join(this.dir, "other", "schedule.yaml") };
    this.spawn(this.sched, ["work", "--quiet"], elsewhere).stdout.resume();
    const work = this.start("work", "--quiet");
    work.stdout.resume();
    const until = Date.parse(begin) + minutes * 60_000;
    while (this.now() < until) await sleep(50);
    for (const reason of ["the yearly count", "once more"]) this.run("trigger", "stock-take", "--reason", reason); // the second waits
    this.setSpeed(10); // six seconds are a minute: ticks go on, and triggers are answered
    this.work = work;
  }

  // serve starts the server, and returns when it listens.
  async serve(listen = "127.0.0.1:0") {
    const server = this.server = this.start("serve", "--listen", listen, "--link", "edit", "--edit", "schedule.d");
    let text = "";
    for await (const chunk of server.stdout) {
      text += chunk;
      const link = /sign in to edit.*: (http\S+)\n/.exec(text);
      if (link) {
        this.link = link[1];
        this.url = new URL(this.link).origin;
        break;
      }
    }
    if (!this.link) throw new Error("sched serve said: " + text);
    server.stdout.resume?.();
  }

  // several starts a server of this schedule and of another one, whose folder is side, and returns its login link.
  async several() {
    mkdirSync(path.join(this.dir, "side"));
    this.write("side/schedule.yaml", 'name: side\ntasks: [{name: letters, every: minute, command: "true"}]\n');
    const server = this.start("serve", "-c", "schedule.yaml", "-c", "side/schedule.yaml", "--listen", "127.0.0.1:0", "--link", "read");
    let text = "";
    while (!/: (http\S+\/login\S+)\n/.test(text)) text += await once(server.stdout, "data");
    server.stdout.resume();
    return /: (http\S+\/login\S+)\n/.exec(text)[1];
  }

  // stopServing ends the server, and serveAgain starts another one at its address.
  async stopServing() {
    this.server.kill("SIGTERM");
    await once(this.server, "exit");
  }

  serveAgain() { return this.serve(new URL(this.url).host); }

  // token makes a token and returns it.
  token(scope, name) { return this.run("serve", "token", "--scope", scope, "--name", name).trim().split(/\s+/).at(-1); }

  records(...args) { return JSON.parse(this.run("history", "--json", ...args)); }

  // waiting is the run of a task that waits.
  waiting(task) { return JSON.parse(this.run("list", "--json")).find(t => t.name === task).waiting[0].run; }

  touch(name) { writeFileSync(path.join(this.dir, name), ""); }

  remove(name) { rmSync(path.join(this.dir, name), { force: true }); }

  read(name) { return readFileSync(path.join(this.dir, name), "utf8"); }

  write(name, text) { writeFileSync(path.join(this.dir, name), text); }

  async stop() {
    for (const name of ["go", "counted"]) this.touch(name); // for what still waits
    for (const child of this.processes.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGTERM");
      await Promise.race([once(child, "exit"), sleep(60_000).then(() => child.kill("SIGKILL"))]);
    }
  }
}

export const sleep = ms => new Promise(done => setTimeout(done, ms));
