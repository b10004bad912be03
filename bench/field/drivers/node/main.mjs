// Runs the jobs of the bench with node-cron or croner; croner has no store and no cluster.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Cron, scheduledJobs } from 'croner';
import cron from 'node-cron';
import { createClient } from 'redis';

const [program, ...rest] = process.argv.slice(2);
const { values: flags } = parseArgs({
  args: rest.map((arg) => arg.replace(/^-(?=row$|jobs$|store$)/, '--')),
  options: { row: { type: 'string', default: 'best' }, jobs: { type: 'string' }, store: { type: 'string' } },
});
const best = flags.row === 'best';

function run(command) {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', (code, signal) => (code === 0 ? resolve() : reject(new Error(`ended with ${signal ?? code}`))));
  });
}

function jobs(add) {
  for (const line of readFileSync(flags.jobs, 'utf8').split('\n')) {
    const [name, pattern, single, command] = line.split('\t');
    if (command) add(name, pattern, single === 'true', () => run(command));
  }
}

// croner logs nothing: its callbacks tell what it did. The table of options in its README:
//   - protect blocks a run while the run before it is in progress, and calls the callback.
//   - catch calls the callback for an error. Without it an error of a job ends the process.
function useCroner() {
  jobs((name, pattern, single, work) => {
    new Cron(pattern, !best ? { name } : {
      name,
      protect: single && ((job) => console.log(`protect: ${job.name} was blocked by its run before`)),
      catch: (error, job) => console.log(`catch: ${job.name} failed: ${error.message}`),
    }, work);
  });
  // Cron.stop ends the schedule of a job. Then node ends when the last child has ended.
  process.on('SIGTERM', () => [...scheduledJobs].forEach((job) => job.stop()));
}

function log(level) {
  return (message, error) => console.log(new Date().toISOString(), '[NODE-CRON]', level, message, error ?? '');
}

// The page "Distributed Coordination": the server that sets the key of a slot first runs the slot.
async function coordinator(url) {
  const redis = createClient({ url });
  redis.on('error', log('REDIS'));
  await redis.connect();
  return {
    shouldRun: async (key, ttl) => (await redis.set(key, process.pid, { NX: true, PX: ttl })) !== null,
    quit: () => redis.close(),
  };
}

async function useNodeCron() {
  cron.setLogger({ info: log('INFO'), warn: log('WARN'), error: log('ERROR'), debug: log('DEBUG') });
  const cluster = best && flags.store ? await coordinator(flags.store) : undefined;
  cron.setRunCoordinator(cluster);
  // The page "Scheduling Options". The tolerance is how late a run may start: the library limits it
  // to the time before the next slot, and loses the slots before that.
  jobs((name, pattern, single, work) => cron.schedule(pattern, work, !best ? {} : {
    name, noOverlap: single, missedExecutionTolerance: 24 * 60 * 60 * 1000, distributed: cluster !== undefined,
  }));
  // cron.shutdown waits for the runs of all tasks, but by default for 5 s alone. Its timer holds the
  // process for all of that time, so row best ends it. By default node ends with the last child.
  process.on('SIGTERM', async () => {
    await cron.shutdown(best ? 120_000 : undefined);
    await cluster?.quit();
    if (best) process.exit(0);
  });
}

await (program === 'croner' ? useCroner() : useNodeCron());
