// Prints when croner would run each line of the file expressions, in the form of README.md.
import { readFileSync } from 'node:fs'
import { Cron } from 'croner'

const lines = (name) => readFileSync(`${process.argv[2]}/${name}`, 'utf8').trimEnd().split('\n')
const instants = lines('instants').map((line) => line.split(' '))
for (const expression of lines('expressions')) {
  try {
    const answers = instants.map(([seconds, timezone]) => {
      const job = new Cron(expression, { timezone, paused: true })
      const next = job.nextRun(new Date(seconds * 1000))
      return next === null ? -1 : Math.floor(next.getTime() / 1000) - seconds
    })
    console.log(`${expression}\tnext\t${answers.join(' ')}`)
  } catch (error) {
    console.log(`${expression}\trefused\t${error.message.replace(/\s+/g, ' ')}`)
  }
}
