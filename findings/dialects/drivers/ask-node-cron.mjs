// Prints when node-cron would run each line of the file expressions, in the form of README.md. The
// question goes to the matcher of a task, by which the task sets its timer.
import { readFileSync } from 'node:fs'
import cron from 'node-cron'

const lines = (name) => readFileSync(`${process.argv[2]}/${name}`, 'utf8').trimEnd().split('\n')
const instants = lines('instants').map((line) => line.split(' '))
for (const expression of lines('expressions')) {
  let tasks
  try {
    tasks = instants.map(([, timezone]) => cron.createTask(expression, () => {}, { timezone }))
  } catch (error) {
    console.log(`${expression}\trefused\t${error.message.replace(/\s+/g, ' ')}`)
    continue
  }
  const answers = instants.map(([seconds], i) => {
    try {
      const next = tasks[i].timeMatcher.getNextMatch(new Date(seconds * 1000))
      return Math.floor(next.getTime() / 1000) - seconds
    } catch (error) {
      return error.message.startsWith('Could not find next matching date') ? -1 : -2
    }
  })
  console.log(`${expression}\tnext\t${answers.join(' ')}`)
}
